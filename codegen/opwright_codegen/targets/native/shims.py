"""Target `native/NS_shims.c`: between Python and the C functions.

Note [C shims]
A shim handles calls that need no plan: exact arrays of one listed dtype, behaved, in the form of the convention, and
exact numbers. For all else it returns NotImplemented; the Python shim plans, casts, words errors, and calls it again
with prepared operands. So errors stay in one position, and what C checks is a few flags. It gets the arguments by
position, and behind them an array for each result; None has the shim allocate it, where `meta` says that it is like an
operand. What is written shares no memory with anything else. Names of schemas are no names here: arguments are `a0`,
`a1`, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.records import dataclass
from opwright_codegen.targets.native.arguments import C_TYPES, geometry, held, passed, reading, unless
from opwright_codegen.targets.native.c import FOLDER, CFunction, CKernel
from opwright_codegen.targets.native.digest import digest
from opwright_codegen.targets.native.loops import LoopKernel
from opwright_codegen.views.c_text import c_block, c_literal

__all__ = ["TEMPLATE", "context", "file", "module"]

TEMPLATE = "native_shims.c.j2"


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
            "statements": list(_ShimWriter(kernel).statements()),
            "range": _ShimWriter(kernel).range() if kernel.native.is_parallel else None,
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


@dataclass(frozen=True, slots=True)
class _Array:
    """An array in C: its position among the arguments, NumPy's number of its dtype, or the variable that holds it."""

    place: int
    type: str = "type"
    is_optional: bool = False
    is_written: bool = False

    @property
    def name(self) -> str:
        return f"a{self.place}"

    @property
    def given(self) -> str:
        return f"args[{self.place}]"


