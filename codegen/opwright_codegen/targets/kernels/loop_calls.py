"""Kernel shims of expressions: their loops in C where these are built, or in CUDA, else in NumPy or CuPy.

`native.NAME` takes a plan, operands and numbers, and returns NotImplemented for what its loops do not handle. The fast
companions call `native.NAME.fast`, in C or of the runtime, with the arrays as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.declared.parts import Looped
from opwright_codegen.expressions.typed import numbers_of
from opwright_codegen.formula.ast import Call, Formula, Kind, Reference, Verbatim
from opwright_codegen.formula.emit import emit
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.kernels.fast_shims import FastShim
from opwright_codegen.targets.kernels.loop_facts import LoopFacts
from opwright_codegen.targets.kernels.native_calls import MODULE
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.views.layout import bracketed, fill_comment, formula_lines

__all__ = ["LoopFastBuilder", "LoopShimBuilder"]

_SERVED: Final = "if result is NotImplemented:"


class LoopShimBuilder(ShimBuilder):
    """The builder of the general shim of one binding."""

    def mentioned(self) -> set[str]:
        """Return the tensors: numbers are passed as they are, so that they stay weak."""
        return set(self._looped().expression.tensors)

    def kernel_call(self, out: str = "") -> Formula:
        """Return the expression; functions that NumPy has not are those of modules."""
        names = self.function_names()
        return spelled(self._looped().formula, names, {}) if names else super().kernel_call(out)

    def _looped(self) -> Looped:
        kernel = self.binding.kernel
        assert isinstance(kernel, Looped)
        return kernel

    def _tried(self, plan: str, arguments: Mapping[str, str], out: str = "") -> str:
        """Return the call of the loops."""
        kernel = self._looped()
        tensors = (Reference(Kind.ARGUMENT, name) for name in kernel.expression.tensors)
        given = (Verbatim(plan), *tensors, *numbers_of(kernel.expression.root))
        keywords = (("out", Verbatim(out)),) if out else ()
        call = Call(Verbatim(f"{MODULE}.{kernel.name}"), given, keywords)
        return formula_lines(call, self.spelling(arguments), self.indent, "result = ")

    def _functional(self, plans: Sequence[str], arguments: Mapping[str, str]) -> list[str]:
        call = Call(Verbatim("new_result"), (Verbatim(plans[0]), self.kernel_call()))
        computed = formula_lines(call, self.spelling(arguments), self.indent + 4, "return ")
        return [
            self._tried(plans[0], arguments),
            _SERVED,
            f"    {computed}",
            f"return new_result({plans[0]}, result)",
        ]

    def _written(self, plans: Sequence[str], arguments: Mapping[str, str]) -> list[str]:
        written = self.own[self.schema.mutated_arguments[0].name]
        take = "inplace" if self.schema.kind is SchemaKind.INPLACE else "target"
        call = Call(Verbatim("plan.store"), (self.kernel_call(), Verbatim("target")))
        return [
            f"target = plan.{take}({written})",
            self._tried(plans[0], arguments, "plan.out(target)"),
            _SERVED,
            f"    {formula_lines(call, self.spelling(arguments), self.indent + 4)}",
            "else:",
            "    plan.store(result, target)",
            f"return {written}",
        ]


class LoopFastBuilder:
    """The builder of the fast shims beside a general one."""

    def __init__(self, shim: ShimBuilder, facts: LoopFacts, key: str) -> None:
        self._shim = shim
        self._kernel = facts.kernel
        self._key = key

    def shims(self) -> tuple[FastShim, ...]:
        """Return the shim for Tensors, and the one for plain arrays where there is one."""
        shim, tensors = self._shim, set(self._kernel.expression.tensors)
        own = [shim.own[argument.name] for argument in shim.schema.arguments]
        held = {name: f"{shim.own[name]}.array" for name in tensors}
        wrapped = [
            f"wrap({shim.own[a.name]})" if a.name in tensors else shim.own[a.name] for a in shim.schema.arguments
        ]
        made = ("made = Tensor()", "made.array = result", f"made.keys = DENSE_{self._key}", "made.edge = None")
        plain = {name: shim.own[name] for name in tensors}
        dense = self._shim_of(
            "where its loops take the arrays as they are.",
            shim.head(shim.names.dense),
            (self._passed(held), own, ")"),
            (*made, "made.extra = None", "return made"),
        )
        if not shim.names.arrays:
            return (dense,)
        arrays = self._shim_of(
            "where plain NumPy arrays stand for all tensors: arrays in, an array out.",
            shim.head(shim.names.arrays, "NDArray[Any]", "Any"),
            (self._passed(plain), wrapped, ").array"),
            ("return result",),
        )
        return dense, arrays

    def _passed(self, tensors: Mapping[str, str]) -> list[str]:
        """Return what the C shim gets, the result aside."""
        expression = self._kernel.expression
        spelling = self._shim.spelling(self._shim.own)
        numbers: Sequence[Formula] = numbers_of(expression.root)
        return [*(tensors[name] for name in expression.tensors), *(emit(number, spelling) for number in numbers)]

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
            (_SERVED, f"    {bracketed(head, general, tail, 12)}", *result),
        )
