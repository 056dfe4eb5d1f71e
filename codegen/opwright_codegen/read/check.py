"""The rules about operators: a table of small functions that each return one kind of problem, or None.

`schema.rules` checks the text of a single schema. The rules here compare the keys of an entry with each other, and the
operators of a file with each other. PyTorch's generator (torchgen) is the source of most rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.autocast import AUTOCAST_RULES
from opwright_codegen.read.functions import FUNCTION_RULES
from opwright_codegen.read.launch import LAUNCH_RULES
from opwright_codegen.read.model import RESIZING, Operator
from opwright_codegen.read.native import NATIVE_RULES
from opwright_codegen.read.rule import Declared, Problem, Rule, report
from opwright_codegen.read.structured import STRUCTURED_RULES
from opwright_codegen.read.values import error_at
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.schema.names import COMPOSITE_KEYS, DISPATCH_KEYS, default_kernel_name, key_hint
from opwright_codegen.schema.rules import schema_problems
from opwright_codegen.source import Span

__all__ = ["RULES", "check_operators"]


def check_operators(operators: Mapping[str, Operator], errors: Errors) -> None:
    """Hold every rule of the table against every operator. What only ATen is held to is advice for others."""
    names = (operator.schema.name for operator in operators.values())
    declared = Declared(operators, frozenset((name.namespace, name.base) for name in names))
    for operator in operators.values():
        if errors.is_full:
            return
        for error in schema_problems(operator.schema):
            placed = error if operator.schema.span is not None else error_at(error, operator.span("func"))
            report(operator, placed, errors)
        for code, rule in RULES.items():
            problem = rule(operator, declared)
            if problem is not None:
                message = f"{operator.schema.name}: {problem.message}"
                report(operator, SchemaError(code, message, problem.span, problem.hint), errors)


# -- names


def _one_namespace(operator: Operator, _: Declared) -> Problem | None:
    if "::" not in operator.namespace:
        return None
    return Problem(f"the namespace {operator.namespace!r} is nested", operator.span("func"), "write namespace::name")


def _double_colon(operator: Operator, _: Declared) -> Problem | None:
    """Refuse `mine.scale(…)` in the namespace `mine`: it would be the overload `scale` of an operator `mine`."""
    name = operator.schema.name
    if name.base != name.namespace or not name.overload or "::" in operator.span("func").text.partition("(")[0]:
        return None
    said = f"'{name.base}.{name.overload}' is an operator {name.base} in the namespace {name.namespace}"
    return Problem(said, operator.span("func"), f"write {name.namespace}::{name.overload}(…)")


# -- variants and where they go


def _out_is_function(operator: Operator, _: Declared) -> Problem | None:
    if "method" not in operator.variants or operator.kind is not SchemaKind.OUT:
        return None
    return Problem("an operator with out arguments is no method", operator.span("variants"), "variants: function")


def _method_outside_module(operator: Operator, _: Declared) -> Problem | None:
    if operator.python_module is None or "method" not in operator.variants:
        return None
    return Problem("a function in a module cannot be a method", operator.span("python_module"), "leave one of them out")


def _method_takes_tensor(operator: Operator, _: Declared) -> Problem | None:
    if "method" not in operator.variants or any(a.name == "self" for a in operator.schema.positional):
        return None
    return Problem("a method needs an argument named self", operator.span("variants"), "variants: function")


# -- dispatch


def _known_dispatch_keys(operator: Operator, _: Declared) -> Problem | None:
    for key, kernel in operator.dispatch:
        if key not in DISPATCH_KEYS:
            span = _dispatch_key_span(operator, key, kernel.span)
            return Problem(f"unknown dispatch key {key!r}", span, key_hint(key))
    return None


def _one_composite(operator: Operator, _: Declared) -> Problem | None:
    composites = [key for key, _ in operator.dispatch if key in COMPOSITE_KEYS]
    if len(composites) <= 1:
        return None
    nested, nonfunctional = "CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutogradNonFunctional"
    if len(composites) == 2 and nested in composites and nonfunctional not in composites:
        return None
    message = f"{' and '.join(composites)} together: each subsumes the other"
    hint = "CompositeExplicitAutograd for a kernel with its own gradient, else CompositeImplicitAutograd alone"
    return Problem(message, operator.span("dispatch"), hint)


def _needed_dispatch(operator: Operator, _: Declared) -> Problem | None:
    """Refuse CompositeImplicitAutograd under the default name: it is what an entry without `dispatch` has."""
    if "dispatch" not in operator.spans or operator.structured_delegate is not None or len(operator.dispatch) != 1:
        return None
    key, kernel = operator.dispatch[0]
    if key != "CompositeImplicitAutograd" or not kernel.text.isidentifier():
        return None
    expected = default_kernel_name(operator.schema)
    if kernel.text == expected:
        return Problem(
            "unnecessary dispatch table", operator.span("dispatch"), "leave 'dispatch' out: this is its default"
        )
    if "_symint" in kernel.text:
        return None
    message = f"unexpected kernel name {kernel.text!r} for CompositeImplicitAutograd alone"
    return Problem(message, kernel.span, f"rename the kernel to {expected!r} and leave 'dispatch' out")


def _no_dispatch_if_manual(operator: Operator, _: Declared) -> Problem | None:
    if not operator.manual_kernel_registration or "dispatch" not in operator.spans:
        return None
    message = "manual_kernel_registration and dispatch exclude each other"
    return Problem(message, operator.span("manual_kernel_registration"), "leave one of them out")


_NAMESPACED = re.compile(r"\w+(?:::\w+)+")


def _shallow_kernel_namespace(operator: Operator, _: Declared) -> Problem | None:
    for _key, kernel in operator.dispatch:
        if kernel.text.count("::") > 3 and _NAMESPACED.fullmatch(kernel.text):
            return Problem("a kernel's namespace has at most 3 levels", kernel.span)
    return None


def _explicit_factory(operator: Operator, _: Declared) -> Problem | None:
    """Refuse a factory that decomposes: it would be traced as its parts, on whatever device these choose."""
    if "dispatch" in operator.spans or operator.structured or operator.structured_delegate is not None:
        return None
    name = operator.schema.name.base
    if not (name.startswith("new_") or name.endswith("_like") or _is_factory(operator.schema)):
        return None
    message = "a factory function has no implicit kernel"
    return Problem(message, operator.span("func"), "give it a 'dispatch' with CompositeExplicitAutograd or backends")


# -- other keys


def _defaults_to_leave_out(operator: Operator, _: Declared) -> Problem | None:
    if not operator.cpp_no_default_args:
        return None
    known = [argument.name for argument in operator.schema.arguments if argument.default is not None]
    for name in operator.cpp_no_default_args:
        if name not in known:
            hint = f"arguments with a default: {', '.join(known) or 'none'}"
            return Problem(f"{name!r} is no argument with a default", operator.span("cpp_no_default_args"), hint)
    return None


def _const_ref_without_out(operator: Operator, _: Declared) -> Problem | None:
    if not operator.use_const_ref_for_mutable_tensors or operator.kind is not SchemaKind.OUT:
        return None
    message = "use_const_ref_for_mutable_tensors is not for out variants"
    return Problem(message, operator.span("use_const_ref_for_mutable_tensors"))


def _foreach_devices(operator: Operator, _: Declared) -> Problem | None:
    """Refuse device checks of a _foreach operator: its lists may spread over devices, which the slow path handles."""
    if operator.namespace != "aten" or not operator.schema.name.base.startswith("_foreach"):
        return None
    if operator.device_check == "NoCheck":
        return None
    return Problem("a _foreach operator does not check devices", operator.span("func"), "add 'device_check: NoCheck'")


def _seeded_tag(operator: Operator, _: Declared) -> Problem | None:
    """Ask for the tag of random operators. Names are a hint in ATen alone: elsewhere "operand" holds "rand" too."""
    if "nondeterministic_seeded" in operator.tags:
        return None
    schema = operator.schema
    if any(str(a.type.base()) == "Generator" for a in schema.arguments) or _is_random_in_aten(schema):
        hint = "add 'tags: nondeterministic_seeded'"
        return Problem("a random operator needs the tag nondeterministic_seeded", operator.span("func"), hint)
    return None


def _inplace_view_name(operator: Operator, declared: Declared) -> Problem | None:
    name = operator.schema.name
    if "inplace_view" not in operator.tags or operator.name in RESIZING or operator.name.startswith("aten::set_"):
        return None
    if not name.inplace:
        hint = "its name ends in _"
        return Problem("the tag inplace_view is for in-place operators", operator.span("tags"), hint)
    if (name.namespace, name.stem) not in declared.base_names:
        message = f"the tag inplace_view needs a view operator named {name.stem!r}"
        return Problem(message, operator.span("tags"))
    return None


def _inplace_view_tag(operator: Operator, _: Declared) -> Problem | None:
    if not operator.schema.name.inplace or "inplace_view" in operator.tags or not operator.schema.is_view:
        return None
    return Problem("an in-place view needs its tag", operator.span("func"), "add 'tags: inplace_view'")


RULES: Mapping[str, Rule] = {
    "nested-namespace": _one_namespace,
    "dotted-namespace": _double_colon,
    "out-method": _out_is_function,
    "module-method": _method_outside_module,
    "method-without-self": _method_takes_tensor,
    "unknown-dispatch-key": _known_dispatch_keys,
    "several-composites": _one_composite,
    "unnecessary-dispatch": _needed_dispatch,
    "manual-registration": _no_dispatch_if_manual,
    "kernel-namespace": _shallow_kernel_namespace,
    "implicit-factory": _explicit_factory,
    **STRUCTURED_RULES,
    **AUTOCAST_RULES,
    **NATIVE_RULES,
    **LAUNCH_RULES,
    **FUNCTION_RULES,
    "no-default": _defaults_to_leave_out,
    "const-ref-out": _const_ref_without_out,
    "foreach-device-check": _foreach_devices,
    "missing-seeded-tag": _seeded_tag,
    "inplace-view-name": _inplace_view_name,
    "missing-inplace-view-tag": _inplace_view_tag,
}


def _dispatch_key_span(operator: Operator, key: str, kernel: Span) -> Span:
    """Return where `dispatch` has the key: in the line of its kernel, before it."""
    table = operator.span("dispatch")
    text = table.source.text
    found = list(re.finditer(rf"(?<!\w){re.escape(key)}(?!\w)", text[table.start : kernel.start]))
    return table.sub(*found[-1].span()) if found else kernel


def _is_factory(schema: FunctionSchema) -> bool:
    """Whether it takes tensor options and no tensor: what it returns comes from nowhere."""
    if len(schema.signature().arguments) == len(schema.arguments) - len(schema.out_arguments):
        return False
    return not any(a.type.is_tensor_like for a in schema.arguments if not (a.kwarg_only and a.is_write))


def _is_random_in_aten(schema: FunctionSchema) -> bool:
    name = schema.name
    if name.namespace != "aten" or name.base.startswith("_philox_"):  # of a key that they are given (PyTorch 2.15)
        return False
    if "rand" in name.base or "rand" in name.overload:
        return True
    names = (name.base, name.overload, *(argument.name for argument in schema.arguments))
    # The gradient of dropout is not random.
    is_exempt = "backward" in name.base or "backward" in name.overload or name.base == "_cudnn_init_dropout_state"
    return not is_exempt and any("dropout" in text for text in names)
