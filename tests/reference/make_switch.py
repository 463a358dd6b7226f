#!/usr/bin/env python3
"""Makes tests/reference/data/switch.json: a tiny Switch layer of transformers, with random weights, and what it computes.

  pip install torch transformers
  tests/reference/make_switch.py

All in fp64. Two sequences of ten tokens; four of each ten have room at an expert, so that some are refused.
"""
import json
import pathlib

import torch
import transformers
from transformers.models.switch_transformers import modeling_switch_transformers as switch

SEQUENCES, TOKENS, HIDDEN, WIDTH, EXPERTS, CAPACITY = 2, 10, 8, 12, 4, 4

torch.manual_seed(3)
config = transformers.SwitchTransformersConfig(d_model=HIDDEN, d_ff=WIDTH, num_experts=EXPERTS, expert_capacity=CAPACITY,
                                               router_jitter_noise=0.0, dropout_rate=0.0)
config.dense_act_fn = "gelu_new"
layer = switch.SwitchTransformersSparseMLP(config).double()
layer.router.dtype = torch.float64
for weight in layer.parameters():
    weight.data = torch.randn(weight.shape, dtype=torch.float64) / weight.shape[-1] ** 0.5
x = torch.randn(SEQUENCES, TOKENS, HIDDEN, dtype=torch.float64)
with torch.no_grad():
    chosen, _, logits = layer.router(x)
    y = layer(x)
    probabilities = torch.softmax(logits, -1)
    loss = switch.load_balancing_loss_func(probabilities, probabilities.argmax(-1)[..., None])
experts = [layer.experts[f"expert_{e}"] for e in range(EXPERTS)]
flat = lambda t: [v.item() for v in t.flatten()]  # noqa: E731
pathlib.Path(__file__).with_name("data").joinpath("switch.json").write_text(json.dumps({
    "made_by": f"torch {torch.__version__}, transformers {transformers.__version__}",
    "capacity": CAPACITY, "sequences": SEQUENCES, "tokens": TOKENS, "hidden": HIDDEN, "width": WIDTH, "experts": EXPERTS,
    "x": flat(x), "router": flat(layer.router.classifier.weight),
    "in": sum((flat(e.wi.weight) for e in experts), []), "out": sum((flat(e.wo.weight) for e in experts), []),
    "probabilities": flat(probabilities), "sent": [int(v) for v in chosen.sum(-1).flatten()], "y": flat(y), "loss": loss.item()},
    indent=1) + "\n")
print("refused", int((chosen.sum(-1) == 0).sum()), "of", SEQUENCES * TOKENS, "loss", loss.item())
