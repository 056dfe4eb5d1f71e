"""The problem of a check: a function, the inputs to differentiate with respect to, and how messages name them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from opwright.autograd.function import Function
from opwright.creation.construction import tensor as make_tensor
from opwright.errors import GradcheckError
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import COMPLEX, DType, complex128, dtype_name, float64
from opwright_core.arrays.layouts import may_overlap_itself
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "Input", "Numbers", "Problem", "Table", "check_same_shapes", "is_complex", "moved", "numbers_of", "tensor_like",
]  # fmt: skip

Numbers = np.ndarray[Any, Any]
# A Jacobian of one output with respect to one input, [input element, output element, part]: the gradient of the real
# part of the output and, where it is complex, of the imaginary part. d/dx for a real input, d/dx + i·d/dy for a complex
# one, which is what a backward pass from 1, and from 1j, gives.
Table = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor to differentiate with respect to."""

    tensor: Tensor
    label: str  # input 1 ('weight')


class Problem:
    """A function at its arguments, Tensors, sequences of them, or anything else.

    Raises ValueError if no argument requires grad, TypeError if the function returns no tensors.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Any,
        labels: Sequence[str] = (),
        output_labels: Sequence[str] = (),
    ) -> None:
        self.function = function
        self.arguments: tuple[Any, ...] = (arguments,) if isinstance(arguments, Tensor) else tuple(arguments)
        self.name = _name(function)
        self.labels = labels or _labels(function, self.arguments)
        self.inputs = list(_inputs(self.arguments, self.labels))
        if not self.inputs:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them has "
                "requires_grad=True"
            )
        self._output_labels = output_labels
        tensors = {number: each for number, each in enumerate(self._call(self.arguments)) if isinstance(each, Tensor)}
        self.is_constant = not any(each.requires_grad for each in tensors.values())
        self.numbers = [number for number, each in tensors.items() if each.requires_grad or self.is_constant]

    def check_inputs(self) -> None:
        """Warn of inputs that are less precise than double. Raises RuntimeError for one that overlaps itself."""
        for each in self.inputs:
            tensor = each.tensor
            if tensor.dtype not in (float64, complex128):
                warnings.warn(
                    f"gradcheck: {each.label} is {dtype_name(tensor.dtype)}. Finite differences need double precision, "
                    "so this check will likely fail; give it float64 or complex128, or a larger eps and tolerances",
                    stacklevel=4,
                )
            if may_overlap_itself(tensor.shape, tensor.stride()):
                raise RuntimeError(
                    f"gradcheck: several elements of {each.label} share one place in memory (shape "
                    f"{list(tensor.shape)}, stride {list(tensor.stride())}), so no single one can be moved: call "
                    ".contiguous() on it first"
                )

    def outputs(self, replaced: Mapping[int, Tensor] | None = None) -> list[Tensor]:
        """Return the differentiable outputs of a call, with some inputs, by their id, replaced."""
        return self.outputs_of([_replace(each, replaced or {}) for each in self.arguments])

    def outputs_of(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Return the differentiable outputs of a call with other arguments."""
        returned = self._call(arguments)
        return [returned[number] for number in self.numbers]

    def inputs_of(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Return what stands in these arguments where the inputs do."""
        return [each.tensor for each in _inputs(arguments, self.labels)]

    def values(self) -> list[Numbers]:
        """Return what the differentiable outputs are at the present values of the inputs."""
        return [numbers_of(each) for each in self.outputs()]

    def output_label(self, position: int) -> str:
        """Return how messages name the differentiable output at `position`."""
        number = self.numbers[position]
        return self._output_labels[number] if self._output_labels else f"output {number}"

    def is_repeatable(self) -> bool:
        """Whether a second call on the same inputs gives the same outputs."""
        return all(np.array_equal(*pair, equal_nan=True) for pair in zip(self.values(), self.values(), strict=True))

    def _call(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        returned = self.function(*arguments)
        found = (returned,) if isinstance(returned, Tensor) else returned
        may_be_none = bool(self._output_labels)  # a backward may have no gradient for any input
        if not isinstance(found, tuple | list) or not (may_be_none or any(isinstance(each, Tensor) for each in found)):
            raise TypeError(
                f"gradcheck expects {self.name} to return Tensors, but it returned {type(returned).__name__}"
            )
        return tuple(found)


class moved:
    """A block with a tensor's values moved in place, so that functions that hold it themselves see it too.

    No write of a programme, so it does not count as one: graphs that saved the tensor stay good.
    """

    def __init__(self, tensor: Tensor, by: Numbers) -> None:
        self._array = tensor.array
        self._before = tensor.detach().clone().array
        self._moved = tensor_like(numbers_of(tensor) + by, tensor.dtype, tensor.device).array

    def __enter__(self) -> None:
        self._array[...] = self._moved  # no call, after which an interrupt could come

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._array[...] = self._before


def is_complex(tensor: Tensor) -> bool:
    """Whether the tensor has an imaginary part."""
    return tensor.dtype in COMPLEX


def numbers_of(tensor: Tensor) -> Numbers:
    """Return a copy of the tensor's values, in double precision."""
    values = tensor.detach().numpy(force=True)
    return values.astype(np.complex128 if is_complex(tensor) else np.float64)


def tensor_like(values: Numbers, dtype: DType, device: Device) -> Tensor:
    """Return a tensor of these values, as its peers are."""
    return make_tensor(values, dtype=dtype, device=device)


def _inputs(arguments: Sequence[Any], labels: Sequence[str]) -> Iterator[Input]:
    for label, argument in zip(labels, arguments, strict=True):
        yield from (Input(*pair) for pair in _leaves(argument, label))


def _leaves(argument: Any, label: str) -> Iterator[tuple[Tensor, str]]:
    """Yield the tensors that require grad in an argument, which may be a sequence of them."""
    if isinstance(argument, Tensor):
        if argument.requires_grad:
            yield argument, label
    elif isinstance(argument, tuple | list):
        for index, each in enumerate(argument):
            yield from _leaves(each, f"{label}[{index}]")


def _replace(argument: Any, replaced: Mapping[int, Tensor]) -> Any:
    if isinstance(argument, Tensor):
        return replaced.get(id(argument), argument)
    if isinstance(argument, tuple | list):
        return type(argument)(_replace(each, replaced) for each in argument)
    return argument


def _labels(function: Callable[..., Any], arguments: Sequence[Any]) -> list[str]:
    """Return position and, where the signature tells, name of each argument."""
    names = _parameters(function)
    return [
        f"input {position} ({names[position]!r})" if position < len(names) else f"input {position}"
        for position in range(len(arguments))
    ]


def _name(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):
        return f"{owner.__name__}.{function.__name__}"
    return str(getattr(function, "__qualname__", repr(function))).rpartition("<locals>.")[2]


def _parameters(function: Any) -> list[str]:
    owner = getattr(function, "__self__", None)
    has_context = False
    if isinstance(owner, type) and issubclass(owner, Function) and function == owner.apply:
        has_context = owner.setup_context is Function.setup_context
        function = owner.forward
    try:
        parameters = list(inspect.signature(function).parameters.values())[has_context:]
    except (TypeError, ValueError):
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in plain]


def check_same_shapes(problem: Problem, first: Sequence[Numbers], second: Sequence[Numbers]) -> None:
    """Raise GradcheckError where a small step changed the shape of an output."""
    for position, (one, other) in enumerate(zip(first, second, strict=True)):
        if one.shape != other.shape:
            raise GradcheckError(
                f"{problem.output_label(position)} of {problem.name} changes its shape when an input moves by eps, "
                f"from {list(one.shape)} to {list(other.shape)}: it has no derivative there"
            )
