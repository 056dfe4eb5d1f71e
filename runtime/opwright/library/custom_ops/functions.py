"""`register_kernel`, `register_autograd`, `register_vmap` and the other functions that register something: for custom
operators and for any other operator, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opwright.amp.settings import available_device
from opwright.batching.tables import REGISTERED
from opwright.inspection.meta_formulas import FORMULAS
from opwright.library.custom_ops.definition import CustomOpDef, find_definition
from opwright.library.custom_ops.devices import keys_of_devices
from opwright.library.custom_ops.formulas import Formula, check_differentiable, check_functions
from opwright.library.custom_ops.forward import give_jvp
from opwright.library.custom_ops.metas import fake_by, formula_of
from opwright.library.custom_ops.wrappers import casting
from opwright.library.libraries import Library, lasting_library, split_name
from opwright.registering.effects import EFFECTS, EffectType
from opwright.registering.kernels import register
from opwright.registering.removing import Making
from opwright.registering.rules import put_rule
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.kernel_kinds import Shim, Wrapper
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey
from opwright_core.source_locations import caller
from opwright_core.user_kernels.returns import place_of

__all__ = [
    "register_autocast", "register_autograd", "register_effect", "register_kernel", "register_meta",
    "register_torch_dispatch", "register_vmap",
]  # fmt: skip

Function = Callable[..., Any]
Op = str | Operator | CustomOpDef[..., Any]


def register_kernel(
    op: Op, device_types: str | Sequence[str] | None, func: Function | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register a function on Tensors as an operator's kernel for some devices; None stands for all that have none. A
    decorator where `func` is left out. It lives as long as `lib`, or as the custom operator, or for ever.

    Raises RuntimeError for an unknown device. Semantics: `torch.library.register_kernel`.
    """
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_kernel(device_types, func)
    name = _name(op)
    keys = keys_of_devices(device_types, find_operator(name).declaration, name)

    def register_function(function: Function) -> Function:
        with registry.lock:
            for key in keys:
                _library(name, lib).impl(name, function, key)
        return function

    return register_function if func is None else register_function(func)


def register_autograd(
    op: Op,
    backward: Function,
    /,
    *,
    setup_context: Function | None = None,
    jvp: Function | None = None,
    lib: Library | None = None,
) -> None:
    """Register how calls of an operator are differentiated: `CustomOpDef.register_autograd` says how.

    It lives as long as `lib`, or as the custom operator, or for ever. Semantics: `torch.library.register_autograd`.
    """
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_autograd(backward, setup_context=setup_context, jvp=jvp)
    operator = find_operator(_name(op))
    check_differentiable(operator)
    check_functions(operator, backward, setup_context, jvp)
    formula = Formula(operator, backward, setup_context)
    made: list[Making] = []
    if jvp is not None:
        made.append(functools.partial(give_jvp, operator, setup_context, jvp))
    made.append(lambda held: register(operator, DispatchKey.Autograd, formula, where=place_of(backward), held=held))
    _library(operator.name, lib).keep(*made)
    return None


def register_vmap(op: Op, func: Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Register the rule by which `vmap` runs an operator, `func(info, in_dims, *args, **kwargs)`, which returns
    `(output, out_dims)`; a decorator where `func` is left out. Semantics: `torch.library.register_vmap`."""
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_vmap(func)
    name = find_operator(_name(op)).name

    def register_function(function: Function) -> Function:
        _library(name, lib).keep(lambda held: put_rule(REGISTERED, name, function, held=held))
        return function

    return register_function if func is None else register_function(func)


def register_autocast(op: Op, device_type: str, cast_inputs: object, /, *, lib: Library | None = None) -> None:
    """Have floating-point Tensors on a device cast for an operator where autocast is on:
    `CustomOpDef.register_autocast` says how. Semantics: `torch.library.register_autocast`."""
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_autocast(device_type, cast_inputs)
    operator = find_operator(_name(op))
    dtypes = {available_device(device_type): as_dtype(cast_inputs)}
    wrapper = Wrapper(functools.partial(casting, dtypes), is_for_any=True, lets_record=True)
    _library(operator.name, lib).keep(lambda held: register(operator, DispatchKey.Autocast, wrapper, held=held))
    return None


def register_meta(op: Op, formula: str, /, *, lib: Library | None = None) -> None:
    """Register what an operator's results look like by a formula of schema files, `pointwise(x, other)`:
    `CustomOpDef.register_meta` says how. It lives as long as `lib`, or as the custom operator, or for ever."""
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_meta(formula)
    operator = find_operator(_name(op))
    found = formula_of(operator.name, operator.declaration, formula)
    kernel, where = Shim(fake_by(operator, found)), caller()
    _library(operator.name, lib).keep(
        lambda held: register(operator, DispatchKey.Meta, kernel, where=where, held=held),
        lambda held: put_rule(FORMULAS, operator.name, found, held=held),
    )
    return None


def register_effect(op: Op, effect: EffectType | None, /, *, lib: Library | None = None) -> None:
    """Register a side effect of an operator that its declaration does not tell (it prints, counts, sends). None: it has
    none.

    Calls of it stay in graphs though nobody reads their results. It lives as long as `lib`, or as the custom operator,
    or for ever. Semantics: `torch.library._register_effectful_op`.
    """
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_effect(effect)
    name = _name(op)
    return _library(name, lib).keep(lambda held: put_rule(EFFECTS, name, effect, held=held))


def register_torch_dispatch(
    op: Op, torch_dispatch_class: type, func: Function | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register what an operator does in a dispatch mode, or for a Tensor subclass, instead of the `__torch_dispatch__`
    of that class: `func(mode, func, types, args, kwargs)`, for a subclass with the class first. A decorator where
    `func` is left out.

    It handles exactly this class and not what derives from it. It lives as long as `lib`, or as the custom operator, or
    for ever. Raises RegistrationError where there is such a rule, TypeError for a class without a handler and for what
    cannot be called. Semantics: `torch.library.register_torch_dispatch`.
    """
    definition = find_definition(op)
    if definition is not None and lib is None:
        return definition.register_torch_dispatch(torch_dispatch_class, func)
    name = _name(op)

    def register_function(function: Function) -> Function:
        from opwright.python_dispatch import register_rule

        _library(name, lib).keep(functools.partial(register_rule, name, torch_dispatch_class, function))
        return function

    return register_function if func is None else register_function(func)


def _library(name: str, given: Library | None) -> Library:
    return lasting_library(name.partition("::")[0]) if given is None else given


def _name(op: Op) -> str:
    """Return the whole name of an operator. Raises ValueError for what is none."""
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, Operator):
        return op.name
    split_name(op, "register")
    return op.removesuffix(".default")
