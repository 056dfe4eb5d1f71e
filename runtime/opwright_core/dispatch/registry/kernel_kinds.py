"""The kinds of kernels, and a Registration: a kernel at a key."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opwright_core.dispatch.compiled.planned_kernels import shims_of_row, with_plans
from opwright_core.dispatch.compiled.ufunc_kernels import with_ufunc
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey
from opwright_core.late_bound import late_bound
from opwright_core.locks.forks import wait_for_imports_of
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan_cache import ViewCache
from opwright_core.source_locations import Where, place_text

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = [
    "ArrayKernel", "BackendSelect", "Boxed", "Composite", "Fallthrough", "Kernel", "Key", "Lazy", "LazyFake",
    "LazyWrapper", "Registration", "Shim", "Taking", "Unbound", "UserKernel", "Wrapper", "as_key",
    "fallthrough_kernel",
]  # fmt: skip

Key = DispatchKey | str  # a str is a foreign key (Note [Foreign keys])
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Shim:
    """A generated kernel of a backend: takes every argument positionally, Tensors as Tensors.

    `dense` takes calls of dense tensors alone (none has NONDENSE), `arrays` those of plain NumPy arrays alone. One made
    of a `row` may take these, too (`row_arrays.on_arrays`).
    """

    general: Function
    dense: Function | None = None
    arrays: Function | None = None
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Composite:
    """A generated kernel over other operators: takes every argument positionally, Tensors as Tensors. What one returns
    that is not `trusted` is checked."""

    function: Function
    is_trusted: bool = False


@dataclass(frozen=True, slots=True)
class UserKernel:
    """A function on Tensors, called as PyTorch calls Python kernels: keyword-only arguments by keyword, trailing
    defaults left out, what it returns checked. With `with_keyset` the KeySet comes first."""

    function: Function
    with_keyset: bool = False


@dataclass(frozen=True, slots=True)
class ArrayKernel:
    """A function on the arrays of a backend, called positionally with every argument."""

    function: Function


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A kernel around others: `make(below)` gives it; `below` is what the call reaches next, bound to the keys left.

    A generated one is left out of calls it has nothing to do in (`compose`): at an Autograd key of those that record
    nothing, no tensor has GRAD or VIEW. One `is_for_any` operator is `make(operator, below)`. One that `lets_record`
    leaves operators that the kernels below it call to be recorded, and their writes counted, for themselves.
    """

    make: Callable[..., Function]
    is_generated: bool = False
    is_for_any: bool = False
    lets_record: bool = False


@dataclass(frozen=True, slots=True)
class Boxed:
    """A function for every operator: `(operator, KeySet, args, kwargs)`."""

    function: Function


@dataclass(frozen=True, slots=True)
class Taking:
    """A kernel of every operator, `make(operator)`, that takes all arguments positionally and does what is to be done
    by itself: it need not be known what other keys would handle."""

    make: Callable[[Any], Function]


@dataclass(frozen=True, slots=True)
class BackendSelect:
    """A kernel of factories: dispatches by the device argument at `position`."""

    position: int


@dataclass(frozen=True, slots=True)
class Fallthrough:
    """The mark of a key to be skipped."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name declared in a schema file that no module has."""

    name: str


