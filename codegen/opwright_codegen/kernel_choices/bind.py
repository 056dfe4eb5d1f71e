"""The kernel of each operator and key: a function of the kernel modules, an expression, or an unbound name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.numpy_form import numpy_form
from opwright_codegen.formula.ast import Formula, Kind, Reference, Tuple, walk
from opwright_codegen.formula.operator_calls import check_operator_calls
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.formula.sorts import check_sorts
from opwright_codegen.kernel_choices.cuda import CudaKernel, DeviceKernel, check_cuda_meta, cuda_kernel
from opwright_codegen.kernel_choices.foreign_kernels import Elsewhere, check_key, elsewhere_kernel
from opwright_codegen.kernel_choices.kernel_calls import (
    called_kernels,
    check_inline_results,
    check_kernel_call,
    check_ufuncs,
    path_of,
    with_kernels,
)
from opwright_codegen.kernel_choices.metas import Meta, MetaBinder, Plans, ViewOf
from opwright_codegen.kernel_choices.native import Native, check_native_meta, loop_names, native_kernel
from opwright_codegen.kernels.forms import (
    InlineKernel,
    KernelForm,
    NamedKernel,
    NativeKernel,
    NumbaKernel,
    NvccKernel,
    PathKernel,
    RawKernel,
    TorchKernel,
    TritonKernel,
    TvmKernel,
    kernel_form,
)
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.read.model import Kernel, Operator, OperatorSet
from opwright_codegen.records import dataclass, field, replace
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.names import EXPRESSION_KEYS
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = [
    "Binding", "CudaKernel", "DeviceKernel", "Elsewhere", "FunctionalOf", "Inline", "Jitted", "Looped", "Named",
    "Native", "Torch", "Unbound", "VariantOf", "backend_bindings", "bind", "composite_bindings", "result_formulas",
]  # fmt: skip

BACKENDS = ("CPU", "CUDA", "Meta")


@dataclass(frozen=True, slots=True)
class Inline:
    """A resolved expression. `writers` are the functions of kernel modules that it calls and that take `out`."""

    formula: Formula
    writers: frozenset[str] = field(default=frozenset(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Looped(Inline):
    """An expression that has loops in C, called `name`; `formula` is what they compute, by NumPy or CuPy."""

    name: str
    operator: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Named:
    """A function of a kernel module."""

    function: KernelFunction


@dataclass(frozen=True, slots=True)
class Jitted(Named):
    """A function on arrays that Numba compiles; `name` is what the package's module of kernels calls it."""

    name: str


