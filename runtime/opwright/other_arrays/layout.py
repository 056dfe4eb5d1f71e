"""Where tensors of PyTorch keep what tells plain memory, found by looking at some of them.

A tensor is plain memory if it has the dispatch keys of one and nothing of autograd. PyTorch's own questions for that
(`requires_grad`, `is_neg`) take longer than a kernel on a few elements. So the compiled core reads the two words, where
they could be found: tensors of which each kind is known have to agree on one place. With a PyTorch that lays its tensors
out otherwise there is none, and its questions are asked.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["layout_of_pytorch"]

_WORD = 8
_OBJECT_WORDS, _IMPLEMENTATION_WORDS = 6, 23  # that are read: no more than a tensor has


@functools.cache
def layout_of_pytorch() -> tuple[int, int, int, int] | None:
    """Return where an object points to its implementation, where that has its keys and what autograd adds, in bytes; and
    the keys of plain memory. None where they are not found, each at one place."""
    torch = sys.modules["torch"]
    if sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != _WORD:
        return None
    with torch.inference_mode(False), torch.no_grad():
        plain, others, recorded = _plain(torch), _others(torch), _recorded(torch)
    every = [*plain, *others, *recorded]
    inside = {id(tensor): _words(tensor._cdata, _IMPLEMENTATION_WORDS) for tensor in every}
    keys = {id(tensor): torch._C._dispatch_keys(tensor).raw_repr() for tensor in every}
    own = {keys[id(tensor)] for tensor in plain}
    if len(own) != 1 or own.intersection(keys[id(tensor)] for tensor in others):
        return None
    of_object = _places(
        _OBJECT_WORDS, lambda at: all(_words(id(tensor), _OBJECT_WORDS)[at] == tensor._cdata for tensor in every)
    )
    of_keys = _places(_IMPLEMENTATION_WORDS, lambda at: all(words[at] == keys[at_id] for at_id, words in inside.items()))
    of_autograd = _places(
        _IMPLEMENTATION_WORDS,
        lambda at: (
            not any(inside[id(tensor)][at] for tensor in plain) and all(inside[id(tensor)][at] for tensor in recorded)
        ),
    )
    found = (of_object, of_keys, of_autograd)
    if any(len(places) != 1 for places in found):
        return None
    first, second, third = (places[0] * _WORD for places in found)
    return first, second, third, own.pop()


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _places(count: int, is_there: Any) -> list[int]:
    return [at for at in range(count) if is_there(at)]


def _plain(torch: Any) -> list[Any]:
    """Return tensors that are plain memory, of several dtypes, shapes and origins."""
    first, kinds = torch.ones(3), (torch.int64, torch.bool, torch.bfloat16, torch.complex64)
    return [first, *(torch.zeros(2, 3, dtype=kind) for kind in kinds), torch.from_numpy(first.numpy()), first + 1, torch.ones(())]


def _others(torch: Any) -> Iterable[Any]:
    """Return tensors of other keys."""
    numbers = torch.ones(3, dtype=torch.complex64)
    with torch.inference_mode():
        inference = torch.ones(3)
    return [numbers.conj(), numbers.conj().imag, torch.ones(3, device="meta"), torch.ones(3).to_sparse(), inference]


def _recorded(torch: Any) -> list[Any]:
    """Return tensors that require grad, and one with a tangent."""
    forward = torch.autograd.forward_ad
    with torch.enable_grad():
        leaf = torch.ones(3, requires_grad=True)
        made = [leaf, leaf * 2, leaf[1:], torch.zeros(2).requires_grad_(), torch.nn.Parameter(torch.ones(2))]
    with forward.dual_level():
        dual = forward.make_dual(torch.ones(3), torch.ones(3))
        return [*made, dual]
