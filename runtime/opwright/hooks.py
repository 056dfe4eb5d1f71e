"""The questions of lower rooms to higher ones: a typed table, filled by `opwright.served` when that is imported.

An import from below would make a circle of all rooms. A room that is asked here is loaded by the first question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from opwright.keys import DispatchKey, KeySet

if TYPE_CHECKING:
    from opwright.arrays.devices import Backend, Device
    from opwright.arrays.dtypes import DType
    from opwright.arrays.layouts import Shape
    from opwright.dispatch.operator import Operator
    from opwright.dispatch.signature import Signature
    from opwright.errors import ContractError
    from opwright.fake.arrays import MetaArray, Place
    from opwright.fake.modes import FakeTensorMode
    from opwright.tensors.tensor import Tensor

__all__ = ["Fakes", "Gradients", "Handlers", "Hooks", "Levels", "Operators", "Tools", "Traces", "Transforms", "hooks"]

Function = Callable[..., Any]


class Operators(Protocol):
    """The answers of `opwright.dispatch`: what arrays and plans ask of operators, and do with them."""

    def wrong_result(self, problem: str, what: str) -> ContractError: ...
    def register_array_kernel(
        self, operator: Operator | str, key: DispatchKey | str | int, kernel: Function
    ) -> Any: ...
    def fall_back_to_numpy(self, backend: Backend, *, warn: bool, error_on_views: bool) -> Any: ...


class Fakes(Protocol):
    """The answers of `opwright.fake`: tensors without data, and the kernels that run on them."""

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
    def mixed(self, operator: Operator) -> Function: ...
    def in_mode(self, function: Function) -> Function: ...
    def check_fake_kernel(self, operator: Operator, function: Function) -> Function: ...


class Gradients(Protocol):
    """The answers of `opwright.autograd`: wrappers of kernels, and what printing and out variants ask of a tensor."""

    def current_tangent(self, tensor: Tensor) -> Tensor | None: ...
    def check_out(self, name: str, *tensors: Tensor | None) -> None: ...
    def making(self, kernel: Function) -> Function: ...
    def checking(self, kernel: Function, written: Iterable[int]) -> Function: ...
    def differentiating(self, operator: Operator, below: Function) -> Function: ...
    def refreshing(self, kernel: Function, below: Function, signature: Signature) -> Function: ...
    def noting(self, kernel: Function) -> Function: ...
    def warn_in_backward(self, operator: Operator, below: Function) -> Function: ...
    def count_writes(self, operator: Operator, below: Function) -> Function: ...


class Handlers(Protocol):
    """The answers of `opwright.python_dispatch`: calls that go to handlers, and instances of Tensor subclasses."""

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
    """The answers of `opwright.levels`: what serves calls while a transform is on, and the data of its tensors."""

    def front_of(self, operator: Operator) -> Function: ...
    def back_of(self, operator: Operator) -> Function: ...
    def lifted(self, tensor: Tensor) -> Tensor: ...
    def read(self, tensor: Tensor, what: str) -> Tensor: ...
    def text_of(self, tensor: Tensor) -> str: ...
    def call_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Transforms(Protocol):
    """The answers of `opwright.func`: the transforms that `autograd` is made of, too."""

    @property
    def vmap(self) -> Function: ...
    def enter_dual_level(self, number: int) -> None: ...


class Traces(Protocol):
    """The answer of `opwright.fx`: what serves the key Tracer."""

    def record(self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Tools(Protocol):
    """The answers of the rooms around the whole: what `library` and `autograd` show under PyTorch's names, and the
    namespace that a Tensor names."""

    @property
    def opcheck(self) -> Function: ...
    def allow_mutation(self) -> AbstractContextManager[Any]: ...
    def array_namespace(self) -> ModuleType: ...


@dataclass(slots=True)
class Hooks:
    """The table: for each room, the function that loads it and returns its answers."""

    operators: Callable[[], Operators]
    fakes: Callable[[], Fakes]
    gradients: Callable[[], Gradients]
    handlers: Callable[[], Handlers]
    levels: Callable[[], Levels]
    transforms: Callable[[], Transforms]
    traces: Callable[[], Traces]
    tools: Callable[[], Tools]


def _unfilled() -> Any:
    raise AssertionError("opwright.served fills the table")


hooks = Hooks(_unfilled, _unfilled, _unfilled, _unfilled, _unfilled, _unfilled, _unfilled, _unfilled)
