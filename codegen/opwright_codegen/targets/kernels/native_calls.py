"""Kernel shims over C kernels: Note [Native shims].

Note [Native shims]
The general shim plans as any other, and hands the plan with its operands to `native.KERNEL`, which allocates results by
it, brings operands into the form of the convention, calls the C function, and words what is wrong; one that writes
arguments plans nothing, and hands them over. The fast companions call the C shim, `native.KERNEL.fast`, with the arrays
as they are. It returns NotImplemented for whatever is not exactly as the C function takes it, and the general shim
handles the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright_codegen.declared.parts import FunctionKernel, NativeArgument
from opwright_codegen.formula.ast import Call, Formula, Kind, Reference, Verbatim
from opwright_codegen.targets.kernels.fast_shims import FastShim
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.targets.native.facts import NativeFacts
from opwright_codegen.views.layout import bracketed, fill_comment, returned

__all__ = ["DEVICE_MODULE", "MODULE", "NativeFastBuilder", "NativeShimBuilder"]

MODULE: Final = "native"
DEVICE_MODULE: Final = "native_cuda"  # where a module needs those in C, too


class NativeShimBuilder(ShimBuilder):
    """The builder of the general shim of one binding."""

    def mentioned(self) -> set[str]:
        """Return the arguments that the kernel is given."""
        kernel = self.binding.kernel
        assert isinstance(kernel, FunctionKernel)
        return {argument.name for argument in kernel.arguments}

    def kernel_call(self, out: str = "") -> Formula:
        kernel = self.binding.kernel
        assert isinstance(kernel, FunctionKernel)
        arguments = [Reference(Kind.ARGUMENT, argument.name) for argument in kernel.arguments]
        if kernel.writes:
            return Call(Verbatim(f"{MODULE}.{kernel.name}"), tuple(arguments))
        plans = [f"plan{number}" for number in range(kernel.outputs)]
        plan = "plan" if kernel.outputs == 1 else f"({', '.join(plans)})"
        keywords = (("out", Verbatim(out)),) if out else ()
        return Call(Verbatim(f"{MODULE}.{kernel.name}"), (Verbatim(plan), *arguments), keywords)


class NativeFastBuilder:
    """The builder of the fast shims beside a general one."""

    def __init__(self, shim: ShimBuilder, facts: NativeFacts, key: str) -> None:
        self._shim = shim
        self._facts = facts
        self._kernel = facts.kernel
        self._key = key

    def shims(self) -> tuple[FastShim, ...]:
        """Return the shim for Tensors, and the one for plain arrays where there is one."""
        shim = self._shim
        found = self._shim_of(
            "where the C function takes the arrays as they are.",
            shim.head(shim.names.dense),
            [*(self._array_of(argument) for argument in self._kernel.arguments), *self._target()],
            ([shim.own[a.name] for a in shim.schema.arguments], ")"),
            self._result(),
        )
        return (found, self._plain_arrays()) if shim.names.arrays else (found,)

    def _plain_arrays(self) -> FastShim:
        shim = self._shim
        arrays = self._kernel.arrays
        own = [shim.own[argument.name] for argument in self._kernel.arguments]
        wrapped = [f"wrap({shim.own[a.name]})" if a.name in arrays else shim.own[a.name] for a in shim.schema.arguments]
        return self._shim_of(
            "where plain NumPy arrays stand for all tensors: arrays in, an array out.",
            shim.head(shim.names.arrays, "NDArray[Any]", "Any"),
            [*own, "None"],
            (wrapped, ").array"),
            ["return result"],
        )

    def _array_of(self, argument: NativeArgument) -> str:
        """Return how C gets an argument: the array of a Tensor."""
        name = self._shim.own[argument.name]
        if argument.sort != "array":
            return name
        return f"None if {name} is None else {name}.array" if argument.is_optional else f"{name}.array"

    def _target(self) -> list[str]:
        """Return where C puts the result: None where it shall make it; nothing where arguments are written."""
        shim = self._shim
        targets = {"out": [f"{shim.own[a.name]}.array" for a in shim.schema.out_arguments], "written": []}
        return targets.get(self._facts.way, ["None"])

    def _result(self) -> Sequence[str]:
        """Return what follows a call that C has handled."""
        shim, schema = self._shim, self._shim.schema
        written = [shim.own[a.name] for a in schema.returned_arguments if a is not None]
        match self._facts.way:
            case "new":
                made = ("made = Tensor()", "made.array = result", f"made.keys = DENSE_{self._key}", "made.edge = None")
                return (*made, "made.extra = None", "return made")
            case "inplace":
                return (f"{written[0]}.array[...] = result", f"return {written[0]}")
            case _:
                return (returned(written, 8) if written else "return",)

    def _shim_of(
        self, what: str, signature: str, fast: list[str], general: tuple[list[str], str], result: Sequence[str]
    ) -> FastShim:
        """Return a shim: `fast` is what the C shim gets; `general` what the general one gets, and its call's end."""
        passed, tail = general
        head = f"return {self._shim.names.general}("
        return FastShim(
            fill_comment(f"{self._shim.names.general} {what}"),
            signature,
            (),
            "",
            bracketed(head, passed, tail, 4),
            "",
            bracketed(f"result = {MODULE}.{self._kernel.name}.fast(", fast, ")", 8),
            ("if result is NotImplemented:", f"    {bracketed(head, passed, tail, 12)}", *result),
        )
