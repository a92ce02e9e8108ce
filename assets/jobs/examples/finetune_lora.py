"""A LoRA fine-tuning of a Llama, Qwen3 or Granite with Hugging Face's optimum-neuron 0.4.5 and its training extra.

The data are lines of JSON with a field `text`. optimum-neuron resumes nothing, so neither does this: where a job was
interrupted, a new one is refused instead of paid for from the beginning again and again.
"""

import argparse
import os
import sys
from pathlib import Path

import torch
from datasets import load_dataset
from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer
from optimum.neuron.models.training import NeuronModelForCausalLM
from peft import LoraConfig
from transformers import AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True, help="folder, or name on the Hugging Face Hub")
parser.add_argument("--data", required=True, help="file such as /fsx/data/mine/train.jsonl")
parser.add_argument("--tensor-parallel-size", type=int, default=8)
parser.add_argument("--max-steps", type=int, default=-1, help="left out, as many as the epochs have")
options = parser.parse_args()

checkpoints = Path(os.environ["SLIPWAY_CHECKPOINTS"])
if any(checkpoints.glob("checkpoint-*")):
    sys.exit(f"{checkpoints} holds checkpoints, which optimum-neuron cannot resume: remove it, or use another --name")

configuration = NeuronSFTConfig(
    output_dir=str(checkpoints),
    tensor_parallel_size=options.tensor_parallel_size,
    bf16=True,
    gradient_accumulation_steps=16,
    learning_rate=1e-4,
    warmup_steps=5,
    max_steps=options.max_steps,
    num_train_epochs=3,
    # Not "epoch": its trainer saves after a step alone. After the last one it saves, too.
    save_strategy="steps",
    save_steps=200,
    save_total_limit=2,
    logging_steps=1,
    report_to="none",
    max_length=2048,
    packing=True,
)
model = NeuronModelForCausalLM.from_pretrained(
    options.model, configuration.trn_config, torch_dtype=torch.bfloat16, attn_implementation="flash_attention_2"
)
trainer = NeuronSFTTrainer(
    model=model,
    args=configuration,
    processing_class=AutoTokenizer.from_pretrained(options.model),
    train_dataset=load_dataset("json", data_files=options.data, split="train"),
    peft_config=LoraConfig(
        r=16,
        lora_alpha=32,
        lora_dropout=0.05,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        task_type="CAUSAL_LM",
    ),
)
trainer.train()
