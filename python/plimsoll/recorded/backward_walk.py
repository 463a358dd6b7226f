"""Autograd's order without its engine, which asks for a device that need not be there."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable
from typing import Any

import torch


Leaf = Callable[[torch.Tensor, torch.Tensor], None]


class _Waiting:
    """A node that still waits for gradients."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.expected = 0
        self.gradients: list[torch.Tensor | None] = [None] * max(1, len(node._input_metadata))


def _is_leaf(node: Any) -> bool:
    return hasattr(node, "variable")


def _key(node: Any) -> Any:
    return ("leaf", id(node.variable)) if _is_leaf(node) else node._sequence_nr()


def _count(root: Any) -> dict[Any, _Waiting]:
    """All nodes below the root with the number of gradients that each will be given."""
    known = {_key(root): _Waiting(root)}
    stack = [root]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is None:
                continue
            key = _key(node)
            if key not in known:
                known[key] = _Waiting(node)
                stack.append(node)
            known[key].expected += 1
    return known


def _uses(tensor: torch.Tensor) -> int:
    return int(torch._C._storage_Use_Count(tensor.untyped_storage()._cdata))


_ALONE = 2  # of a storage: its tensor and the object that is asked; of a tensor: a name and the argument of the question


def _dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill a stretch of memory, in whatever order."""
    filled = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1 and stride != filled:
            return False
        filled *= size
    return True


def _add(gradients: list[torch.Tensor | None], output: int, new: torch.Tensor) -> None:
    """Another part of a gradient: in place where nobody else holds what is there, as autograd adds it."""
    old, gradients[output] = gradients[output], None
    if old is None:
        gradients[output] = new
    elif sys.getrefcount(old) <= _ALONE and _uses(old) <= _ALONE and _dense(old):
        gradients[output] = old.add_(new)
    else:
        gradients[output] = old + new


def _as_expected(gradient: torch.Tensor, node: Any, output: int) -> torch.Tensor:
    """In the shape and the type of what it is the gradient of: what was broadcast is summed."""
    expected = node._input_metadata[output]
    if gradient.shape != expected.shape:
        gradient = gradient.sum_to_size(expected.shape)
    return gradient if gradient.dtype == expected.dtype else gradient.to(expected.dtype)


def walk_backward(roots: list[torch.Tensor], leaf: Leaf, enter: Callable[[int], None]) -> None:
    """Runs the nodes below the one root, of those that are ready the one recorded last; each goes, with what it saved, when
    it has run. The root is taken out of its list: who holds it still would hold all that was saved.

    `leaf` gets each parameter with its whole gradient as soon as it is there, `enter` each node's number before it runs.
    """
    root = roots.pop()
    waiting = _count(root.grad_fn)
    top = _key(root.grad_fn)
    waiting[top].gradients[0] = torch.ones_like(root)
    del root
    ready: list[tuple[int, Any]] = [(-top, top)]
    with torch.no_grad():
        while ready:
            _, key = heapq.heappop(ready)
            enter(key)
            _run(waiting.pop(key), waiting, ready, leaf)


def _run(entry: _Waiting, waiting: dict[Any, _Waiting], ready: list[tuple[int, Any]], leaf: Leaf) -> None:
    edges = entry.node.next_functions
    results: Any = ()
    if any(gradient is not None for gradient in entry.gradients):
        gradients, entry.gradients = entry.gradients, []
        results = entry.node.apply(*gradients) if hasattr(entry.node, "apply") else entry.node(*gradients)
        del gradients
    entry.node = None
    parts = list(results) if isinstance(results, tuple) else [results]
    del results
    parts += [None] * (len(edges) - len(parts))
    for index, (node, output) in enumerate(edges):
        gradient, parts[index] = parts[index], None
        if node is None:
            continue
        below = waiting[_key(node)]
        if gradient is not None:
            _add(below.gradients, output, _as_expected(gradient, node, output))
        del gradient
        below.expected -= 1
        if below.expected == 0:
            _release(node, waiting, ready, leaf)


def _release(node: Any, waiting: dict[Any, _Waiting], ready: list[tuple[int, Any]], leaf: Leaf) -> None:
    key = _key(node)
    if not _is_leaf(node):
        heapq.heappush(ready, (-key, key))
        return
    gradient = waiting.pop(key).gradients.pop()
    if gradient is not None:
        leaf(node.variable, gradient)
