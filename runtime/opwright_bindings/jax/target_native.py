"""Target `native/NS_jax.c`: C kernels and loops as JAX's compiled programs call them (`jax.ffi`); what Python is told.

It is written for packages that are given to JAX. `opwright build` makes a library of its own of it, with the headers
that come with jaxlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from opwright_bindings.jax.target_gradients import GradientLoops, gradient_loops, is_plain
from opwright_codegen.declared.parts import Binding, DerivativeSet, Elsewhere, Looped, Native, NativeArgument
from opwright_codegen.expressions.c_form import may_refuse
from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.typed import Applied, nodes, numbers_of
from opwright_codegen.formula.ast import Formula
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.targets.native.arguments import EACH, geometry
from opwright_codegen.targets.native.c import FOLDER, CKernel, c_kernels
from opwright_codegen.targets.native.digest import digest
from opwright_codegen.targets.native.loops import LoopKernel, loop_dtypes, loop_kernels
from opwright_codegen.views.c_text import c_block, c_literal
from opwright_codegen.views.layout import bracketed, formula_lines, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["TEMPLATE", "context", "file", "native_call", "native_library"]

TEMPLATE: Final = "opwright_bindings.jax:native.c.j2"
_AFTER: Final = 16  # columns, for the name of an overload
_TYPES: Final = {
    "bool": "PRED", **{f"{sign}int{n}": f"{'U' if sign else 'S'}{n}" for sign in ("", "u") for n in (8, 16, 32, 64)},
    "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128",
}  # fmt: skip


def file(namespace: str) -> str:
    """Return the name of the file."""
    return f"{FOLDER}/{namespace}_jax.c"


def native_library(
    bindings: Sequence[Binding], namespace: str, derivatives: DerivativeSet | None
) -> tuple[str, str] | None:
    """Return the name of the library, and what tells it from one of other schemas; None where there is none."""
    kernels, loops = _served(bindings)
    return (f"_{namespace}_jax", _digest(kernels, loops, derivatives)) if kernels or loops else None


def _digest(kernels: Sequence[CKernel], loops: Sequence[LoopKernel], derivatives: DerivativeSet | None) -> str:
    shown = [list(each.shown()) for each in gradient_loops(loops, derivatives).values()]
    return sha256(f"{digest(kernels, loops)}{shown}".encode()).hexdigest()[:16]


def context(bindings: Sequence[Binding], namespace: str, derivatives: DerivativeSet | None) -> dict[str, object] | None:
    """Return what the template shows; None where there is neither a C kernel nor an expression."""
    kernels, loops = _served(bindings)
    if not kernels and not loops:
        return None
    named = ((f"{namespace}_kernels.h", kernels), (f"{namespace}_loops.h", loops))
    return {
        "kernels": [
            {
                "symbol": _symbol(kernel.native.name),
                "comment": c_block(kernel.declaration),
                "statements": list(_statements(kernel)),
            }
            for kernel in kernels
        ],
        "loops": [
            {"symbol": _symbol(loop.name), "loop": loop.symbol, "comment": c_block(loop.declaration)} for loop in loops
        ],
        "gradients": [
            {"comment": c_block(each.kernel.declaration), "parts": list(each.shown())}
            for each in gradient_loops(loops, derivatives).values()
        ],
        "headers": [name for name, is_there in named if is_there],
        "fail": f"{namespace}_fail",
        "module": f"_{namespace}_jax",
        "digest": c_literal(_digest(kernels, loops, derivatives)),
    }


def _served(bindings: Sequence[Binding]) -> tuple[list[CKernel], list[LoopKernel]]:
    """Return the kernels that make results, and the loops."""
    return [kernel for kernel in c_kernels(bindings) if not kernel.native.writes], loop_kernels(bindings)


def _symbol(name: str) -> str:
    return f"opwright_jax_{name}"


def native_call(binding: Binding, schema: FunctionSchema, derivatives: DerivativeSet | None) -> str | None:
    """Return what Python is told of the C function of a binding; None where C does not handle it by itself."""
    kernel = binding.kernel
    if isinstance(kernel, Looped):
        return _loop(kernel, schema, gradient_loops(loop_kernels([binding]), derivatives).get(kernel.name))
    if not isinstance(kernel, Native) or isinstance(kernel, Elsewhere) or kernel.writes:
        return None
    arguments = tuple_text([quoted(str(argument)) for argument in kernel.arguments])
    dtypes = tuple_text([quoted(dtype) for dtype in kernel.dtypes])
    results = tuple_text([quoted(result.dtype) for result in kernel.results])
    positions = tuple_text([str(_place(schema, argument.name)) for argument in kernel.arguments])
    items = [quoted(_symbol(kernel.name)), quoted(kernel.convention), positions, arguments, dtypes, results]
    return bracketed("Kernel(", items, ")", 8, _AFTER)


def _loop(kernel: Looped, schema: FunctionSchema, gradients: GradientLoops | None) -> str | None:
    expression = kernel.expression
    numbers = numbers_of(expression.root)
    dtypes = [dtype for dtype in loop_dtypes(expression, "CPU") if not may_refuse(expression, dtype)]
    if not dtypes or not all(map(is_plain, numbers)):
        return None
    tensors = tuple_text([str(_place(schema, name)) for name in expression.tensors])
    items = [quoted(_symbol(kernel.name)), tensors, tuple_text([quoted(dtype) for dtype in dtypes])]
    items.append(quoted("bool" if expression.is_truth else ""))
    if numbers:
        items.append(_numbers(schema, numbers))
    if gradients is not None:
        by = tuple_text([str(_place(schema, name)) for name in gradients.trees])
        told = [quoted(kernel.name), by]
        if gradients.numbers:
            told.append(_numbers(schema, gradients.numbers))
        if not gradients.has_tangent:
            told.append("has_tangent=False")
        items.append(bracketed("gradients=Gradients(", told, ")", 12, 1))
    if _is_light(expression):
        items.append(formula_lines(kernel.formula, _given(schema), 12, "formula=lambda xp, given: "))
    return bracketed("Loop(", items, ")", 8, _AFTER)


def _is_light(expression: Expression) -> bool:
    """Whether XLA computes it as fast as C, and joins it with what stands beside it: without functions that take C's
    library an element at a time, which XLA is slower at."""
    parts = (part.function for part in nodes(expression.root) if isinstance(part, Applied))
    return not any(function.is_libm or function.module for function in parts)


def _numbers(schema: FunctionSchema, numbers: Sequence[Formula]) -> str:
    """Return a function of the arguments of a call that computes numbers."""
    return f"lambda given: {tuple_text([emit(number, _given(schema)) for number in numbers])}"


def _given(schema: FunctionSchema) -> Spelling:
    return Spelling(arguments={each.name: f"given[{position}]" for position, each in enumerate(schema.arguments)})


def _place(schema: FunctionSchema, name: str) -> int:
    return next(position for position, each in enumerate(schema.arguments) if each.name == name)


def _statements(kernel: CKernel) -> Iterator[str]:
    """Yield the statements of one handler."""
    native = kernel.native
    arrays = [(position, each) for position, each in enumerate(native.arguments) if each.sort == "array"]
    outs = [f"r{position}" for position in range(len(native.results))]
    yield "if (is_described(frame))\n    return NULL;"
    yield f'if (frame->rets.size != {len(outs)})\n    return refused(frame, "a kernel is called with other results");'
    yield 'const XLA_FFI_Array *const told = attribute(frame, "there");'
    yield "const int64_t there = told ? *(const int64_t *)told->data : 0;"
    yield "int64_t next = 0;"
    for position, _ in arrays:
        yield f"const XLA_FFI_Buffer *const a{position} = operand(frame, there, {position}, &next);"
    for position, name in enumerate(outs):
        yield f"const XLA_FFI_Buffer *const {name} = frame->rets.rets[{position}];"
    for position, argument in enumerate(native.arguments):
        if argument.sort != "array":
            yield from _reading(position, argument)
    if native.convention == "strided":
        for name in (*(f"a{position}" for position, _ in arrays), *outs):
            yield f"int64_t strides_{name}[DIMS];"
            yield f"find_strides({name}, strides_{name});"
    yield "int status = 0;"
    typed = next(position for position, each in arrays if not each.dtype and not each.is_optional)
    yield f"switch (a{typed}->dtype) {{"
    for dtype, function in zip(native.dtypes, kernel.functions, strict=True):
        values = ", ".join(_passed(kernel, function.suffix, outs))
        yield f"case XLA_FFI_DataType_{_TYPES[dtype]}:\n    status = {function.name}({values});\n    break;"
    yield 'default:\n    return refused(frame, "no kernel takes such operands");\n}'
    yield f"return finished(frame, {c_literal(native.operator)}, status);"


def _reading(position: int, argument: NativeArgument) -> Iterator[str]:
    """Yield what reads an argument that is no array."""
    yield f'const XLA_FFI_Array *const w{position} = attribute(frame, "a{position}");'
    if argument.sort == "scalar":
        yield f"scalar s{position} = {{0}};"
        yield f"if (w{position})\n    memcpy(&s{position}, w{position}->data, sizeof s{position});"
    elif argument.sort == "bool" and not argument.is_list:
        yield f"const int b{position} = w{position} && *(const uint8_t *)w{position}->data;"


def _passed(kernel: CKernel, suffix: str, outs: Sequence[str]) -> Iterator[str]:
    """Yield what a function gets."""
    convention = kernel.native.convention
    if kernel.native.is_parallel:
        yield "0"
    if convention == "elementwise":
        yield f"elements_of({outs[0]})"
    elif kernel.native.is_parallel:
        yield f"{outs[0]}->rank ? {outs[0]}->dims[0] : 1"
    for position, argument in enumerate(kernel.native.arguments):
        if argument.sort == "array":
            yield from _array(f"a{position}", convention)
        else:
            yield from _value(position, argument, suffix)
    for name in outs:
        yield from _array(name, convention)


def _array(name: str, convention: str) -> list[str]:
    told = {"ndim": f"(int){name}->rank", "shape": f"{name}->dims", "strides": f"strides_{name}"}
    return [f"{name}->data", *(told[word] for _, word in geometry(convention))]


def _value(position: int, argument: NativeArgument, suffix: str) -> list[str]:
    word = f"w{position}"
    if argument.sort == "scalar":
        member = f"s{position}.{suffix}"
        return [f"{word} ? &{member} : NULL" if argument.is_optional else member]
    if argument.is_list:
        return [f"{word} ? (const {EACH[argument.sort]} *){word}->data : NULL", f"{word} ? (int64_t){word}->size : 0"]
    if argument.sort == "text":
        return [f"{word} ? (const char *){word}->data : NULL"]
    if argument.sort == "bool":
        return [f"{word} ? &b{position} : NULL" if argument.is_optional else f"b{position}"]
    data = f"(const {EACH[argument.sort]} *){word}->data"
    return [f"{word} ? {data} : NULL" if argument.is_optional else f"{word} ? *{data} : 0"]
