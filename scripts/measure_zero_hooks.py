"""Measures what ZeRO-3's hooks cost in Python: an OPT of tiny matrices on one CPU core, with the hooks and without them.

Run it where torch, transformers 4.26 and the DeepSpeed to be measured are installed, with that version's name:

    python3 scripts/measure_zero_hooks.py 0.8.1 >> data/measured/zero-hooks.csv

Streams, events and collectives are stand-ins that do nothing, so that only the hooks' own work is left; a device's calls are not in it.
"""

import contextlib
import math
import os
import sys
import time
import types

os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29511")

import torch

torch._six = types.SimpleNamespace(inf=math.inf, string_classes=(str,))  # left PyTorch before 2.0; DeepSpeed 0.8 asks for it
sys.modules.setdefault("torch._six", torch._six)

from deepspeed.accelerator import real_accelerator
from deepspeed.accelerator.abstract_accelerator import DeepSpeedAccelerator

LAYERS, HIDDEN, PASSES = 32, 64, 14


class Idle:
    """A stream or an event on which nothing happens."""

    def __init__(self, *_, **__):
        pass

    def query(self):
        return True

    def nothing(self, *_):
        pass

    record = synchronize = wait = wait_stream = nothing


def stand_in():
    """An accelerator whose device is the CPU."""
    told = {
        "device_name": "cpu", "current_device_name": "cpu", "communication_backend_name": "gloo", "device_count": 1,
        "current_device": 0, "device": torch.device("cpu"), "current_stream": Idle(), "default_stream": Idle(),
        "is_available": True, "is_fp16_supported": True, "is_bf16_supported": True, "total_memory": 1, "memory_allocated": 0,
        "max_memory_allocated": 0, "memory_cached": 0, "max_memory_cached": 0, "memory_reserved": 0, "max_memory_reserved": 0,
        "on_accelerator": False, "resolves_data_dependency": False,
    }
    body = {"__init__": lambda self: None}
    for name in DeepSpeedAccelerator.__abstractmethods__:
        body[name] = (lambda value: lambda self, *_, **__: value)(told.get(name))
    body.update(Stream=property(lambda self: Idle), Event=property(lambda self: Idle),
                FloatTensor=property(lambda self: torch.FloatTensor), HalfTensor=property(lambda self: torch.HalfTensor),
                BFloat16Tensor=property(lambda self: torch.BFloat16Tensor),
                stream=lambda self, _: contextlib.nullcontext(), pin_memory=lambda self, tensor, *_: tensor)
    return type("StandIn", (DeepSpeedAccelerator,), body)()


real_accelerator.ds_accelerator = stand_in()
torch.Tensor.record_stream = lambda self, _: None

import deepspeed
import deepspeed.runtime.zero.partition_parameters as partition
from deepspeed.runtime.zero.parameter_offload import DeepSpeedZeRoOffload
from transformers import OPTConfig, OPTForCausalLM

partition._dist_allgather_fn = lambda *_, **__: Idle()


def make(bias, affine):
    config = OPTConfig(hidden_size=HIDDEN, ffn_dim=4 * HIDDEN, num_attention_heads=4, num_hidden_layers=LAYERS,
                       word_embed_proj_dim=HIDDEN, vocab_size=785, torch_dtype=torch.float32, enable_bias=bias,
                       layer_norm_elementwise_affine=affine)
    return OPTForCausalLM(config).eval()


class Chain(torch.nn.Module):
    """Modules without parameters, and one beside them, since hooks want one."""

    def __init__(self):
        super().__init__()
        self.links = torch.nn.ModuleList(torch.nn.Identity() for _ in range(LAYERS))
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, token, **_):
        for link in self.links:
            token = link(token)
        return types.SimpleNamespace(past_key_values=None)


def step_times(model):
    """Microseconds of this thread for a step of one token, the least and the median; a step before them records the order."""
    token, mask = torch.ones(1, 1, dtype=torch.long), torch.ones(1, 2, dtype=torch.long)
    times = []
    with torch.no_grad():
        cached = model(token, use_cache=True).past_key_values
        for _ in range(PASSES):
            start = time.thread_time()
            model(token, past_key_values=cached, use_cache=True, attention_mask=mask)
            times.append((time.thread_time() - start) * 1e6)
    times.sort()
    return times[0], times[len(times) // 2]


def hook(model):
    square = HIDDEN * HIDDEN
    reach = 1e9 * square / 4096**2  # as many blocks as of a width of 4096
    conf = {"train_batch_size": 1, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu", "pin_memory": True}}}
    return DeepSpeedZeRoOffload(model, None, conf, overlap_comm=True, prefetch_bucket_size=square, max_reuse_distance=reach,
                                max_live_parameters=reach, param_persistence_threshold=0, offload_param_config=None)


def count_gathers(model):
    calls = [0]
    for parameter in model.parameters():
        inner = parameter.all_gather_coalesced

        def counted(*arguments, inner=inner, **named):
            calls[0] += 1
            return inner(*arguments, **named)

        parameter.all_gather_coalesced = counted
    return calls


def measure(version, net, model, modules, parameters):
    """A line of the table, by block: what the hooks add."""
    plain = step_times(model)
    hook(model)
    hooked = step_times(model)
    calls = count_gathers(model)
    step_times(model)
    gathers = calls[0] / (PASSES + 1) / LAYERS
    print(version, net, modules, parameters, f"{gathers:.2f}", *(f"{(h - p) / LAYERS:.0f}" for h, p in zip(hooked, plain)),
          sep=",", flush=True)


def main():
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    measure(sys.argv[1], "chain", Chain().eval(), 1, 0)
    for bias, affine in ((True, True), (True, False), (False, True), (False, False)):
        model = make(bias, affine)
        block = model.model.decoder.layers[0]
        measure(sys.argv[1], "opt", model, sum(1 for _ in block.modules()), sum(1 for _ in block.parameters()))


main()
