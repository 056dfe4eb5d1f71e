"""Rows of kernels that a rule plans: Note [Kernel rows].

Note [Kernel rows]
A row says which function on arrays handles an operator, which arguments it gets, and which of them the rule reads, a
letter for each (`plans.plan_keys`). The runtime makes what takes Tensors of it, and remembers what the rule
found out (`dispatch.package.kernel_rows`). An expression of a schema file is a function above its row. A variant is a
row that names the functional operator's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.declared.parts import Binding, Inline, Looped, Named, Native, Plans
from opwright_codegen.formula.ast import Attribute, Call, Kind, Reference, Verbatim
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.kernels.letters import letter
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.targets.kernels.ufunc_rows import ufunc_values
from opwright_codegen.views.layout import formula_lines, hugged, quoted

__all__ = ["KernelRow", "RowBuilder", "has_row", "written_bases"]

_MAKERS: Final = {"CPU": "kernel", "CUDA": "cuda_kernel"}


@dataclass(frozen=True, slots=True)
class KernelRow:
    """The row of an operator, and the function of its expression, '' where there is none."""

    function: str
    row: str
    is_variant: bool


def has_row(binding: Binding) -> bool:
    """Whether a row says how a kernel is called: a rule of the runtime plans all its results, of its arguments."""
    kernel, meta, schema = binding.kernel, binding.meta, binding.view.schema
    is_array_kernel = isinstance(kernel, Inline | Named) and not isinstance(kernel, Looped)
    if isinstance(kernel, Native):  # (variants call C with the array that is written)
        is_array_kernel = binding.key == "CPU" and not kernel.writes and schema.kind is SchemaKind.FUNCTIONAL
    if binding.key not in _MAKERS or not is_array_kernel or not isinstance(meta, Plans) or None in meta.operands:
        return False
    is_of_tensors = bool(schema.returns) and all(str(found.type) == "Tensor" for found in schema.returns)
    return is_of_tensors and not any(binding.rule_paths())


class RowBuilder:
    """The builder of the rows of a module, operator by operator."""

    def __init__(self, key: str, xp: str) -> None:
        self._maker = _MAKERS.get(key, "")
        self._xp = xp
        self._rows: dict[str, tuple[Binding, str]] = {}  # of functional operators, by name

    def row(self, shim: ShimBuilder, is_written: bool) -> KernelRow | None:
        """Return the row of an operator; None where its kernel stays a function. `is_written`: it has variants."""
        binding = shim.binding
        if not has_row(binding):
            return None
        if shim.schema.kind is not SchemaKind.FUNCTIONAL:
            variant = self._variant(shim)
            if variant is None:
                return None
            maker, given = variant
            return KernelRow("", hugged(f"{shim.names.general} = {maker}(", given, ")"), True)
        self._rows[binding.base.name] = binding, shim.names.general
        return self._functional(shim, is_written)

    def _functional(self, shim: ShimBuilder, is_written: bool) -> KernelRow:
        meta = shim.binding.meta
        assert isinstance(meta, Plans) and shim.names.meta is not None
        planned = set(shim.names.meta.arguments)
        kinds = "".join(letter(a, is_read=a.name in planned, is_listed=meta.is_list) for a in shim.schema.arguments)
        function, positions, text = self._kernel(shim, is_written)
        values = [quoted(kinds), function, _listed(positions), f"metas.{shim.names.meta.function}"]
        values += _operands(shim, meta, kinds)
        is_native = isinstance(shim.binding.kernel, Native)
        if len(shim.schema.returns) > 1:
            values.append(f"results={len(shim.schema.returns)}")
        if (ufunc := ufunc_values(shim.binding, shim.names.facts, self._xp)) is not None:
            values.append(f"ufunc=({', '.join(ufunc)})")
        if is_native and shim.names.dense:
            values.append("makes_result=True")
        maker = "native_kernel" if is_native else self._maker
        return KernelRow(text, hugged(f"{shim.names.general} = {maker}(", values, ")"), False)

    def _kernel(self, shim: ShimBuilder, is_written: bool) -> tuple[str, list[int], str]:
        """Return the function on arrays, the positions of what it gets (-1: the array module), and the text of the
        function if it is an expression's."""
        positions = {a.name: position for position, a in enumerate(shim.schema.arguments)}
        kernel = shim.binding.kernel
        if isinstance(kernel, Named | Native):
            match shim.kernel_call():
                case Call(Verbatim(function), arguments, _):
                    arguments = arguments[1:] if isinstance(kernel, Native) else arguments  # (the plan comes first)
                    given = [positions[a.name] if isinstance(a, Reference) else -1 for a in arguments]
                    return function, given, ""
        assert isinstance(kernel, Inline)
        filled = shim.kernel_call("out") if is_written else kernel.formula
        match kernel.formula:
            case Call(Attribute(Reference(Kind.MODULE), name), arguments, ()) if not (
                is_written and name in UFUNCS and filled == kernel.formula  # which may not write to a result
            ):
                known = [a.name for a in arguments if isinstance(a, Reference) and a.kind is Kind.ARGUMENT]
                if len(known) == len(arguments):
                    return f"{self._xp}.{name}", [positions[each] for each in known], ""
            case Call(Attribute(Reference(Kind.ARGUMENT, owner), name), (), ()) if self._xp == "np":
                return f"np.ndarray.{name}", [positions[owner]], ""
            case Reference(Kind.ARGUMENT, owner) if self._xp == "np":  # a copy in the order of the memory
                return "np.ndarray.__copy__", [positions[owner]], ""
        return self._expression(shim, is_written)

    def _expression(self, shim: ShimBuilder, is_written: bool) -> tuple[str, list[int], str]:
        mentioned = shim.mentioned()
        names = [a.name for a in shim.schema.arguments if a.name in mentioned]
        given = [f"{shim.own[name]}: Any" for name in names]
        formula = shim.kernel_call()
        if is_written and "out" not in shim.own.values() and (filled := shim.kernel_call("out")) != formula:
            formula = filled
            given.append("out: Any = None")
        function = f"{shim.names.general}_of_arrays"
        line = formula_lines(formula, shim.spelling(shim.own), 4, "return ")
        text = f"{hugged(f'def {function}(', given, ') -> Any:')}\n    {line}"
        return function, [position for position, a in enumerate(shim.schema.arguments) if a.name in mentioned], text

    def _variant(self, shim: ShimBuilder) -> tuple[str, list[str]] | None:
        """Return what makes a variant's row, and of what: the functional operator's. None where that has none."""
        binding, schema = shim.binding, shim.schema
        known = self._rows.get(binding.base.name)
        if known is None or known[0].kernel != binding.kernel or known[0].meta != binding.meta:
            return None
        base, row = known
        names = [argument.name for argument in schema.arguments]
        own = [argument.name for argument in base.view.schema.arguments]
        written = [position for position, argument in enumerate(schema.arguments) if argument.is_write]
        if schema.kind is SchemaKind.INPLACE and names == own and len(written) == len(base.view.schema.returns) == 1:
            return "inplace_variant", [row, *([str(written[0])] if written[0] else [])]
        is_last = written == [*range(len(own), len(names))] and len(written) == len(base.view.schema.returns)
        is_out = schema.kind is SchemaKind.OUT and names[: len(own)] == own and is_last
        return ("out_variant", [row]) if is_out else None


def _operands(shim: ShimBuilder, meta: Plans, kinds: str) -> list[str]:
    """Return the positions of the plan's operands, where these are not the tensors that the rule reads, in order."""
    positions = {argument.name: position for position, argument in enumerate(shim.schema.arguments)}
    found = [positions[name] for name in meta.operands if name is not None]
    read = [position for position, kind in enumerate(kinds) if kind in "TOL"]
    return [f"operands={_listed(found)}"] if found != read else []


def _listed(positions: Sequence[int]) -> str:
    return f"({', '.join(map(str, positions))}{',' if len(positions) == 1 else ''})"


def written_bases(bindings: Sequence[Binding]) -> Mapping[str, bool]:
    """Return which operators have variants that write the results of their kernel."""
    found: dict[str, bool] = {}
    for binding in bindings:
        is_written = binding.view.schema.kind is not SchemaKind.FUNCTIONAL
        found[binding.base.name] = found.get(binding.base.name, False) or is_written
    return found
