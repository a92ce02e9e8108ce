#!/usr/bin/env bash
# Looks whether the image can do what jobs ask of it, without any device; the Dockerfile runs it as the image's own user.
#
#   check.sh TRAINING_STACK
#
# Whether torch_neuronx can be imported without a Neuron device is documented nowhere: only its packages are looked at.
set -euo pipefail

readonly TRAINING_PYTHON="/apps/neuron/$1/bin/python"
# What the job kit imports beside the Neuron packages.
readonly IMPORTS="import pyarrow, pydantic, safetensors, tensorboard, torch, transformers"

set -x
[[ "$(id --user):$(id --group)" == 1000:1000 && "$HOME" == /home/slipway ]]
"$TRAINING_PYTHON" -m pip check
"$TRAINING_PYTHON" -c "$IMPORTS"
slipway-job --help >/dev/null
mpirun --version
fi_info --version
ldconfig -p | grep --fixed-strings 'libfabric.so.1 '
command -v neuron-ls neuron-top
# The host key comes with each MPIJob.
ssh-keygen -q -t ed25519 -N '' -f /tmp/host_key
/usr/sbin/sshd -t -f "$HOME/.sshd_config" -h /tmp/host_key
rm /tmp/host_key /tmp/host_key.pub
