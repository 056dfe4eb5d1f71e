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
from opwright_core.arrays.storage import storage_of as storage_of
from opwright_core.core import fast
from opwright_core.keys import ADINPLACEORVIEW as ADINPLACEORVIEW
from opwright_core.keys import DENSE_CPU as DENSE_CPU
from opwright_core.keys import WRITE_BITS as WRITE_BITS
from opwright_core.tensors.tensor import Tensor
from opwright_core.unrolling import Definition

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["inplace_or_view"]

Kernel = Callable[..., Any]
# Of in-place operators, and of those that write to the argument w: it is returned if S is set.
_INPLACE: Final = Definition(
    """\
def kernel({*: x#, }):
    if x0.keys != DENSE_CPU and x0.keys & WRITE_BITS != ADINPLACEORVIEW:
        check_writable(x0)
    below({*: x#, })
    extra = x0.extra
    if extra is None or (storage := extra.storage) is None:
        storage = storage_of(x0)
    storage.version += 1
    return x0
""",
    globals(),
)
_WRITING: Final = Definition(
    """\
def kernel({*: x#, }):
    check_writable({w: x#})
    result = below({*: x#, })
    increment_version({w: x#})
    return {S: {w: x#}}{N: result}
""",
    globals(),
)
_RESIZING: Final = ("resize_", "resize_as_")  # of the size that it has, they write nothing


def inplace_or_view(operator: Operator, below: Kernel) -> Kernel:
    """Return the kernel of an operator that writes to arguments or returns views of them."""
    signature = operator.signature
    if not signature.written:
        return _viewing(signature, below)
    is_resizing = operator.base in _RESIZING
    if signature.written == {0} and signature.aliases == (0,) and operator.base.endswith("_") and not is_resizing:
        kernel = _INPLACE.make([""] * len(signature.names), below=below)
        return kernel if fast is None else fast.VersionBump(kernel, below)
    return _resizing(below) if is_resizing else _writing(signature, below)


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
        letters = ["w" if position in written else "" for position in range(len(signature.names))]
        return _WRITING.make(letters, "S" if signature.aliases == tuple(written) else "N", below=below)

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
