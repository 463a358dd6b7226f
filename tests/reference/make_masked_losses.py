#!/usr/bin/env python3
"""Makes tests/reference/data/{gpt2,llama}/masked_losses.json: the losses of make_reference.py's models over 20 steps in which a
third of the targets counts. They come from transformers' own loss: labels of -100 elsewhere, and num_items_in_batch, the
counted targets of all micro-batches of the step.

  tests/reference/make_masked_losses.py
"""
import json

import torch
import transformers
from make_reference import (ACCUMULATE, BATCH, BETAS, CLIP, CORPUS, DATA, DECAY, EPSILON, RATE, SEQUENCE, STEPS, corpus,
                            fp32_means_fp64, mix64, widen_frequencies, window)

COUNTS = torch.tensor([mix64(1000 + place) % 3 == 0 for place in range(CORPUS)])


def masked_losses(model, tokens):
    decays = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": DECAY}, {"params": others, "weight_decay": 0}],
                                  lr=RATE, betas=BETAS, eps=EPSILON)
    values = []
    for step in range(STEPS):
        batches = []
        for micro_batch in range(ACCUMULATE):
            starts = [window(step, micro_batch, row) for row in range(BATCH)]
            rows = torch.stack([tokens[s:s + SEQUENCE + 1] for s in starts])
            counts = torch.stack([COUNTS[s:s + SEQUENCE + 1] for s in starts])
            batches.append((rows, torch.where(counts, rows, -100)))
        items = sum((labels[:, 1:] != -100).sum() for _, labels in batches)
        optimizer.zero_grad()
        total = 0.0
        for rows, labels in batches:
            loss = model(input_ids=rows, labels=labels, num_items_in_batch=items).loss
            assert loss.dtype == torch.float64
            loss.backward()
            total += loss.item()
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in model.parameters()))
        for p in model.parameters():
            p.grad *= min(1.0, CLIP / norm.item())
        optimizer.step()
        values.append(total)
    return values


for name in ("gpt2", "llama"):
    model = transformers.AutoModelForCausalLM.from_pretrained(DATA / name, dtype=torch.float64, attn_implementation="eager").train()
    with fp32_means_fp64():
        widen_frequencies(model)
        values = masked_losses(model, corpus())
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}"
    (DATA / name / "masked_losses.json").write_text(json.dumps({"made_by": made_by, "losses": values}, indent=1) + "\n")
    print(name, values[0], values[-1])
