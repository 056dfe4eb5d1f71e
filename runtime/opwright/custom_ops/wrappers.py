"""What serves custom operators beside the functions of users: at Autograd without a formula, at ADInplaceOrView, at
Meta where results are arguments, at Autocast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright.autograd.nodes import MultipleOutputs, Node, Output
from opwright.autograd.recording import (
    check_inplace,
    check_out,
    check_writable,
    edges_of,
    increment_version,
    rebase_history,
    record_several,
)
from opwright.dispatch_errors import missing
from opwright.dispatcher import Operator
from opwright.dtypes import COMPLEX, FLOATING, DType, float64
from opwright.errors import AutogradError
from opwright.keys import AUTOCAST, DispatchKey
from opwright.results import tensors_of
from opwright.state import Modes, active_modes, set_modes
from opwright.tensor import Tensor

__all__ = ["casting", "has_gradient", "no_fake", "returning_written", "unrecordable", "unrecorded_out", "writing"]

Kernel = Callable[..., Any]


class NoFormula(MultipleOutputs):
    """The node of a call that nobody can differentiate."""

    __slots__ = ("operator",)
    operator: Operator

    @classmethod
    def of(cls, operator: Operator, edges: Sequence[Any]) -> NoFormula:
        """The node of a call whose operands have these edges."""
        made = cls()
        made.operator = operator
        made.edges = edges
        return made

    def name(self) -> str:
        """The operator's name."""
        return f"{self.operator.base}Backward"

    def apply(self, *grads: Any) -> Sequence[Any]:
        """Raise AutogradError."""
        name = self.operator.name
        if self.operator.signature.written:
            hint = "gradients of an operator that writes to its arguments cannot be registered: write a functional one"
        else:
            hint = f'register one with opwright.library.register_autograd("{name}", backward, setup_context=...)'
        raise AutogradError(
            f"Trying to backward through {name} but no autograd formula was registered. Hint: {hint}, or call it under "
            "no_grad"
        )


class NoFormulaOfWrite(NoFormula):
    """The same for an argument that was written to, as the only result."""

    __slots__ = ()

    def output(self, number: int) -> Output:
        """Shape and dtype of the argument."""
        return Node.output(self, number)


def unrecordable(operator: Operator, below: Kernel) -> Kernel:
    """At Autograd, without a formula: results and what is written require grad, and a backward through them says that
    there is none. Leaves that require grad are not written to."""
    written = sorted(operator.signature.written)

    def call(*args: Any) -> Any:
        operands = list(tensors_of(args))
        changed = [tensor for tensor in tensors_of([args[position] for position in written]) if has_gradient(tensor)]
        for tensor in changed:
            check_inplace(tensor)
        edges = edges_of(operands)
        result = below(*args)
        for tensor in changed:
            rebase_history(tensor, NoFormulaOfWrite.of(operator, (tensor.edge, *edges)))
        results = [each for each in tensors_of((result,)) if not any(each is other for other in operands)]
        record_several(results, NoFormula.of(operator, edges))
        return result

    return call


def unrecorded_out(operator: Operator, below: Kernel) -> Kernel:
    """At Autograd, of an operator with `out=` arguments: calls that would have to be recorded are errors."""

    def call(*args: Any) -> Any:
        check_out(operator.base, *tensors_of(args))
        return below(*args)

    return call


def writing(operator: Operator, below: Kernel) -> Kernel:
    """At ADInplaceOrView, of an operator that writes to arguments: it checks that it may, and counts the write."""
    written = sorted(operator.signature.written)

    def call(*args: Any) -> Any:
        changed = list(tensors_of([args[position] for position in written]))
        for tensor in changed:
            check_writable(tensor)
        for tensor in changed:  # before the kernel, which may fail when it has written half
            increment_version(tensor)
        return below(*args)

    return call


def has_gradient(tensor: Tensor) -> bool:
    """Whether the dtype is one that gradients may have."""
    return tensor.dtype in FLOATING or tensor.dtype in COMPLEX


def no_fake(operator: Operator) -> Kernel:
    """At Meta, of an operator without a fake kernel: raises DispatchError."""

    def call(*args: Any) -> Any:
        raise missing(operator, DispatchKey.Meta, 0)

    return call


def returning_written(operator: Operator) -> Kernel:
    """At Meta, of an operator that returns what it writes to, or nothing. (ADInplaceOrView counts the write.)"""

    def call(*args: Any) -> Any:
        signature = operator.signature
        results = [None if alias is None else args[alias] for alias in signature.aliases]
        return results[0] if len(results) == 1 else tuple(results) or None

    return call


def casting(dtypes: dict[str, DType], below: Kernel) -> Kernel:
    """At Autocast: tensors of floating-point dtypes but float64 are cast to the one given for their device, and the
    kernel runs without autocast."""

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor):
            dtype = dtypes.get(value.device.type)
            is_cast = dtype is not None and value.dtype in FLOATING and value.dtype != float64
            return value.to(dtype) if is_cast else value
        return [cast(item) for item in value] if type(value) is list else value

    def call(*args: Any) -> Any:
        modes = active_modes()
        set_modes(Modes(0, ~AUTOCAST) if modes is None else Modes(modes.include, modes.mask & ~AUTOCAST))
        try:
            return below(*map(cast, args))
        finally:
            set_modes(modes)

    return call
