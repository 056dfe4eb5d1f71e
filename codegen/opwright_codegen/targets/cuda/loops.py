"""Targets `native/NAME.loops.cu` and `native/device.elements.cu`: the CUDA kernels of expressions.

Note [Loops in CUDA]
An expression is a file of its own, so that the first call compiles that one alone: for each dtype a kernel over dense
operands, and one that walks others by their strides (Note [Conventions of CUDA kernels]). What all are built upon
stands in one file, whose text `CudaSource` puts before. Half and bfloat16 are computed in float. Sums of products are
not fused, so that results are those of the loops in C. A kernel cannot refuse an element: powers of integers, which
NumPy refuses where the exponent is negative, stay with CuPy, but for those of literals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from opwright_codegen.declared.parts import Binding
from opwright_codegen.expressions.c_form import CTypes, c_form, types_of
from opwright_codegen.expressions.typed import numbers_of
from opwright_codegen.targets.native.c import FOLDER
from opwright_codegen.targets.native.loops import LoopKernel, loop_kernels
from opwright_codegen.views.c_text import c_block
from opwright_codegen.views.headers import header_text
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["cuda_loops", "files", "index_lines"]

_ELEMENTS: Final = "device.elements.cu"  # (sources of the project have no such names, which are words before `.cu`)
_OPTIONS: Final = ("--std=c++17", "--fmad=false")
_HALVES: Final = {"float16": "f16", "bfloat16": "bf16"}


def cuda_loops(bindings: Sequence[Binding]) -> list[LoopKernel]:
    """Return the expressions that have CUDA kernels, each once, with the dtypes of these."""
    return [kernel for kernel in loop_kernels(bindings, "CUDA") if kernel.dtypes]  # (else CuPy computes all)


def files(kernels: Sequence[LoopKernel]) -> Iterator[tuple[str, str, dict[str, object] | None]]:
    """Yield the files of CUDA kernels: name, template, and what that shows."""
    if kernels:
        yield f"{FOLDER}/{_ELEMENTS}", "cuda_elements.cu.j2", {"elements": header_text("elements.h")}
    for kernel in kernels:
        loops = [_shown(kernel, dtype) for dtype in kernel.dtypes]
        shown: dict[str, object] = {"comment": c_block(kernel.declaration), "loops": loops}
        yield f"{FOLDER}/{_source(kernel)}", "cuda_loops.cu.j2", shown


def index_lines(kernels: Sequence[LoopKernel]) -> list[str]:
    """Return the lines that name the kernels in Python."""
    return [_line(kernel) for kernel in kernels]


def _source(kernel: LoopKernel) -> str:
    return f"{kernel.name}.loops.cu"


def _line(kernel: LoopKernel) -> str:
    expression = kernel.expression
    source = ["__file__", quoted(_source(kernel)), tuple_text(list(map(quoted, _OPTIONS))), quoted(_ELEMENTS)]
    functions = [f"{quoted(dtype)}: {quoted(_function(kernel, dtype))}" for dtype in kernel.dtypes]
    numbers = [f"s{position}" for position in range(len(numbers_of(expression.root)))]
    sorts = [*((name, "array") for name in expression.tensors), *((name, "scalar") for name in numbers)]
    arguments = tuple_text([quoted(f"{name}: {sort}") for name, sort in sorts])
    given = [
        bracketed("CudaSource(", source, ")", 4, 1), quoted(kernel.operator), bracketed("{", functions, "}", 4, 1),
        arguments, *(["True"] if expression.is_truth else []),
    ]  # fmt: skip
    return bracketed(f"{kernel.name} = CudaLoop(", given, ")")


def _function(kernel: LoopKernel, dtype: str) -> str:
    return f"loop_{kernel.name}_{_HALVES.get(dtype) or types_of(dtype).suffix}"


def _shown(kernel: LoopKernel, dtype: str) -> dict[str, object]:
    """Return what the template shows of the kernels for a dtype."""
    expression, types, half = kernel.expression, types_of(dtype), _HALVES.get(dtype)
    stored = "uint16_t" if half else types.type
    result = "uint8_t" if expression.is_truth else stored
    operands, numbers = range(len(expression.tensors)), range(len(numbers_of(expression.root)))
    name, text = _function(kernel, dtype), c_form(expression, dtype)
    packed = "int64_t" if types.is_integer or types.suffix == "b8" else "double"
    values = [*(f"{types.type} x{i}" for i in operands), *(f"{types.type} s{i}" for i in numbers)]
    last = [*(f"{packed} n{i}" for i in numbers), f"{result} *out"]
    arrays = [f"const {stored} *a{i}" for i in operands]
    walked = [text for i, array in zip(operands, arrays, strict=True) for text in (array, f"opwright_sizes steps{i}")]
    return {
        "name": name,
        "computed": "uint8_t" if expression.is_truth else types.type,
        "taken": ", ".join(values),
        "statements": [*(["int bad = 0; // (it stays so)"] if "&bad" in text else []), f"return {text};"],
        "dense": _parameters(name, ["int64_t n", *arrays, *last]),
        "strided": _parameters(f"{name}_strided", ["int64_t n", "int ndim", "opwright_sizes shape", *walked, *last]),
        "numbers": [f"const {types.type} s{i} = ({types.type})n{i};" for i in numbers],
        "places": "".join(f", p{i} = 0" for i in operands),
        "steps": [f"p{i} += index * steps{i}[dim];" for i in operands],
        "at_dense": _at(kernel, dtype, [f"a{i}[i]" for i in operands]),
        "at_strided": _at(kernel, dtype, [f"a{i}[p{i}]" for i in operands]),
    }


def _at(kernel: LoopKernel, dtype: str, elements: Sequence[str]) -> str:
    """Return the result's element as it is stored, of the elements of operands."""
    half, types = _HALVES.get(dtype), types_of(dtype)
    given = [_value(element, half, types) for element in elements]
    given += [f"s{position}" for position in range(len(numbers_of(kernel.expression.root)))]
    call = f"{_function(kernel, dtype)}_of({', '.join(given)})"
    return f"to_{half}({call})" if half and not kernel.expression.is_truth else call


def _value(element: str, half: str | None, types: CTypes) -> str:
    if half:
        return f"from_{half}({element})"
    return f"{element} != 0" if types.suffix == "b8" else element


def _parameters(name: str, parameters: Sequence[str]) -> str:
    """Return the parameters of a kernel, which stay whole where the line is broken."""
    head = f'extern "C" __global__ void {name}('.replace(" ", "\xa0")
    text = head + ", ".join(parameter.replace(" ", "\xa0") for parameter in parameters)
    lines = wrap(text, 116, subsequent_indent=" " * 8, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).removeprefix(head).replace("\xa0", " ")
