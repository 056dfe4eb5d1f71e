"""Kernel shims over C kernels: Note [Native shims].

Note [Native shims]
The general shim plans as any other, and hands the plan with its operands to `native.KERNEL`, which allocates results by
it, brings operands into the form of the convention, calls the C function, and words what is wrong. The fast companions
call the C shim, `native.KERNEL.fast`, with the arrays as they are. It answers NotImplemented to whatever is not exactly
as the C function takes it, and the general shim serves the call.
"""

from __future__ import annotations

from typing import Final

from opwright_codegen.bindings.bind import CudaKernel, Native
from opwright_codegen.formula.ast import Call, Formula, Kind, Reference, Verbatim
from opwright_codegen.targets.fast_shims import FastShim
from opwright_codegen.targets.native_facts import NativeFacts
from opwright_codegen.targets.shims import ShimBuilder
from opwright_codegen.views.layout import bracketed, fill_comment

__all__ = ["MODULE", "NativeFastBuilder", "NativeShimBuilder"]

MODULE: Final = "native"


class NativeShimBuilder(ShimBuilder):
    """The builder of the general shim of one binding."""

    def _call(self, out: str = "") -> Formula:
        kernel = self.binding.kernel
        assert isinstance(kernel, (Native, CudaKernel))
        plans = [f"plan{number}" for number in range(kernel.outputs)]
        plan = "plan" if kernel.outputs == 1 else f"({', '.join(plans)})"
        arguments = (Reference(Kind.ARGUMENT, argument.name) for argument in kernel.arguments)
        keywords = (("out", Verbatim(out)),) if out else ()
        return Call(Verbatim(f"{MODULE}.{kernel.name}"), (Verbatim(plan), *arguments), keywords)


class NativeFastBuilder:
    """The builder of the fast shims beside a general one."""

    def __init__(self, shim: ShimBuilder, facts: NativeFacts, key: str) -> None:
        self._shim = shim
        self._kernel = facts.kernel
        self._key = key

    def shims(self) -> tuple[FastShim, ...]:
        """Return the shim for Tensors, and the one for plain arrays."""
        own = [self._shim.own[argument.name] for argument in self._kernel.arguments]
        shim = self._shim
        tensors = [f"{name}.array" if is_array else name for name, is_array in self._named()]
        wrapped = [f"wrap({name})" if is_array else name for name, is_array in self._named()]
        made = ("made = Tensor()", "made.array = result", f"made.keys = DENSE_{self._key}", "made.edge = None")
        return (
            self._shim_of(
                "where the C function takes the arrays as they are.",
                shim.head(shim.names.dense),
                (tensors, own, ")"),
                (*made, "made.extra = None", "return made"),
            ),
            self._shim_of(
                "where plain NumPy arrays stand for all tensors: arrays in, an array out.",
                shim.head(shim.names.arrays, "NDArray[Any]", "Any"),
                (own, wrapped, ").array"),
                ("return result",),
            ),
        )

    def _named(self) -> list[tuple[str, bool]]:
        return [(self._shim.own[argument.name], argument.sort == "array") for argument in self._kernel.arguments]

    def _shim_of(
        self, what: str, signature: str, calls: tuple[list[str], list[str], str], result: tuple[str, ...]
    ) -> FastShim:
        """Return a shim: `calls` are what the C shim gets, and what the general one, up to the end of its call."""
        fast, general, tail = calls
        head = f"return {self._shim.names.general}("
        return FastShim(
            fill_comment(f"{self._shim.names.general} {what}"),
            signature,
            (),
            "",
            bracketed(head, general, tail, 4),
            "",
            bracketed(f"result = {MODULE}.{self._kernel.name}.fast(", [*fast, "None"], ")", 8),
            ("if result is NotImplemented:", f"    {bracketed(head, general, tail, 12)}", *result),
        )