class Lazy:
    """A generated kernel in a module that is imported when a call first needs it (Note [Imports and the lock]).

    Its package `is_trusted` where it says that results are as declared, and that errors of functions say what is wrong.
    """

    __slots__ = ("arrays", "dense", "general", "is_composite", "is_trusted", "loaded", "module", "name")

    def __init__(
        self,
        module: str,
        general: str,
        dense: str,
        arrays: str,
        is_composite: bool,
        is_trusted: bool = False,
        name: str = "",
    ) -> None:
        self.module = module
        self.general = general
        self.dense = dense
        self.arrays = arrays
        self.is_composite = is_composite
        self.is_trusted = is_trusted
        self.name = name
        self.loaded: Shim | Composite | None = None

    def load(self) -> None:
        """Import the module. Must not be called with the lock held."""
        wait_for_imports_of(self.module.partition(".")[0])
        module = importlib.import_module(self.module)
        general = getattr(module, self.general)
        if self.is_composite:
            self.loaded = Composite(general, self.is_trusted)
        elif isinstance(general, Row):
            general.name = self.name
            shims = with_ufunc(self.module, self.general, shims_of_row(general, is_trusted=self.is_trusted), general)
            self.loaded = Shim(*shims, general)
        else:
            dense = getattr(module, self.dense) if self.dense else None
            arrays = getattr(module, self.arrays) if self.arrays else None
            cache: Any = getattr(module, f"{self.general}_cache", None)
            is_checked = isinstance(cache, ViewCache) and not self.is_trusted
            planned = general if cache is None or is_checked else with_plans(general, cache)
            self.loaded = Shim(*with_ufunc(self.module, self.general, (planned, dense, arrays)))

    def __repr__(self) -> str:
        return f"{self.module}:{self.general}"


class LazyFake(Lazy):
    """A fake kernel of an operator, made of the function `general` of a module of `metas`."""

    __slots__ = ("_operator",)

    def __init__(self, operator: Operator, module: str, function: str) -> None:
        super().__init__(module, function, "", "", False)
        self._operator = operator

    def load(self) -> None:
        """Import the module. Must not be called with the lock held."""
        wait_for_imports_of(self.module.partition(".")[0])
        meta = getattr(importlib.import_module(self.module), self.general)
        self.loaded = Shim(*late_bound.fakes().rule_kernel(self._operator, meta))


class LazyWrapper:
    """A generated Wrapper in a module that is imported when a call first needs it: `function` is its `make`."""

    __slots__ = ("function", "lets_record", "loaded", "module")

    def __init__(self, module: str, function: str, lets_record: bool = False) -> None:
        self.module = module
        self.function = function
        self.lets_record = lets_record
        self.loaded: Wrapper | None = None

    def load(self) -> None:
        """Import the module. Must not be called with the lock held."""
        make = getattr(importlib.import_module(self.module), self.function)
        is_for_any = getattr(make, "is_for_any", False)  # (`autograd.recorders`)
        self.loaded = Wrapper(make, is_generated=True, is_for_any=is_for_any, lets_record=self.lets_record)

    def __repr__(self) -> str:
        return f"{self.module}:{self.function}"


Kernel = (
    Shim | Composite | UserKernel | ArrayKernel | Wrapper | Boxed | Taking | BackendSelect | Fallthrough | Unbound
    | Lazy | LazyWrapper
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A kernel at a key, and where it comes from. The newest of a key is used."""

    key: Key
    kernel: Kernel
    place: Where = ""

    @property
    def where(self) -> str:
        """Return the file and line that register it, or that declare its operator."""
        return place_text(self.place)

    @property
    def key_name(self) -> str:
        """Return the key's name."""
        return self.key.name if isinstance(self.key, DispatchKey) else self.key

    @property
    def is_fallthrough(self) -> bool:
        """Whether dispatch skips the key."""
        return isinstance(self.kernel, Fallthrough)


_KEYS: Final = DispatchKey.__members__


def as_key(key: DispatchKey | str) -> Key:
    """Return a key, or a foreign key's name. Raises RegistrationError for what names none."""
    if isinstance(key, DispatchKey):
        return key
    try:
        if (found := _KEYS.get(key)) is not None:
            return found
        parsed: Key = import_late("opwright_core.foreign_keys").parse_key(key)
    except (TypeError, ValueError) as error:
        raise RegistrationError(str(error)) from None
    return parsed


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Register this at a key to have dispatch skip it. A mark, not a kernel: calling it raises NotImplementedError."""
    raise NotImplementedError("fallthrough_kernel() should never be called: register it, and dispatch skips the key")
