"""Functions that lower packages of the library call in higher ones (late binding): those of `opwright_core.late_bound`,
and those that the small runtime does not call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Protocol, TypeAlias, cast

from opwright_core import late_bound as core

__all__ = ["Fakes", "Gradients", "Handlers", "LateBound", "Levels", "Tools", "Transforms", "late_bound"]

Function = Callable[..., Any]
# Classes of higher packages, which are not known here.
Device: TypeAlias = Any
DType: TypeAlias = Any
FakeTensorMode: TypeAlias = Any
MetaArray: TypeAlias = Any
Place: TypeAlias = Any
Tensor: TypeAlias = Any
Shape: TypeAlias = tuple[Any, ...]


class Fakes(core.Fakes, Protocol):
    """The functions of `opwright.fake`: tensors without data, and the kernels that run on them."""

    def active_mode(self) -> FakeTensorMode | None: ...
    def mode_of(self, args: Any) -> FakeTensorMode | None: ...
    def as_fake(self, tensor: Tensor, mode: FakeTensorMode | None) -> Tensor: ...
    def as_fake_on(self, tensor: Tensor, device: object) -> Tensor: ...
    def as_fake_beside(self, tensor: Tensor, other: Tensor) -> Tensor: ...
    def meta_array(self, shape: Shape, strides: Shape, dtype: DType, place: Place) -> MetaArray: ...
    def place_on(self, device: Device) -> Place: ...
    def constant_of(self, tensor: Tensor) -> Any: ...
    def read_item(self, array: MetaArray, what: str) -> Any: ...


class Gradients(core.Gradients, Protocol):
    """The functions of `opwright.autograd`: wrappers of kernels, and what printing and out variants ask of a tensor."""

    def current_tangent(self, tensor: Tensor) -> Tensor | None: ...
    def check_out(self, name: str, *tensors: Tensor | None) -> None: ...


class Handlers(core.Handlers, Protocol):
    """The functions of `opwright.python_dispatch`: calls that go to handlers, and instances of Tensor subclasses."""

    def ask_modes(self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any: ...
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
    def preserved(self, cls: type[Any], function: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def same_history(self, cls: type[Any], tensor: Tensor) -> Any: ...
    def attributes_of(self, tensor: Tensor) -> dict[str, Any]: ...
    def instance_like(self, cls: type[Any], attributes: dict[str, Any], tensor: Tensor) -> Any: ...


class Levels(core.Levels, Protocol):
    """The functions of `opwright.levels`: what handles calls while a transform is on, and the data of its tensors."""

    def lifted(self, tensor: Tensor) -> Tensor: ...
    def read(self, tensor: Tensor, what: str) -> Tensor: ...
    def text_of(self, tensor: Tensor) -> str: ...
    def is_followed_outside(self, tensor: Tensor) -> bool: ...
    def call_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Transforms(Protocol):
    """The functions of `opwright.func`: the transforms that `autograd` is made of, too."""

    @property
    def vmap(self) -> Function: ...
    def enter_dual_level(self, number: int) -> None: ...


class Tools(core.Tools, Protocol):
    """The functions of packages around the whole: what `library` and `autograd` show under PyTorch's names, and the
    namespace that a Tensor names."""

    @property
    def opcheck(self) -> Function: ...
    def allow_mutation(self) -> AbstractContextManager[Any]: ...
    def array_namespace(self) -> ModuleType: ...


class LateBound(Protocol):
    """The table, as packages of the library see it."""

    interface: Callable[[], core.Interface]
    fakes: Callable[[], Fakes]
    gradients: Callable[[], Gradients]
    handlers: Callable[[], Handlers]
    levels: Callable[[], Levels]
    transforms: Callable[[], Transforms]
    traces: Callable[[], core.Traces]
    tools: Callable[[], Tools]


late_bound = cast("LateBound", core.late_bound)
