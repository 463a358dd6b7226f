"""Checkpoints the blocks of a transformers model as PLAN, at the end of this file, says.

    import policy
    policy.apply_policy(model)       # before the first step; the model's own gradient checkpointing stays off

PLAN["segments"] lists blocks first..last that are computed again together: "keep" computes nothing again, "input" keeps the input
of the first block alone, "operators" keeps besides the outputs of the operators marked true, counted by kind in the order in
which they run. "on_cpu" sends what is kept to host memory. Needs PyTorch 2.4 or newer.
"""
import contextlib
import inspect
import json

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

KINDS = {
    "matmul": ("mm", "addmm", "linear"),
    "attention": (
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_fused_attention_overrideable",
    ),
    "norm": ("native_layer_norm", "_fused_rms_norm"),
    "activation": ("gelu", "silu", "relu"),
}
KIND_OF = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}


class KeptOperators:
    """Says of every operator of one pass over a segment whether its output is kept."""

    def __init__(self, keep):
        self.keep = keep
        self.seen = {}

    def __call__(self, ctx, op, *args, **kwargs):
        kind = KIND_OF.get(op.name().split(".")[0]) if hasattr(op, "name") else None
        if kind not in self.keep:
            return CheckpointPolicy.PREFER_RECOMPUTE
        at = self.seen.get((ctx.is_recompute, kind), 0)
        self.seen[(ctx.is_recompute, kind)] = at + 1
        kept = at < len(self.keep[kind]) and self.keep[kind][at]
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE


def _run(segment, blocks, hidden, args, kwargs):
    def forward(hidden, *args, **kwargs):
        for block in blocks:
            result = block(hidden, *args, **kwargs)
            hidden = result[0] if isinstance(result, tuple) else result
        return result

    away = contextlib.nullcontext()
    if segment["on_cpu"]:
        away = torch.autograd.graph.save_on_cpu(pin_memory=torch.cuda.is_available())
    with away:
        if segment["mode"] == "keep":
            return forward(hidden, *args, **kwargs)
        options = {"use_reentrant": False, "preserve_rng_state": True}
        if segment["mode"] == "operators":
            options["context_fn"] = lambda: create_selective_checkpoint_contexts(KeptOperators(segment["keep"]))
            if "respect_saved_tensors_hooks" in inspect.signature(checkpoint).parameters:
                options["respect_saved_tensors_hooks"] = segment["on_cpu"]
        return checkpoint(forward, hidden, *args, **options, **kwargs)


def _wrap(segment, blocks):
    """The first block runs the whole segment; the others hand on what they are given."""
    inner = [block.forward for block in blocks]
    shape = {}

    def first(hidden, *args, **kwargs):
        result = _run(segment, inner, hidden, args, kwargs)
        shape["tuple"] = isinstance(result, tuple)
        return result

    def hand_on(hidden, *args, **kwargs):
        return (hidden,) if shape["tuple"] else hidden

    for at, block in enumerate(blocks):
        block.forward = hand_on if at else first


def apply_policy(model, plan=None):
    """Wraps the blocks of `model` and returns it. A model of another number of blocks is a ValueError."""
    plan = plan or PLAN
    blocks = model.get_submodule(plan["blocks"])
    count = plan["segments"][-1]["last"] + 1
    if len(blocks) != count:
        raise ValueError(f"the plan has {count} blocks, {plan['blocks']} has {len(blocks)}")
    for segment in plan["segments"]:
        if segment["mode"] != "keep" or segment["on_cpu"]:
            _wrap(segment, list(blocks)[segment["first"] : segment["last"] + 1])
    return model
