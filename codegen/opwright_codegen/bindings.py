"""Which kernel serves which operator and key: a function of the kernel modules, an expression, or a name left unbound.

Note [Operands of rules]
A kernel gets arrays cast to the dtype that the plan computes in: `plan.operands`. Which arguments those are follows
from the rule: what it takes as `*operands`, and its positional parameters annotated as arrays (`Any`, `Array`, lists
of them). Where a list is the only one (`cat`), the operands are its elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula_ast import Call, Conditional, Formula, Kind, Reference, Tuple, walk
from opwright_codegen.formula_resolve import Scope, resolve
from opwright_codegen.kernel_forms import (
    InlineKernel,
    KernelForm,
    MetaFormulas,
    NamedKernel,
    NativeKernel,
    PathKernel,
    PathMeta,
    RawKernel,
    ViewMeta,
    kernel_form,
    meta_form,
)
from opwright_codegen.kernel_modules import KernelFunction, KernelModules
from opwright_codegen.model import Kernel, Operator, OperatorSet
from opwright_codegen.rule_calls import check_rule_call
from opwright_codegen.schema import SchemaKind
from opwright_codegen.source import Span
from opwright_codegen.views import NamespaceView, OperatorView

__all__ = [
    "Binding", "Inline", "Meta", "Named", "Plans", "Unbound", "VariantOf", "ViewOf", "backend_bindings", "bind",
    "composite_bindings", "result_formulas",
]  # fmt: skip

BACKENDS = ("CPU", "CUDA", "Meta")


@dataclass(frozen=True, slots=True)
class Plans:
    """`meta` as formulas: one for each output, or a single one whose rule returns a plan for each.

    `operands` are the arguments that the rule's operands are, None where one is no argument; `is_list`: they are the
    elements of the only one.
    """

    formulas: tuple[Formula, ...]
    operands: tuple[str | None, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class ViewOf:
    """`meta: view`: results share the memory of this argument."""

    argument: str


Meta = Plans | ViewOf | None


@dataclass(frozen=True, slots=True)
class Inline:
    """A resolved expression."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Named:
    """A function of a kernel module."""

    function: KernelFunction


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that no module has."""

    name: str


@dataclass(frozen=True, slots=True)
class VariantOf:
    """What this operator of the same group computes, written to the arguments that the schema says."""

    view: OperatorView


@dataclass(frozen=True, slots=True)
class Binding:
    """What serves an operator at a key. `base` is the operator whose kernel and meta these are: often itself."""

    view: OperatorView
    base: Operator
    key: str
    kernel: Inline | Named | VariantOf | Unbound
    meta: Meta

    def references(self) -> Iterator[Reference]:
        """Everything that an inline kernel refers to."""
        if isinstance(self.kernel, Inline):
            yield from (node for node in walk(self.kernel.formula) if isinstance(node, Reference))

    def rule_paths(self) -> Iterator[str]:
        """The rules that `meta` gives by path, `module:name`."""
        formulas = self.meta.formulas if isinstance(self.meta, Plans) else ()
        for node in (node for formula in formulas for node in walk(formula)):
            if isinstance(node, Reference) and node.kind is Kind.RULE and ":" in node.name:
                yield node.name

    def modules(self) -> Iterator[tuple[str, str]]:
        """The modules that the shim calls functions of, each with what they are: `kernels` or `rules`."""
        is_fake = self.key == "Meta" and isinstance(self.meta, Plans)  # the plan is all there is to it
        if isinstance(self.kernel, Named) and not is_fake:
            yield self.kernel.function.module, "kernels"
        for path in self.rule_paths():
            yield path.partition(":")[0], "rules"


def bind(
    view: NamespaceView, operators: OperatorSet, kernels: KernelModules, rules: KernelModules, *, strict: bool
) -> list[Binding]:
    """The bindings of all operators, in schema order. Raises SchemaErrors for what cannot be bound."""
    binder = _Binder(view, operators, kernels, rules, strict)
    found = [binding for operator in view.operators.values() for binding in binder.bindings(operator)]
    binder.errors.raise_if_any()
    return found


class _Binder:
    def __init__(
        self, view: NamespaceView, operators: OperatorSet, kernels: KernelModules, rules: KernelModules, strict: bool
    ) -> None:
        self._operators = operators.operators
        self._views = view.operators
        self._groups = {member.name: group for group in operators.groups for member in group.members}
        self._kernels = kernels
        self._rules = rules
        self._strict = strict
        self._view = view
        self._metas: dict[str, Meta] = {}
        self._bound: dict[tuple[str, bool, Kernel], Inline | Named | Unbound] = {}
        self.errors = Errors()

    def bindings(self, view: OperatorView) -> list[Binding]:
        operator = view.operator
        base = operator if operator.base_name is None else self._operators[operator.base_name]
        found = []
        for key, kernel in operator.dispatch:
            try:
                bound = self._variant(operator, base, key, kernel) or self._kernel(base, key, kernel)
                planned = key in BACKENDS and key != "Meta" and not isinstance(bound, Unbound)
                meta = self._meta(base) if planned else None
                if planned:
                    _check_variant(operator, base, meta)
                if operator.autogen and not isinstance(bound, Unbound):
                    self._check_autogen(operator)
            except SchemaError as error:
                self.errors.add(error)
            else:
                found.append(Binding(view, base, key, bound, meta))
        return [*found, *_fakes(found)]

    def _variant(self, operator: Operator, base: Operator, key: str, kernel: Kernel) -> VariantOf | None:
        """For an out or in-place variant that no kernel of its own serves: the operator that computes its results."""
        if not key.startswith("Composite") or operator.kind not in (SchemaKind.OUT, SchemaKind.INPLACE):
            return None
        if operator is not base:
            return None if operator.kind is base.kind else VariantOf(self._views[base.name])
        has_own = "dispatch" in operator.spans or self._kernels.find(kernel.text, kernel.span) is not None
        if has_own and not operator.generated:
            return None
        group = self._groups[operator.name]
        source = group.mutable or group.functional
        if source is None or source is operator or not self._is_bound(source):
            return None
        return VariantOf(self._views[source.name])

    def _is_bound(self, operator: Operator) -> bool:
        """Whether some kernel serves the operator; one that is wrong is an error of its own."""
        base = operator if operator.base_name is None else self._operators[operator.base_name]
        for key, kernel in operator.dispatch:
            try:
                if not isinstance(self._kernel(base, key, kernel), Unbound):
                    return True
            except SchemaError:
                return True
        return False

    def _check_autogen(self, operator: Operator) -> None:
        """Refuse names of variants that were not made, as torchgen makes none of views and of what decomposes."""
        for name in operator.autogen:
            if f"{operator.namespace}::{name}" not in self._operators:
                message = f"{operator.schema.name}: 'autogen' makes no {name}: it is a view, or has no 'dispatch'"
                hint = "declare it, without 'dispatch': it is then made of this one"
                raise SchemaError("autogen-composite", message, operator.autogen_span(name), hint)

    def _kernel(self, base: Operator, key: str, kernel: Kernel) -> Inline | Named | Unbound:
        text = kernel.text
        if text.isidentifier() and text.isascii():
            # PyTorch's file has thousands of names, which need no parser.
            function = self._kernels.find(text, kernel.span)
            if function is None or not _is_served(key):
                return self._unbound(text, kernel)
        is_composite = key not in BACKENDS
        known = (base.name, is_composite, kernel)
        if known not in self._bound:
            self._bound[known] = self._bind(base, key, kernel, kernel_form(kernel))
        return self._bound[known]

    def _bind(self, base: Operator, key: str, kernel: Kernel, form: KernelForm) -> Inline | Named | Unbound:
        if not isinstance(form, NamedKernel):
            self._check_key(key, kernel)
        match form:
            case NamedKernel(name):
                function = self._kernels.find(name, kernel.span)
                if function is None:
                    return self._unbound(name, kernel)
                bound: Inline | Named = Named(function)
            case PathKernel(module, name):
                bound = Named(self._kernels.find_path(module, name, kernel.span))
            case InlineKernel(formula):
                if key in BACKENDS:
                    _check_array_module(base, kernel)
                    scope = Scope.for_kernel(base.schema)
                else:
                    scope = Scope.for_composite(base.schema, self._view.calls)
                bound = Inline(resolve(formula, scope))
            case NativeKernel() | RawKernel():
                hint = "write the kernel in Python, over NumPy or CuPy"
                raise SchemaError("native-kernel", "native kernels are not built yet", kernel.span, hint)
            case _:
                assert_never(form)
        return bound

    def _unbound(self, name: str, kernel: Kernel) -> Unbound:
        if self._strict:
            raise self._kernels.unknown(name, kernel.span)
        return Unbound(name)

    def _check_key(self, key: str, kernel: Kernel) -> None:
        if _is_served(key):
            return
        hint = f"kernels are generated for {', '.join(BACKENDS)}; register one for {key} with opwright.library"
        raise SchemaError("backend-kernel", f"no kernel is generated for {key}", kernel.span, hint)

    # -- meta

    def _meta(self, base: Operator) -> Meta:
        if base.name not in self._metas:
            self._metas[base.name] = self._bind_meta(base)
        return self._metas[base.name]

    def _bind_meta(self, base: Operator) -> Meta:
        if base.meta is None:
            return None
        form = meta_form(base.meta)
        match form:
            case ViewMeta():
                return ViewOf(_viewed_argument(base))
            case PathMeta(module, name):
                rule = self._rules.find_path(module, name, base.meta.span)
                outs = base.schema.out_arguments
                arguments = tuple(Reference(Kind.ARGUMENT, a.name) for a in base.schema.arguments if a not in outs)
                call = Call(Reference(Kind.RULE, f"{module}:{name}"), arguments)
                for error in check_rule_call(call, rule, base.schema, base.meta.span):
                    self.errors.add(error)
                return Plans((call,), *_operands(rule, arguments))
            case MetaFormulas(formulas):
                scope = Scope.for_meta(base.schema, self._rules.rule_names)
                return self._plans(base, [resolve(formula, scope) for formula in formulas])
            case _:
                assert_never(form)

    def _plans(self, base: Operator, formulas: Sequence[Formula]) -> Plans:
        assert base.meta is not None
        outputs = len(base.schema.returns)
        if len(formulas) not in (1, outputs):
            message = f"{base.schema.name} has {outputs} outputs, and 'meta' {len(formulas)} formulas"
            raise SchemaError("meta-count", message, base.meta.span, "one formula for each output")
        calls = [call for formula in formulas for call in self._rule_calls(base, formula)]
        rules = [self._rule(call, base.meta.span) for call in calls]
        for call, rule in zip(calls, rules, strict=True):
            for error in check_rule_call(call, rule, base.schema, base.meta.span):
                self.errors.add(error)
        return Plans(tuple(formulas), *_operands(rules[0], calls[0].arguments))

    def _rule(self, call: Call, span: Span) -> KernelFunction:
        found = self._rules.find(_rule_name(call), call.span or span)
        assert found is not None  # the formula is resolved
        return found

    def _rule_calls(self, base: Operator, formula: Formula) -> list[Call]:
        match formula:
            case Conditional(_, then, otherwise):
                return [*self._rule_calls(base, then), *self._rule_calls(base, otherwise)]
            case Call(Reference(Kind.RULE)):
                return [formula]
            case _:
                assert base.meta is not None
                hint = "as in: pointwise(self, other)"
                raise SchemaError("meta-form", "'meta' calls a rule", formula.span or base.meta.span, hint)


def _fakes(found: Sequence[Binding]) -> Iterator[Binding]:
    """The binding of the Meta key that follows from `meta`, where the operator names no kernel for it."""
    planned = next((binding for binding in found if binding.meta is not None), None)
    if planned is not None and not any(binding.key == "Meta" for binding in found):
        yield replace(planned, key="Meta")


def _check_array_module(base: Operator, kernel: Kernel) -> None:
    if any(a.name == "xp" for a in base.schema.arguments):
        message = f"{base.schema.name} has an argument 'xp', which hides the array module"
        raise SchemaError("hidden-module", message, kernel.span, "rename it, or write the kernel as a function")


def _check_variant(operator: Operator, base: Operator, meta: Meta) -> None:
    """Refuse the variants of an operator that its kernel and meta cannot serve."""
    name = operator.schema.name
    functional = operator.kind is SchemaKind.FUNCTIONAL
    if isinstance(meta, ViewOf) and not functional:
        message = f"{name} writes to an argument, and 'meta: view' says that its result is a view"
        raise SchemaError("meta-view", message, base.span("meta"))
    if (
        isinstance(meta, Plans)
        and not functional
        and (operator.kind is SchemaKind.MUTABLE or not operator.schema.returns)
    ):
        message = f"'meta' says what results look like, and {name} returns none that it writes"
        raise SchemaError("meta-kind", message, base.span("meta"), "leave 'meta' out: the kernel writes the arguments")


_FUNCTIONALITY = frozenset(("ADInplaceOrView", "Functionalize", "Python", "BackendSelect", "Batched", "Tracer"))


def _is_served(key: str) -> bool:
    """Whether kernels are generated for the key; those of other backends are registered when the program runs."""
    return key in BACKENDS or key.startswith(("Composite", "Auto")) or key in _FUNCTIONALITY


_ARRAYS = ("Any", "Array", "Operand")


def _rule_name(call: Call) -> str:
    assert isinstance(call.function, Reference)
    return call.function.name


def _operands(rule: KernelFunction, arguments: Sequence[Formula]) -> tuple[tuple[str | None, ...], bool]:
    """Note [Operands of rules]."""
    found: list[str | None] = []
    is_list = False
    positional = rule.positional
    for position, argument in enumerate(arguments):
        if position < len(positional):
            text = positional[position].annotation
            if not any(word in text for word in _ARRAYS):
                continue
            is_list = text.startswith(("Sequence[", "list["))
        elif rule.vararg is None:
            continue
        is_argument = isinstance(argument, Reference) and argument.kind is Kind.ARGUMENT
        name = argument.name if is_argument and isinstance(argument, Reference) else None
        found.append(None if name in found else name)
    return tuple(found), is_list and len(found) == 1


def _viewed_argument(base: Operator) -> str:
    for argument in base.schema.arguments:
        if argument.type.is_tensor_like and not argument.is_write:
            return argument.name
    assert base.meta is not None
    message = f"{base.schema.name} is no view: it has no tensor that it only reads"
    raise SchemaError("meta-view", message, base.meta.span)


def result_formulas(kernel: Inline, count: int) -> tuple[Formula, ...] | None:
    """The formulas of several outputs, where the kernel gives each its own."""
    match kernel.formula:
        case Tuple(items) if len(items) == count:
            return items
        case _:
            return None


def backend_bindings(bindings: Sequence[Binding], key: str) -> list[Binding]:
    """Those that a backend's module has shims for."""
    return [b for b in bindings if b.key == key and not isinstance(b.kernel, Unbound)]


def composite_bindings(bindings: Sequence[Binding]) -> list[Binding]:
    """Those above the backends whose kernels are expressions, or variants of others."""
    return [b for b in bindings if b.key not in BACKENDS and isinstance(b.kernel, (Inline, VariantOf))]
