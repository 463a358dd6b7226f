"""Applies a policy that `plimsoll export --to fsdp2` wrote to a PyTorch model.

    policy = load_policy("fsdp2.json")
    mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (policy["world_size"],))
    apply_policy(model, policy, mesh)

Call it before the optimizer is made: sharding replaces the parameters. Needs PyTorch 2.6 or newer.
"""
import contextlib
import json
import pathlib

import torch
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

VERSION = 1


def load_policy(path=None):
    """The policy in `path`; without one, the JSON file beside this script."""
    path = pathlib.Path(path) if path else pathlib.Path(__file__).with_suffix(".json")
    policy = json.loads(path.read_text())
    if policy.get("format_version") != VERSION:
        raise ValueError(f"{path}: format_version {policy.get('format_version')} is not {VERSION}")
    return policy


def _dtype(name):
    return None if name is None else getattr(torch, name)


def _mixed_precision(policy):
    types = policy["mp_policy"]
    return MixedPrecisionPolicy(
        param_dtype=_dtype(types["param_dtype"]),
        reduce_dtype=_dtype(types["reduce_dtype"]),
        output_dtype=_dtype(types["output_dtype"]),
        cast_forward_inputs=types["cast_forward_inputs"],
    )


def _offload(policy):
    offload = policy["offload_policy"]
    pin = offload["pin_memory"] and torch.cuda.is_available()
    return CPUOffloadPolicy(pin_memory=pin) if offload["cpu"] else OffloadPolicy()


def _checkpoint_block(block, settings):
    """The block's inputs are kept, perhaps in host memory, and the block runs again in the backward pass."""
    inner = block.forward
    pin = torch.cuda.is_available()

    def forward(*args, **kwargs):
        away = torch.autograd.graph.save_on_cpu(pin_memory=pin) if settings["on_cpu"] else contextlib.nullcontext()
        with away:
            return checkpoint(inner, *args, use_reentrant=False, preserve_rng_state=settings["preserve_rng_state"], **kwargs)

    block.forward = forward


def _prefetch(blocks, settings):
    for at, block in enumerate(blocks):
        ahead = blocks[at + 1 : at + 1 + settings["forward"]]
        behind = blocks[max(0, at - settings["backward"]) : at][::-1]
        if ahead:
            block.set_modules_to_forward_prefetch(ahead)
        if behind:
            block.set_modules_to_backward_prefetch(behind)


def apply_policy(model, policy, mesh):
    """Shards `model` over `mesh`, unit by unit, and returns it. A unit that the model lacks is a KeyError with its name."""
    modules = dict(model.named_modules())
    missing = [unit["fqn"] for unit in policy["units"] if unit["fqn"] not in modules]
    if missing:
        raise KeyError(f"the model has no module {missing[0]}: the policy is of another model")
    model.to(_dtype(policy["mp_policy"]["shard_dtype"]))
    shared = {"mesh": mesh, "mp_policy": _mixed_precision(policy), "offload_policy": _offload(policy)}
    blocks = [modules[unit["fqn"]] for unit in policy["units"]]
    for unit, block in zip(policy["units"], blocks):
        if unit["checkpoint"]:
            _checkpoint_block(block, policy["checkpoint"])
        fully_shard(block, reshard_after_forward=unit["reshard_after_forward"], **shared)
    fully_shard(model, reshard_after_forward=policy["root"]["reshard_after_forward"], **shared)
    _prefetch(blocks, policy["prefetch"])
    return model
