"""The `opwright.dispatch.PythonDispatcher`: what table a set of keys would give, without an operator."""

from __future__ import annotations

from collections.abc import Iterable

from opwright_core.dispatch.registry.kernel_kinds import Key, Registration, UserKernel, as_key, fallthrough_kernel
from opwright_core.dispatch.registry.precedence import compute_entry
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.keys import RUNTIME_KEYS, DispatchKey

__all__ = ["PythonDispatcher"]


class PythonDispatcher:
    """A calculator of dispatch tables from the keys that kernels are registered at, shown as aligned text.

    Each key's kernel is called `fn_KEY`. Method names are PyTorch's.
    """

    def __init__(self) -> None:
        self._registered: dict[Key, list[Registration]] = {}

    def register(self, keys: Iterable[DispatchKey | str]) -> None:
        """Start anew with a kernel at each of these keys. Raises RegistrationError for a repeated or unknown key."""
        if isinstance(keys, str):
            raise RegistrationError(f"register() takes a list of dispatch keys: write [{keys!r}]")
        registered: dict[Key, list[Registration]] = {}
        for key in map(as_key, keys):
            name = _name(key)
            if key is DispatchKey.Undefined:
                raise RegistrationError("no kernel can be registered at Undefined; use CompositeExplicitAutograd")
            if key in registered:
                raise RegistrationError(f"the dispatch key {name} is given twice")
            registered[key] = [Registration(key, UserKernel(fallthrough_kernel), f"fn_{name}")]
        self._registered = registered

    def registrations(self) -> str:
        """Return the registered kernels, one a line."""
        rows = [(_name(key) + _mark(key), found[-1].where) for key, found in self._registered.items()]
        return _shown("Registered Kernels", rows)

    def dispatchTable(self) -> str:
        """Return the kernel of every runtime key and the rule it follows from, one a line."""
        rows = []
        for key in (DispatchKey.Undefined, *reversed(RUNTIME_KEYS)):
            with registry.lock:
                entry = compute_entry(key, self._registered, registry.fallbacks)
            is_default = entry.rule == "backend fallback"
            name = "fallthrough" if is_default else entry.where or entry.rule.replace(" ", "_")
            rows.append((key.name, f"{name} [{entry.rule}]"))
        return _shown("Computed Dispatch Table", rows)


def _name(key: Key) -> str:
    return key.name if isinstance(key, DispatchKey) else key


def _mark(key: Key) -> str:
    return "[alias]" if isinstance(key, DispatchKey) and key.is_alias else ""


def _shown(title: str, rows: list[tuple[str, str]]) -> str:
    table = [("key", "kernel"), *rows]
    width = max(len(name) for name, _ in table)
    lines = [f"{name:<{width}}  {kernel}" for name, kernel in table]
    return "\n".join((title, lines[0], "-" * len(lines[0]), *lines[1:], ""))
