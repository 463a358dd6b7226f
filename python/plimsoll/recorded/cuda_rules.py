"""Choices that PyTorch makes by asking the GPU; under fake tensors there is none to ask."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class FusedAttention(TorchFunctionMode):
    """scaled_dot_product_attention as a GPU from Ampere on takes it: flash in two-byte types without a mask, else the
    memory-efficient kernel."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention:
            return self._attend(*args, **kwargs)
        return func(*args, **kwargs)

    @staticmethod
    def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
                dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                enable_gqa: bool = False) -> torch.Tensor:
        if torch.is_autocast_enabled("cuda"):
            dtype = torch.get_autocast_dtype("cuda")
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        if enable_gqa and key.shape[1] != query.shape[1]:
            key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
            value = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
        if query.dtype.itemsize == 2 and attn_mask is None:
            return torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if attn_mask is not None:
            attn_mask = _bias(attn_mask, query, key)
        return torch.ops.aten._scaled_dot_product_efficient_attention(
            query, key, value, attn_mask, query.requires_grad, dropout_p, is_causal, scale=scale)[0]


def _bias(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask as the kernel adds it to the scores, for all heads."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
    return mask.to(query.dtype).expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


@contextlib.contextmanager
def autocast(dtype: torch.dtype | None) -> Iterator[None]:
    """torch.autocast("cuda", dtype) also where there is no GPU, which would disable it."""
    if dtype is None:
        yield
        return
    before = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", dtype)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled("cuda", before[0])
        torch.set_autocast_dtype("cuda", before[1])


@contextlib.contextmanager
def one_backward() -> Iterator[None]:
    """Checkpoints recompute once a backward pass, which they know by the engine's number of it; the walk has none."""
    real = torch._C._current_graph_task_id
    torch._C._current_graph_task_id = lambda: 0
    try:
        yield
    finally:
        torch._C._current_graph_task_id = real


@contextlib.contextmanager
def whole_sequences() -> Iterator[None]:
    """transformers looks in the positions for sequences packed into one row, and passes a mask where it cannot see them. The rows
    of a recorded batch are whole sequences."""
    masks: Any = sys.modules.get("transformers.masking_utils")
    real = getattr(masks, "find_packed_sequence_indices", None)
    if real is None:
        yield
        return
    masks.find_packed_sequence_indices = lambda *_, **__: None
    try:
        yield
    finally:
        masks.find_packed_sequence_indices = real
