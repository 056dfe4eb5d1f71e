"""A kernel shim as statements: what the template of a backend's kernels indents and joins."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from opwright_codegen.declared.parts import Binding, Inline, Jitted, Named, Plans, Torch, ViewOf, result_formulas
from opwright_codegen.formula.ast import Call, Formula, Kind, Reference, Verbatim, walk
from opwright_codegen.formula.elementwise import Names, gives_kind, is_of_operands, operands_broadcast
from opwright_codegen.formula.emit import Spelling, with_out
from opwright_codegen.formula.resolve import BUILTINS
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.kernels.dense import kinds_of_result
from opwright_codegen.targets.kernels.names import RESERVED, ShimNames
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.targets.kernels.unplanned import direct_statements, torch_statements, view_statements
from opwright_codegen.views.annotations import Side, Tensors, annotation, return_annotation, tensors_in
from opwright_codegen.views.layout import formula_lines, guarded, operation, returned
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import signature

__all__ = ["ShimBuilder"]

# What a kernel writes into; and where it may compute with other integers than the operands.
_OUT, _OUT_OF_MIXED = "plan.out(target)", "plan.out(target, mixed=True)"


class ShimBuilder:
    """The builder of the shim of one binding. `own` are the names of its arguments, `arrays` those of their arrays."""

    def __init__(
        self, binding: Binding, builtins: BuiltinNames, names: ShimNames, xp: str, modules: Mapping[str, str]
    ) -> None:
        self.binding = binding
        self.view = binding.view
        self.schema = binding.view.schema
        self.builtins = builtins
        self.names = names
        self._xp = xp
        self._modules = modules
        self._namer = Namer(
            (*RESERVED, *_numbered(len(self.schema.returns)), names.general, names.cache, *modules.values())
        )
        self.own = {a.name: self._namer.claim(a.name) for a in self.schema.arguments}
        self.arrays = self._array_names()
        self._prefix = "builtins." if builtins.hides(BUILTINS) else ""

    # -- names

    def claim(self, name: str) -> str:
        """Return a variable of that name, or one like it where that is taken."""
        return self._namer.claim(name)

    def _array_names(self) -> dict[str, str]:
        """Return the variable that holds the array or arrays of a tensor argument."""
        return {
            a.name: self._namer.claim(f"{self.own[a.name]}_")
            for a in self.schema.arguments
            if a.type.is_tensor_like or self._is_operand(a.name)
        }

    def _is_operand(self, name: str) -> bool:
        meta = self.binding.meta
        return isinstance(meta, Plans) and name in meta.operands

    def head(self, name: str, tensor: str = "Tensor", returned: str | None = None) -> str:
        """Return the `def` line of a function that takes the operator's arguments."""
        parameters = [
            f"{self.own[a.name]}: {annotation(a.type, self.builtins, tensor=tensor, side=Side.KERNEL)}"
            for a in self.schema.arguments
        ]
        found = returned or return_annotation(self.schema.returns, self.builtins)
        return signature(name, parameters, found)

    def spelling(self, arguments: Mapping[str, str]) -> Spelling:
        """Return how formulas are written, with these words for arguments."""
        return Spelling(xp=self._xp, builtin=self._prefix, arguments=arguments)

    # -- the general shim

    @property
    def indent(self) -> int:
        """Return the column of its statements: in a `try`, but for functions of a trusted package, whose errors say
        what is wrong."""
        match self.binding.kernel:
            case Named():
                return 4 if self.names.is_trusted else 8
            case _:
                return 8

    def statements(self) -> list[str]:
        """Return the body of the general shim."""
        return guarded(self.body(), self.view.name, self.binding.key) if self.indent > 4 else self.body()

    def body(self) -> list[str]:
        """Return its statements, as they are laid out at `indent`."""
        meta, kernel = self.binding.meta, self.binding.kernel
        if isinstance(kernel, Torch) and (self.binding.key != "Meta" or not isinstance(meta, Plans)):
            return torch_statements(self, kernel.name)
        if isinstance(meta, ViewOf):
            return [*self.unwrapped(), *view_statements(self, meta)]
        if isinstance(meta, Plans):
            return self.planned(meta)
        return [*self.unwrapped(), *direct_statements(self)]

    def unwrapped(self) -> list[str]:
        """Return the arrays of tensors that may be missing or several; those of others are spelled `self.array`."""
        found = []
        used = self.mentioned() | self._planned_by()
        for argument in self.schema.arguments:
            name = self.own[argument.name]
            if argument.name not in used:
                continue
            match tensors_in(argument.type):
                case Tensors.OPTIONAL:
                    text = f"None if {name} is None else {name}.array"
                case Tensors.LIST:
                    text = f"[item.array for item in {name}]"
                case Tensors.LIST_OF_OPTIONAL:
                    text = f"[None if item is None else item.array for item in {name}]"
                case Tensors.OPTIONAL_LIST:
                    text = f"None if {name} is None else [item.array for item in {name}]"
                case _:
                    continue
            found.append(operation(text, ("if", "else"), self.indent, f"{self.arrays[argument.name]} = "))
        return found

    def _planned_by(self) -> set[str]:
        """Return the arguments that `meta` mentions."""
        meta = self.binding.meta
        formulas = meta.formulas if isinstance(meta, Plans) else ()
        nodes = (node for formula in formulas for node in walk(formula))
        return {node.name for node in nodes if isinstance(node, Reference) and node.kind is Kind.ARGUMENT}

    def given(self) -> dict[str, str]:
        """Return how arguments are spelled where tensors stand for their arrays."""
        found = {}
        for argument in self.schema.arguments:
            name = self.own[argument.name]
            held = tensors_in(argument.type)
            if held is Tensors.ONE:
                name = f"{name}.array"
            elif argument.type.is_tensor_like:
                name = self.arrays[argument.name]
            found[argument.name] = name
        return found

    def planned(self, meta: Plans) -> list[str]:
        """Return its body where a rule says what the results look like."""
        outputs = len(self.schema.returns)
        statements = self.unwrapped()
        given = self.given()
        names = ["plan"] if outputs == 1 else [f"plan{i}" for i in range(outputs)]
        is_list = outputs == 1 and self.schema.returns[0].type.is_list_like
        if is_list:
            names = ["plans"]
        spelling = self.spelling(given)
        formulas = self.plan_formulas(meta)
        statements += [
            formula_lines(formula, spelling, self.indent, f"{name} = ")
            for name, formula in zip(
                names if len(formulas) == len(names) else [", ".join(names)], formulas, strict=True
            )
        ]
        return [*statements, *self.computed(names, given)]

    def computed(self, names: Sequence[str], given: Mapping[str, str]) -> list[str]:
        """Return what calls the kernel by these plans, and returns results. `given`: how arguments are spelled."""
        meta = self.binding.meta
        assert isinstance(meta, Plans)
        unpacked, used = self._operands(meta, given)
        is_list = names[0] == "plans"
        statements = [f"{unpacked} = {'plans[0]' if is_list else names[0]}.operands"] if unpacked else []
        if is_list:
            return [*statements, *self._list_result(used)]
        if self.schema.kind is SchemaKind.FUNCTIONAL:
            return [*statements, *self._functional(names, used)]
        return [*statements, *self._written(names, used)]

    def plan_formulas(self, meta: Plans) -> list[Formula]:
        """Return the formulas that give the plans. What rules of users return is looked at: their plans have the
        operands that the kernel is given, whether the rule planned with all of them or not."""
        formulas = self.meta_formulas(meta)
        if not self._paths():
            return formulas
        returns = self.schema.returns
        if len(returns) > 1 and len(formulas) == 1:
            return [
                Call(Verbatim("plans_of"), (formulas[0], Verbatim(str(len(returns))), *self._planned_operands(meta)))
            ]
        check = "plans_of" if returns and returns[0].type.is_list_like else "plan_of"
        given = self._planned_operands(meta) if check == "plan_of" else ()
        checked = [Call(Verbatim(check), (formulas[0], *given))]
        return [*checked, *(Call(Verbatim(check), (formula,)) for formula in formulas[1:])]

    def _planned_operands(self, meta: Plans) -> tuple[Formula, ...]:
        """Return the arguments that the first plan's operands are, where all are arguments, one by one."""
        names = [name for name in meta.operands if name is not None]
        is_each = len(names) == len(meta.operands) and not meta.is_list
        return tuple(Reference(Kind.ARGUMENT, name) for name in names) if is_each else ()

    def meta_formulas(self, meta: Plans) -> list[Formula]:
        """Return the call of the function in `metas`, or the formulas where the rule is a user's."""
        if self.names.meta is not None:
            return [self.names.meta.call()]
        return [spelled(formula, self._rule_names(), {}) for formula in meta.formulas]

    def _rule_names(self) -> dict[str, str]:
        return {path: f"{self._modules[path.partition(':')[0]]}.{path.partition(':')[2]}" for path in self._paths()}

    def _paths(self) -> list[str]:
        return [path for path in self.binding.rule_paths() if ":" in path]

    def _operands(self, meta: Plans, given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return the left side that takes the plan's operands, and how arguments are spelled behind it."""
        used = dict(given)
        mentioned = self.mentioned()
        targets = []
        for name in meta.operands:
            if name is None or name not in mentioned:
                targets.append("_" if name is None else self._namer.claim(f"_{self.own[name]}"))
            else:
                targets.append(self.arrays[name])
                used[name] = self.arrays[name]
        if not any(name in mentioned for name in meta.operands if name is not None):
            return "", used
        if meta.is_list:
            return targets[0], used
        return f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets), used

    def mentioned(self) -> set[str]:
        """Return the arguments that the kernel is given."""
        kernel = self.binding.kernel
        if isinstance(kernel, Inline):
            return {use.name for use in self.binding.references() if use.kind is Kind.ARGUMENT}
        return set(self._kernel_arguments())

    def _kernel_arguments(self) -> list[str]:
        """Return the arguments of a named kernel: all, but for results that it makes itself."""
        without_out = self.binding.meta is not None
        outs = {a.name for a in self.binding.base.schema.out_arguments} if without_out else set()
        return [a.name for a in self.binding.base.schema.arguments if a.name not in outs]

    def kernel_call(self, out: str = "") -> Formula:
        """Return the kernel's call or formula, writing into `out` where it can."""
        kernel = self.binding.kernel
        match kernel:
            case Inline(formula, writers=writers):
                if out and self._fills_result(formula, writers):
                    is_mixed = not is_of_operands(formula, self._planned(), writers)
                    if not is_mixed or out == _OUT:  # (the function of a row is given no plan, which knows the dtype)
                        out = _OUT_OF_MIXED if is_mixed else out
                        formula = with_out(formula, out, writers=writers) or formula
                return spelled(formula, self.function_names(), {})
            case Named(function):
                arguments: list[Formula] = [Verbatim(self._xp)] if function.takes_xp else []
                names = self._kernel_arguments()
                has_out = function.takes_out and self.binding.meta is not None and "out" not in names
                arguments += [Reference(Kind.ARGUMENT, n) for n in names]
                keywords = (("out", Verbatim(out)),) if out and has_out else ()
                called = f"{self._modules.get(function.module, '')}.{function.name}"
                if isinstance(kernel, Jitted):
                    called = f"native.{kernel.name}"
                return Call(Verbatim(called), tuple(arguments), keywords)
            case _:
                raise AssertionError("unbound kernels have no shim")

    def function_names(self) -> dict[str, str]:
        """Return what the module calls the functions of kernel modules that an expression calls."""
        paths = [node.name for node in self.binding.references() if node.kind is Kind.FUNCTION]
        return {path: f"{self._modules[path.partition(':')[0]]}.{path.partition(':')[2]}" for path in paths}

    def _fills_result(self, formula: Formula, writers: Collection[str]) -> bool:
        """Whether a ufunc, or a function that takes `out`, may write its result into an array of the planned shape and
        dtype. A result of another shape would be repeated there, one of a lower kind cast, both unseen."""
        meta = self.binding.meta
        if not isinstance(meta, Plans) or not isinstance(call := meta.formulas[0], Call):
            return False
        rule = call.function
        if not isinstance(rule, Reference) or rule.name not in ("pointwise", "like", "clamped_once"):
            return False
        planned = self._planned()
        return planned.arrays <= operands_broadcast(formula, writers) and all(
            gives_kind(formula, planned, kind, wanted, writers) for kind, wanted in kinds_of_result(call).items()
        )

    def _planned(self) -> Names:
        """Return the tensors and scalars that the plan casts, and the other arguments that are no tensors."""
        tensors = {a.name for a in self.schema.arguments if a.type.is_tensor_like}
        meta = self.binding.meta
        operands = set(meta.operands) if isinstance(meta, Plans) else set()
        scalars = frozenset(self.own) - tensors
        return Names(frozenset(tensors & operands), scalars & operands, scalars - operands)

    def _list_result(self, arguments: Mapping[str, str]) -> list[str]:
        call = Call(Verbatim("new_results"), (Verbatim("plans"), self.kernel_call()))
        return [formula_lines(call, self.spelling(arguments), self.indent, "return ")]

    def _functional(self, plans: Sequence[str], arguments: Mapping[str, str]) -> list[str]:
        if len(plans) == 1:
            call = Call(Verbatim("new_result"), (Verbatim(plans[0]), self.kernel_call()))
            return [formula_lines(call, self.spelling(arguments), self.indent, "return ")]
        results = [f"result{i}" for i in range(len(plans))]
        wrapped = [f"new_result({p}, {r})" for p, r in zip(plans, results, strict=True)]
        return [*self.results(results, arguments), returned(wrapped, self.indent)]

    def results(self, names: Sequence[str], arguments: Mapping[str, str]) -> list[str]:
        """Return the statements for several results: a formula each, or what the kernel returns, unpacked."""
        kernel = self.binding.kernel
        formulas = result_formulas(kernel, len(names)) if isinstance(kernel, Inline) else None
        if formulas is None:
            call = Call(Verbatim("results_of"), (self.kernel_call(), Verbatim(str(len(names)))))
            return [formula_lines(call, self.spelling(arguments), self.indent, f"{', '.join(names)} = ")]
        spelling = self.spelling(arguments)
        return [formula_lines(f, spelling, self.indent, f"{n} = ") for n, f in zip(names, formulas, strict=True)]

    def _written(self, plans: Sequence[str], arguments: Mapping[str, str]) -> list[str]:
        written = [self.own[a.name] for a in self.schema.mutated_arguments]
        take = "inplace" if self.schema.kind is SchemaKind.INPLACE else "target"
        if len(plans) == 1:
            call = Call(Verbatim("plan.store"), (self.kernel_call(_OUT), Verbatim("target")))
            return [
                f"target = plan.{take}({written[0]})",
                formula_lines(call, self.spelling(arguments), self.indent),
                f"return {written[0]}",
            ]
        numbered = list(zip(plans, written, range(len(plans)), strict=True))
        return [
            *(f"target{i} = {plan}.{take}({name})" for plan, name, i in numbered),
            *self.results([f"result{i}" for i in range(len(plans))], arguments),
            *(f"{plan}.store(result{i}, target{i})" for plan, _, i in numbered),
            returned(written, self.indent),
        ]


def _numbered(outputs: int) -> list[str]:
    """Return the variables of several outputs."""
    return [f"{word}{i}" for word in ("plan", "result", "target") for i in range(outputs)]
