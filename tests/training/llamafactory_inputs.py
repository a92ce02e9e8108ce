"""Makes what a fine-tuning with LLaMA-Factory reads: a Llama of two layers, a tokenizer of bytes, a data set.

python llamafactory_inputs.py FOLDER CORPUS
"""

import json
import shutil
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder, corpus = Path(sys.argv[1]), Path(sys.argv[2])
model, data = folder / "model", folder / "data"
data.mkdir(parents=True)

END = "</s>"
vocabulary = {token: number for number, token in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), END])}
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END).save_pretrained(model)

sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
end = vocabulary[END]
configuration = LlamaConfig(vocab_size=len(vocabulary), bos_token_id=end, eos_token_id=end, **sizes)
LlamaForCausalLM(configuration).save_pretrained(model)

shutil.copy(corpus, data / "corpus.jsonl")
description = {"corpus": {"file_name": "corpus.jsonl", "columns": {"prompt": "text"}}}
(data / "dataset_info.json").write_text(json.dumps(description), encoding="utf-8")
