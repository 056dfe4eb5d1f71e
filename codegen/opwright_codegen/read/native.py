"""The keys `convention`, `dtypes` and `dtype_of`: how C kernels are called, for which dtypes; readers and rules."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opwright_codegen.documents.nodes import node_span, one_of, read_list, read_scalar, text_span, unknown, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.model import Kernel, Operator
from opwright_codegen.read.rule import Declared, Problem, Rule
from opwright_codegen.source import Source, Span, Text

__all__ = ["CONVENTIONS", "NATIVE_RULES", "layout_of", "read_convention", "read_dtype_of", "read_dtypes"]

# How arrays are told of, and of a function that is given a range of what there is to do: `parallel` is elementwise.
_LAYOUTS = ("elementwise", "contiguous", "strided")
_PARALLEL = "parallel"
CONVENTIONS = (*_LAYOUTS, _PARALLEL, *(f"{_PARALLEL} {layout}" for layout in _LAYOUTS[1:]))
DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
_NATIVE = re.compile(
    r"\s*(?:native|raw|nvcc|numba|triton|tvm_ffi):(?!:)"
)  # `native::name` is the name of a kernel in C++
_NUMBA = re.compile(r"\s*numba:")
_HALVES = ("float16", "bfloat16")  # for expressions alone: C has no types for them

read_convention = one_of("convention", CONVENTIONS)


def layout_of(convention: str) -> tuple[str, bool]:
    """Return how a convention tells of arrays, and whether functions are given a range."""
    first, _, rest = convention.partition(" ")
    return (rest or _LAYOUTS[0], True) if first == _PARALLEL else (convention, False)


def read_dtypes(node: Node, source: Source) -> tuple[str, ...]:
    """Read names of dtypes, in a list or with commas between them."""
    found: dict[str, None] = {}
    for name, span in _words(node, source):
        if name not in _HALVES:
            _check_dtype(name, span)
        if name in found:
            raise SchemaError("duplicate-key", f"the dtype {name!r} is listed twice", span)
        found[name] = None
    return tuple(found)


def read_dtype_of(node: Node, source: Source) -> tuple[tuple[Text, str], ...]:
    """Read what is always of one dtype: names of arguments and results, each with the dtype."""
    if type(node) is not MappingNode:
        raise wrong_type("a mapping", node, source, "for example {target: int64}")
    found = []
    for name, (key_node, value) in node.pairs.items():
        scalar = read_scalar(value, source)
        _check_dtype(scalar.text, text_span(scalar, source))
        found.append((Text(name, node_span(key_node, source)), scalar.text))
    return tuple(found)


def _check_dtype(name: str, span: Span) -> None:
    if name in _HALVES:
        message = f"C has no type for {name}"
        hint = f"list float32: operands of {name} are computed in it"
        raise SchemaError("unknown-dtype", message, span, hint)
    if name not in DTYPES:
        raise unknown("dtype", name, DTYPES, span)


def _words(node: Node, source: Source) -> list[tuple[str, Span]]:
    if type(node) is not ScalarNode:
        return [(scalar.text, text_span(scalar, source)) for scalar in read_list(node, source)]
    scalar = read_scalar(node, source)
    span = text_span(scalar, source)
    words = []
    for part in scalar.text.split(","):
        word = part.strip()
        at = span.text.find(word) if word else -1
        words.append((word, span.sub(at, at + len(word)) if at >= 0 else span))
    return words


# -- rules


def _native(operator: Operator) -> Kernel | None:
    """Return the C kernel that the entry itself names."""
    if operator.generated:
        return None
    return next((kernel for _, kernel in operator.dispatch if _NATIVE.match(kernel.text)), None)


def _is_of_arrays(operator: Operator, kernel: Kernel) -> bool:
    """Whether a kernel is a function on arrays that Numba compiles for what it is called with."""
    return bool(_NUMBA.match(kernel.text)) and not {"convention", "dtypes", "dtype_of"} & set(operator.spans)


def _has_convention(operator: Operator, _: Declared) -> Problem | None:
    kernel = _native(operator)
    if kernel is None or operator.convention is not None or "convention" in operator.spans:
        return None
    if _is_of_arrays(operator, kernel):
        return None
    hint = f"add 'convention: elementwise', or one of {', '.join(CONVENTIONS[1:])}"
    return Problem("the kernel has no 'convention', which says how it is called", kernel.span, hint)


def _has_dtypes(operator: Operator, _: Declared) -> Problem | None:
    kernel = _native(operator)
    is_wrong = operator.dtypes is None and "dtypes" in operator.spans  # which is said elsewhere
    if kernel is None or operator.dtypes or is_wrong or _is_of_arrays(operator, kernel):
        return None
    message = "the kernel has no 'dtypes', of which it has a function each"
    return Problem(message, kernel.span, "add 'dtypes: float32, float64'")


def _has_c_types(operator: Operator, _: Declared) -> Problem | None:
    half = next((name for name in operator.dtypes or () if name in _HALVES), None)
    if half is None or _native(operator) is None:
        return None
    span = operator.span("dtypes")
    at = span.text.find(half)
    hint = f"list float32: operands of {half} are computed in it"
    return Problem(f"C has no type for {half}", span.sub(at, at + len(half)) if at >= 0 else span, hint)


def _has_kernel(operator: Operator, _: Declared) -> Problem | None:
    about = ("convention", "dtype_of") if operator.expression is not None else ("convention", "dtypes", "dtype_of")
    key = next((key for key in about if key in operator.spans), None)
    if key is None or operator.generated or _native(operator) is not None:
        return None
    hint = "leave it out, or name a C kernel: dispatch: {CPU: native:my_function}"
    return Problem(f"{key!r} is about C kernels, and 'dispatch' names none", operator.span(key), hint)


NATIVE_RULES: Mapping[str, Rule] = {
    "native-convention": _has_convention,
    "native-dtypes": _has_dtypes,
    "native-half": _has_c_types,
    "native-missing": _has_kernel,
}
