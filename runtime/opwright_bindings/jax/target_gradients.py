"""The loops of gradients and tangents of expressions, in `NS_jax.c`: what JAX's compiled programs call of derivatives.

They are made of the formulas that the package has, where these are expressions themselves. `vjp` is over the gradient
of the result and the operands, and gives all gradients, common parts computed once; `vjp0`, `vjp1` … give one each;
`jvp` is over operands and their tangents. Sums over what was broadcast are left to XLA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright_codegen.declared.parts import DerivativeSet
from opwright_codegen.expressions.c_form import c_parts, types_of
from opwright_codegen.expressions.gradient_trees import GRADIENT, gradient_trees, tangent_tree
from opwright_codegen.expressions.typed import Node, numbers_of
from opwright_codegen.formula.ast import Formula, Kind, Reference, walk
from opwright_codegen.records import dataclass
from opwright_codegen.targets.native.loops import LoopKernel, code_of, is_light, number_text

__all__ = ["GradientLoops", "Part", "gradient_loops", "is_plain"]

_MOST: Final = 16  # arrays of a call, and numbers: what `opwright/strided.h` has room for


@dataclass(frozen=True, slots=True)
class Part:
    """One loop for each dtype: `name` says what it gives, `inputs` are its arrays, `outputs` what it computes."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class GradientLoops:
    """The loops of the derivatives of one expression. `trees` are its gradients by the arguments that have one,
    `dtypes` those that it has loops for, `numbers` what Python computes for them, once a call."""

    kernel: LoopKernel
    trees: Mapping[str, Node]
    dtypes: tuple[str, ...]
    numbers: tuple[Formula, ...]
    has_tangent: bool

    def parts(self) -> Iterator[Part]:
        """Yield what the loops give; of one gradient there is `vjp` alone, which gives tangents, too."""
        tensors = self.kernel.expression.tensors
        given = (GRADIENT, *tensors)
        yield Part("vjp", given, tuple(self.trees.values()))
        if len(self.trees) == 1:
            return
        for position, tree in enumerate(self.trees.values()):
            yield Part(f"vjp{position}", given, (tree,))
        if self.has_tangent:
            tangents = {name: f"tangent of {name}" for name in self.trees}
            yield Part("jvp", (*tensors, *tangents.values()), (tangent_tree(self.trees, tangents),))

    def symbol(self, part: Part) -> str:
        """Return what the handler of a part is called."""
        return f"opwright_{part.name}_{self.kernel.name}"

    def shown(self) -> Iterator[dict[str, object]]:
        """Yield what the template shows of each part."""
        for part in self.parts():
            functions = {types_of(dtype).suffix: dtype for dtype in reversed(self.dtypes)}
            name = f"{self.kernel.name}_{part.name}"
            yield {
                "handler": self.symbol(part),
                "table": f"{part.name}_of_{self.kernel.name}",
                "functions": [
                    {"name": f"{name}_loop_{suffix}", "lines": self._lines(part, dtype)}
                    for suffix, dtype in functions.items()
                ],
                "is_cloned": not all(map(is_light, part.outputs)),
                "counts": f"{len(part.inputs)}, {len(part.outputs)}, {len(self.numbers)}",
                "rows": ", ".join(
                    f"[LOOP_{code_of(dtype)}] = {name}_loop_{types_of(dtype).suffix}" for dtype in self.dtypes
                ),
            }

    def _lines(self, part: Part, dtype: str) -> list[str]:
        """Return the statements of a loop."""
        types = types_of(dtype)
        inner, texts = c_parts(part.outputs, part.inputs, self.numbers, dtype)
        inner += [f"o{position}[i] = {text};" for position, text in enumerate(texts)]
        used = set(re.findall(r"\b[xs]\d+\b", "\n".join(inner)))
        arrays = [position for position in range(len(part.inputs)) if f"x{position}" in used]
        numbers = [position for position in range(len(self.numbers)) if f"s{position}" in used]
        return [
            *[f"const {types.type} *const a{position} = from[{position}];" for position in arrays],
            *[f"{types.type} *const o{position} = to[{position}];" for position in range(len(texts))],
            *[f"const {types.type} s{position} = {number_text(types, position)};" for position in numbers],
            *([] if arrays else ["(void)from;"]),
            *([] if numbers else ["(void)numbers;"]),
            "EACH_ALONE",
            "for (int64_t i = 0; i < count; i++) {",
            *[f"    const {types.type} x{position} = a{position}[i];" for position in arrays],
            *[f"    {line}" for line in inner],
            "}",
        ]


def gradient_loops(kernels: Sequence[LoopKernel], derivatives: DerivativeSet | None) -> dict[str, GradientLoops]:
    """Return the loops of derivatives, by the names of the kernels that have some."""
    found = ((kernel.name, _loops(kernel, derivatives)) for kernel in kernels if derivatives is not None)
    return {name: loops for name, loops in found if loops is not None}


def _loops(kernel: LoopKernel, derivatives: DerivativeSet | None) -> GradientLoops | None:
    entry = derivatives.find(kernel.operator) if derivatives is not None else None
    dtypes = tuple(dtype for dtype in kernel.dtypes if types_of(dtype).is_float)
    if entry is None or not dtypes or entry.condition is not None or not entry.derivatives:
        return None
    formulas: dict[str, Formula] = {}
    for derivative in entry.derivatives:
        if derivative.formula is None or derivative.reason is not None or len(derivative.inputs) != 1:
            return None
        formulas[derivative.inputs[0]] = derivative.formula
    expression = kernel.expression
    ordered = {name: formulas[name] for name in expression.tensors if name in formulas}
    trees = gradient_trees(expression, ordered)
    most = 1 + len(expression.tensors) + len(formulas)
    if trees is None or len(trees) < len(formulas) or most > _MOST:
        return None
    numbers = tuple(dict.fromkeys(number for tree in trees.values() for number in numbers_of(tree)))
    if len(numbers) > _MOST or not all(map(is_plain, numbers)):
        return None
    is_made = entry.location == entry.operator.location
    return GradientLoops(kernel, trees, dtypes, numbers, is_made or not entry.forward)


def is_plain(number: Formula) -> bool:
    """Whether a number is computed of arguments and constants alone."""
    return all(node.kind is Kind.ARGUMENT for node in walk(number) if isinstance(node, Reference))
