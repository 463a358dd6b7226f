"""One forward and backward pass of a module under fake tensors: no memory for its tensors, no arithmetic, no GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils.stateless import _reparametrize_module  # functional_call for as long as backward may recompute
from torch.utils._pytree import tree_map_only

from .backward_walk import walk_backward
from .cuda_rules import FusedAttention, autocast, one_backward, whole_sequences
from .kernels import dtype_name, tensors_in
from .step_recorder import StepRecorder

_AUTOCAST = {"bf16-mixed": torch.bfloat16, "fp16-mixed": torch.float16}
_OWN = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float64: "fp64"}

Loss = Callable[[Any], torch.Tensor]


def _fake(tensor: torch.Tensor) -> torch.Tensor:
    """The same tensor on a GPU that is not there."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
    return made.requires_grad_(tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made


def _loss_of(output: Any, loss: Loss | None) -> torch.Tensor:
    if loss is not None:
        return loss(output)
    if getattr(output, "loss", None) is not None:
        return output.loss
    if isinstance(output, dict) and output.get("loss") is not None:
        return output["loss"]
    if isinstance(output, torch.Tensor):
        return output if output.dim() == 0 else output.float().mean()
    raise ValueError("the model's output holds no loss: pass loss=, a function of the output that returns one number")


@contextmanager
def _places(model: torch.nn.Module, recorder: StepRecorder) -> Iterator[None]:
    """The recorder's place follows the modules by their names."""
    names = {module: name for name, module in model.named_modules()}
    stack: list[str] = []

    def enter(module: torch.nn.Module, _: Any) -> None:
        stack.append(recorder.place)
        recorder.depth += 1
        recorder.place = names.get(module, recorder.place)

    def leave(*_: Any) -> None:
        recorder.place = stack.pop()
        recorder.depth -= 1

    before = torch.nn.modules.module.register_module_forward_pre_hook(enter)
    after = torch.nn.modules.module.register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        before.remove()
        after.remove()


def precision_of(model: torch.nn.Module) -> str:
    """That of training in the type of the first parameter that is trained."""
    first = next((p for p in model.parameters() if p.requires_grad), None)
    if first is None:
        raise ValueError("no parameter of the model is trained: requires_grad is false of all")
    if first.dtype not in _OWN:
        raise ValueError(f"parameters in {first.dtype} are not trained by themselves: keep them in fp32 and pass precision=")
    return _OWN[first.dtype]


def record_step(model: torch.nn.Module, batch: Any, loss: Loss | None, precision: str) -> dict[str, Any]:
    """The step as docs/graph-format.md has it, without a name."""
    recorder = StepRecorder()
    with FakeTensorMode(allow_non_fake_inputs=True):
        weights = {name: _fake(value) for name, value in model.named_parameters()}
        buffers = {name: _fake(value) for name, value in model.named_buffers()}
        inputs = tree_map_only(torch.Tensor, _fake, batch)
        graph: dict[str, Any] = {"parameters": [
            {"name": name, "storage": recorder.number_of(value), "shape": list(value.shape), "dtype": dtype_name(value.dtype),
             "trained": value.requires_grad} for name, value in weights.items()]}
        graph["buffers"] = sorted({recorder.number_of(value) for value in buffers.values()})
        graph["inputs"] = sorted({recorder.number_of(value) for value in tensors_in(inputs)})
        state = {**weights, **buffers}
        with whole_sequences(), recorder, _places(model, recorder), _reparametrize_module(model, state, tie_weights=True):
            _record_passes(graph, recorder, model, state, inputs, loss, precision)
    return {**graph, "storages": recorder.storages, "ops": recorder.ops}


def _record_passes(graph: dict[str, Any], recorder: StepRecorder, model: torch.nn.Module, state: dict[str, torch.Tensor],
                   inputs: Any, loss: Loss | None, precision: str) -> None:
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs if isinstance(inputs, tuple) else (inputs,), {})
    held = recorder.alive()
    del inputs
    with FusedAttention(), autocast(_AUTOCAST.get(precision)):
        root = _loss_of(model(*args, **kwargs), loss)
    if root.numel() != 1 or root.grad_fn is None:
        raise ValueError("the loss must be one number that depends on trained parameters")
    graph["loss"] = recorder.number_of(root)
    saved = recorder.alive() - held - {graph["loss"]}
    graph["saved_bytes"] = sum(recorder.storages[number] for number in saved)
    names = {id(tensor): name for name, tensor in state.items()}
    gradients: dict[str, torch.Tensor] = {}

    def leaf(parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        name = names[id(parameter)]
        own = gradient.stride() == parameter.stride() and gradient.dtype == parameter.dtype
        gradients[name] = gradient if own else torch.empty_like(parameter).copy_(gradient)
        recorder.note_gradient(name, gradients[name])

    def enter(node: int) -> None:
        recorder.note_deaths()
        recorder.place = recorder.place_of_node.get(node, recorder.place)

    recorder.phase = "backward"
    with one_backward(), FusedAttention():
        value, roots = root.detach(), [root]
        del root
        walk_backward(roots, leaf, enter)
    del value  # which a training loop holds
    recorder.note_deaths()
