"""Target `native/NS_tvm_ffi.c`: C kernels as functions of a tvm-ffi module, which `tvm_ffi.load_module` takes.

It is written for packages whose settings name `tvm_ffi` under `bindings`. A function takes the arguments of the schema,
and behind them a tensor for each result, which it fills: nothing is planned, cast or broadcast. Kernels that take lists
are left out: tvm-ffi has containers of its own for these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright_codegen.declared.model import DeclaredSet, Files, Template
from opwright_codegen.declared.parts import Binding, NativeArgument
from opwright_codegen.targets.bindings.framework import Framework
from opwright_codegen.targets.native.arguments import C_TYPES, ONE
from opwright_codegen.targets.native.c import FOLDER, CFunction, CKernel, c_kernels
from opwright_codegen.views.c_text import c_block, c_literal

__all__ = ["FRAMEWORK"]

_TEMPLATE: Final = "opwright_bindings.tvm_ffi:native.c.j2"
_CODES: Final = {"b": 6, "u": 1, "i": 0, "f": 2, "c": 5}  # of DLPack, by the first letter of a dtype
_READ: Final = {"float": "to_double", "int": "to_int64", "bool": "to_bool", "text": "to_text", "scalar": "to_double"}
_NOUNS: Final = {"float": "a number", "int": "an int", "bool": "a bool", "text": "a string", "scalar": "a number"}


def _context(bindings: Sequence[Binding], namespace: str) -> dict[str, object] | None:
    """Return what the template shows; None where there is no C kernel."""
    kernels = [kernel for kernel in c_kernels(bindings) if not any(each.is_list for each in kernel.native.arguments)]
    if not kernels:
        return None
    return {
        "kernels": [
            {
                "symbol": f"__tvm_ffi_{kernel.native.name}",
                "comment": c_block(kernel.declaration),
                "statements": list(_Writer(kernel).statements()),
            }
            for kernel in kernels
        ],
        "header_file": f"{namespace}_kernels.h",
        "fail": f"{namespace}_fail",
    }


class _Writer:
    """The writer of one function."""

    def __init__(self, kernel: CKernel) -> None:
        self._kernel = kernel
        self._native = native = kernel.native
        self._parameters = native.parameters
        self._arrays = [(i, each) for i, each in enumerate(self._parameters) if each.sort == "array"]
        self._typed = next(i for i, each in self._arrays if not each.dtype and not each.is_optional)
        self._name = c_literal(native.operator)

    def statements(self) -> Iterator[str]:
        """Yield the statements of the function."""
        names = ", ".join(each.name for each in self._parameters)
        count = len(self._parameters)
        told = c_literal(f"{count} arguments: {names}")
        yield f"if (count != {count})\n    return refused({self._name}, {told});"
        for position, argument in enumerate(self._parameters):
            yield from self._reading(position, argument)
        yield f"const int code = code_of(&t{self._typed});"
        yield from self._checks()
        yield "int status = 0;"
        yield "switch (code) {"
        for dtype, function in zip(self._native.dtypes, self._kernel.functions, strict=True):
            yield f"case {_code(dtype)}: /* {dtype} */\n    status = {self._call(function, dtype)};\n    break;"
        known = c_literal(f"{self._parameters[self._typed].name!r} of {', '.join(self._native.dtypes)}")
        yield f"default:\n    return refused({self._name}, {known});\n}}"
        yield f"return finished({self._name}, status);"

    def _reading(self, at: int, argument: NativeArgument) -> Iterator[str]:
        given, none = f"&args[{at}]", f"args[{at}].type_index == ANY_NONE"
        if argument.sort == "array":
            yield f"struct tensor t{at} = {{0}};"
            there = f"!({none}) && " if argument.is_optional else ""
            noun = c_literal(f"{argument.name!r} as a tensor on the CPU")
            yield f"if ({there}!to_tensor({given}, &t{at}))\n    return refused({self._name}, {noun});"
            return
        kind = "double" if argument.sort == "scalar" else ONE[argument.sort]
        yield f"{kind}{'' if kind.endswith('*') else ' '}v{at} = 0;"
        there = f"!({none}) && " if argument.is_optional else ""
        noun = c_literal(f"{argument.name!r} as {_NOUNS[argument.sort]}")
        yield f"if ({there}!{_READ[argument.sort]}({given}, &v{at}))\n    return refused({self._name}, {noun});"

    def _checks(self) -> Iterator[str]:
        """Yield the checks of arrays: dtypes, shapes, layouts; what is written is apart from all else."""
        convention = self._native.convention
        for at, argument in self._arrays:
            there = f"t{at}.data_there && " if argument.is_optional else ""
            wanted = _code(argument.dtype) if argument.dtype else "code"
            told = c_literal(f"{argument.name!r} of {argument.dtype or 'the same dtype'}")
            yield f"if ({there}code_of(&t{at}) != {wanted})\n    return refused({self._name}, {told});"
            if convention != "strided" or argument.is_written:
                told = c_literal(f"{argument.name!r} row by row, without gaps")
                yield f"if ({there}!is_dense(&t{at}))\n    return refused({self._name}, {told});"
            first = self._typed
            if convention == "elementwise" and at != first:
                told = c_literal(f"{argument.name!r} of the shape of {self._parameters[first].name!r}")
                yield f"if ({there}!have_same_shape(&t{at}, &t{first}))\n    return refused({self._name}, {told});"
        for at, argument in self._arrays:
            others = [other for other, each in self._arrays if other != at and (other < at or not each.is_written)]
            if argument.is_written and others:
                told = c_literal(f"{argument.name!r} in memory of its own")
                meets = " || ".join(f"!are_apart(&t{at}, &t{other})" for other in others)
                yield f"if ({meets})\n    return refused({self._name}, {told});"

    def _call(self, function: CFunction, dtype: str) -> str:
        values = [f"elements_of(&t{self._typed})"] if self._native.convention == "elementwise" else []
        for at, argument in enumerate(self._parameters):
            if argument.sort == "array":
                told = {"elementwise": (), "contiguous": ("ndim", "shape"), "strided": ("ndim", "shape", "strides")}
                values += [f"t{at}.data", *(f"t{at}.{word}" for word in told[self._native.convention])]
            elif argument.sort == "scalar":
                kind = C_TYPES[dtype][1]
                cast = f"({kind})v{at}"
                values.append(
                    f"args[{at}].type_index == ANY_NONE ? NULL : &({kind}){{{cast}}}" if argument.is_optional else cast
                )
            elif argument.is_optional and argument.sort != "text":
                values.append(f"args[{at}].type_index == ANY_NONE ? NULL : &v{at}")
            else:
                values.append(f"v{at}")
        return f"{function.name}({', '.join(values)})"


def _code(dtype: str) -> str:
    """Return the number of a dtype: DLPack's code and how many bits an element has."""
    bits = {"bool": 8}.get(dtype) or int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"))
    return str(_CODES[dtype[0]] << 8 | bits)


def _files(declared: DeclaredSet) -> Files:
    """Return the functions of the tvm-ffi module, in C."""
    kernels, namespace = declared.bindings, declared.namespace
    template = Template(_TEMPLATE, declared.view, lambda: _context(kernels, namespace))
    return {f"{FOLDER}/{namespace}_tvm_ffi.c": template}


FRAMEWORK = Framework(files=_files)
