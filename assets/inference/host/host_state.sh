# shellcheck shell=bash
# What a host must be and what its Auto Scaling group is told of it; sourced after steps.sh.
export AWS_PAGER=""
readonly AWS_SECONDS=30
readonly DEVICE_SECONDS="${SLIPWAY_DEVICE_SECONDS:-120}"
# shellcheck disable=SC2034 # for check_model_folder's callers
readonly CHECK_SECONDS="${SLIPWAY_CHECK_SECONDS:-120}"
readonly GROUP_SECONDS="${SLIPWAY_GROUP_SECONDS:-120}"
readonly LIFECYCLE_HOOK=slipway-set-up
readonly OBJECT_LIST="${ROOT}/etc/slipway/objects.json"
readonly METADATA_SERVICE=http://169.254.169.254/latest

# All that the scripts and services of a host read; README.md describes them.
# shellcheck disable=SC2034 # host_setup.sh reads it
readonly HOST_VARIABLES=(SLIPWAY_REGION SLIPWAY_ECS_CLUSTER SLIPWAY_SERVICE SLIPWAY_NEURON_DEVICES
  SLIPWAY_NEURON_RUNTIME SLIPWAY_DRIVER_FROM SLIPWAY_DRIVER_BELOW SLIPWAY_MODEL_SOURCE SLIPWAY_MODEL_BUCKET SLIPWAY_MODEL_PREFIX SLIPWAY_MODEL_MOUNT SLIPWAY_MODEL_DIRECTORY
  SLIPWAY_MODEL_MANIFEST SLIPWAY_MODEL_DIGEST SLIPWAY_MODEL_FILES SLIPWAY_MODEL_DEVICE SLIPWAY_IMAGE SLIPWAY_WARM_POOL SLIPWAY_METRICS_NAMESPACE
  SLIPWAY_LOG_GROUP SLIPWAY_SETUP_SECONDS)

aws_cli() {
  timeout --kill-after=10 "$AWS_SECONDS" aws --region "$SLIPWAY_REGION" --output text "$@"
}

# The device files have been missing on Neuron AMIs before (aws-neuron-driver issue 3).
wait_for_neuron_devices() {
  wait_for_count "$DEVICE_SECONDS" "$SLIPWAY_NEURON_DEVICES" /dev 'neuron[0-9]*'
}

# is_older VERSION OTHER
is_older() {
  [[ "$1" != "$2" && "$(printf '%s\n%s\n' "$1" "$2" | sort --version-sort | head -n 1)" == "$1" ]]
}

# With a driver that the engine's runtime library does not work with, nrt_init() fails in every task.
check_neuron_driver() {
  local driver="" needed=""
  read -r driver <"${ROOT}/sys/module/neuron/version" || true
  if [[ -z "$driver" ]]; then
    fail "the Neuron driver is not loaded: /sys/module/neuron/version says nothing"
  fi
  if [[ "$SLIPWAY_DRIVER_FROM" != any ]] && is_older "$driver" "$SLIPWAY_DRIVER_FROM"; then
    needed="from ${SLIPWAY_DRIVER_FROM}"
  elif [[ "$SLIPWAY_DRIVER_BELOW" != any ]] && ! is_older "$driver" "$SLIPWAY_DRIVER_BELOW"; then
    needed="below ${SLIPWAY_DRIVER_BELOW}"
  fi
  if [[ -n "$needed" ]]; then
    fail "Neuron driver ${driver} with runtime library ${SLIPWAY_NEURON_RUNTIME}: nrt_init() fails, that library needs" \
      "one ${needed}; the host needs another machine image"
  fi
  say "Neuron driver ${driver}, runtime library ${SLIPWAY_NEURON_RUNTIME} in the engine's image"
}

