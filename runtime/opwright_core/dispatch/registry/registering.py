"""The registration of what generated packages list: atomic, under one lock."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.fallbacks import INPLACE_OR_VIEW
from opwright_core.dispatch.registry.kernel_kinds import (
    Fallthrough,
    Kernel,
    Key,
    Lazy,
    LazyFake,
    LazyWrapper,
    Registration,
    Unbound,
    Wrapper,
    as_key,
)
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import BACKENDS, DispatchKey

__all__ = ["install"]

Row = tuple[str, str, str, str, str, str]
FakeRow = tuple[str, str, str]
WrapperRow = tuple[str, str, str, str]


def _silence(modules: Iterable[str]) -> None:
    """Have NumPy say nothing of overflow, division by zero and the like in generated kernels, as PyTorch does."""
    for folder in sorted({module.rpartition(".")[0] or module for module in modules}):
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=re.escape(folder) + r"(\.\w+)?\Z")


def _without_hidden(namespace: str, rows: Iterable[Row]) -> list[Row]:
    """Return the rows to register: those bound to nothing give way to kernels of the operator that another package
    bound, and are taken back where these rows bind one."""
    registry.check_held()
    rows = list(rows)
    names = {name: name if "::" in name else f"{namespace}::{name}" for name, *_ in rows}
    binding = {name for name, _, module, *_ in rows if module}
    bound = set()
    for name, qualified in names.items():
        for found in find_operator(qualified).registrations.values():
            if name in binding:
                found[:] = [known for known in found if not isinstance(known.kernel, Unbound)]
            elif not all(isinstance(known.kernel, Unbound) for known in found):
                bound.add(name)
    return [row for row in rows if row[2] or row[0] not in bound]


def install(
    namespace: str,
    rows: Iterable[Row],
    wrappers: Iterable[WrapperRow] = (),
    fakes: Iterable[FakeRow] = (),
    *,
    trusted: bool = False,
) -> None:
    """Register the kernels that a generated `register.py` lists: (operator, key, module, general, dense, arrays), the
    wrappers: (operator, key, module, function); without a module, dispatch skips the key; and the functions that fake
    kernels are made of: (operator, module, function).

    An empty module means that the kernel is declared by the name `general` and bound to nothing. Names without a
    namespace are in `namespace`. Nothing is imported yet. Packages may share operators: what one binds to nothing
    hides no kernel of another, at whatever key.
    """
    changed: set[Operator] = set()
    with registry.lock:
        try:
            rows = _without_hidden(namespace, rows)
            _silence(_add_kernels(namespace, rows, trusted, changed))
            _add_fakes(fakes, changed)
            _add_wrappers(namespace, wrappers, changed)
        finally:
            _forget_tables(changed)


def _forget_tables(operators: Iterable[Operator]) -> None:
    for operator in operators:
        operator.forget_table()


def _add_kernels(namespace: str, rows: Iterable[Row], is_trusted: bool, changed: set[Operator]) -> set[str]:
    """Register kernels; return their modules, but for those of composites, which may be the user's."""
    generated: set[str] = set()
    for name, key_name, module, general, dense, arrays in rows:
        operator = find_operator(name if "::" in name else f"{namespace}::{name}")
        registry.generated_namespaces.setdefault(operator.namespace, operator._where)
        key = as_key(key_name)
        is_composite = not (isinstance(key, DispatchKey) and key.bit & BACKENDS)
        kind: Kernel = Unbound(general)
        if module:
            kind = Lazy(module, general, dense, arrays, is_composite, is_trusted, operator.name)
        known = operator.registrations.setdefault(key, [])
        if not (known and _is_registered(kind, known)):
            known.append(Registration(key, kind, operator._where))
            changed.add(operator)
        if module and not is_composite:
            generated.add(module)
    return generated


def _add_fakes(rows: Iterable[FakeRow], changed: set[Operator]) -> None:
    for name, module, function in rows:
        operator = find_operator(name)
        kind = LazyFake(operator, module, function)
        known = operator.registrations.setdefault(DispatchKey.Meta, [])
        if not (known and _is_registered(kind, known)):
            known.append(Registration(DispatchKey.Meta, kind, operator._where))
            changed.add(operator)


def _add_wrappers(namespace: str, rows: Iterable[WrapperRow], changed: set[Operator]) -> None:
    for name, key_name, module, function in rows:
        operator = find_operator(name if "::" in name else f"{namespace}::{name}")
        key = as_key(key_name)
        known = operator.registrations.setdefault(key, [])
        kind: Kernel = _wrapper(key, module, function) if module else Fallthrough()
        if known and _is_registered(kind, known):
            continue
        # Nothing to do hides no kernel that is there.
        known.insert(len(known) if module else 0, Registration(key, kind, operator._where))
        changed.add(operator)


def _wrapper(key: Key, module: str, function: str) -> Wrapper | LazyWrapper:
    """Return what handles a key of an operator. That for ADInplaceOrView follows from the schema (packages of version 4
    of the abi have functions for it, which do the same)."""
    if key is DispatchKey.ADInplaceOrView:
        return INPLACE_OR_VIEW
    return LazyWrapper(module, function, key is DispatchKey.Autocast)


def _is_registered(kind: Kernel, known: Iterable[Registration]) -> bool:
    """Whether an import of the same package that was interrupted, or is done again, has registered the kernel."""
    return any(type(each.kernel) is type(kind) and repr(each.kernel) == repr(kind) for each in known)