@dataclass(frozen=True, slots=True)
class Torch:
    """An operator of PyTorch, `aten::add.Tensor`, called with Tensors."""

    name: str


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that no module has."""

    name: str


@dataclass(frozen=True, slots=True)
class VariantOf:
    """A variant: what this operator of the same group computes, written to the arguments that the schema says."""

    view: OperatorView


@dataclass(frozen=True, slots=True)
class FunctionalOf:
    """A functional variant: what this in-place or mutable operator of its group does, to copies of what it writes."""

    view: OperatorView


@dataclass(frozen=True, slots=True)
class Binding:
    """The kernel of an operator at a key. `base` is the operator whose kernel and meta it is: often itself."""

    view: OperatorView
    base: Operator
    key: str
    kernel: Inline | Named | Native | DeviceKernel | Torch | VariantOf | FunctionalOf | Unbound
    meta: Meta

    def references(self) -> Iterator[Reference]:
        """Yield everything that an inline kernel refers to."""
        if isinstance(self.kernel, Inline):
            yield from (node for node in walk(self.kernel.formula) if isinstance(node, Reference))

    def rule_paths(self) -> Iterator[str]:
        """Yield the rules that `meta` gives by path, `module:name`."""
        formulas = self.meta.formulas if isinstance(self.meta, Plans) else ()
        for node in (node for formula in formulas for node in walk(formula)):
            if isinstance(node, Reference) and node.kind is Kind.RULE and ":" in node.name:
                yield node.name

    def modules(self) -> Iterator[tuple[str, str]]:
        """Yield the modules that the shim calls functions of, each with what they are: `kernels` or `rules`."""
        is_fake = self.key == "Meta" and isinstance(self.meta, Plans)  # the plan is all there is to it
        if isinstance(self.kernel, Named) and not isinstance(self.kernel, Jitted) and not is_fake:
            yield self.kernel.function.module, "kernels"
        for node in self.references() if not is_fake else ():
            if node.kind is Kind.FUNCTION and ":" in node.name:
                yield node.name.partition(":")[0], "kernels"
        for path in self.rule_paths():
            yield path.partition(":")[0], "rules"


def bind(
    view: NamespaceView, operators: OperatorSet, kernels: KernelModules, rules: KernelModules, *, strict: bool
) -> list[Binding]:
    """Return the bindings of all operators, in schema order. Raises SchemaErrors for what cannot be bound."""
    binder = _Binder(view, operators, kernels, rules, strict)
    found = [binding for operator in view.operators.values() for binding in binder.bindings(operator)]
    binder.errors.raise_if_any()
    return found


_Bound = Inline | Named | Native | DeviceKernel | Torch | Unbound


class _Binder:
    def __init__(
        self, view: NamespaceView, operators: OperatorSet, kernels: KernelModules, rules: KernelModules, strict: bool
    ) -> None:
        self._operators = operators.operators
        self._groups = {member.name: group for group in operators.groups for member in group.members}
        self._kernels = kernels
        self._strict = strict
        self._view = view
        self._bound: dict[tuple[str, bool, Kernel], _Bound] = {}
        self._native: dict[str, str] = {}  # which operator has a C kernel
        self._loops = loop_names(operators)
        self._cuda: dict[str, str] = {}  # which has a CUDA kernel
        self.errors = Errors()
        self._metas = MetaBinder(rules, self.errors)

    def bindings(self, view: OperatorView) -> list[Binding]:
        operator = view.operator
        base = operator if operator.base_name is None else self._operators[operator.base_name]
        found = []
        for key, kernel in operator.dispatch:
            try:
                bound = self._variant(operator, base, key, kernel) or self._kernel(base, key, kernel)
                planned = key in BACKENDS and key != "Meta" and not isinstance(bound, Unbound)
                meta = self._metas.bind(base) if planned else None
                if planned:
                    _check_variant(operator, base, meta)
                if isinstance(bound, Native):
                    check_native_meta(bound, meta, kernel.span)
                if isinstance(bound, DeviceKernel):
                    check_cuda_meta(bound, meta, kernel.span)
                if operator.autogen and not isinstance(bound, Unbound):
                    self._check_autogen(operator)
            except SchemaError as error:
                self.errors.add(error)
            else:
                found.append(Binding(view, base, key, bound, meta))
        return [*found, *_fakes(found)]

    def _variant(self, operator: Operator, base: Operator, key: str, kernel: Kernel) -> VariantOf | FunctionalOf | None:
        """Return the operator that computes the results of a variant that no kernel of its own handles."""
        if not key.startswith("Composite") or operator.kind is SchemaKind.MUTABLE or operator.serves is not None:
            return None
        if operator.kind is SchemaKind.FUNCTIONAL:
            source = self._written_source(operator)
            return None if source is None else FunctionalOf(self._view.operators[source.name])
        if operator is not base:
            return None if operator.kind is base.kind else VariantOf(self._view.operators[base.name])
        has_own = "dispatch" in operator.spans or self._kernels.find(kernel.text, kernel.span) is not None
        if has_own and not operator.generated:
            return None
        group = self._groups[operator.name]
        source = group.mutable or group.functional
        if source is None or source is operator or not self._is_bound(source):
            return None
        return VariantOf(self._view.operators[source.name])

    def _written_source(self, operator: Operator) -> Operator | None:
        """Return the operator that a made functional variant was made from, if a kernel handles that."""
        if not operator.generated or (operator.serves or operator.base_name) is not None:
            return None
        group = self._groups[operator.name]
        source = (group.mutable or group.inplace) if operator.kind is SchemaKind.FUNCTIONAL else None
        return source if source is not None and self._is_bound(source) else None

    def _is_bound(self, operator: Operator) -> bool:
        """Whether some kernel handles the operator; one that is wrong is an error of its own."""
        if self._written_source(operator) is not None:
            return True
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

    def _kernel(self, base: Operator, key: str, kernel: Kernel) -> _Bound:
        text = kernel.text
        expression = base.expression
        if expression is not None and key in EXPRESSION_KEYS and text == expression.text.text:
            _check_array_module(base, kernel)
            return Looped(numpy_form(expression), self._loops[base.name], base.name, expression)
        if text.isidentifier() and text.isascii():  # PyTorch's file has thousands, which need no parser
            function = self._kernels.find(text, kernel.span)
            if function is None or not _is_served(key):
                return self._unbound(text, kernel, base)
        known = (base.name, key not in BACKENDS, kernel)
        if known not in self._bound:
            with self._kernels.spelled(text, kernel.span):
                self._bound[known] = self._bind(base, key, kernel, kernel_form(kernel))
        return self._bound[known]

    def _bind(self, base: Operator, key: str, kernel: Kernel, form: KernelForm) -> _Bound:
        if not isinstance(form, NamedKernel):
            self._check_key(key, kernel)
        match form:
            case NamedKernel(name):
                function = self._kernels.find(name, kernel.span)
                if function is None:
                    return self._unbound(name, kernel, base)
                check_kernel_call(function, base, key not in BACKENDS, kernel.span)
                bound: _Bound = Named(function)
            case PathKernel(module, name):
                function = self._kernels.find_path(module, name, kernel.span)
                check_kernel_call(function, base, key not in BACKENDS, kernel.span)
                bound = Named(function)
            case InlineKernel(formula):
                called: dict[str, KernelFunction] = {}
                if key in BACKENDS:
                    _check_array_module(base, kernel)
                    called = called_kernels(formula, self._kernels, kernel.span)
                    scope = Scope.for_kernel(base.schema, called)
                else:
                    scope = Scope.for_composite(base.schema, self._view.calls, self._view.used_methods)
                check_inline_results(formula, base.schema, kernel.span)
                inline = Inline(resolve(formula, scope))
                check_operator_calls(inline.formula, self._view.schemas, "kernel-arguments")
                if key in BACKENDS:
                    check_ufuncs(inline.formula, base.schema, kernel.span)
                check_sorts(inline.formula, base.schema, is_of_arrays=key in BACKENDS)
                writers = frozenset(path_of(function) for function in called.values() if function.takes_out)
                bound = Inline(with_kernels(inline.formula, called, base.schema, kernel.span), writers=writers)
            case NativeKernel(name):
                bound = native_kernel(name, base, key, kernel.span)
                if self._native.setdefault(name, base.name) != base.name:
                    message = f"{self._native[name]} has the C kernel {name!r}, too"
                    raise SchemaError("native-twice", message, kernel.span, "give each operator a kernel of its own")
            case NumbaKernel(module, name) if base.convention is None:
                check_key("Numba", "CPU", key, kernel.span)
                function = self._kernels.find_path(module, name, kernel.span)
                check_kernel_call(function, base, False, kernel.span)
                bound = Jitted(function, self._loops[base.name])
            case NumbaKernel() | TritonKernel() | TvmKernel():
                bound = elsewhere_kernel(form, self._loops[base.name], base, key, self._kernels, kernel.span)
            case RawKernel(name=name) | NvccKernel(name=name):
                bound = cuda_kernel(form, base, key, self._kernels, kernel.span)
                if self._cuda.setdefault(name, base.name) != base.name:
                    message = f"{self._cuda[name]} has the CUDA kernel {name!r}, too"
                    raise SchemaError("cuda-twice", message, kernel.span, "give each operator a kernel of its own")
            case TorchKernel(name):
                _check_torch_kernel(base, key, kernel)
                bound = Torch(name)
            case _:
                assert_never(form)
        return bound

    def _unbound(self, name: str, kernel: Kernel, base: Operator) -> Unbound:
        if not self._strict:
            return Unbound(name)
        raise self._kernels.unknown(name, kernel.span, base)

    def _check_key(self, key: str, kernel: Kernel) -> None:
        if not _is_served(key):
            hint = f"kernels are generated for {', '.join(BACKENDS)}; register one for {key} with opwright.library"
            raise SchemaError("backend-kernel", f"no kernel is generated for {key}", kernel.span, hint)


def _fakes(found: Sequence[Binding]) -> Iterator[Binding]:
    """Yield the binding of the Meta key that follows from `meta`, or from a kernel in C or CUDA that writes arguments
    (and changes no shape), where the operator names no kernel for it."""
    planned = next((each for each in found if each.meta is not None or _writes_arguments(each)), None)
    if planned is not None and not any(binding.key == "Meta" for binding in found):
        yield replace(planned, key="Meta")


def _writes_arguments(binding: Binding) -> bool:
    return isinstance(binding.kernel, Native | DeviceKernel) and binding.kernel.writes


def _check_array_module(base: Operator, kernel: Kernel) -> None:
    if any(a.name == "xp" for a in base.schema.arguments):
        message = f"{base.schema.name} has an argument 'xp', which hides the array module"
        raise SchemaError("hidden-module", message, kernel.span, "rename it, or write the kernel as a function")


def _check_torch_kernel(base: Operator, key: str, kernel: Kernel) -> None:
    """Refuse operators of PyTorch where no tensors of a backend are computed, and for groups of variants."""
    if key not in BACKENDS:
        hint = f"write it for {', '.join(BACKENDS)}"
        raise SchemaError("torch-kernel", f"an operator of PyTorch is no kernel for {key}", kernel.span, hint)
    if base.structured:
        message = f"{base.schema.name} is structured: its variants would all call this operator of PyTorch"
        raise SchemaError("torch-kernel", message, kernel.span, "leave 'structured' out: give each variant its own")


def _check_variant(operator: Operator, base: Operator, meta: Meta) -> None:
    """Refuse the variants of an operator that its kernel and meta cannot handle."""
    name = operator.schema.name
    functional = operator.kind is SchemaKind.FUNCTIONAL
    if isinstance(meta, ViewOf) and not functional:
        message = f"{name} writes to an argument, and 'meta: view' says that its result is a view"
        raise SchemaError("meta-view", message, base.span("meta"))
    writes_unreturned = not functional and operator.kind is SchemaKind.MUTABLE
    if isinstance(meta, Plans) and (writes_unreturned or not operator.schema.returns):
        message = f"'meta' says what results look like, and {name} returns none that it writes"
        raise SchemaError("meta-kind", message, base.span("meta"), "leave 'meta' out: the kernel writes the arguments")
    others = [each.type for each in operator.schema.returns if not each.type.is_tensor_like]
    if isinstance(meta, Plans) and others:
        message = f"'meta' says what tensors look like, and {name} returns {others[0]}"
        hint = "leave 'meta' out: a kernel for Meta may say what is returned without data"
        raise SchemaError("meta-kind", message, base.span("meta"), hint)


_FUNCTIONALITY = frozenset(("ADInplaceOrView", "Functionalize", "Python", "BackendSelect", "Batched", "Tracer"))


def _is_served(key: str) -> bool:
    """Whether kernels are generated for the key; those of other backends are registered when the program runs."""
    return key in BACKENDS or key.startswith(("Composite", "Auto")) or key in _FUNCTIONALITY


def result_formulas(kernel: Inline, count: int) -> tuple[Formula, ...] | None:
    """Return the formulas of several outputs, where the kernel gives each its own."""
    match kernel.formula:
        case Tuple(items) if len(items) == count:
            return items
        case _:
            return None


def backend_bindings(bindings: Sequence[Binding], key: str) -> list[Binding]:
    """Return the bindings that a backend's module has shims for."""
    return [b for b in bindings if b.key == key and not isinstance(b.kernel, Unbound)]


def composite_bindings(bindings: Sequence[Binding]) -> list[Binding]:
    """Return the bindings above the backends whose kernels are expressions, or variants of others."""
    return [b for b in bindings if b.key not in BACKENDS and isinstance(b.kernel, (Inline, VariantOf, FunctionalOf))]