# check_model_folder SECONDS OPTION...: the folder holds what an engine starts with; options are model_folder.py's.
check_model_folder() {
  local limit options=(--needed "$SLIPWAY_MODEL_FILES" "${@:2}") status=0
  limit="$(bounded "$1")"
  if [[ "$SLIPWAY_MODEL_MANIFEST" == 1 ]]; then
    options+=(--published)
    if [[ "$SLIPWAY_MODEL_DIGEST" == none ]]; then
      say "WARNING: no roll-out has pinned the manifest of ${SLIPWAY_MODEL_PREFIX}: roll it out once more" >&2
    else
      options+=(--digest "$SLIPWAY_MODEL_DIGEST")
    fi
  fi
  # What a copy was made from.
  if [[ -f "$OBJECT_LIST" ]]; then
    options+=(--listing "$OBJECT_LIST" --prefix "${SLIPWAY_MODEL_PREFIX}/")
  fi
  timeout --kill-after=10 "$limit" \
    python3 "${SCRIPT_DIRECTORY}/model_folder.py" "${ROOT}${SLIPWAY_MODEL_DIRECTORY}" "${options[@]}" || status=$?
  if ((status == 124 || status == 137)); then
    fail "${SLIPWAY_MODEL_DIRECTORY} was not read within ${limit} s"
  elif ((status != 0)); then
    fail "${SLIPWAY_MODEL_DIRECTORY} is not the model that was asked for:" \
      "s3://${SLIPWAY_MODEL_BUCKET}/${SLIPWAY_MODEL_PREFIX}/ from ${SLIPWAY_MODEL_SOURCE}"
  fi
}

instance_id() {
  local token
  token="$(curl --silent --fail --max-time 5 --retry 3 --request PUT "${METADATA_SERVICE}/api/token" \
    --header "X-aws-ec2-metadata-token-ttl-seconds: 60")"
  curl --silent --fail --max-time 5 --retry 3 --header "X-aws-ec2-metadata-token: ${token}" \
    "${METADATA_SERVICE}/meta-data/instance-id"
}

# Prints name of the Auto Scaling group, lifecycle state, and version of the launch template that made this host.
group_state() {
  aws_cli autoscaling describe-auto-scaling-instances --instance-ids "$1" \
    --query 'AutoScalingInstances[0].[AutoScalingGroupName,LifecycleState,LaunchTemplate.Version]'
}

# answer_launch INSTANCE GROUP RESULT: CONTINUE lets the group go on with the host, ABANDON lets it be replaced.
answer_launch() {
  aws_cli autoscaling complete-lifecycle-action --lifecycle-hook-name "$LIFECYCLE_HOOK" \
    --auto-scaling-group-name "$2" --instance-id "$1" --lifecycle-action-result "$3"
}

# A host that is set up and stopped does not hear of a changed launch template: another model, other scripts.
check_launch_template() {
  local group=$1 version=$2 wanted
  wanted="$(aws_cli autoscaling describe-auto-scaling-groups --auto-scaling-group-names "$group" \
    --query 'AutoScalingGroups[0].LaunchTemplate.Version')"
  if [[ "$version" != "$wanted" ]]; then
    fail "set up by version ${version} of the launch template, the group has version ${wanted} now"
  fi
}

# Lets the agent start, and the group go on where it waits for this host: before it goes into service or, in a warm
# pool, before it is stopped and once more when it leaves the pool.
go_into_service() {
  local instance group state version deadline=$((SECONDS + GROUP_SECONDS))
  instance="$(instance_id)"
  mkdir -p "${ROOT}/run/slipway"
  while true; do
    if ! read -r group state version < <(group_state "$instance"); then
      state="unknown"
    fi
    case "$state" in
      Pending:Wait | Warmed:Pending:Wait)
        check_launch_template "$group" "$version"
        touch "${ROOT}/run/slipway/host-proven"
        if answer_launch "$instance" "$group" CONTINUE; then
          return
        fi
        rm "${ROOT}/run/slipway/host-proven"
        ;;
      InService)
        touch "${ROOT}/run/slipway/host-proven"
        return
        ;;
    esac
    if ((SECONDS >= deadline)); then
      fail "the Auto Scaling group did not take the host within ${GROUP_SECONDS} s, its state is ${state}"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}
