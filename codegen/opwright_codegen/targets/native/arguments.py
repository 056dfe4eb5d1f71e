"""Arguments of C kernels in C: parameters of the functions, how a shim reads them, what it passes on.

In a shim, `args[2]` is an argument as Python gave it and `a2` what C takes it for; `v2` and `n2` are memory and count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright_codegen.declared.parts import NativeArgument
from opwright_codegen.views.c_text import c_name
from opwright_codegen.views.names import Namer

__all__ = ["C_TYPES", "EACH", "ONE", "geometry", "held", "parameters", "passed", "reading", "unless"]

# By dtype: the end of the function's name, the type in C, and NumPy's number. Bools are bytes, of which any is there.
C_TYPES: Final = {
    "bool": ("b8", "uint8_t", "NPY_BOOL"),
    **{f"{sign}int{n}": (f"{sign[:1] or 'i'}{n}", f"{sign}int{n}_t", f"NPY_{sign.upper()}INT{n}")
       for sign in ("u", "") for n in (8, 16, 32, 64)},
    "float32": ("f32", "float", "NPY_FLOAT32"),
    "float64": ("f64", "double", "NPY_FLOAT64"),
    "complex64": ("c64", "float _Complex", "NPY_COMPLEX64"),
    "complex128": ("c128", "double _Complex", "NPY_COMPLEX128"),
}  # fmt: skip
C_KINDS: Final = {dtype: kind for dtype, (_, kind, _) in C_TYPES.items()}
# By sort: the type of one, and of an element of a list; the functions that read one, and a list.
ONE: Final = {"float": "double", "int": "int64_t", "bool": "int", "text": "const char *"}
EACH: Final = {"float": "double", "int": "int64_t", "bool": "uint8_t"}
_READ: Final = {"float": "to_double", "int": "to_int64", "bool": "to_bool", "text": "to_text"}
_READ_LIST: Final = {"float": "to_doubles", "int": "to_int64s", "bool": "to_bools"}


def geometry(convention: str) -> list[tuple[str, str]]:
    """Return what tells of an array's shape and strides: the type of a parameter, and how its name ends."""
    told = [("int ", "ndim"), ("const int64_t *", "shape"), ("const int64_t *", "strides")]
    return {"elementwise": [], "contiguous": told[:2], "strided": told}[convention]


def parameters(
    argument: NativeArgument, name: str, kind: str, convention: str, namer: Namer, kinds: Mapping[str, str] = C_KINDS
) -> Iterator[str]:
    """Yield the parameters for an argument of that name; `kind` is the type of the kernel's dtype, `kinds` have that of
    each."""
    if argument.sort == "array":
        kind = kinds[argument.dtype] if argument.dtype else kind
        yield f"{'' if argument.is_written else 'const '}{kind} *{name}"
        yield from (text + c_name(namer, f"{name}_{word}") for text, word in geometry(convention))
    elif argument.is_list:
        yield f"const {EACH[argument.sort]} *{name}"
        yield f"int64_t {c_name(namer, f'{name}_count')}"
    elif argument.sort == "text":
        yield f"const char *{name}"
    else:
        one = kind if argument.sort == "scalar" else ONE[argument.sort]
        yield f"const {one} *{name}" if argument.is_optional else f"{one} {name}"


def unless(problem: str) -> str:
    """Return the statement that leaves a call to Python."""
    return f"if ({problem})\n    return unserved();"


def reading(position: int, argument: NativeArgument) -> Iterator[str]:
    """Yield the statements that read an argument that is no array."""
    given, taken = f"args[{position}]", f"a{position}"
    there = f"{given} != Py_None && " if argument.is_optional else ""
    if argument.sort == "scalar":
        yield f"scalar {taken};"
        yield unless(f"{there}!to_scalar({given}, type, &{taken})")
    elif argument.is_list:
        each = EACH[argument.sort]
        yield f"{each} v{position}[LISTED];"
        yield f"const {each} *{taken} = NULL;"
        yield f"int64_t n{position} = 0;"
        yield unless(f"{there}!{_READ_LIST[argument.sort]}({given}, v{position}, &{taken}, &n{position})")
    else:
        is_pointer = argument.is_optional and argument.sort != "text"
        taken = f"v{position}" if is_pointer else taken
        kind = ONE[argument.sort]
        yield f"{kind}{'' if kind.endswith('*') else ' '}{taken}{_nothing(argument)};"
        yield unless(f"{there}!{_READ[argument.sort]}({given}, &{taken})")


def _nothing(argument: NativeArgument) -> str:
    if not argument.is_optional:
        return ""
    return " = NULL" if argument.sort == "text" else " = 0"


def held(position: int, argument: NativeArgument) -> list[tuple[str, str]]:
    """Return type and name of the variables that `reading` makes and `passed` names."""
    if argument.sort == "scalar":
        return [("scalar ", f"a{position}")]
    if argument.is_list:
        return [(f"const {EACH[argument.sort]} *", f"a{position}"), ("int64_t ", f"n{position}")]
    kind = ONE[argument.sort]
    is_pointer = argument.is_optional and argument.sort != "text"
    return [(kind if kind.endswith("*") else f"{kind} ", f"{'v' if is_pointer else 'a'}{position}")]


def passed(position: int, argument: NativeArgument, member: str) -> list[str]:
    """Return what a function gets for an argument that is no array; `member` is that of its dtype in a `scalar`."""
    taken, missing = f"a{position}", f"args[{position}] == Py_None ? NULL : "
    if argument.sort == "scalar":
        return [f"{missing}&{taken}.{member}" if argument.is_optional else f"{taken}.{member}"]
    if argument.is_list:
        return [taken, f"n{position}"]
    return [f"{missing}&v{position}" if argument.is_optional and argument.sort != "text" else taken]
