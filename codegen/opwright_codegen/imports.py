"""The import lines of a generated module: what it uses and no more, in the order ruff sorts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opwright_codegen.layout import LINE, bracketed

__all__ = ["import_lines", "words_in"]

_WORD = re.compile(r"(?<!def )\b[A-Za-z_]\w*")  # but the names of functions defined there
_STRING = re.compile(r'"[^"\n]*"')

# Names that generated modules use, by the module they come from.
_MODULES = {
    "collections.abc": ("Callable", "Sequence"),
    "typing": ("Any", "Generic", "NamedTuple", "TypeAlias", "TypeVar", "overload"),
    "numpy": ("ndarray",),
    "numpy.typing": ("DTypeLike", "NDArray"),
    "opwright": ("dtypes", "rules"),
    "opwright.annotations": ("Scalar",),
    "opwright.autograd.forward": ("or_zeros", "sum_terms"),
    "opwright.autograd.nodes": (
        "Edge", "Recorded", "RecordedSeveral", "gradients_of", "next_sequence", "split_edges",
    ),
    "opwright.autograd.recording": (
        "Kernel", "check_inplace", "check_no_gradient", "check_writable", "edges_of", "increment_version", "mark_view",
        "mark_views", "move_history", "not_implemented", "rebase_history", "record", "record_several",
        "refuse_recording",
    ),
    "opwright.autograd.saved": (
        "Saved", "save", "save_all", "save_optional", "save_original", "save_result", "save_results",
        "unpack", "unpack_all", "unpack_optional",
    ),
    "opwright.conversion": ("INTS", "is_dtype", "is_int_list"),
    "opwright.devices": ("Device", "is_array"),
    "opwright.dispatcher": ("Operator", "declare"),
    "opwright.dtypes": ("DType", "plain_dtypes"),
    "opwright.fake": ("array_module",),
    "opwright.fake.kernels": ("fake_kernel",),
    "opwright.fake.modes": ("new_place",),
    "opwright.fake.results": ("fake", "fake_like", "new_fake", "place_of", "place_of_first"),
    "opwright.forward_rules": ("ForwardRule", "TangentFormula"),
    "opwright.generator": ("Generator",),
    "opwright.keywords": ("NOT_GIVEN",),
    "opwright.keys": ("ADINPLACEORVIEW", "ARRAYS", "DENSE_CPU", "DENSE_CUDA", "GRAD", "WRITE_BITS"),
    "opwright.options": ("Layout", "MemoryFormat"),
    "opwright.packets": ("Packet", "packet"),
    "opwright.results": (
        "new_result", "new_results", "plan_of", "plans_of", "results_of", "wrap_list", "wrap_result",
    ),
    "opwright.returns": ("as_tuple", "number_of", "show_result"),
    "opwright.sizes": ("SymBool", "SymFloat", "SymInt"),
    "opwright.state": ("active_modes",),
    "opwright.storage": ("storage_of",),
    "opwright.tensor": ("Tensor", "wrap", "wrap_view", "wrap_views"),
    "opwright.variants": ("copy_written", "write_out", "write_outs", "write_self"),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_STANDARD = frozenset(("builtins", "collections.abc", "math", "typing"))


def words_in(texts: Iterable[str]) -> set[str]:
    """Every identifier that the texts use; what stands in strings is none."""
    return {word for text in texts for word in _WORD.findall(_STRING.sub("", text))}


def import_lines(words: Iterable[str], modules: Iterable[str] = (), extra: Sequence[tuple[str, str, str]] = ()) -> str:
    """The lines for the names among `words` that have a home, for whole `modules` (`numpy as np`), and for `extra`
    imports `from MODULE import NAME as ALIAS`."""
    homes: dict[str, list[str]] = {}
    for word in words:
        if word in _HOMES:
            homes.setdefault(_HOMES[word], []).append(word)
    sections: tuple[list[str], ...] = ([], [], [], [])
    for module in sorted([*modules, *(f"{name} as {alias}" for module, name, alias in extra if not module)]):
        sections[_section(module.partition(" ")[0])].append(f"import {module}")
    lines = [(home, _import_line(home, sorted(names, key=_member))) for home, names in homes.items()]
    lines += [
        (module, f"from {module} import {name}{'' if alias == name else f' as {alias}'}")
        for module, name, alias in extra
        if module
    ]
    for module, line in sorted(
        lines, key=lambda found: (found[0].startswith("."), found[0], " as " in found[1], found[1])
    ):
        sections[_section(module)].append(line)
    return "\n\n".join("\n".join(section) for section in sections if section)


def _import_line(home: str, names: Sequence[str]) -> str:
    line = f"from {home} import {', '.join(names)}"
    return line if len(line) <= LINE else bracketed(f"from {home} import (", names, ")")


def _section(module: str) -> int:
    if module in _STANDARD:
        return 0
    if module.startswith("."):
        return 3
    return 2 if module.partition(".")[0] in ("opwright", "opwright_aten", "opwright_kernels") else 1


def _member(name: str) -> tuple[int, str]:
    """The order of ruff within a line: constants, classes, the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name
