"""Recording kernels of the common kinds, written out: by how many arguments there are, and which are operands.

Saved values are put into slots under names by position (`NodeType`), so that one function is for many classes.

Note [Inline caches]
Python remembers in a function's code which class an attribute was last looked up in. Each kernel is of one class of
nodes, and gets its own copy of the code: 20 ns less for each slot of a node where kernels of many operators run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from opwright.autograd.fields import NodeType
from opwright.autograd.nodes import next_sequence
from opwright.autograd.recording import Kernel, record
from opwright.autograd.saved import save, save_result
from opwright_core.arrays.dtypes import INEXACT
from opwright_core.keys import DENSE_CPU, GRAD
from opwright_core.tensors.tensor import Tensor

__all__ = ["Kept", "Make", "made_of_kind", "straight_recorder"]

_DENSE_GRAD: Final = DENSE_CPU | GRAD


class Kept(NamedTuple):
    """The things that nodes of a class keep: of each argument whether it is kept or saved, of the first two whether a
    fact is, and whether the result is saved. The fact is the shape; with `crossed`, of two operands that are saved for
    each other's gradients, it is the strides."""

    node: NodeType
    arguments: tuple[bool, ...]
    facts: tuple[bool, bool]
    result: bool
    crossed: bool


Make = Callable[[Kept, Kernel], Kernel]


def straight_recorder(kept: Kept, below: Kernel) -> Kernel | None:
    """Return the recording kernel of a functional call, None where it is of a rare kind."""
    return made_of_kind(_CROSSED if kept.crossed else _FUNCTIONAL, kept, below)


def made_of_kind(kinds: Mapping[tuple[int, tuple[int, ...]], Make], kept: Kept, below: Kernel) -> Kernel | None:
    """Return the recording kernel of a kind, which has its own copy of the code (Note [Inline caches])."""
    make = kinds.get((len(kept.arguments), kept.node.operands))
    if make is None:
        return None
    kernel: Any = make(kept, below)
    kernel.__code__ = kernel.__code__.replace()
    made: Kernel = kernel
    return made


def _unary(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first,), (keeps_shape, _), keeps_result, _ = kept

    def kernel(first: Tensor) -> Tensor:
        result: Tensor = below(first)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_first:
            node._kept0 = save(first)
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _of_first_of_two(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second), (keeps_shape, _), keeps_result, _ = kept

    def kernel(first: Tensor, second: Any) -> Tensor:
        result: Tensor = below(first, second)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_first:
            node._kept0 = save(first)
        if keeps_second:
            node._kept1 = second
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _of_first_of_three(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second, keeps_third), (keeps_shape, _), keeps_result, _ = kept

    def kernel(first: Tensor, second: Any, third: Any) -> Tensor:
        result: Tensor = below(first, second, third)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_first:
            node._kept0 = save(first)
        if keeps_second:
            node._kept1 = second
        if keeps_third:
            node._kept2 = third
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _of_first_of_four(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second, keeps_third, keeps_fourth), (keeps_shape, _), keeps_result, _ = kept

    def kernel(first: Tensor, second: Any, third: Any, fourth: Any) -> Tensor:
        result: Tensor = below(first, second, third, fourth)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_first:
            node._kept0 = save(first)
        if keeps_second:
            node._kept1 = second
        if keeps_third:
            node._kept2 = third
        if keeps_fourth:
            node._kept3 = fourth
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _of_first_of_five(kept: Kept, below: Kernel) -> Kernel:
    (
        node_type,
        (keeps_first, keeps_second, keeps_third, keeps_fourth, keeps_fifth),
        (keeps_shape, _),
        keeps_result,
        _,
    ) = kept

    def kernel(first: Tensor, second: Any, third: Any, fourth: Any, fifth: Any) -> Tensor:
        result: Tensor = below(first, second, third, fourth, fifth)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_first:
            node._kept0 = save(first)
        if keeps_second:
            node._kept1 = second
        if keeps_third:
            node._kept2 = third
        if keeps_fourth:
            node._kept3 = fourth
        if keeps_fifth:
            node._kept4 = fifth
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _binary(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second), _, keeps_result, _ = kept

    def kernel(first: Tensor, second: Tensor) -> Tensor:
        result: Tensor = below(first, second)
        node: Any = node_type()
        node.edges = (first.edge, second.edge)
        if keeps_first:
            node._kept0 = save(first)
        if keeps_second:
            node._kept1 = save(second)
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _binary_of_three(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second, keeps_third), _, keeps_result, _ = kept

    def kernel(first: Tensor, second: Tensor, third: Any) -> Tensor:
        result: Tensor = below(first, second, third)
        node: Any = node_type()
        node.edges = (first.edge, second.edge)
        if keeps_first:
            node._kept0 = save(first)
        if keeps_second:
            node._kept1 = save(second)
        if keeps_third:
            node._kept2 = third
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


def _crossed(kept: Kept, below: Kernel) -> Kernel:
    """Record products: each factor is saved if the gradient of the other is wanted."""
    node_type, _, (keeps_fact, keeps_other_fact), keeps_result, _ = kept

    def kernel(first: Tensor, second: Tensor) -> Tensor:
        result: Tensor = below(first, second)
        node: Any = node_type()
        node.edges = edge, other_edge = first.edge, second.edge
        node._kept0 = None if other_edge is None else save(first)
        node._kept1 = None if edge is None else save(second)
        if keeps_fact:
            node._fact0 = first.stride()
        if keeps_other_fact:
            node._fact1 = second.stride()
        array = result.array
        if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
            node.sequence = next_sequence()
            node.extra = None
            node.shape = array.shape
            node.dtype = dtype
            result.edge = node
            result.keys = _DENSE_GRAD
        else:
            record(result, node)
        if keeps_result:
            node._result0 = save_result(result)
        return result

    return kernel


# By how many arguments there are, and which of them are operands.
_FUNCTIONAL: Final[dict[tuple[int, tuple[int, ...]], Make]] = {
    (1, (0,)): _unary,
    (2, (0,)): _of_first_of_two,
    (3, (0,)): _of_first_of_three,
    (4, (0,)): _of_first_of_four,
    (5, (0,)): _of_first_of_five,
    (2, (0, 1)): _binary,
    (3, (0, 1)): _binary_of_three,
}
_CROSSED: Final[dict[tuple[int, tuple[int, ...]], Make]] = {(2, (0, 1)): _crossed}
