"""Measures what FSDP's hooks cost in Python where every adapter's matrix is a unit: blocks of tiny layers on one CPU core, with and without.

Run it where torch 2.2 is installed:

    python3 scripts/measure_fsdp_hooks.py >> data/measured/fsdp-hooks.csv

Streams, events and collectives are stand-ins that do nothing, so that only the hooks' own work is left; a device's calls are not in it. Blocks
are checkpointed (reentrant), so a unit is visited forward, again and backward.
"""

import contextlib
import functools
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as checkpoints
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import _or_policy, lambda_auto_wrap_policy, transformer_auto_wrap_policy
from torch.testing._internal.distributed.fake_pg import FakeStore

HIDDEN, RANK, WARM_UP, STEPS = 16, 4, 3, 14


class Idle:
    """A stream or an event on which nothing happens."""

    def __init__(self, *_, **__):
        pass

    def nothing(self, *_):
        return None

    record = synchronize = wait = wait_stream = wait_event = nothing


class Adapted(nn.Module):
    """A frozen matrix with an adapter beside it."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(HIDDEN, HIDDEN, bias=False).requires_grad_(False)
        self.down = nn.Linear(HIDDEN, RANK, bias=False)
        self.up = nn.Linear(RANK, HIDDEN, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Block(nn.Sequential):
    pass


class Net(nn.Module):
    def __init__(self, blocks, matrices):
        super().__init__()
        self.first = nn.Linear(HIDDEN, HIDDEN, bias=False).requires_grad_(False)
        self.blocks = nn.Sequential(*(Block(*(Adapted() for _ in range(matrices))) for _ in range(blocks)))

    def forward(self, x):
        return self.blocks(self.first(x).requires_grad_())


def stand_in():
    """CPUs are a device whose streams do nothing, and two ranks of whom one is there."""
    torch.cpu.Event = torch.cpu.Stream = Idle
    torch.cpu.current_stream = functools.partial(lambda idle, *_: idle, Idle())
    torch.cpu.stream = lambda _: contextlib.nullcontext()
    torch.cpu.current_device = lambda: torch.device("cpu")
    torch.Tensor.record_stream = lambda *_: None
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())


def is_adapter(module):
    return not list(module.children()) and getattr(module, "weight", None) is not None and module.weight.requires_grad


def shared_out(net):
    policies = [functools.partial(lambda_auto_wrap_policy, lambda_fn=is_adapter),
                functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})]
    return FullyShardedDataParallel(net, auto_wrap_policy=functools.partial(_or_policy, policies=policies), device_id=torch.device("cpu"))


def seconds(net):
    """Of each step after the first few, forward and backward."""
    wrapper = functools.partial(checkpoints.checkpoint_wrapper, checkpoint_impl=checkpoints.CheckpointImpl.REENTRANT)
    checkpoints.apply_activation_checkpointing(net, checkpoint_wrapper_fn=wrapper, check_fn=lambda module: isinstance(module, Block))
    taken = []
    for _ in range(WARM_UP + STEPS):
        start = time.perf_counter()
        net(torch.randn(1, HIDDEN)).sum().backward()
        taken.append(time.perf_counter() - start)
    return taken[WARM_UP:]


def main():
    stand_in()
    for blocks, matrices in ((4, 7), (8, 7), (8, 4), (8, 2)):
        plain, hooked = seconds(Net(blocks, matrices)), seconds(shared_out(Net(blocks, matrices)))
        units = blocks * (2 * matrices + 1) + 1
        each = [1e6 * (of(hooked) - of(plain)) / units for of in (min, statistics.median)]
        print(f"{torch.__version__},{blocks},{matrices},{units},{each[0]:.0f},{each[1]:.0f}", flush=True)


main()
