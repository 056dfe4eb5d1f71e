"""The functions of the library that the core calls (late binding): a typed table, which the library fills.

The core imports nothing of the library `opwright`, and runs without it. Where a call needs gradients, transforms or
fakes, it asks this table. `import opwright` fills it. If the program has not imported that, the first question loads
the entry points of the group `opwright.library`, by which an installed library is found.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

from opwright_core.errors import DispatchError

__all__ = [
    "Fakes",
    "Gradients",
    "Handlers",
    "Interface",
    "LateBound",
    "Levels",
    "Tools",
    "Traces",
    "has_library",
    "late_bound",
]

Function = Callable[..., Any]
# What the questions are about: classes of rooms that the ground does not know.
KeySet: TypeAlias = Any
MetaArray: TypeAlias = Any
Operator: TypeAlias = Any
Signature: TypeAlias = Any
Tensor: TypeAlias = Any


class Fakes(Protocol):
    """The functions of `opwright.fake` that lower packages call: tensors without data, and the kernels that run on
    them."""

    def rule_kernel(self, operator: Operator, meta: Function) -> tuple[Function, Function | None]: ...
    def mixed(self, operator: Operator) -> Function: ...
    def in_mode(self, function: Function) -> Function: ...
    def check_fake_kernel(self, operator: Operator, function: Function) -> Function: ...
    def fake_number(self, tensor: Tensor, number: Any, fakes: Sequence[Tensor]) -> Tensor: ...
    def number_of(self, value: Any) -> Any: ...
    def no_data(self, array: MetaArray, what: str) -> Exception: ...


class Gradients(Protocol):
    """The functions of `opwright.autograd` that lower packages call: wrappers of kernels."""

    def making(self, kernel: Function) -> Function: ...
    def checking(self, kernel: Function, written: Iterable[int]) -> Function: ...
    def differentiating(self, operator: Operator, below: Function) -> Function: ...
    def regenerating(self, kernel: Function, below: Function, signature: Signature) -> Function: ...
    def noting(self, kernel: Function) -> Function: ...
    def warn_in_backward(self, operator: Operator, below: Function) -> Function: ...
    def inplace_or_view(self, operator: Operator, below: Function) -> Function: ...
    def count_writes(self, operator: Operator, below: Function) -> Function: ...


class Handlers(Protocol):
    """The functions of `opwright.python_dispatch` that lower packages call: calls that go to handlers, and the block
    of a default device."""

    def block_of_device(self, device: Any) -> Any: ...
    def call_handlers(
        self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...


class Levels(Protocol):
    """The functions of `opwright.levels` that lower packages call: what handles calls while a transform is on."""

    def front_of(self, operator: Operator) -> Function: ...
    def back_of(self, operator: Operator) -> Function: ...
    def value_of_no_level(self, tensor: Tensor) -> Tensor: ...


class Traces(Protocol):
    """The functions of `opwright.fx` that lower packages call: what handles the key Tracer."""

    def record(self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Interface(Protocol):
    """The names of the library that generated packages import from `opwright_core.abi`."""

    def has(self, name: str) -> bool: ...
    def load(self, name: str) -> Any: ...


class Tools(Protocol):
    """The functions of packages around the whole that the core calls: all of them loaded, attributes of operators that
    the library adds, arrays of other libraries, call trees."""

    def load_whole(self) -> None: ...
    def rules(self) -> ModuleType: ...
    def add_facts(self) -> Container[str]: ...
    def kind_of_arrays(self, home: str) -> Any: ...
    def check_of_out(self, name: str) -> Callable[[Any, Any], None] | None: ...
    def pytorch_taker(self) -> Callable[[Any], Any]: ...
    def kind_of_protocols(self, kind: type) -> Any: ...
    def function_of(self, kind: Any, callee: Any) -> Any: ...
    def watch_process(self, operator: Operator, key: Any, entry: Any, kernel: Function) -> Function: ...


@dataclass(slots=True)
class LateBound:
    """The table: for each package, the function that loads it and returns its provider."""

    interface: Callable[[], Interface]
    fakes: Callable[[], Fakes]
    gradients: Callable[[], Gradients]
    handlers: Callable[[], Handlers]
    levels: Callable[[], Levels]
    transforms: Callable[[], Any]  # which the library alone asks
    traces: Callable[[], Traces]
    tools: Callable[[], Tools]


GROUP: Final = "opwright.library"
# What the rooms are for, in the words of the error where no library is installed.
_USES: Final = {
    "interface": "gradients, fakes and transforms", "fakes": "tensors without data", "gradients": "gradients",
    "handlers": "modes and subclasses of Tensor", "levels": "transforms", "transforms": "transforms",
    "traces": "tracing", "tools": "methods of Tensor, and arrays of other libraries",
}  # fmt: skip


def has_library() -> bool:
    """Load the installed library, unless the table is filled, and return whether it is."""
    if late_bound.tools not in _FIRST:
        return True
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        entry.load()
    return late_bound.tools not in _FIRST


def _first(room: str) -> Callable[[], Any]:
    def ask() -> Any:
        if not has_library():
            raise DispatchError(
                f"{_USES[room]} need the library opwright, and only its core is installed: pip install opwright"
            )
        return getattr(late_bound, room)()

    return ask


_FIRST: Final = tuple(_first(each.name) for each in fields(LateBound))
late_bound = LateBound(*_FIRST)