class _ShimWriter:
    """The writer of one shim."""

    def __init__(self, kernel: CKernel) -> None:
        self._kernel = kernel
        self._native = native = kernel.native
        self._operands = [
            _Array(position, _number(each.dtype), each.is_optional, each.is_written)
            for position, each in enumerate(native.arguments)
            if each.sort == "array"
        ]
        first = len(native.arguments)
        self._outs = [_Array(first + n, _number(each.dtype), False, True) for n, each in enumerate(native.results)]
        # Which array says the dtype, and which the shape that all have; who is written has no other.
        self._typed = next(each for each in self._operands if each.type == "type" and not each.is_optional)
        written = [each for each in self._operands if each.is_written and not each.is_optional]
        self._shaped = (written or [self._typed])[0]

    def statements(self) -> Iterator[str]:
        """Yield the statements of the shim; those of a block are lines of one text."""
        yield unless(self._are_no_arrays())
        yield from map(_declared, self._operands)
        yield f"const int type = PyArray_TYPE({self._typed.name});"
        yield unless(" && ".join(f"type != {function.type_number}" for function in self._kernel.functions))
        for place, argument in enumerate(self._native.arguments):
            if argument.sort != "array":
                yield from reading(place, argument)
        for array in self._operands:
            yield from self._formed(array)
        yield f"int64_t size = elements_of({self._shaped.name});"
        for position, array in enumerate(written := [each for each in self._operands if each.is_written]):
            read = [each for each in self._operands if not each.is_written]
            yield from (unless(self._meet(array, other)) for other in (*read, *written[:position]))
        if self._kernel.like:
            yield from self._allocated(self._outs[0])
        else:
            yield from self._given()
        yield from self._called()

    def _are_no_arrays(self) -> str:
        """Return the test whether the number of arguments, or an array, is not as wanted, as far as one can see."""
        tests = [f"count != {len(self._native.arguments) + len(self._outs)}"]
        for array in self._operands:
            if not array.is_written:
                test = f"!is_readable({array.given})"
                tests.append(f"({array.given} != Py_None && {test})" if array.is_optional else test)
            elif array.is_optional:
                tests.append(f"({array.given} != Py_None && !PyArray_CheckExact({array.given}))")
            else:
                tests.append(f"!PyArray_CheckExact({array.given})")
        return " || ".join(tests)

    def _formed(self, array: _Array) -> Iterator[str]:
        """Yield the checks that an array has its dtype and the form of the convention."""
        name = array.name
        there = f"{name} && " if array.is_optional else ""
        if array.is_written:
            yield unless(f"{there}!is_writable({array.given}, {array.type})")
        elif array is not self._typed:
            yield unless(f"{there}PyArray_TYPE({name}) != {array.type}")
        if self._native.convention != "strided":
            yield unless(f"{there}!PyArray_IS_C_CONTIGUOUS({name})")
        elif array.is_written:
            yield unless(f"{there}!is_in_order({name})")
        if self._native.convention == "elementwise" and array is not self._shaped and array not in self._outs:
            yield unless(f"{there}!have_same_shape({name}, {self._shaped.name})")
        yield from self._geometry(array)

    def _geometry(self, array: _Array) -> Iterator[str]:
        """Yield what finds out shape and strides of an array."""
        convention, position = self._native.convention, array.place
        if geometry(convention):
            yield f"int64_t shape{position}[DIMS];"
            yield f"const int ndim{position} = find_shape({array.name}, shape{position});"
        if convention == "strided":
            yield f"int64_t strides{position}[DIMS];"
            yield unless(f"!find_strides({array.name}, strides{position})")

    def _allocated(self, out: _Array) -> Iterator[str]:
        """Yield what makes the result, or checks the array that is given for it."""
        like = self._operand(self._kernel.like or "")
        is_free = self._native.convention == "strided"
        order = f"!PyArray_IS_C_CONTIGUOUS({like.name})" if is_free else ""
        given = f"!is_in_order({out.name})" if is_free else f"!PyArray_IS_C_CONTIGUOUS({out.name})"
        tests = [(self._meet(out, other), other.is_optional) for other in self._operands]
        apart = "".join(f" ||\n        {f'({test})' if is_two else test}" for test, is_two in tests)
        yield f"PyArrayObject *{out.name};"
        made = f"new_array({out.type}, PyArray_NDIM({like.name}), PyArray_DIMS({like.name}))"
        refused = f"    if ({order})\n        return unserved();\n" if order else ""
        yield (
            f"if ({out.given} == Py_None) {{\n{refused}"
            f"    {out.name} = (PyArrayObject *){made};\n"
            f"    if (!{out.name})\n        return NULL;\n"
            "} else {\n"
            f"    if (!is_writable({out.given}, {out.type}))\n        return unserved();\n"
            f"    {out.name} = (PyArrayObject *){out.given};\n"
            f"    if ({given} || !have_same_shape({out.name}, {like.name}){apart})\n"
            "        return unserved();\n"
            f"    Py_INCREF({out.given});\n"
            "}"
        )
        for line in self._geometry(out):
            # (a new array has strides in elements, and one that is given is behaved)
            yield line.replace("return unserved();", f"{{\n    Py_DECREF({out.name});\n    return unserved();\n}}")

    def _operand(self, name: str) -> _Array:
        return next(each for each in self._operands if self._native.arguments[each.place].name == name)

    def _given(self) -> Iterator[str]:
        """Yield the checks of the arrays that are given for results."""
        for position, out in enumerate(self._outs):
            yield unless(f"!PyArray_CheckExact({out.given})")
            yield _declared(out)
            yield from self._formed(out)
            if self._native.convention == "elementwise":
                yield unless(f"!have_same_shape({out.name}, {self._shaped.name})")
            elif shape := self._kernel.shapes[position]:
                array = self._operand(shape.array).name
                if shape.dim is None:
                    yield unless(f"!have_same_shape({out.name}, {array})")
                else:
                    yield unless(f"!is_reduced({out.name}, {array}, {shape.dim}, {int(shape.keeps)})")
            yield from (unless(self._meet(out, other)) for other in (*self._operands, *self._outs[:position]))

    def _meet(self, first: _Array, second: _Array) -> str:
        """Return the test whether two arrays share memory, or lie between each other's elements."""
        test = f"!are_apart({first.name}, {second.name})"
        if self._native.convention == "elementwise":
            test = f"!are_blocks_apart({first.name}, {second.name}, size)"
        return "".join(f"{each.name} && " for each in (first, second) if each.is_optional) + test

    def _called(self) -> Iterator[str]:
        """Yield the call of the function of the dtype, and the return."""
        if self._native.convention != "elementwise":
            for array in (*self._operands, *self._outs):
                if array is not self._shaped:
                    yield f"size = more_of(size, {array.name});"
        if self._native.is_parallel:
            first = self._outs[0] if self._outs else self._shaped
            units = (
                "size" if self._native.convention == "elementwise" else f"ndim{first.place} ? shape{first.place}[0] : 1"
            )
            values = ["0", *(name for _, name in self._kept())]
            yield f"struct range_{self._native.name} call = {{{', '.join(values)}}};"
            yield f"const int64_t units = {units};"
            yield f"run_units(call_{self._native.name}, &call, units, size);"
            yield f"return finished({c_literal(self._native.operator)}, call.status, {self._returned()});"
            return
        yield "int status = 0;"
        yield "PyThreadState *const thread = size >= LARGE ? PyEval_SaveThread() : NULL;"
        yield from self._choice()
        yield "if (thread)\n    PyEval_RestoreThread(thread);"
        yield f"return finished({c_literal(self._native.operator)}, status, {self._returned()});"

    def range(self) -> dict[str, list[str]]:
        """Return what the template shows of a kernel that is called on ranges: what a call keeps for its threads, and
        what each does."""
        kept = self._kept()
        found = [
            f"{f'{kind}const ' if kind.endswith('*') else f'const {kind}'}{name} = call->{name};" for kind, name in kept
        ]
        found += ["(void)args;", "int status = 0;", *self._choice()]
        return {"fields": [f"{kind}{name};" for kind, name in kept], "statements": found}

    def _kept(self) -> list[tuple[str, str]]:
        """Return type and name of what a call of a function is made of."""
        kept = [("PyObject *const *", "args"), ("int ", "type")]
        for array in (*self._operands, *self._outs):
            kept.append(("PyArrayObject *", array.name))
            kept += [(kind, f"{word}{array.place}") for kind, word in geometry(self._native.convention)]
        for position, argument in enumerate(self._native.arguments):
            if argument.sort != "array":
                kept += held(position, argument)
        return kept

    def _choice(self) -> Iterator[str]:
        """Yield what calls the function of the dtype."""
        yield "switch (type) {"
        for function in self._kernel.functions:
            yield f"case {function.type_number}:\n    status = {self._call(function)};\n    break;"
        yield "}"

    def _call(self, function: CFunction) -> str:
        """Return the call of a C function."""
        arrays = {array.place: array for array in (*self._operands, *self._outs)}
        values = ["begin", "end"] if self._native.is_parallel else ["size"] * (self._native.convention == "elementwise")
        for position, argument in enumerate(self._native.arguments):
            values += (
                self._array(arrays[position]) if position in arrays else passed(position, argument, function.suffix)
            )
        for out in self._outs:
            values += self._array(out)
        return f"{function.name}({', '.join(values)})"

    def _array(self, array: _Array) -> list[str]:
        data = f"PyArray_DATA({array.name})"
        told = [f"{word}{array.place}" for _, word in geometry(self._native.convention)]
        return [f"{array.name} ? {data} : NULL" if array.is_optional else data, *told]

    def _returned(self) -> str:
        """Return what the shim returns: the one result, else None. The caller gets the reference."""
        if self._kernel.like:
            return f"(PyObject *){self._outs[0].name}"
        return f"Py_NewRef({self._outs[0].given})" if len(self._outs) == 1 else "Py_NewRef(Py_None)"


def _number(dtype: str) -> str:
    return C_TYPES[dtype][2] if dtype else "type"


def _declared(array: _Array) -> str:
    taken = f"(PyArrayObject *){array.given}"
    missing = f"{array.given} == Py_None ? NULL : " if array.is_optional else ""
    return f"PyArrayObject *const {array.name} = {missing}{taken};"
