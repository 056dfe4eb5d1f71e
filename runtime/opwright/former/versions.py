"""Versions of `opwright_core.abi`: which packages are served, how rows of former ones are read, what is deprecated.

A version adds names and forms of rows, and may deprecate some. A package of version N is served by N to N + 3. So what
N is the last to use stays up to N + 3; `tests/compat/` holds a package of each version to that.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from opwright.former.rows import rows_of_texts

__all__ = ["DEPRECATED", "SERVED", "Deprecated", "load", "served_rows"]

SERVED: Final = 3  # so many versions before the present one


class Deprecated(NamedTuple):
    """A name that no template uses from version `since` on, and that goes after version `until`."""

    name: str
    since: int
    until: int
    replacement: str
    home: str


def _deprecated(since: int, home: str, names: str, replacement: str) -> dict[str, Deprecated]:
    """Return the entries of names from one module, which packages of the version before are the last to use."""
    return {name: Deprecated(name, since, since - 1 + SERVED, replacement, home) for name in names.split()}


DEPRECATED: Final[Mapping[str, Deprecated]] = {
    **_deprecated(5, "opwright_core.arrays.storage", "storage_of", "the row `ADInplaceOrView`"),
    **_deprecated(5, "opwright_core.keys", "ADINPLACEORVIEW WRITE_BITS", "the row `ADInplaceOrView`"),
    **_deprecated(5, "opwright.autograd.recording", "check_writable increment_version", "the row `ADInplaceOrView`"),
    **_deprecated(5, "opwright.autograd.regenerating", "mark_view mark_views", "the row `ADInplaceOrView`"),
    **_deprecated(5, "opwright.fake.results", "fake_like", "the row `metas`"),
    **_deprecated(6, "opwright_core.arrays.dtypes", "plain_dtypes", "the row `ufunc`"),
    **_deprecated(6, "opwright_core.dispatch.compiled.ufunc_shims", "ufunc_shim ufunc_shims", "the row `ufunc`"),
    **_deprecated(6, "opwright_core.keys", "GRAD", "recorder"),
    **_deprecated(6, "opwright.autograd.former_recorders", "records", "recorder"),
    **_deprecated(6, "opwright.autograd.nodes", "next_sequence", "recorder"),
    **_deprecated(
        6, "opwright.autograd.recording", "Kernel check_no_gradient edges_of record record_several", "recorder"
    ),
    **_deprecated(6, "opwright.autograd.recording", "check_inplace move_history", "inplace_recorder"),
    **_deprecated(6, "opwright.autograd.regenerating", "rebase_history", "inplace_recorder"),
    **_deprecated(6, "opwright.autograd.saved", "Saved save save_all save_optional save_original", "saved_tensor"),
    **_deprecated(6, "opwright.autograd.saved", "save_result save_results", "saved_result"),
    **_deprecated(6, "opwright.former.plans", "KnownForms known_result", "kernel"),
    **_deprecated(6, "opwright_core.plans.plan", "cast_operands", "kernel"),
    **_deprecated(6, "opwright_core.plans.writing", "Plan", "kernel"),
    **_deprecated(7, "opwright.former.plans", "KnownViews", "ViewCache"),
}
# How rows of register.py are read, by the version that changed them: each makes of former rows those of that version.
_ROWS: Final[Mapping[int, Callable[[Any], Any]]] = {6: rows_of_texts}
_warned: Final[set[str]] = set()
_versions: Final[dict[str, int]] = {}  # of packages of other versions


def served_rows(package: str, version: int, rows: Any, present: int) -> Any:
    """Return the rows of a package of another version as the `present` one has them.

    Raises ImportError, which says what to install or to run, for a version that is not served.
    """
    if version > present:
        raise ImportError(_newer(package, f"for version {version} of opwright_core.abi", present))
    if version < present - SERVED:
        raise ImportError(
            f"{package} was generated for version {version} of opwright_core.abi, and {_this()} serves "
            f"{present - SERVED} to {present}: install a newer release of it, or run `opwright generate` again"
        )
    _versions[package] = version
    for since, read in sorted(_ROWS.items()):
        if version < since and rows:
            rows = read(rows)
    return rows


def load(name: str, user: str, present: int) -> Any:
    """Return what has a deprecated name, with a DeprecationWarning for the package of the module `user`.

    Raises ImportError for any other name: only a package of a newer version asks for it.
    """
    known = DEPRECATED.get(name)
    package = user.partition(".")[0] or "this module"
    if known is None:
        raise ImportError(_newer(package, f"opwright_core.abi has no {name!r}", present))
    if package not in _warned:
        _warned.add(package)
        last = min(known.until, _versions.get(package, present) + SERVED)
        message = (
            f"{package} uses {name!r} of opwright_core.abi, deprecated since version {known.since} in favour of "
            f"{known.replacement}; version {last} is the last that serves it, and this is {present}: "
            "`opwright generate` makes it anew"
        )
        file = getattr(sys.modules.get(user), "__file__", None) or user
        warnings.warn_explicit(message, DeprecationWarning, file, 1, module=user or __name__)
    home = import_module(known.home)
    return getattr(home, name) if hasattr(home, name) else import_module(f"{home.__name__}.{name}")


def _newer(package: str, why: str, present: int) -> str:
    """Return the error of a package that was generated by a newer Opwright, with its release where that is known."""
    module = sys.modules.get(package)
    folder = next(iter(getattr(module, "__path__", ())), "")
    try:
        generator = json.loads(Path(folder, "manifest.json").read_text("utf-8"))["generator"]
    except (OSError, ValueError, KeyError):
        generator = "opwright"
    release = generator.partition(" ")[2]
    wanted = f"'opwright>={release}'" if release else "opwright"
    return (
        f"{package} was generated by a newer Opwright ({why}, and this is {_this()}, version {present}): "
        f"pip install --upgrade {wanted}, or run `opwright generate` again with this one"
    )


def _this() -> str:
    return f"Opwright {sys.modules['opwright'].__version__}"
