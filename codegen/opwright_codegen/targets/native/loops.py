"""Target `native/NS_loops.c`: the loops of expressions, one for each dtype, and what they are built upon.

Note [Loops]
A loop is one C function for a dtype, over elements that lie one behind the other. `native/strided.h` brings all other
arrays into that form, block by block, so that no operand is copied as a whole; half and bfloat16 run in the loop of
float32. `opwright/elements.h`, `opwright/complex_elements.h` and `opwright/mathematics.h` have the functions; they name
neither Python nor NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from opwright_codegen.declared.parts import Binding, Looped
from opwright_codegen.errors import SchemaError
from opwright_codegen.expressions.c_form import CTypes, c_form, fits, is_in_c, may_refuse, types_of
from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.typed import Applied, Node, nodes, numbers_of
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.targets.native.c import FOLDER
from opwright_codegen.views.c_text import c_block
from opwright_codegen.views.operators import tuple_text

__all__ = [
    "LoopKernel", "code_of", "digest_text", "files", "is_light", "loop_dtypes", "loop_kernels", "loops_file",
    "loops_header", "number_text",
]  # fmt: skip

# The codes of dtypes in C, in the order of `enum loop_code`; half and bfloat16 run in the loop of float32.
_CODES: Final = {
    "bool": "B8", "int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32",
    "int64": "I64", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "C64", "complex128": "C128",
}  # fmt: skip
_MOST: Final = 15  # tensors, and numbers: what `native/strided.h` has room for
# What a processor does in an instruction or two; loops of these alone gain little from wider ones.
_LIGHT: Final = frozenset(
    (
        "add", "subtract", "multiply", "divide", "negative", "positive", "square", "reciprocal", "abs", "maximum",
        "minimum", "fmax", "fmin", "clamp", "where", "relu", "equal", "not_equal", "less", "less_equal", "greater",
        "greater_equal", "isnan", "isinf", "isfinite", "signbit", "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
        "copysign", "sqrt", "sign",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoopKernel:
    """The loops of one operator: `dtypes` are those that it has one for, `numbers` a function of the call's arguments
    that computes its numbers, or empty."""

    name: str
    operator: str
    declaration: str
    expression: Expression
    dtypes: tuple[str, ...]
    numbers: str = ""

    @property
    def symbol(self) -> str:
        """Return what C calls the table of its loops: as nothing else is called."""
        return f"loops_of_{self.name}"

    def own_dtypes(self) -> Iterator[str]:
        """Yield the dtypes that loops are written for."""
        done = set()
        for dtype in self.dtypes:
            suffix = types_of(dtype).suffix
            if suffix not in done:
                done.add(suffix)
                yield dtype


def loop_kernels(bindings: Sequence[Binding], key: str = "CPU") -> list[LoopKernel]:
    """Return the kernels that have loops, each once. Raises SchemaError for one of too many operands."""
    found = {}
    for binding in bindings:
        kernel = binding.kernel
        if isinstance(kernel, Looped) and binding.key == key and kernel.name not in found:
            expression = kernel.expression
            if max(len(expression.tensors), len(numbers_of(expression.root))) > _MOST:
                message = f"{kernel.operator}: an expression is over at most {_MOST} Tensors and {_MOST} numbers"
                raise SchemaError("expression-form", message, expression.text.span)
            dtypes = loop_dtypes(expression, key)
            schema = binding.base.schema
            declaration = f"{schema.text or schema}\n{expression.text.text}"
            numbers = _numbers(expression, schema) if key == "CPU" else ""
            found[kernel.name] = LoopKernel(kernel.name, kernel.operator, declaration, expression, dtypes, numbers)
    return list(found.values())


def _numbers(expression: Expression, schema: FunctionSchema) -> str:
    """Return a function of the arguments of a call, in order, that computes the numbers; empty where there are none."""
    spelling = Spelling(arguments={each.name: f"given[{position}]" for position, each in enumerate(schema.arguments)})
    numbers = numbers_of(expression.root)
    return f"lambda given: {tuple_text([emit(number, spelling) for number in numbers])}" if numbers else ""


def loop_dtypes(expression: Expression, key: str) -> tuple[str, ...]:
    """Return the dtypes that an expression has loops for; on CUDA none of complex numbers, and none whose
    loop may refuse an element."""
    found = (dtype for dtype in expression.dtypes if is_in_c(dtype) and fits(expression, dtype))
    return tuple(
        dtype for dtype in found if key == "CPU" or not (types_of(dtype).is_complex or may_refuse(expression, dtype))
    )


def digest_text(kernels: Sequence[LoopKernel]) -> str:
    """Return what tells loops from others."""
    texts = [(k.name, [c_form(k.expression, d) for d in k.dtypes], k.dtypes) for k in kernels]
    return sha256(repr(texts).encode()).hexdigest()[:16] if kernels else ""


def loops_file(namespace: str) -> str:
    """Return the name of the file of loops."""
    return f"{FOLDER}/{namespace}_loops.c"


def loops_header(namespace: str) -> str:
    """Return the name of the header that declares them."""
    return f"{FOLDER}/{namespace}_loops.h"


def files(kernels: Sequence[LoopKernel], namespace: str) -> Iterator[tuple[str, str, dict[str, object] | None]]:
    """Yield the files of loops: name, template, and what that shows; None where there are no loops."""
    shown = [_shown(kernel) for kernel in kernels]
    header = loops_header(namespace).rpartition("/")[2]
    yield (
        loops_header(namespace),
        "native_loops.h.j2",
        {"symbols": [kernel.symbol for kernel in kernels], "guard": f"OPWRIGHT_{namespace}_LOOPS_H"}
        if kernels
        else None,
    )
    yield (
        loops_file(namespace),
        "native_loops.c.j2",
        {"kernels": shown, "loops_header": header} if kernels else None,
    )


def _shown(kernel: LoopKernel) -> dict[str, object]:
    expression = kernel.expression
    is_cloned = not is_light(expression.root)
    return {
        "comment": c_block(kernel.declaration),
        "symbol": kernel.symbol,
        "loops": [
            {"name": _function(kernel, dtype), "lines": list(_lines(kernel, dtype)), "is_cloned": is_cloned}
            for dtype in kernel.own_dtypes()
        ],
        "arrays": len(expression.tensors),
        "numbers": len(numbers_of(expression.root)),
        "is_truth": int(expression.is_truth),
        "may_refuse": int(any(may_refuse(expression, dtype) for dtype in kernel.dtypes)),
        "table": ", ".join(f"[LOOP_{_CODES[dtype]}] = {_function(kernel, dtype)}" for dtype in kernel.dtypes) or "0",
    }


def is_light(root: Node) -> bool:
    """Whether loops of a tree gain little from wider instructions."""
    return all(not isinstance(part, Applied) or part.function.name in _LIGHT for part in nodes(root))


def code_of(dtype: str) -> str:
    """Return the code of a dtype in C, `LOOP_F32`, without its beginning."""
    return _CODES[dtype]


def _function(kernel: LoopKernel, dtype: str) -> str:
    return f"{kernel.name}_loop_{types_of(dtype).suffix}"


def number_text(types: CTypes, position: int) -> str:
    """Return a number of a call in the dtype of a loop."""
    if types.is_complex:
        parts = ", ".join(f"({types.part})numbers[{position}].parts[{part}]" for part in (0, 1))
        return f"make_{types.suffix}({parts})"
    return f"({types.type})numbers[{position}].{'real' if types.is_float else 'whole'}"


def _lines(kernel: LoopKernel, dtype: str) -> Iterator[str]:
    """Yield the statements of a loop."""
    expression, types = kernel.expression, types_of(dtype)
    result = "uint8_t" if expression.is_truth else types.type
    text = c_form(expression, dtype)
    count = len(numbers_of(expression.root))
    for position in range(len(expression.tensors)):
        yield f"const {types.type} *const a{position} = from[{position}];"
    yield f"{result} *const out = to;"
    for position in range(count):
        yield f"const {types.type} s{position} = {number_text(types, position)};"
    if not count:
        yield "(void)numbers;"
    is_checked = "&bad" in text
    if is_checked:
        yield "int bad = 0;"
    else:
        yield "EACH_ALONE"
    yield "for (int64_t i = 0; i < count; i++) {"
    truth = " != 0" if types.suffix == "b8" else ""
    for position in range(len(expression.tensors)):
        yield f"    const {types.type} x{position} = a{position}[i]{truth};"
    yield f"    out[i] = {text};"
    yield "}"
    yield f"return {'bad' if is_checked else '0'};"
