"""`fakes/`: fake kernels that no function of `metas` gives. The kernel shims of the `Meta` key.

A view's fake is its own kernel, run on arrays without data. Operators of no tensors, and of tensors on several devices,
say where their results are, and the rules of users are looked at. Other operators without a rule have a fake where
their `dispatch` names a kernel for `Meta`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.declared.parts import Binding, DeviceKernel, FunctionKernel, Named, Plans
from opwright_codegen.formula.ast import Call, Formula, Verbatim
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.kernels import backend
from opwright_codegen.targets.kernels.backend import Backend
from opwright_codegen.targets.kernels.metas import has_fake
from opwright_codegen.targets.kernels.names import ShimNames
from opwright_codegen.targets.kernels.native_calls import DEVICE_MODULE, MODULE
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.views.annotations import Tensors, tensors_in
from opwright_codegen.views.layout import bracketed, formula_lines, quoted, returned
from opwright_codegen.views.operators import NamespaceView

__all__ = ["BACKEND", "FOLDER", "TEMPLATE", "context"]

FOLDER = "fakes"
TEMPLATE = "fakes.py.j2"
BACKEND = Backend("Meta", "array_module", "", has_plain_arrays=False)


class _FakeBuilder(ShimBuilder):
    """The builder of the fake of one binding."""

    @property
    def indent(self) -> int:
        """Return the column of its statements: rules word their errors, and kernels run as on arrays with data."""
        is_checked = isinstance(self.binding.meta, Plans) or isinstance(self.binding.kernel, FunctionKernel)
        return 4 if is_checked else super().indent

    def body(self) -> list[str]:
        """Return its statements. A kernel in C or CUDA that writes arguments checks them as if it did."""
        kernel = self.binding.kernel
        if self.binding.meta is not None or not isinstance(kernel, FunctionKernel):
            return super().body()
        given = self.given()
        place = self._place(given)
        passed = [given[argument.name] for argument in kernel.arguments]
        written = [self.own[a.name] for a in self.schema.returned_arguments if a is not None]
        module = DEVICE_MODULE if isinstance(kernel, DeviceKernel) else MODULE
        return [
            *self.unwrapped(),
            *([place] if place.endswith(")") else []),
            bracketed(f"{module}.{kernel.name}.check(", passed, ")", 4),
            *([returned(written)] if written else []),
        ]

    def mentioned(self) -> set[str]:
        """Return the arguments whose arrays it needs: all tensors, since each has a position."""
        if isinstance(self.binding.meta, Plans):
            outs = self.schema.out_arguments
            return {a.name for a in self.schema.arguments if a.type.is_tensor_like and a not in outs}
        if isinstance(self.binding.kernel, FunctionKernel):
            return {argument.name for argument in self.binding.kernel.arguments}
        return super().mentioned()

    def head(self, name: str, tensor: str = "Tensor", returned: str | None = None) -> str:
        """Return the `def` line; below a decorator that gives kernels by hand their `get_ctx()`."""
        line = super().head(name, tensor, returned)
        by_hand = isinstance(self.binding.kernel, Named) and self.binding.meta is None
        return f"@fake_kernel({quoted(self.view.name)})\n{line}" if by_hand and name == self.names.general else line

    def planned(self, meta: Plans) -> list[str]:
        given = self.given()
        spelling = self.spelling(given)
        formulas = self.plan_formulas(meta)
        place = self._place(given)
        statements = self.unwrapped()
        if self.schema.kind is not SchemaKind.FUNCTIONAL:
            return [*statements, *self._checked(formulas, given, place)]
        returns = self.schema.returns
        if len(returns) == 1 and not returns[0].type.is_list_like:
            arguments: tuple[Formula, ...] = (Verbatim(place), formulas[0]) if place else (formulas[0],)
            call = Call(Verbatim("fake" if place else "new_fake"), arguments)
            return [*statements, formula_lines(call, spelling, 4, "return ")]
        statements.append(f"place = {place or 'new_place()'}")
        if len(returns) == 1:
            statements.append(formula_lines(formulas[0], spelling, 4, "plans = "))
            return [*statements, "return [fake(place, plan) for plan in plans]"]
        plans = [f"plan{i}" for i in range(len(returns))]
        statements += self._plan_lines(formulas, given, plans)
        return [*statements, returned([f"fake(place, {plan})" for plan in plans])]

    def _plan_lines(self, formulas: Sequence[Formula], given: Mapping[str, str], plans: Sequence[str]) -> list[str]:
        spelling = self.spelling(given)
        if len(formulas) == len(plans):
            return [formula_lines(f, spelling, 4, f"{plan} = ") for plan, f in zip(plans, formulas, strict=True)]
        return [formula_lines(formulas[0], spelling, 4, f"{', '.join(plans)} = ")]

    def _checked(self, formulas: Sequence[Formula], given: Mapping[str, str], place: str) -> list[str]:
        """Return the checks: nothing is written; what the kernel would refuse is refused."""
        written = [self.own[a.name] for a in self.schema.mutated_arguments]
        take = "inplace" if self.schema.kind is SchemaKind.INPLACE else "target"
        statements = [place] if place.endswith(")") else []
        plans = ["plan"] if len(written) == 1 else [f"plan{i}" for i in range(len(written))]
        statements += self._plan_lines(formulas, given, plans)
        statements += [f"{plan}.{take}({name})" for plan, name in zip(plans, written, strict=True)]
        return [*statements, returned(written)]

    def _place(self, given: Mapping[str, str]) -> str:
        """Return where results are: with the tensors; '' where there are none to go by."""
        found = []
        for argument in self.schema.arguments:
            if not argument.type.is_tensor_like or argument in self.schema.out_arguments:
                continue
            match tensors_in(argument.type):
                case Tensors.LIST | Tensors.LIST_OF_OPTIONAL:
                    found.append(f"*{given[argument.name]}")
                case Tensors.OPTIONAL_LIST:
                    found.append(f"*({given[argument.name]} or ())")
                case _:
                    found.append(given[argument.name])
        if not found:
            return ""
        if len(found) == 1 and found[0].endswith(".array"):
            return f"{found[0]}.place"
        any_device = self.binding.base.device_check == "NoCheck"
        return bracketed("place_of_first(" if any_device else "place_of(", found, ")", 4)


def context(
    view: NamespaceView, bindings: Sequence[Binding], names: Mapping[str, ShimNames], schema_module: str
) -> dict[str, object] | None:
    """Return what the template shows; None where no operator has a fake of its own."""
    own = [binding for binding in bindings if not has_fake(binding)]
    return backend.context(view, own, BACKEND, names, schema_module, _FakeBuilder)
