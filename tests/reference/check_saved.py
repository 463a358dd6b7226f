#!/usr/bin/env python3
"""Loads two folders with transformers' from_pretrained and compares them: check_saved.py SAVED ORIGINAL

Prints the largest difference of any weight and of the logits of 16 tokens, or of an image; exits with 1 when a weight or a key is missing.
"""
import math
import sys

import torch
import transformers


def load(folder):
    architecture = transformers.AutoConfig.from_pretrained(folder).architectures[0]
    model, info = getattr(transformers, architecture).from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    lacking = {key: sorted(names) for key, names in info.items() if names}
    if lacking:
        sys.exit(f"{folder}: {lacking}")
    return model


saved, original = load(sys.argv[1]), load(sys.argv[2])
theirs = dict(original.named_parameters())
weights = max((p - theirs[name]).abs().max().item() for name, p in saved.named_parameters())
config = saved.config
if hasattr(config, "image_size"):
    shape = (1, config.num_channels, config.image_size, config.image_size)
    inputs = {"pixel_values": torch.linspace(-1, 1, math.prod(shape)).reshape(shape)}
else:
    inputs = {"input_ids": torch.arange(16)[None]}
saved.eval(), original.eval()
with torch.no_grad():
    logits = (saved(**inputs).logits - original(**inputs).logits).abs().max().item()
print(f"{type(saved).__name__}: weights differ by at most {weights:g}, logits by {logits:g}")
