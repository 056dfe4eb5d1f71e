"""The report of `opwright backend NAME`: what a backend has kernels for, what handles the rest, and what is missing."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from opwright_core import plugins
from opwright_core.arrays.devices import Backend, backend_named, backend_names
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Taking
from opwright_core.dispatch.registry.precedence import MISSING
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import DispatchError
from opwright_core.keys import DispatchKey
from opwright_core.names.missing import did_you_mean

__all__ = ["OWN", "find_backend_named", "report", "served_by"]

OWN = "kernels of its own"
COMPOSED = "written over other operators"
FALLBACK = "served by way of NumPy"
LACKING = "missing"
_RULES = {"kernel": OWN, "default backend kernel": COMPOSED, "math kernel": COMPOSED, "backend fallback": FALLBACK}


def find_backend_named(name: str) -> Backend:
    """Return the backend of that name. Raises DispatchError, with the names there are, where it is none."""
    plugins.load()
    known = list(dict.fromkeys([*backend_names(), "cuda", "meta"]))
    if name not in known:
        near = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise DispatchError(f"no backend is called {name!r}{near}{plugins.failures()}")
    return backend_named(name)


def served_by(backend: Backend) -> dict[str, str]:
    """Return what handles each operator on a backend, by name: OWN, COMPOSED, FALLBACK or LACKING. Operators that have
    no kernel on the CPU either are left out."""
    key = DispatchKey(backend.key)
    with registry.lock:
        found = {name: _served(operator, key) for name, operator in sorted(registry.operators.items())}
    return {name: what for name, what in found.items() if what is not None}


def _served(operator: Operator, key: DispatchKey) -> str | None:
    entry = operator.entry(key)
    rule = entry.rule
    if rule in (MISSING, "backend fallback") and operator.entry(DispatchKey.CPU).rule == MISSING:
        return None
    return (
        FALLBACK if isinstance(entry.registration and entry.registration.kernel, Taking) else _RULES.get(rule, LACKING)
    )


def report(name: str, needed: Sequence[str]) -> str:
    """Return the report on a backend, which says of the `needed` operators what handles each. Raises DispatchError."""
    backend = find_backend_named(name)
    handled = served_by(backend)
    kind = backend.array_type
    has_fallback = bool(registry.fallbacks.get(DispatchKey(backend.key)))
    lines = [
        f"backend {backend.name}: dispatch key {DispatchKey(backend.key).name}, arrays of "
        f"{kind.__module__}.{kind.__qualname__}",
        f"fallback by way of NumPy: {'on' if has_fallback else 'off; backend.fall_back_to_numpy() switches it on'}",
        *_listed(handled, handled, (OWN, FALLBACK, LACKING)),
        "",
        f"{COMPOSED}: {sum(what == COMPOSED for what in handled.values())}",
        "",
        f"a training step (two linear layers, cross entropy, gradients, momentum) asks for {len(needed)} operators:",
        *(f"  {line}" for line in _listed(needed, handled) if line),
    ]
    return "\n".join(lines)


def _listed(
    names: Iterable[str], handled: Mapping[str, str], kinds: Sequence[str] = (OWN, COMPOSED, FALLBACK, LACKING)
) -> Iterator[str]:
    """Yield a paragraph of names for each of these kinds that handles some of them."""
    names = list(names)
    for what in kinds:
        found = [name.removeprefix("aten::") for name in names if handled.get(name, LACKING) == what]
        if found:
            yield ""
            yield f"{what} ({len(found)}):"
            yield from textwrap.wrap(" ".join(found), 110, initial_indent="  ", subsequent_indent="  ")
