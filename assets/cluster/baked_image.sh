# shellcheck shell=bash
# The record of what was baked into a node's image; sourced after training_stack.sh and neuron_packages.sh.

readonly BAKED_RECORD="/etc/slipway/baked"

# baked_lines: prints what an image of the loaded training stack holds: its name and the pinned packages.
baked_lines() {
  printf 'TRAINING_STACK=%s\n' "$TRAINING_STACK"
  pins "${NODE_PACKAGES[@]}"
}

# write_baked_record: marks the image with what it holds and the kernel that its driver was built for.
write_baked_record() {
  mkdir -p "${ROOT}${BAKED_RECORD%/*}"
  {
    baked_lines
    printf 'KERNEL=%s\n' "$(uname -r)"
  } >"${ROOT}${BAKED_RECORD}"
}

# compare_image: says what the image spares this node. An image of another training stack or release is no failure, the
# next steps put the pinned packages into their place; but they do so at every boot, and the user should know.
compare_image() {
  local record="${ROOT}${BAKED_RECORD}" wanted found
  if [[ ! -e "$record" ]]; then
    say "nothing is baked into the image"
    return
  fi
  wanted="$(baked_lines)"
  found="$(grep -v '^KERNEL=' "$record" || true)"
  if [[ "$found" == "$wanted" ]]; then
    say "the image was baked with ${TRAINING_STACK}"
  else
    say "WARNING: the image was baked with '${found//$'\n'/ }', the queue wants '${wanted//$'\n'/ }': every boot installs" \
      "the difference; bake an image with ${TRAINING_STACK} (slipway docs node-image)"
  fi
}
