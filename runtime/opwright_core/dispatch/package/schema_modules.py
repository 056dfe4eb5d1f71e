"""Generated packages, whose modules are imported when something of them is first needed.

A package has one module of operators for each schema file: a schema module. Importing the package names the operators
of all of them; what a schema module declares is imported when it is first asked for.

Note [Schema modules and the lock]
Somebody may ask while the registry's lock is held. So the import of a schema module takes no lock of ours: a thread
that is importing it could wait for the lock, and who holds the lock for that import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.compiled.ufunc_kernels import note_ufunc
from opwright_core.dispatch.registry.forward_rules import name_rules
from opwright_core.dispatch.registry.kernel_kinds import Unbound, as_key
from opwright_core.dispatch.registry.registering import FakeRow, Row, WrapperRow
from opwright_core.dispatch.registry.registering import install as register
from opwright_core.dispatch.registry.rule_table import BATCHING
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.locks.forks import wait_for_imports_of
from opwright_core.locks.imports import keep_whole
from opwright_core.names.late_imports import import_late
from opwright_core.source_locations import PlacesOf, place_text, shown

__all__ = ["SchemaModule", "functions_of", "install"]

# What handles an operator: `CPU+dense+arrays`, `-Autograd`; (key, module, function, dense, arrays) of a kernel, (key,
# module, function) of a wrapper, ("metas", function) of what a fake kernel is made of; a ufunc of the kernel before.
Rows = Mapping[str, Sequence[tuple[Any, ...]]]
Places = Mapping[str, str] | PlacesOf
_FOLDERS: Final = {"CPU": "kernels_cpu", "CUDA": "kernels_cuda", "Meta": "fakes", "ADInplaceOrView": "inplace_or_view"}
_FORWARD: Final = "forward"
_AUTOCAST: Final = "autocast"  # the wrapper; a kernel of a schema file at that key has the key's name
_BATCHING: Final = "batching"
_METAS: Final = "metas"  # the functions that fake kernels are made of
_UFUNC: Final = "ufunc"


class SchemaModule:
    """A module of operators of a generated package."""

    __slots__ = ("module",)

    def __init__(self, module: str) -> None:
        self.module = module

    def load(self) -> None:
        """Import it."""
        wait_for_imports_of(self.module.partition(".")[0])
        import_late(self.module)


def install(
    package: str,
    namespace: str,
    rows: Rows,
    places: Places,
    batching: Sequence[str] = (),
    *,
    trusted: bool = False,
) -> None:
    """Define the operators of a generated package, and register what handles them. `batching` names the schema modules
    that have batching rules. None of them is imported, but where another package has named an operator, too: then the
    two have to declare it alike, and one alone has its kernels. Raises RegistrationError where both have them."""
    if package:
        keep_whole(package)
    expanded = _Expanded(package, namespace, rows)
    _check_not_taken(package, expanded.kernels, places)
    shared = [operator for home in rows for operator in _named(f"{package}.ops.{home}", namespace, rows[home], places)]
    for operator in shared:
        operator.load()
    register(namespace, expanded.kernels, expanded.wrappers, expanded.fakes, trusted=trusted)
    for module, names in expanded.forward.items():
        name_rules(module, names)
    for home in batching:
        BATCHING.name_module(f"{package}.{_BATCHING}.{home}", [f"{namespace}::{row[0]}" for row in rows[home]])


def _check_not_taken(package: str, kernels: Sequence[Row], places: Places) -> None:
    """Raise RegistrationError for a kernel of an operator that another package, or a Library, has one of at that key:
    which one runs would depend on the order of imports."""
    with registry.lock:
        for name, key, module, *_ in kernels:
            known = registry.operators.get(name)
            if known is None or not module:
                continue
            home = "" if known.home is None else known.home.module.rpartition(".ops.")[0]
            taken = known.registrations.get(as_key(key), ())
            if home != package and not all(isinstance(each.kernel, Unbound) for each in taken):
                raise RegistrationError(
                    f"{package} cannot be imported: {name}, which it declares at {place_text(places[name])}, has a "
                    f"{key} kernel already, of {home or 'a Library'}, declared at {shown(known.where)}. One of the "
                    "two has to give its operator another namespace"
                )


def _named(
    module: str, namespace: str, rows: Sequence[tuple[Any, ...]], places: Places
) -> list[Operator | SchemaModule]:
    """Define the operators of one schema module; return what has to be loaded at once."""
    schema_module = SchemaModule(module)
    shared: list[Operator | SchemaModule] = []
    with registry.lock:
        for row in rows:
            name = f"{namespace}::{row[0]}"
            known = registry.operators.get(name)
            if known is None:
                Operator.named(name, places[name], schema_module)
            elif known.home is None or known.home.module != module:
                shared += (known, schema_module)
    return shared


class _Expanded:
    """The rows that `registering.install` takes, and which modules have forward rules of which operators."""

    def __init__(self, package: str, namespace: str, rows: Rows) -> None:
        self.kernels: list[Row] = []
        self.wrappers: list[WrapperRow] = []
        self.fakes: list[FakeRow] = []
        self.forward: dict[str, list[str]] = {}
        self._package = package
        for home, operators in rows.items():
            for short, function, *kernels in operators:
                name = f"{namespace}::{short}"
                for each in kernels:
                    if isinstance(each, tuple):
                        self._add(name, home, each)
                    else:
                        self._add_regular(name, home, function, each)

    def _add_regular(self, name: str, home: str, function: str, text: str) -> None:
        if text.startswith("-"):
            self.wrappers.append((name, text[1:], "", ""))
            return
        key, *shims = text.split("+")
        if key == _METAS:
            self.fakes.append((name, f"{self._package}.{_METAS}.{home}", function))
        elif key == _FORWARD:
            self.forward.setdefault(f"{self._package}.{_FORWARD}.{home}", []).append(name)
        elif key == _AUTOCAST:
            self.wrappers.append((name, "Autocast", f"{self._package}.{_AUTOCAST}.{home}", function))
        elif key.startswith("Autograd") or key == "ADInplaceOrView":
            folder = _FOLDERS.get(key, "autograd")
            self.wrappers.append((name, key, f"{self._package}.{folder}.{home}", function))
        else:
            module = f"{self._package}.{_FOLDERS.get(key, 'composites')}.{home}"
            dense = f"{function}_dense" if "dense" in shims else ""
            arrays = f"{function}_arrays" if "arrays" in shims else ""
            self.kernels.append((name, key, module, function, dense, arrays))

    def _add(self, name: str, home: str, kernels: tuple[Any, ...]) -> None:
        if kernels[0] == _UFUNC:
            note_ufunc(*self.kernels[-1][2:4], kernels[1:])
            return
        key, module, *functions = kernels
        if key == _METAS:
            self.fakes.append((name, f"{self._package}.{_METAS}.{home}", module))
            return
        if module.startswith("."):
            module = f"{self._package}{module}"
        if key == _FORWARD:
            self.forward.setdefault(module, []).append(name)
        elif len(functions) == 1:
            self.wrappers.append((name, key, module, functions[0]))
        else:
            general, dense, arrays = functions
            self.kernels.append((name, key, module, general, dense, arrays))


def functions_of(package: str, homes: Mapping[str, str], modules: Sequence[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package of schema modules: `homes` says which module has a function, other names
    are looked for in all of them."""

    def __getattr__(name: str) -> Any:
        if name in modules:
            return import_late(f"{package}.{name}")
        is_special = name.startswith("__") and name.endswith("__")
        candidates = (homes[name],) if name in homes else () if is_special else modules
        for home in candidates:
            module = import_late(f"{package}.{home}")
            if name in module.__dict__:
                found = module.__dict__[name]
                setattr(sys.modules[package], name, found)
                return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])

    return __getattr__
