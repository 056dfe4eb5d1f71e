"""Target `native/NS_shims.c`: between Python and the C functions.

Note [C shims]
A shim serves calls that need no plan: exact arrays of one listed dtype, behaved, in the form of the convention, and
exact numbers. To all else it answers NotImplemented, and the Python shim plans, casts, words errors, and calls it again
with prepared operands. So errors stay in one place, and what C checks is a few flags. It gets the arguments by
position, and behind them an array for each result; None has the shim allocate it, where `meta` says that it is like the
operands. Names of schemas are no names here: arguments are `a0`, `a1`, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.targets.native_c import FOLDER, CFunction, CKernel
from opwright_codegen.targets.native_digest import digest
from opwright_codegen.targets.native_loops import LoopKernel
from opwright_codegen.views.c_text import c_block, c_literal

__all__ = ["TEMPLATE", "context", "file", "module"]

TEMPLATE = "native_shims.c.j2"
_READ = {"float": "to_double", "int": "to_int64", "bool": "to_bool"}
_TYPES = {"float": "double", "int": "int64_t", "bool": "int"}


def file(namespace: str) -> str:
    """Return the name of the file."""
    return f"{FOLDER}/{namespace}_shims.c"


def module(namespace: str) -> str:
    """Return the name of the extension module in its package."""
    return f"_{namespace}"


def context(kernels: Sequence[CKernel], loops: Sequence[LoopKernel], namespace: str) -> dict[str, object] | None:
    """Return what the template shows; None where there is neither a C kernel nor an expression."""
    if not kernels and not loops:
        return None
    shown = [
        {
            "name": kernel.native.name,
            "literal": c_literal(kernel.native.name),
            "comment": c_block(kernel.declaration),
            "statements": list(_statements(kernel)),
        }
        for kernel in kernels
    ]
    return {
        "kernels": shown,
        "loops": [
            {
                "name": loop.name,
                "literal": c_literal(loop.name),
                "symbol": loop.symbol,
                "comment": c_block(loop.declaration),
            }
            for loop in loops
        ],
        "headers": [
            name
            for name, is_there in ((f"{namespace}_kernels.h", kernels), (f"{namespace}_loops.h", loops))
            if is_there
        ],
        "fail": f"{namespace}_fail",
        "module": module(namespace),
        "digest": c_literal(digest(kernels, loops)),
    }


def _statements(kernel: CKernel) -> Iterator[str]:
    """Yield the statements of a shim; those of a block are lines of one text."""
    native = kernel.native
    arrays = [place for place, argument in enumerate(native.arguments) if argument.sort == "array"]
    outs = list(range(len(native.arguments), len(native.arguments) + native.outputs))
    first = f"a{arrays[0]}"
    readable = "".join(f" || !is_readable(args[{place}])" for place in arrays)
    yield _unless(f"count != {len(native.arguments) + native.outputs}{readable}")
    yield from (f"PyArrayObject *const a{place} = (PyArrayObject *)args[{place}];" for place in arrays)
    for place, argument in enumerate(native.arguments):
        if argument.sort != "array":
            yield f"{_TYPES[argument.sort]} a{place};"
            yield _unless(f"!{_READ[argument.sort]}(args[{place}], &a{place})")
    yield f"const int type = PyArray_TYPE({first});"
    listed = " && ".join(f"type != {function.type_number}" for function in kernel.functions)
    yield _unless(listed)
    yield from (_unless(f"PyArray_TYPE(a{place}) != type") for place in arrays[1:])
    yield from _formed(kernel, arrays)
    yield f"int64_t size = elements_of({first});"
    if native.convention == "elementwise":
        yield f"const int64_t bytes = size * PyArray_ITEMSIZE({first});"
    if kernel.allocates:
        yield from _allocated(kernel, outs[0], arrays)
    else:
        yield from _given(kernel, arrays, outs)
    yield "int status = 0;"
    if native.convention != "elementwise":
        yield from (f"size += elements_of(a{place});" for place in (*arrays[1:], *outs))
    yield "PyThreadState *const thread = size >= LARGE ? PyEval_SaveThread() : NULL;"
    yield "switch (type) {"
    for function in kernel.functions:
        yield f"case {function.type_number}:\n    status = {_called(kernel, function, outs)};\n    break;"
    yield "}"
    yield "if (thread)\n    PyEval_RestoreThread(thread);"
    yield f"return finished({c_literal(native.operator)}, status, {_answer(kernel, outs)});"


def _unless(problem: str) -> str:
    return f"if ({problem})\n    return unserved();"


def _answer(kernel: CKernel, outs: Sequence[int]) -> str:
    """Return what the shim answers: the one result, None where there are several. It owns a reference already."""
    if kernel.allocates:
        return f"(PyObject *)a{outs[0]}"
    return f"Py_NewRef(args[{outs[0]}])" if len(outs) == 1 else "Py_NewRef(Py_None)"


def _formed(kernel: CKernel, arrays: Sequence[int]) -> Iterator[str]:
    """Yield the checks that operands have the form of the convention."""
    convention = kernel.native.convention
    if convention == "strided":
        for place in arrays:
            yield from _geometry(convention, place)
        return
    yield from (_unless(f"!PyArray_IS_C_CONTIGUOUS(a{place})") for place in arrays)
    if convention == "elementwise":
        yield from (_unless(f"!have_same_shape(a{place}, a{arrays[0]})") for place in arrays[1:])
    else:
        for place in arrays:
            yield from _geometry(convention, place)


def _geometry(convention: str, place: int) -> Iterator[str]:
    """Yield what finds out shape and strides of an array."""
    yield f"int64_t shape{place}[DIMS];"
    if convention == "strided":
        yield f"int64_t strides{place}[DIMS];"
        yield _unless(f"!find_strides(a{place}, shape{place}, strides{place})")
    else:
        yield f"find_shape(a{place}, shape{place});"


def _allocated(kernel: CKernel, out: int, arrays: Sequence[int]) -> Iterator[str]:
    """Yield what makes the result, or checks the array that is given for it."""
    first = f"a{arrays[0]}"
    apart = "".join(f" || {_meet(kernel, out, place)}" for place in arrays)
    yield f"PyArrayObject *a{out};"
    yield (
        f"if (args[{out}] == Py_None) {{\n"
        f"    a{out} = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM({first}), PyArray_DIMS({first}), type);\n"
        f"    if (!a{out})\n        return NULL;\n"
        "} else {\n"
        f"    if (!is_writable(args[{out}], type))\n        return unserved();\n"
        f"    a{out} = (PyArrayObject *)args[{out}];\n"
        f"    if (!PyArray_IS_C_CONTIGUOUS(a{out}) || !have_same_shape(a{out}, {first}){apart})\n"
        "        return unserved();\n"
        f"    Py_INCREF(args[{out}]);\n"
        "}"
    )


def _given(kernel: CKernel, arrays: Sequence[int], outs: Sequence[int]) -> Iterator[str]:
    """Yield the checks of the arrays that are given for results."""
    convention = kernel.native.convention
    for position, out in enumerate(outs):
        yield _unless(f"!is_writable(args[{out}], type)")
        yield f"PyArrayObject *const a{out} = (PyArrayObject *)args[{out}];"
        if convention == "strided":
            yield _unless(f"!is_in_order(a{out})")
        else:
            yield _unless(f"!PyArray_IS_C_CONTIGUOUS(a{out})")
        if convention == "elementwise":
            yield _unless(f"!have_same_shape(a{out}, a{arrays[0]})")
        else:
            yield from _geometry(convention, out)
        yield from (_unless(_meet(kernel, out, other)) for other in (*arrays, *outs[:position]))


def _meet(kernel: CKernel, first: int, second: int) -> str:
    """Return the test whether two arrays share memory, or lie between each other's elements."""
    if kernel.native.convention == "elementwise":
        return f"!are_blocks_apart(a{first}, a{second}, bytes)"
    return f"!are_apart(a{first}, a{second})"


def _called(kernel: CKernel, function: CFunction, outs: Sequence[int]) -> str:
    """Return the call of a C function."""
    native = kernel.native
    passed = ["size"] if native.convention == "elementwise" else []
    for place, sort in [*enumerate(argument.sort for argument in native.arguments), *((out, "array") for out in outs)]:
        if sort != "array":
            passed.append(f"a{place}")
            continue
        passed.append(f"PyArray_DATA(a{place})")
        if native.convention != "elementwise":
            passed += [f"PyArray_NDIM(a{place})", f"shape{place}"]
        if native.convention == "strided":
            passed.append(f"strides{place}")
    return f"{function.name}({', '.join(passed)})"
