#!/usr/bin/env bash
# AWS's own Llama 3 8B of NeuronX Distributed, with the arguments and variables of its script
# tp_zero1_llama3_8B_hf_pretrain.sh (v2.28.0), as a job that goes on from its latest checkpoint.
#
#   nxd_llama.sh CHECKOUT PYTHON DATA [OPTION...]     absolute paths; options of `slipway-job run`, such as --nodes 4
set -euo pipefail

if (($# < 3)); then
  echo "usage: nxd_llama.sh CHECKOUT PYTHON DATA [OPTION...]" >&2
  exit 2
fi
readonly NAME=nxd-llama CHECKOUT="$1" PYTHON="$2" DATA="$3"
shift 3
readonly EXAMPLE="${CHECKOUT}/examples/training/llama"

cd "${EXAMPLE}/tp_zero1_llama_hf_pretrain"
# One node has one replica: the global batch of 1,024 is its steps of accumulation. Divide them by the nodes.
exec slipway-job run --queue trn1 --name "$NAME" --python "$PYTHON" --restarts 3 --compile "--steps_this_run 2" \
  --env "PYTHONPATH=${EXAMPLE}" --env NEURON_CC_FLAGS=--model-type=transformer --env NEURON_FUSE_SOFTMAX=1 \
  --env NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3 --env MALLOC_ARENA_MAX=64 "$@" \
  tp_zero1_llama_hf_pretrain.py -- \
  --model_path 8B_config_llama3 --data_dir "$DATA" --seq_len 8192 \
  --tensor_parallel_size 32 --kv_replicator 4 --qkv_linear --sequence_parallel_enabled --selective_checkpoint_enabled \
  --batch_size 1 --grad_accum_usteps 1024 --max_steps 10000 --steps_this_run -1 --warmup_steps 100 --lr 1.5e-4 \
  --use_mix_precision --use_zero_1 --use_flash_attention 1 --use_gpu_compatible_precision 1 \
  --checkpoint_dir "/fsx/checkpoints/${NAME}" --checkpoint_freq 100 --num_kept_checkpoint 2 \
  --loading_step latest_if_exists
