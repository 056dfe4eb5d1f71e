"""The rules about structured kernels, the values they precompute, and ufuncs, which are structured."""

from __future__ import annotations

from collections.abc import Mapping

from opwright_codegen.errors import nearest
from opwright_codegen.read.model import Operator
from opwright_codegen.read.rule import Declared, Problem, Rule
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.names import STRUCTURED_KEYS, UFUNC_KEYS

__all__ = ["STRUCTURED_RULES"]


def _structured_is_out(operator: Operator, _: Declared) -> Problem | None:
    if not operator.structured or operator.kind is SchemaKind.OUT:
        return None
    return Problem(
        "only an out variant is structured", operator.span("structured"), "did you mean structured_delegate?"
    )


def _delegate_is_not_out(operator: Operator, _: Declared) -> Problem | None:
    if operator.structured_delegate is None or operator.kind is not SchemaKind.OUT:
        return None
    message = "an out variant does not delegate"
    return Problem(message, operator.span("structured_delegate"), "did you mean 'structured: True'?")


def _structured_guards_device(operator: Operator, _: Declared) -> Problem | None:
    if operator.device_guard or not (operator.structured or operator.structured_delegate):
        return None
    message = "'device_guard: False' has no effect on structured kernels"
    return Problem(message, operator.span("device_guard"), "leave it out")


def _inherits_if_structured(operator: Operator, _: Declared) -> Problem | None:
    if operator.structured_inherits is None or operator.structured:
        return None
    return Problem("structured_inherits needs 'structured: True'", operator.span("structured_inherits"))


def _structured_is_not_implicit(operator: Operator, _: Declared) -> Problem | None:
    if not operator.structured or not any(key.startswith("CompositeImplicit") for key, _ in operator.dispatch):
        return None
    return Problem("a structured kernel is not composite", operator.span("dispatch"), "name its backends")


def _delegate_has_no_kernel(operator: Operator, _: Declared) -> Problem | None:
    if operator.structured_delegate is None:
        return None
    for key, kernel in operator.dispatch:
        if key in STRUCTURED_KEYS:
            message = f"{key} is delegated to {operator.structured_delegate}"
            return Problem(message, kernel.span, f"leave {key} out of 'dispatch'")
    return None


def _delegate_exists(operator: Operator, declared: Declared) -> Problem | None:
    if operator.structured_delegate is None:
        return None
    name = f"{operator.namespace}::{operator.structured_delegate}"
    span = operator.span("structured_delegate")
    delegate = declared.operators.get(name)
    if delegate is None and (maker := _maker(operator, declared)) is not None:
        hint = f"name {operator.schema.name} there too: variants that are made share their kernels already"
        return Problem(f"{name} is made by 'autogen' of {maker.name}", span, hint)
    if delegate is None:
        near = nearest(name, declared.operators)
        return Problem(f"there is no operator {name}", span, f"did you mean {near}?" if near else None)
    if not delegate.structured:
        return Problem(f"{name} is not structured", span, f"give {name} 'structured: True'")
    return None


def _maker(operator: Operator, declared: Declared) -> Operator | None:
    """Return the operator whose `autogen` makes the one that `operator` delegates to."""
    others = (other for other in declared.operators.values() if other.namespace == operator.namespace)
    return next((other for other in others if operator.structured_delegate in other.autogen), None)


def _precomputed_if_structured(operator: Operator, _: Declared) -> Problem | None:
    if operator.precomputed is None or operator.structured:
        return None
    return Problem("precomputed needs 'structured: True'", operator.span("precomputed"))


def _precomputed_names(operator: Operator, _: Declared) -> Problem | None:
    if operator.precomputed is None:
        return None
    known = [argument.name for argument in operator.schema.arguments]
    span = operator.span("precomputed")
    for name, made in (*operator.precomputed.replace, (None, operator.precomputed.add)):
        if name is not None and name not in known:
            near = nearest(name, known)
            return Problem(
                f"there is no argument {name!r} to replace", span, f"did you mean {near!r}?" if near else None
            )
        for argument in made:
            if argument.name.upper() == argument.name:
                return Problem(f"the precomputed name {argument.name!r} is all upper case", span, "use lower case")
    return None


def _ufunc_is_structured(operator: Operator, _: Declared) -> Problem | None:
    if not operator.ufunc_inner_loop or operator.structured:
        return None
    return Problem("a ufunc is structured", operator.span("ufunc_inner_loop"), "add 'structured: True'")


def _ufunc_has_no_kernel(operator: Operator, _: Declared) -> Problem | None:
    """Refuse a ufunc with kernels of its own: those that the loops make stand where `ufunc_inner_loop` stands."""
    if not operator.ufunc_inner_loop or "dispatch" not in operator.spans:
        return None
    table = operator.span("dispatch")
    for key, kernel in operator.dispatch:
        if key in UFUNC_KEYS and table.start <= kernel.span.start < table.end:
            return Problem(
                f"ufunc_inner_loop makes the kernel for {key}", kernel.span, f"leave {key} out of 'dispatch'"
            )
    return None


def _ufunc_names(operator: Operator, _: Declared) -> Problem | None:
    names = {loop.name for loop in operator.ufunc_inner_loop if loop.key in ("Generic", "ScalarOnly")}
    if len(names) <= 1:
        return None
    message = f"ScalarOnly and Generic name one function, not {' and '.join(sorted(names))}"
    return Problem(message, operator.span("ufunc_inner_loop"))


def _ufunc_functors(operator: Operator, _: Declared) -> Problem | None:
    if not operator.ufunc_inner_loop:
        return None
    outs = operator.schema.out_arguments
    tensors = [a for a in operator.schema.arguments if a.type.is_tensor_like and a not in outs]
    for loop in operator.ufunc_inner_loop:
        if loop.key in ("CUDAFunctorOnSelf", "CUDAFunctorOnOther") and len(tensors) != 2:
            return Problem(f"{loop.key} needs two tensors, not {len(tensors)}", operator.span("ufunc_inner_loop"))
    return None


STRUCTURED_RULES: Mapping[str, Rule] = {
    "structured-out": _structured_is_out,
    "delegating-out": _delegate_is_not_out,
    "structured-device-guard": _structured_guards_device,
    "structured-inherits": _inherits_if_structured,
    "structured-composite": _structured_is_not_implicit,
    "delegated-kernel": _delegate_has_no_kernel,
    "unknown-delegate": _delegate_exists,
    "precomputed-unstructured": _precomputed_if_structured,
    "precomputed-name": _precomputed_names,
    "ufunc-unstructured": _ufunc_is_structured,
    "ufunc-dispatch": _ufunc_has_no_kernel,
    "ufunc-names": _ufunc_names,
    "ufunc-functor": _ufunc_functors,
}
