"""Bytes of a tensor rank as PyTorch counts them, for data/tensor_rank_bytes.csv.

A Llama-like model is cut by torch.distributed.tensor.parallel as torchtitan cuts its own: rows of the stream shared out between the
layers, heads and the feed-forward layer's width divided, embedding, head and loss by words (loss_parallel). One process is rank 0 of
a group whose collectives move nothing; tensors of the CPU, weights in bf16, no FSDP.
`saved`: storages that autograd saves in a forward pass (saved_tensors_hooks), weights not counted. `peak`: of all storages that operations
make and let go in forward and backward of the second step, weights among them, gradients let go between the steps. PyTorch's own MemTracker also counts the whole tensors of which
DTensor makes shapes alone. `way`: plain, full (a checkpoint a block) or compiled (each block by torch.compile, of which operations do
not tell what they make: no peak). Needs torch and a C++ compiler:

    python3 make_tensor_rank_bytes.py > data/tensor_rank_bytes.csv
"""
import contextlib
import csv
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel,
                                               parallelize_module)
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint

from living import Living

HIDDEN, HEADS, KEYS, FFN = 512, 8, 4, 1536
WIDTH = HIDDEN // HEADS


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x)


def rotated(x, table):
    half = x.shape[-1] // 2
    return x * table + torch.cat((-x[..., half:], x[..., :half]), -1) * table


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(HIDDEN, HEADS * WIDTH, bias=False)
        self.k = nn.Linear(HIDDEN, KEYS * WIDTH, bias=False)
        self.v = nn.Linear(HIDDEN, KEYS * WIDTH, bias=False)
        self.o = nn.Linear(HEADS * WIDTH, HIDDEN, bias=False)

    def forward(self, x, table):
        batch, sequence, _ = x.shape
        q, k, v = [layer(x).view(batch, sequence, -1, WIDTH).transpose(1, 2) for layer in (self.q, self.k, self.v)]
        q, k = rotated(q, table), rotated(k, table)
        k, v = [y[:, :, None].expand(-1, -1, HEADS // KEYS, -1, -1).flatten(1, 2) for y in (k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).contiguous().view(batch, sequence, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(HIDDEN, FFN, bias=False), nn.Linear(HIDDEN, FFN, bias=False)
        self.down = nn.Linear(FFN, HIDDEN, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention, self.feed_norm, self.feed = Norm(), Attention(), Norm(), FeedForward()

    def forward(self, x, table):
        x = x + self.attention(self.attention_norm(x), table)
        return x + self.feed(self.feed_norm(x))


class Model(nn.Module):
    def __init__(self, layers, words, recompute):
        super().__init__()
        self.recompute = recompute
        self.tokens = nn.Embedding(words, HIDDEN)
        self.blocks = nn.ModuleList([Block() for _ in range(layers)])
        self.norm, self.output = Norm(), nn.Linear(HIDDEN, words, bias=False)

    def forward(self, ids):
        table = torch.ones(1, 1, ids.shape[1], WIDTH, dtype=torch.bfloat16)
        x = self.tokens(ids)
        for block in self.blocks:
            x = checkpoint(block, x, table, use_reentrant=False) if self.recompute else block(x, table)
        return self.output(self.norm(x))


def cut(model, mesh):
    parallelize_module(model, mesh, {
        "tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
    for block in model.blocks:
        parallelize_module(block, mesh, {
            "attention_norm": SequenceParallel(), "feed_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)),
            "feed": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            **{f"attention.{name}": ColwiseParallel() for name in "qkv"}, "feed.gate": ColwiseParallel(), "feed.up": ColwiseParallel(),
            "attention.o": RowwiseParallel(output_layouts=Shard(1)), "feed.down": RowwiseParallel(output_layouts=Shard(1))})


def loss_of(model, ids, labels):
    logits = model(ids)
    return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(0, 1))


def local(tensor):
    while True:
        if isinstance(tensor, DTensor):
            tensor = tensor._local_tensor
        elif hasattr(tensor, "elem"):
            tensor = tensor.elem
        else:
            return tensor


def saved_bytes(model, ids, labels):
    weights = {local(p).untyped_storage()._cdata for p in model.parameters()}
    seen = {}

    def pack(tensor):
        storage = local(tensor).untyped_storage()
        if storage._cdata not in weights:
            seen[storage._cdata] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss_of(model, ids, labels)
    return sum(storage.nbytes() for storage in seen.values())


class RankBytes(Living):
    """Of this rank's own tensors: not of what DTensor puts around them, nor of those without numbers of which it makes shapes."""

    def count(self, tensor):
        if not isinstance(tensor, (DTensor, FakeTensor)) and tensor.device.type == "cpu":
            super().count(local(tensor))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # it comes again with the rank's own
        return super().__torch_dispatch__(function, types, args, kwargs)


def peak_bytes(model, batch):
    def step():
        ids, labels = batch()
        loss_of(model, ids, labels).backward()
        model.zero_grad(set_to_none=True)

    weights = [local(parameter) for parameter in model.parameters()]
    living = RankBytes()
    living.peak_of(step, weights)
    return living.peak_of(step)[1] + sum(weight.untyped_storage().nbytes() for weight in weights)


def case(ranks, layers, words, size, sequence, way):
    torch._dynamo.reset()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    try:
        with loss_parallel() if ranks > 1 else contextlib.nullcontext():
            batch = lambda: (torch.zeros(size, sequence, dtype=torch.long), torch.zeros(size, sequence, dtype=torch.long))
            torch.set_default_dtype(torch.bfloat16)
            model = Model(layers, words, way == "full")
            if ranks > 1:
                cut(model, mesh)
            if way == "compiled":
                for index, block in enumerate(model.blocks):
                    model.blocks[index] = torch.compile(block, fullgraph=True)
            saved = saved_bytes(model, *batch()) if way != "full" else ""
            return saved, peak_bytes(model, batch) if way != "compiled" else ""
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["tensor_ranks", "layers", "words", "batch", "sequence", "way", "saved", "peak", "origin"])
    # With few words the peak lies within a block.
    for ranks, words, size, way in [(1, 16000, 2, "plain"), (2, 16000, 2, "plain"), (4, 16000, 2, "plain"), (4, 16000, 1, "plain"),
                                    (1, 16000, 2, "compiled"), (2, 16000, 2, "compiled"), (4, 16000, 2, "compiled"),
                                    (4, 16000, 2, "full"), (1, 512, 2, "full"), (2, 512, 2, "full"), (4, 512, 2, "full"), (4, 512, 1, "full")]:
        for layers in (2, 4):
            saved, peak = case(ranks, layers, words, size, 512, way)
            writer.writerow([ranks, layers, words, size, 512, way, saved, peak, f"torch {torch.__version__.split('+')[0]}"])
