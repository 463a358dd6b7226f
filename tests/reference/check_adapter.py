#!/usr/bin/env python3
"""Loads a model, and adapters beside it, with PEFT: check_adapter.py MODEL ADAPTER [MERGED]

MERGED is what plimsoll merge made of the two. Prints how much the adapters change the logits of 16 tokens, and by how much
MERGED's logits differ from those of PEFT's own merge; exits with 1 when PEFT finds no place for a tensor or lacks one.
"""
import sys
import warnings

import peft
import torch
import transformers
from safetensors import safe_open


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def logits_of(model):
    with torch.no_grad():
        return model(torch.arange(16)[None]).logits


warnings.filterwarnings("error", message=".*missing adapter keys.*")
model = peft.PeftModel.from_pretrained(load(sys.argv[1]), sys.argv[2])
expected = set(peft.get_peft_model_state_dict(model))
with safe_open(f"{sys.argv[2]}/adapter_model.safetensors", "pt") as file:
    stored = set(file.keys())
if stored != expected:
    sys.exit(f"tensors differ: {sorted(stored ^ expected)}")
adapted = logits_of(model)
print(f"{len(stored)} tensors; the adapters change the logits by up to {(adapted - logits_of(load(sys.argv[1]))).abs().max():g}")
if len(sys.argv) > 3:
    print(f"merged differs by at most {(logits_of(load(sys.argv[3])) - logits_of(model.merge_and_unload())).abs().max():g}")
