#!/usr/bin/env python3
"""Makes tests/reference/data/NAME-adapter: adapters of PEFT beside the models of make_reference.py, and what they compute.

  pip install torch transformers peft safetensors
  tests/reference/make_adapter_reference.py [NAME ...]

Each folder holds adapters as PEFT saves them (A and B random), the logits of the model with them, the losses of 20 steps of
AdamW that train them alone, and in merged/ what merge_and_unload makes of model and adapters. Arithmetic is in fp64.
"""
import json
import math
import shutil
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

from make_reference import DATA, SEQUENCE, corpus, fp32_means_fp64, losses, widen_frequencies

CASES = {  # name: (targets as PEFT's users name them, rank, alpha)
    "gpt2": (["c_attn", "c_proj", "c_fc"], 4, 8),
    "llama": (["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"], 3, 8),
    "qwen3": (["q_proj", "v_proj"], 2, 1),
    "phi": (["q_proj", "v_proj", "dense", "fc2"], 4, 4),
}


def base_model(name):
    return transformers.AutoModelForCausalLM.from_pretrained(DATA / name, dtype=torch.float64, attn_implementation="eager")


def fill(model):
    """Both matrices random, as of an adapter that was trained, and exact in fp32."""
    generator = torch.Generator().manual_seed(2)
    for name, weight in model.named_parameters():
        if "lora_" in name:
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            weight.data = (noise / math.sqrt(weight.shape[-1]) * (1 if "lora_A" in name else 0.5)).to(torch.float32).to(torch.float64)


def save_as_fp32(model, folder):
    state = {key: value.to(torch.float32) for key, value in peft.get_peft_model_state_dict(model).items()}
    model.save_pretrained(folder)
    save_file(state, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    (folder / "README.md").unlink(missing_ok=True)


def make(name):
    targets, rank, alpha = CASES[name]
    folder = DATA / f"{name}-adapter"
    shutil.rmtree(folder, ignore_errors=True)
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets, task_type="CAUSAL_LM", fan_in_fan_out=name == "gpt2")
    model = peft.get_peft_model(base_model(name), config)
    model.peft_config["default"].base_model_name_or_path = name
    fill(model)
    save_as_fp32(model, folder)
    merged = peft.PeftModel.from_pretrained(base_model(name), folder, torch_device="cpu").merge_and_unload()
    merged.to(torch.float32).save_pretrained(folder / "merged")
    (folder / "merged" / "generation_config.json").unlink(missing_ok=True)
    tokens = corpus()
    with fp32_means_fp64():
        widen_frequencies(model.base_model.model)
        with torch.no_grad():
            logits = model(tokens[None, :SEQUENCE]).logits[0]
        values = losses(model, name, folder, tokens)
    save_file({"logits": logits.float()}, folder / "logits.safetensors")
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}"
    (folder / "losses.json").write_text(json.dumps({"made_by": made_by, "losses": values}, indent=1) + "\n")
    print(name, model.get_nb_trainable_parameters(), values[0], values[-1])


for name in sys.argv[1:] or CASES:
    make(name)
