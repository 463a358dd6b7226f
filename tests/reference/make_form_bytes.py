#!/usr/bin/env python3
"""Makes tests/reference/data/optimizer_form_bytes.csv: bytes of the states that the packages of optimizers for small GPUs keep.

  pip install torch transformers galore-torch apollo-torch torchao bitsandbytes
  tests/reference/make_form_bytes.py

Each case is one step of one package's optimizer over one tensor, on the CPU. Counted are the tensors that its state has: moments,
codes, scales, tables of values of its own, and the projector; not numbers (steps, norms), and not bitsandbytes' tables, which all
tensors share. On the CPU bitsandbytes' paged optimizers keep the same states in common memory.
"""
import importlib.metadata
import pathlib

import torch

torch.compile = lambda function=None, **_: function if function else (lambda f: f)
torch.cuda.synchronize = lambda *_: None

import apollo_torch
import bitsandbytes.optim
import galore_torch
import torchao.optim

DATA = pathlib.Path(__file__).parent / "data"
MATRICES = [(96, 160), (160, 96), (64, 64), (512, 256)]
TENSORS = [(4096,), (4000,), (5000,), (300, 256), (512, 256)]
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def tensors_in(value):
    """Dense tensors of more than one number within a state."""
    if hasattr(value, "codes"):
        return [value.codes, value.scale, value.qmap]
    if isinstance(value, torch.Tensor):
        return [value] if value.numel() > 1 else []
    return tensors_in(value.ortho_matrix) if hasattr(value, "ortho_matrix") else []


def bytes_of(state):
    own = {name: value for name, value in state.items() if not name.startswith("qmap")}
    return sum(t.numel() * t.element_size() for value in own.values() for t in tensors_in(value))


def kept(make, shape, dtype, **group):
    torch.manual_seed(1)
    weight = torch.nn.Parameter(torch.randn(shape, dtype=dtype))
    weight.grad = torch.randn(shape).to(dtype)
    optimizer = make([{"params": [weight], **group}])
    optimizer.step()
    return bytes_of(optimizer.state[weight])


def projected(projection, rank, scale_type=None):
    group = dict(rank=rank, update_proj_gap=200, scale=1.0, proj_type="std")
    return group | (dict(proj="random", scale_type=scale_type) if projection != "galore" else {})


def cases():
    for name, dtype in TYPES.items():
        for shape in MATRICES:
            for rank in (8, 48, 200):
                galore = projected("galore", rank)
                yield "galore-torch", "adamw", f"galore:{rank}", 0, shape, name, kept(lambda g: galore_torch.GaLoreAdamW(g, no_deprecation_warning=True), shape, dtype, **galore)
                yield "galore-torch", "adam8bit", f"galore:{rank}", 0, shape, name, kept(galore_torch.GaLoreAdamW8bit, shape, dtype, **galore)
            yield "apollo-torch", "adamw", "apollo:24", 0, shape, name, kept(apollo_torch.APOLLOAdamW, shape, dtype, **projected("apollo", 24, "channel"))
            yield "apollo-torch", "adamw", "apollo-mini", 0, shape, name, kept(apollo_torch.APOLLOAdamW, shape, dtype, **projected("apollo", 1, "tensor"))
        for shape in TENSORS:
            yield "torchao", "adamw", "", 4, shape, name, kept(torchao.optim.AdamW4bit, shape, dtype)
            yield "bitsandbytes", "adamw", "", 0, shape, name, kept(bitsandbytes.optim.PagedAdamW32bit, shape, dtype)
            yield "bitsandbytes", "adam8bit", "", 0, shape, name, kept(bitsandbytes.optim.PagedAdamW8bit, shape, dtype)


if __name__ == "__main__":
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("torch", "galore-torch", "apollo-torch", "torchao", "bitsandbytes"))
    lines = ["package,optimizer,projection,bits,rows,columns,type,bytes", f"# {versions}; 26 November 2026"]
    for package, optimizer, projection, bits, shape, name, count in cases():
        rows, columns = shape if len(shape) == 2 else (shape[0], 0)
        lines.append(f"{package},{optimizer},{projection},{bits},{rows},{columns},{name},{count}")
    (DATA / "optimizer_form_bytes.csv").write_text("\n".join(lines) + "\n")
    print(len(lines) - 2, "cases")
