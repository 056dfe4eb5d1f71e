"""The functions that lower packages call in higher ones (late binding): a typed table that `opwright.providers` fills.

The first call imports that, and then the package that provides the function: imports from below would be circular, and
would load packages that the program does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from opwright_core.errors import ContractError
from opwright_core.names.late_imports import import_late

__all__ = ["Fakes", "Gradients", "Handlers", "Hooks", "Levels", "Operators", "Tools", "Traces", "Transforms", "hooks"]

Function = Callable[..., Any]
# What the questions are about: classes of rooms that the ground does not know.
Device: TypeAlias = Any
DType: TypeAlias = Any
FakeTensorMode: TypeAlias = Any
KernelRow: TypeAlias = Any
KeySet: TypeAlias = Any
MetaArray: TypeAlias = Any
Operator: TypeAlias = Any
Place: TypeAlias = Any
Shape: TypeAlias = tuple[Any, ...]
Signature: TypeAlias = Any
Tensor: TypeAlias = Any


class Operators(Protocol):
    """The functions of `opwright.backends` that lower packages call: what arrays and plans ask of operators, and do
    with them."""

    def wrong_result(self, problem: str, what: str) -> ContractError: ...
    def name_row(self, error: Exception, row: KernelRow) -> None: ...


class Fakes(Protocol):
    """The functions of `opwright.fake` that lower packages call: tensors without data, and the kernels that run on
    them."""

    def active_mode(self) -> FakeTensorMode | None: ...
    def mode_of(self, args: Any) -> FakeTensorMode | None: ...
    def as_fake(self, tensor: Tensor, mode: FakeTensorMode | None) -> Tensor: ...
    def as_fake_on(self, tensor: Tensor, device: object) -> Tensor: ...
    def as_fake_beside(self, tensor: Tensor, other: Tensor) -> Tensor: ...
    def meta_array(self, shape: Shape, strides: Shape, dtype: DType, place: Place) -> MetaArray: ...
    def place_on(self, device: Device) -> Place: ...
    def constant_of(self, tensor: Tensor) -> Any: ...
    def read_item(self, array: MetaArray, what: str) -> Any: ...
    def no_data(self, array: MetaArray, what: str) -> Exception: ...
    def rule_kernel(self, operator: Operator, meta: Function) -> tuple[Function, Function | None]: ...
    def mixed(self, operator: Operator) -> Function: ...
    def in_mode(self, function: Function) -> Function: ...
    def check_fake_kernel(self, operator: Operator, function: Function) -> Function: ...


class Gradients(Protocol):
    """The functions of `opwright.autograd` that lower packages call: wrappers of kernels, and what printing and out
    variants ask of a tensor."""

    def current_tangent(self, tensor: Tensor) -> Tensor | None: ...
    def check_out(self, name: str, *tensors: Tensor | None) -> None: ...
    def making(self, kernel: Function) -> Function: ...
    def checking(self, kernel: Function, written: Iterable[int]) -> Function: ...
    def differentiating(self, operator: Operator, below: Function) -> Function: ...
    def regenerating(self, kernel: Function, below: Function, signature: Signature) -> Function: ...
    def noting(self, kernel: Function) -> Function: ...
    def warn_in_backward(self, operator: Operator, below: Function) -> Function: ...
    def inplace_or_view(self, operator: Operator, below: Function) -> Function: ...
    def count_writes(self, operator: Operator, below: Function) -> Function: ...


class Handlers(Protocol):
    """The functions of `opwright.python_dispatch` that lower packages call: calls that go to handlers, and instances of
    Tensor subclasses."""

    def call_handlers(
        self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...
    def lifted(self, made: Tensor) -> Tensor: ...
    def data_is_read(self, tensor: Tensor, what: str) -> None: ...
    def make_subclass(self, cls: type[Any], data: Tensor, require_grad: bool) -> Any: ...
    def make_wrapper(
        self,
        cls: type[Any],
        size: Sequence[int],
        strides: Sequence[int] | None,
        storage_offset: int | None,
        dtype: object,
        device: Device | str | None,
        requires_grad: bool,
    ) -> Any: ...
    def same_history(self, cls: type[Any], tensor: Tensor) -> Any: ...
    def attributes_of(self, tensor: Tensor) -> dict[str, Any]: ...
    def instance_like(self, cls: type[Any], attributes: dict[str, Any], tensor: Tensor) -> Any: ...


class Levels(Protocol):
    """The functions of `opwright.levels` that lower packages call: what handles calls while a transform is on, and the
    data of its tensors."""

    def front_of(self, operator: Operator) -> Function: ...
    def back_of(self, operator: Operator) -> Function: ...
    def lifted(self, tensor: Tensor) -> Tensor: ...
    def read(self, tensor: Tensor, what: str) -> Tensor: ...
    def text_of(self, tensor: Tensor) -> str: ...
    def value_of_no_level(self, tensor: Tensor) -> Tensor: ...
    def call_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Transforms(Protocol):
    """The functions of `opwright.func` that lower packages call: the transforms that `autograd` is made of, too."""

    @property
    def vmap(self) -> Function: ...
    def enter_dual_level(self, number: int) -> None: ...


class Traces(Protocol):
    """The functions of `opwright.fx` that lower packages call: what handles the key Tracer."""

    def record(self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Tools(Protocol):
    """The functions of packages around the whole that lower packages call: what `library` and `autograd` show under
    PyTorch's names, and the namespace that a Tensor names."""

    @property
    def opcheck(self) -> Function: ...
    def allow_mutation(self) -> AbstractContextManager[Any]: ...
    def array_namespace(self) -> ModuleType: ...
    def load_whole(self) -> None: ...


@dataclass(slots=True)
class Hooks:
    """The table: for each package, the function that loads it and returns its provider."""

    operators: Callable[[], Operators]
    fakes: Callable[[], Fakes]
    gradients: Callable[[], Gradients]
    handlers: Callable[[], Handlers]
    levels: Callable[[], Levels]
    transforms: Callable[[], Transforms]
    traces: Callable[[], Traces]
    tools: Callable[[], Tools]


def _first(room: str) -> Callable[[], Any]:
    def ask() -> Any:
        import_late("opwright.providers")
        return getattr(hooks, room)()

    return ask


hooks = Hooks(*(_first(each.name) for each in fields(Hooks)))
