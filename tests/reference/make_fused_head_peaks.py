#!/usr/bin/env python3
"""What TRL's fused head and loss hold at their peaks, as tests/sim/stack/fused_head_test compares it.

TRL's own function runs on a CPU; its kernels, which write into what they are given, are left out, and so are the products that they
add into sums in fp32 (on a GPU neither makes a tensor). Bytes are above what hidden states and the head's weight take, forward and then
backward, where what forward kept is counted too.

    python3 tests/reference/make_fused_head_peaks.py > tests/reference/data/fused_head_peaks.csv
"""
import torch
import trl
from trl.kernels import chunked_logprob as fused

from living import Living

CASES = [(rows, hidden, words, hidden_type, weight_type) for rows, hidden, words in ((6144, 256, 50257), (1024, 512, 32000))
         for hidden_type, weight_type in (("bf16", "bf16"), ("fp32", "fp32"), ("bf16", "fp32"))]
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


def leave_kernels_out():
    class Nothing:
        def __getitem__(self, grid):
            return lambda *_, **__: None

    fused._forward_kernel = fused._backward_kernel = Nothing()
    fused._use_triton = lambda _: True
    fused._addmm_fp32 = lambda *_: None
    fused.triton = type("Triton", (), {"cdiv": staticmethod(lambda a, b: -(-a // b))})
    fused._BLOCK_SIZE = 1024


def peaks(rows, hidden, words, hidden_type, weight_type):
    states = torch.zeros(rows, hidden, dtype=TYPES[hidden_type], requires_grad=True)
    weight = torch.zeros(words, hidden, dtype=TYPES[weight_type], requires_grad=True)
    targets, living = torch.zeros(rows, dtype=torch.long), Living()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made, forward = living.peak_of(lambda: fused.ChunkedLogProbFunction.apply(states, weight, None, targets, 1.0, 32768, None, 1.0, ("entropy", "is_top1")),
                                       (states, weight, targets))
    kept = living.live - sum(t.untyped_storage().nbytes() for t in (states, weight, targets))
    gradient = torch.ones_like(made[0])
    _, backward = living.peak_of(lambda: torch.autograd.grad(made[0], (states, weight), gradient), (gradient,))
    return forward, kept + backward


if __name__ == "__main__":
    leave_kernels_out()
    print("rows,hidden,words,hidden_type,weight_type,forward_bytes,backward_bytes,trl,torch")
    for case in CASES:
        print(",".join(map(str, (*case, *peaks(*case), trl.__version__, torch.__version__))))
