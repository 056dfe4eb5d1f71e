"""Wrappers written by hand, in the style that will be generated: what the tests of the engine record with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import opwright
from opwright.autograd.nodes import MultipleOutputs, Node, next_sequence
from opwright.autograd.recording import (
    check_inplace,
    check_writable,
    edges_of,
    increment_version,
    mark_view,
    rebase_history,
    record,
    record_several,
)
from opwright.autograd.saved import save, save_result, unpack
from opwright.registering.kernels import register
from opwright_core.dispatch.registry.kernel_kinds import Wrapper
from opwright_core.keys import GRAD
from opwright_core.tensors.tensor import Tensor

Kernel = Callable[..., Any]


class AddBackward0(Node):
    __slots__ = ("alpha",)
    alpha: Any

    def apply(self, grad: Any) -> Sequence[Any]:
        first, second = self.edges
        alpha = self.alpha
        return (
            None if first is None else grad,
            None if second is None else grad if alpha == 1 else grad * alpha,
        )


def add(below: Kernel) -> Kernel:
    """Straight-line, as the fast path will be: what the benchmark measures."""

    def kernel(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
        result: Tensor = below(self, other, alpha)
        node = AddBackward0()
        node.edges = (self.edge, other.edge)
        node.sequence = next_sequence()
        node.extra = None
        array = result.array
        node.shape = array.shape
        node.dtype = array.dtype
        node.alpha = alpha
        result.edge = node
        result.keys |= GRAD
        return result

    return kernel


class MulBackward0(Node):
    __slots__ = ("other", "self")
    saved = ("self", "other")

    def apply(self, grad: Any) -> Sequence[Any]:
        first, second = self.edges
        return (
            None if first is None else grad * unpack(self.other, self),
            None if second is None else grad * unpack(self.self, self),
        )


def _mul_node(self: Tensor, other: Tensor) -> MulBackward0:
    node = MulBackward0()
    node.edges = edges_of((self, other))
    node.self = save(self) if other.edge is not None else None
    node.other = save(other) if self.edge is not None else None
    return node


def mul(below: Kernel) -> Kernel:
    def kernel(self: Tensor, other: Tensor) -> Tensor:
        node = _mul_node(self, other)
        return record(below(self, other), node)

    return kernel


class ExpBackward0(Node):
    __slots__ = ("result",)
    saved = ("result",)

    def apply(self, grad: Any) -> Sequence[Any]:
        return (grad * unpack(self.result, self),)


def exp(below: Kernel) -> Kernel:
    def kernel(self: Tensor) -> Tensor:
        node = ExpBackward0()
        node.edges = edges_of((self,))
        result = record(below(self), node)
        node.result = save_result(result)
        return result

    return kernel


class Unary(Node):
    """A node whose gradient is a function of the gradient alone."""

    __slots__ = ("backward",)
    backward: Callable[[Any], Any]

    def apply(self, grad: Any) -> Sequence[Any]:
        return (self.backward(grad),)


class AddBackward1(Unary):
    __slots__ = ()


class MulBackward1(Unary):
    __slots__ = ()


class SumBackward0(Unary):
    __slots__ = ()


class CloneBackward0(Unary):
    __slots__ = ()


class TBackward0(Unary):
    __slots__ = ()


class SelectBackward0(Unary):
    __slots__ = ()


class ViewBackward0(Unary):
    __slots__ = ()


class ExpandBackward0(Unary):
    __slots__ = ()


def unary(kind: type[Unary], backward_of: Callable[..., Callable[[Any], Any]]) -> Any:
    def make(below: Kernel) -> Kernel:
        def kernel(self: Tensor, *args: Any) -> Tensor:
            node = kind()
            node.edges = edges_of((self,))
            node.backward = backward_of(self, *args)
            return record(below(self, *args), node)

        return kernel

    return make


def sum_backward(self: Tensor, *args: Any) -> Callable[[Any], Any]:
    shape = list(self.shape)
    return lambda grad: grad.expand(shape)


def expand_backward(self: Tensor, *args: Any) -> Callable[[Any], Any]:
    shape = list(self.shape)
    return lambda grad: grad.sum_to_size(shape)


def select_backward(self: Tensor, dim: int, index: int) -> Callable[[Any], Any]:
    shape = list(self.shape)
    return lambda grad: opwright.ops.aten.select_scatter(grad.new_zeros(shape), grad, dim, index)


def sum_dims_backward(self: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Callable[[Any], Any]:
    shape = list(self.shape)
    dims = sorted(each % len(shape) for each in dim) if dim and shape else range(len(shape))

    def backward(grad: Any) -> Any:
        for each in () if keepdim else dims:
            grad = grad.unsqueeze(each)
        return grad.expand(shape)

    return backward


def like_self(self: Tensor, *args: Any) -> Callable[[Any], Any]:
    """Of operators that only take elements another way: view, unsqueeze."""
    shape = list(self.shape)
    return lambda grad: grad.reshape(shape)


def select_scatter(below: Kernel) -> Kernel:
    def kernel(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
        node = SelectBackward0()
        node.edges = edges_of((src,))  # the tests scatter into zeros alone
        node.backward = lambda grad: grad.select(dim, index)
        return record(below(self, src, dim, index), node)

    return kernel


class UnbindBackward0(MultipleOutputs):
    __slots__ = ("dim",)
    takes_undefined = False

    def apply(self, *grads: Any) -> Sequence[Any]:
        shape, dtype, _ = self.output(0)
        whole = [opwright.zeros(shape, dtype=dtype) if grad is None else grad for grad in grads]
        return (opwright.stack(whole, self.dim),)


def unbind(below: Kernel) -> Kernel:
    def kernel(self: Tensor, dim: int) -> Any:
        node = UnbindBackward0()
        node.edges = edges_of((self,))
        node.dim = dim
        results = below(self, dim)
        record_several(results, node)
        return results

    return kernel


def add_(below: Kernel) -> Kernel:
    def kernel(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
        check_inplace(self)
        node = AddBackward0()
        node.alpha = alpha
        node.edges = edges_of((self, other))
        return rebase_history(below(self, other, alpha), node)

    return kernel


def mul_(below: Kernel) -> Kernel:
    def kernel(self: Tensor, other: Tensor) -> Tensor:
        check_inplace(self)
        node = _mul_node(self, other)
        if other.edge is not None and self is not other:
            with opwright.no_grad():
                node.self = save(self.clone())
        return rebase_history(below(self, other), node)

    return kernel


def exp_(below: Kernel) -> Kernel:
    def kernel(self: Tensor) -> Tensor:
        check_inplace(self)
        node = ExpBackward0()
        node.edges = edges_of((self,))
        result = rebase_history(below(self), node)
        node.result = save_result(result)
        return result

    return kernel


def writing(below: Kernel) -> Kernel:
    """ADInplaceOrView, of operators that write their first argument."""

    def kernel(self: Tensor, *args: Any) -> Tensor:
        check_writable(self)
        result: Tensor = below(self, *args)
        increment_version(self)
        return result

    return kernel


def viewing(below: Kernel) -> Kernel:
    """ADInplaceOrView, of operators that return a view."""

    def kernel(*args: Any) -> Tensor:
        return mark_view(below(*args))

    return kernel


def viewing_several(below: Kernel) -> Kernel:
    def kernel(*args: Any) -> Any:
        return [mark_view(each, "several") for each in below(*args)]

    return kernel


AUTOGRAD = {
    "add.Scalar": unary(AddBackward1, lambda self, other, alpha: lambda grad: grad),
    "mul.Scalar": unary(MulBackward1, lambda self, other: lambda grad: grad * other),
    "add.Tensor": add,
    "mul.Tensor": mul,
    "exp": exp,
    "sum": unary(SumBackward0, sum_backward),
    "sum.dim_IntList": unary(SumBackward0, sum_dims_backward),
    "view": unary(ViewBackward0, like_self),
    "unsqueeze": unary(ViewBackward0, like_self),
    "select_scatter": select_scatter,
    "clone": unary(CloneBackward0, lambda self, *args: lambda grad: grad),
    "t": unary(TBackward0, lambda self: lambda grad: grad.t()),
    "select.int": unary(SelectBackward0, select_backward),
    "expand": unary(ExpandBackward0, expand_backward),
    "unbind.int": unbind,
    "add_.Tensor": add_,
    "mul_.Tensor": mul_,
    "exp_": exp_,
}
INPLACE_OR_VIEW = {
    "t": viewing,
    "view": viewing,
    "unsqueeze": viewing,
    "select.int": viewing,
    "expand": viewing,
    "unbind.int": viewing_several,
    "add_.Tensor": writing,
    "mul_.Tensor": writing,
    "exp_": writing,
    "copy_": writing,
}


@contextmanager
def installed() -> Iterator[None]:
    """Record these operators, as generated wrappers would."""
    handles = [register(f"aten::{name}", "Autograd", Wrapper(make, True)) for name, make in AUTOGRAD.items()]
    handles += [
        register(f"aten::{name}", "ADInplaceOrView", Wrapper(make, True)) for name, make in INPLACE_OR_VIEW.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@pytest.fixture(autouse=True, scope="module")
def recorded() -> Iterator[None]:
    """For the tests of a module that imports this."""
    with installed():
        yield
