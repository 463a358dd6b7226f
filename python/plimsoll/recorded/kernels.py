"""What a launch of an aten operation costs, in the words of docs/graph-format.md."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

_DTYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float64: "fp64"}

_EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_local_scalar_dense", "lift_fresh"}


def dtype_name(dtype: torch.dtype) -> str:
    """The name of a type in the graph: "fp32" …; integers and masks by their size, "8 bytes" as "index", 1 byte as "uint8"."""
    if dtype in _DTYPES:
        return _DTYPES[dtype]
    return "index" if dtype.itemsize > 1 else "uint8"


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors in arguments or results, in their order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()))
    return []


def _traffic(tensors: list[torch.Tensor]) -> int:
    """Bytes that a kernel reads or writes of them; what is broadcast counts once."""
    total = 0
    for tensor in tensors:
        elements = 1
        for size, stride in zip(tensor.shape, tensor.stride()):
            elements *= size if stride != 0 else 1
        total += elements * tensor.element_size()
    return total


def _product(name: str, args: tuple[Any, ...]) -> dict[str, Any] | None:
    """Batches of matrices [m, k] · [k, n]."""
    factors = {"mm": args[:2], "bmm": args[:2], "addmm": args[1:3], "baddbmm": args[1:3], "_addmm_activation": args[1:3]}
    operands = factors.get(name)
    if operands is None:
        return None
    a, b = operands
    batch = a.shape[0] if a.dim() == 3 else 1
    return {"sort": "product", "batch": batch, "m": a.shape[-2], "k": a.shape[-1], "n": b.shape[-1], "dtype": dtype_name(a.dtype)}


def _convolutions(name: str, args: tuple[Any, ...], out: Any) -> list[dict[str, Any]] | None:
    """Forward one, backward one for each gradient that is asked for; all of a size, as their arithmetic is."""
    if name == "convolution":
        x, weight, times, made = args[0], args[1], 1, out
    elif name == "convolution_backward":
        made, x, weight = args[:3]
        times = sum(args[-1][:2])
    else:
        return None
    window = weight[0].numel()
    outputs = made.numel() // made.shape[1]
    kernel = {"sort": "convolution", "batch": 1, "m": outputs, "n": made.shape[1], "k": window, "dtype": dtype_name(x.dtype)}
    kernel["flops"] = 2.0 * outputs * made.shape[1] * window
    kernel["bytes"] = float(_traffic([x, weight, made]))
    return [dict(kernel) for _ in range(times)]


def _attention(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Fused attention over heads: m queries on n keys of k elements."""
    name = func._overloadpacket.__name__
    if not name.startswith("_scaled_dot_product"):
        return None
    given = {**dict(zip([argument.name for argument in func._schema.arguments], args)), **kwargs}
    q, k = given["query"], given["key"]
    return {"sort": "attention", "batch": q.shape[0] * q.shape[1], "m": q.shape[2], "n": k.shape[2], "k": q.shape[3],
            "causal": bool(given.get("is_causal", False)), "backward": name.endswith("_backward"), "dtype": dtype_name(q.dtype)}


def kernels_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, makes: bool) -> list[dict[str, Any]]:
    """The launches of one call; none for views and for memory that nothing is written into.

    `makes`: whether the call makes memory. FLOPs are those of torch.utils.flop_counter (two a multiplication with its
    addition), bytes those of operands and results, each once.
    """
    name = func._overloadpacket.__name__
    if name in _EMPTY or (not makes and not func._schema.is_mutable):
        return []
    reads, writes = tensors_in(args) + tensors_in(kwargs), tensors_in(out)
    convolutions = _convolutions(name, args, out)
    if convolutions is not None:
        return convolutions
    kernel = _product(name, args) or _attention(func, args, kwargs)
    if kernel is None:
        kernel = {"sort": "stream", "dtype": dtype_name((writes or reads or [torch.empty(0)])[0].dtype)}
    count = flop_registry.get(func._overloadpacket)
    kernel["flops"] = float(count(*args, **kwargs, out_val=out)) if count else 0.0
    if kernel.get("causal"):
        kernel["flops"] *= 0.5  # the counter counts the scores that the mask hides
    kernel["bytes"] = float(_traffic(reads) + _traffic(writes))
    return [kernel]
