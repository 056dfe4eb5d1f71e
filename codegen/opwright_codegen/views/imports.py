"""The import lines of a generated module: what it uses and no more, in the order ruff sorts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opwright_codegen.views.layout import LINE, bracketed

__all__ = ["ABI_VERSION", "import_lines", "words_in"]

_WORD = re.compile(r"(?<!def )\b[A-Za-z_]\w*")  # but the names of functions defined there
_STRING = re.compile(r'"[^"\n]*"')

# Names that generated modules use, by the module they come from.
_MODULES = {
    "collections.abc": ("Callable", "Sequence"),
    "typing": ("Any", "Generic", "NamedTuple", "Protocol", "TypeAlias", "TypeVar", "overload"),
    "typing_extensions": ("deprecated",),
    "numpy": ("ndarray",),
    "numpy.typing": ("DTypeLike", "NDArray"),
    "opwright_core.abi": (
        "ARRAYS", "Along", "At", "ByHand", "CudaHostKernel", "CudaHostWriter", "CudaKernel", "CudaLoop", "CudaSource",
        "CudaWriter", "DENSE_CPU", "DENSE_CUDA", "DType", "Declarations", "Device", "Dimensions", "Edge",
        "Elementwise", "Everything", "Family", "Folded", "ForwardRule", "Generator", "INTS", "LaunchRule", "Layout",
        "Leading", "MemoryFormat", "NOT_GIVEN", "NativeLibrary", "NumbaArrays", "NumbaFunction", "Operator",
        "Overloaded", "Packet", "Product", "Recorded", "RecordedSeveral", "Reducing", "Scalar", "SymBool", "SymFloat",
        "SymInt", "TangentFormula", "Tensor", "TritonKernel", "TritonWriter", "TvmFunction", "ViewCache", "Windows",
        "active_modes", "adjoint_of", "alike", "array_module", "as_tuple", "autocast_wrapper", "conjugate_of",
        "copy_written", "cuda_kernel", "dtypes", "expanded", "fake", "fake_kernel", "find0", "find1", "find2",
        "find3", "find_items", "find_list", "find_some", "function_of", "functions_of", "gradients_of",
        "inplace_recorder", "inplace_variant", "install", "install_methods", "is_array", "is_dtype", "is_int_list",
        "kept_argument", "kept_counts", "kept_numel", "kept_result_value", "kept_shape", "kept_storage_offset",
        "kept_stride", "kept_value", "kernel", "methods_of", "name_kernel", "native_kernel", "new_fake", "new_place",
        "new_result", "new_results", "not_implemented", "number_of", "or_zeros", "out_recorder", "out_variant",
        "place_of", "place_of_first", "plan_of", "plans_of", "recorded_if", "recorder", "reduction_number",
        "refuse_recording", "reshaped", "result_class", "results_of", "rules", "saved_result", "saved_tensor",
        "split_edges", "stub_of", "sum_terms", "swapped", "turned", "unpack", "unpack_all", "unpack_optional",
        "where_declared", "wrap", "wrap_list", "wrap_result", "wrap_view", "wrap_views", "write_out", "write_outs",
        "write_self", "zeros_for",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
ABI_VERSION = 1  # of `opwright_core.abi`, which has all that generated code may import of the runtime
_STANDARD = frozenset(("builtins", "collections.abc", "math", "typing"))


def words_in(texts: Iterable[str]) -> set[str]:
    """Return every identifier that the texts use; what stands in strings is none."""
    return {word for text in texts for word in _WORD.findall(_STRING.sub("", text))}


def import_lines(words: Iterable[str], modules: Iterable[str] = (), extra: Sequence[tuple[str, str, str]] = ()) -> str:
    """Return the import lines for the names among `words` that have a home, for whole `modules` (`numpy as np`), and
    for `extra` imports `from MODULE import NAME as ALIAS`."""
    homes: dict[str, list[str]] = {}
    for word in words:
        if word in _HOMES:
            homes.setdefault(_HOMES[word], []).append(word)
    sections: tuple[list[str], ...] = ([], [], [], [])
    for module in sorted([*modules, *(f"{name} as {alias}" for module, name, alias in extra if not module)]):
        sections[_section(module.partition(" ")[0])].append(f"import {module}")
    lines = [(home, import_line(home, sorted(names, key=_member))) for home, names in homes.items()]
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


def import_line(home: str, names: Sequence[str]) -> str:
    """Return the statement that imports names of a module, a name a line if it is long."""
    line = f"from {home} import {', '.join(names)}"
    return line if len(line) <= LINE else bracketed(f"from {home} import (", names, ")")


def _section(module: str) -> int:
    if module in _STANDARD:
        return 0
    if module.startswith("."):
        return 3
    return 2 if module.partition(".")[0] in ("opwright", "opwright_aten", "opwright_core", "opwright_kernels") else 1


def _member(name: str) -> tuple[int, str]:
    """Return the key by which ruff sorts within a line: constants, classes, the rest; by letters, capitals or not."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name.lower()
