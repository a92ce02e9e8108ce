# shellcheck shell=bash
# Proof that a compute node has what its queue promises; sourced by compute_node.sh after training_stack.sh.

readonly DEVICE_SECONDS="${SLIPWAY_DEVICE_SECONDS:-120}"
readonly RESERVED_PORTS="44000,48620"

# load_neuron_driver: loads the pinned driver. One that is loaded in another version came with the image.
load_neuron_driver() {
  local version_file="${ROOT}/sys/module/neuron/version" pinned loaded
  pinned="$(pinned_version aws-neuronx-dkms)"
  if [[ -e "$version_file" && "$(<"$version_file")" != "$pinned" ]]; then
    modprobe --remove neuron
  fi
  modprobe neuron
  loaded="$(<"$version_file")"
  if [[ "$loaded" != "$pinned" ]]; then
    fail "Neuron driver ${loaded} with runtime library $(pinned_version aws-neuronx-runtime-lib):" \
      "${TRAINING_STACK} pins driver ${pinned}"
  fi
}

# wait_for_devices: the driver's own udev rule opens the devices for every user, a moment after they appear.
wait_for_devices() {
  wait_for_count "$DEVICE_SECONDS" "$NEURON_DEVICES" /dev 'neuron[0-9]*'
  wait_for_count "$DEVICE_SECONDS" "$NEURON_DEVICES" /dev 'neuron[0-9]*' -perm -o=rw
}

# check_tools: neuron-ls and neuron-top are on every user's PATH through the login profile.
check_tools() {
  local tool
  for tool in neuron-ls neuron-top neuron-monitor; do
    if [[ -z "$(find -L "${ROOT}/opt/aws/neuron/bin/${tool}" -perm -o=rx)" ]]; then
      fail "not every user may run /opt/aws/neuron/bin/${tool}"
    fi
  done
}

check_efa_interfaces() {
  if ((EFA_INTERFACES == 0)); then
    say "no EFA interface expected"
    return
  fi
  wait_for_count "$DEVICE_SECONDS" "$EFA_INTERFACES" /sys/class/infiniband '*'
}

# 44000 is torchrun's rendezvous in the training jobs, 48620 the root of the Neuron collectives: no other connection may
# be given these port numbers.
reserve_ports() {
  local settings="${ROOT}/etc/sysctl.d/90-slipway-neuron.conf" found
  put_file "$settings" <<<"net.ipv4.ip_local_reserved_ports = ${RESERVED_PORTS}"
  sysctl --quiet --load="$settings"
  found="$(sysctl --values net.ipv4.ip_local_reserved_ports)"
  if [[ "$found" != "$RESERVED_PORTS" ]]; then
    fail "the kernel reserves the ports '${found}' instead of ${RESERVED_PORTS}"
  fi
}
