#!/usr/bin/env python3
"""What PyTorch's ring attention holds at its peak, forward and backward, as tests/sim/stack/ring_attention_test compares it.

The functions of torch.distributed's context_parallel run on a CPU over a process group that sends nothing; the kernel of a block is a
stand-in that makes what FlashAttention 2 makes (result and sums; gradients, and beside them sums of products and dq in fp32). Every
storage that an operation makes is counted while it lives. Bytes are above what queries, keys and values (and the gradient of the
result) take.

    python3 tests/reference/make_ring_peaks.py > tests/reference/data/ring_peaks.csv
"""
import os
import subprocess
import sys

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from living import Living

try:
    from torch.distributed.tensor.experimental._context_parallel import _attention as ring
except ImportError:
    from torch.distributed.tensor.experimental import _attention as ring

CASES = [(ranks, kv_heads, head_dim) for ranks in (2, 4, 8) for kv_heads, head_dim in ((8, 64), (2, 128))]
HEADS, TOKENS = 8, 1024


def forward_block(q, k, v, is_causal=False, **_):
    return torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32)


def backward_block(query, key, value, **_):
    delta = torch.empty(query.shape[:3], dtype=torch.float32)
    wide = torch.empty(query.shape, dtype=torch.float32)
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)


@torch.no_grad()
def peaks(ranks, kv_heads, head_dim):
    dist.init_process_group("fake", store=FakeStore(), rank=ranks - 1, world_size=ranks)
    q, k, v = (torch.zeros(1, TOKENS, heads, head_dim, dtype=torch.bfloat16).transpose(1, 2) for heads in (HEADS, kv_heads, kv_heads))
    living, group = Living(), dist.group.WORLD
    (out, sums), forward = living.peak_of(lambda: ring._templated_ring_attention(group, 2, forward_block, q, k, v, is_causal=True), (q, k, v))
    gradient = torch.zeros_like(out)
    _, backward = living.peak_of(lambda: ring._templated_ring_attention_backward(
        group, 2, backward_block, gradient, "grad_out", q, k, v, out, sums, True), (gradient,))
    return forward, backward


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(",".join(map(str, peaks(*map(int, sys.argv[1:])))))
        sys.exit()
    print("ranks,heads,kv_heads,head_dim,tokens,forward_bytes,backward_bytes,torch")
    for case in CASES:  # a process for each: a group is for a process's whole life
        found = subprocess.run([sys.executable, os.path.abspath(__file__), *map(str, case)], capture_output=True, text=True, check=True)
        ranks, kv_heads, head_dim = case
        print(f"{ranks},{HEADS},{kv_heads},{head_dim},{TOKENS},{found.stdout.strip()},{torch.__version__}")
