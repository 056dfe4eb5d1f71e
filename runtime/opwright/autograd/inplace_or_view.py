"""Kernels at ADInplaceOrView of generated operators, by the alias annotations of their schemas.

Note [ADInplaceOrView kernels]
What is written is asked for beforehand (`check_writable`), and its version counts afterwards; of in-place operators,
which may be small calls, without a function call: the keys of a plain tensor on the CPU, or two of their bits, say that
there is nothing to ask. What an operator writes beside its results, as running statistics are, does not count, as in
PyTorch: a network may run twice before a backward pass. A view notes in what mode it was made: where no mode is on
there is nothing to note, and `compose` leaves the kernel out of the chain. One of several views says so. Composites
have no such kernel: what they call does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd.recording import check_writable, increment_version
from opwright.autograd.regenerating import mark_view, mark_views
from opwright_core.arrays.storage import storage_of
from opwright_core.core import fast
from opwright_core.keys import ADINPLACEORVIEW, DENSE_CPU, WRITE_BITS
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["inplace_or_view"]

Kernel = Callable[..., Any]
_RESIZING: Final = ("resize_", "resize_as_")  # of the size that it has, they write nothing


def inplace_or_view(operator: Operator, below: Kernel) -> Kernel:
    """Return the kernel of an operator that writes to arguments or returns views of them."""
    signature = operator.signature
    if not signature.written:
        return _viewing(signature, below)
    is_resizing = operator.base in _RESIZING
    if signature.written == {0} and signature.aliases == (0,) and operator.base.endswith("_") and not is_resizing:
        kernel = _INPLACE.get(len(signature.names), _inplace)(below)
        return kernel if fast is None else fast.VersionBump(kernel, below)
    return _resizing(below) if is_resizing else _writing(signature, below)


def _inplace(below: Kernel) -> Kernel:
    def kernel(self: Tensor, *others: Any) -> Tensor:
        if self.keys != DENSE_CPU and self.keys & WRITE_BITS != ADINPLACEORVIEW:
            check_writable(self)
        below(self, *others)
        extra = self.extra
        if extra is None or (storage := extra.storage) is None:
            storage = storage_of(self)
        storage.version += 1
        return self

    return kernel


def _inplace_unary(below: Kernel) -> Kernel:
    def kernel(self: Tensor) -> Tensor:
        if self.keys != DENSE_CPU and self.keys & WRITE_BITS != ADINPLACEORVIEW:
            check_writable(self)
        below(self)
        extra = self.extra
        if extra is None or (storage := extra.storage) is None:
            storage = storage_of(self)
        storage.version += 1
        return self

    return kernel


def _inplace_binary(below: Kernel) -> Kernel:
    def kernel(self: Tensor, other: Any) -> Tensor:
        if self.keys != DENSE_CPU and self.keys & WRITE_BITS != ADINPLACEORVIEW:
            check_writable(self)
        below(self, other)
        extra = self.extra
        if extra is None or (storage := extra.storage) is None:
            storage = storage_of(self)
        storage.version += 1
        return self

    return kernel


def _inplace_ternary(below: Kernel) -> Kernel:
    def kernel(self: Tensor, second: Any, third: Any) -> Tensor:
        if self.keys != DENSE_CPU and self.keys & WRITE_BITS != ADINPLACEORVIEW:
            check_writable(self)
        below(self, second, third)
        extra = self.extra
        if extra is None or (storage := extra.storage) is None:
            storage = storage_of(self)
        storage.version += 1
        return self

    return kernel


def _inplace_quaternary(below: Kernel) -> Kernel:
    def kernel(self: Tensor, second: Any, third: Any, fourth: Any) -> Tensor:
        if self.keys != DENSE_CPU and self.keys & WRITE_BITS != ADINPLACEORVIEW:
            check_writable(self)
        below(self, second, third, fourth)
        extra = self.extra
        if extra is None or (storage := extra.storage) is None:
            storage = storage_of(self)
        storage.version += 1
        return self

    return kernel


def _out_of_one(below: Kernel) -> Kernel:
    def kernel(self: Any, out: Tensor) -> Tensor:
        check_writable(out)
        below(self, out)
        increment_version(out)
        return out

    return kernel


def _out_of_two(below: Kernel) -> Kernel:
    def kernel(first: Any, second: Any, out: Tensor) -> Tensor:
        check_writable(out)
        below(first, second, out)
        increment_version(out)
        return out

    return kernel


def _out_of_three(below: Kernel) -> Kernel:
    def kernel(first: Any, second: Any, third: Any, out: Tensor) -> Tensor:
        check_writable(out)
        below(first, second, third, out)
        increment_version(out)
        return out

    return kernel


# By how many arguments there are: to pass on those of `*args` takes 30 to 100 ns.
_INPLACE: Final = {1: _inplace_unary, 2: _inplace_binary, 3: _inplace_ternary, 4: _inplace_quaternary}
_OUT: Final = {2: _out_of_one, 3: _out_of_two, 4: _out_of_three}


def _resizing(below: Kernel) -> Kernel:
    def kernel(self: Tensor, *others: Any) -> Tensor:
        check_writable(self)
        shape = self.shape
        below(self, *others)
        if self.shape != shape:
            increment_version(self)
        return self

    return kernel


def _writing(signature: Signature, below: Kernel) -> Kernel:
    """Return the kernel of an operator that writes to several arguments, to a list or to `out`."""
    written = sorted(signature.written)
    counted = [position for position in written if _counts(signature, position)]
    if written == counted and len(written) == 1 and signature.types[written[0]] == "Tensor":
        (position,) = written
        is_returned, is_last = signature.aliases == (position,), position == len(signature.names) - 1
        if is_returned and is_last and len(signature.names) in _OUT:
            return _OUT[len(signature.names)](below)
        return _writing_one(below, position, is_returned)

    def kernel(*args: Any) -> Any:
        for position in written:
            _each(check_writable, args[position])
        result = below(*args)
        for position in counted:
            _each(increment_version, args[position])
        return result

    return kernel


def _each(function: Callable[[Tensor], None], value: Any) -> None:
    """Call the function with a tensor, or with those that are in a list."""
    if isinstance(value, Tensor):
        function(value)
    elif value is not None:
        for each in value:
            if each is not None:
                function(each)


def _writing_one(below: Kernel, position: int, is_returned: bool) -> Kernel:
    def kernel(*args: Any) -> Any:
        target = args[position]
        check_writable(target)
        result = below(*args)
        increment_version(target)
        return target if is_returned else result

    return kernel


def _counts(signature: Signature, position: int) -> bool:
    """Whether a written argument counts: of ATen's operators `self` and `out=`, and all of them where nothing is
    returned, so that running means are none; of others each does, as by PyTorch's kernels for custom operators."""
    if signature.operator.namespace != "aten" or not signature.returns:
        return True
    return position >= signature.positional or signature.names[position] == "self"


def _viewing(signature: Signature, below: Kernel) -> Kernel:
    """Return the kernel of an operator that returns views."""
    if len(signature.returns) > 1:
        return _viewing_several(below, [position for position, of in enumerate(signature.aliases) if of is not None])
    mark: Callable[[Any], Any] = mark_views if "[" in signature.returns[0] else mark_view

    def kernel(*args: Any) -> Any:
        return mark(below(*args))

    return kernel


def _viewing_several(below: Kernel, positions: Sequence[int]) -> Kernel:
    def kernel(*args: Any) -> Any:
        result = below(*args)
        for position in positions:
            mark_views(result[position] if isinstance(result[position], list) else [result[position]])
        return result

    return kernel
