"""`CustomOpDef`: an operator made of a Python function, and what is registered for it."""

from __future__ import annotations

import functools
import importlib
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar

from opwright.amp.settings import available_device
from opwright.autograd.fallbacks import autograd_not_implemented_fallback, inplace_or_view_fallback
from opwright.batching.tables import REGISTERED
from opwright.inspection.meta_formulas import FORMULAS, MetaFormula
from opwright.library.custom_ops.code import FunctionKernel
from opwright.library.custom_ops.defaults import arrays_wanted, given_defaults, without_defaults
from opwright.library.custom_ops.devices import keys_of_devices, named_devices
from opwright.library.custom_ops.formulas import Formula, check_differentiable, check_functions
from opwright.library.custom_ops.forward import give_jvp
from opwright.library.custom_ops.kernel_switch import KernelSwitch
from opwright.library.custom_ops.metas import fake_by, formula_of
from opwright.library.custom_ops.registered import Registered
from opwright.library.custom_ops.wrappers import casting, no_fake, returning_written
from opwright.library.schema_inference import InferredSchema
from opwright.metadata.tags import Tag
from opwright.registering.effects import EFFECTS, EffectType
from opwright.registering.kernels import undefine
from opwright.registering.rules import put_rule
from opwright_core.arrays.dtypes import DType, as_dtype
from opwright_core.core import Caller
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Shim, UserKernel, Wrapper
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey
from opwright_core.source_locations import caller
from opwright_core.user_kernels.returns import place_of

__all__ = ["CustomOpDef", "DeviceTypes", "find_definition"]

Function = Callable[..., Any]
DeviceTypes = str | Sequence[str] | None
P = ParamSpec("P")
R = TypeVar("R")
_definitions: Final[weakref.WeakValueDictionary[str, CustomOpDef[..., Any]]] = weakref.WeakValueDictionary()


class CustomOpDef(Generic[P, R], Caller):
    """A custom operator: call it, and register more of it. `custom_op` makes it. `P` and `R` are the parameters and the
    result of its function, for type checkers.

    Calls go to the operator's stub, once it is rendered.
    """

    __slots__ = ("__dict__", "__weakref__")
    if TYPE_CHECKING:
        __call__: Callable[P, R]

    def __init__(
        self,
        name: str,
        function: Function,
        schema: InferredSchema,
        device_types: DeviceTypes,
        tags: tuple[Tag, ...],
        meta: str | None = None,
    ) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", name)
        self.__module__ = getattr(function, "__module__", "") or ""
        self.__doc__ = function.__doc__
        self._pass_calls_to(functools.partial(_call_first, weakref.ref(self)))
        self._qualname = name
        self._schema = schema
        self._earlier: weakref.ref[CustomOpDef[..., Any]] | None = None
        keys = keys_of_devices(device_types, schema.declaration, name)
        formula = None if meta is None else formula_of(name, schema.declaration, meta)
        tags = tags if Tag.pt2_compliant_tag in tags else (*tags, Tag.pt2_compliant_tag)
        with registry.lock:
            earlier = _definitions.get(name)
            if earlier is not None and earlier._is_defined():
                self._replace(earlier, schema, tags)
            else:
                self._registered = Registered(Operator(name, schema.declaration, where=place_of(function), tags=tags))
            self._disabled: dict[str, int] = {}
            self._devices = named_devices(device_types)
            self._autocast: dict[str, DType] = {}
            self._register_defaults()
            for key in keys:
                self._put_kernel(key, function)
            if formula is not None:
                self._put_formula(formula, place_of(function))
            _definitions[name] = self

    def _is_defined(self) -> bool:
        operator = self._opoverload
        return registry.operators.get(operator.name) is operator

    def _replace(self, earlier: CustomOpDef[..., Any], schema: InferredSchema, tags: tuple[Tag, ...]) -> None:
        """Replace a definition that was made at the same location: a cell run again, a module that is reloaded."""
        old, new = earlier.__wrapped__, self.__wrapped__
        if _place(old) != _place(new):
            raise RegistrationError(
                f"{self._qualname} is defined twice: first by {place_of(old)}, then by {place_of(new)}. Give one of "
                "them another name"
            )
        warnings.warn(
            f"{self._qualname} is defined anew by {place_of(new)}: it takes the place of what was defined there before",
            stacklevel=4,
        )
        operator = earlier._opoverload
        registered = earlier._registered.current()
        if operator.declaration == schema.declaration and operator.tags == tags:
            self._registered = Registered(operator)
            registered.give_way(self._registered)
        else:
            undefine(operator)
            self._registered = Registered(Operator(self._qualname, schema.declaration, where=place_of(new), tags=tags))
            registered.give_way(self._registered)
        self._earlier = weakref.ref(earlier)
        known: CustomOpDef[..., Any] | None = earlier
        while known is not None:
            known._pass_calls_to(functools.partial(_call_first, weakref.ref(known)))
            known = None if known._earlier is None else known._earlier()

    @property
    def _opoverload(self) -> Operator:
        """Return the operator, under PyTorch's name."""
        return self._registered.current().operator

    def _register_defaults(self) -> None:
        """Register what an operator has from the start: no gradients, and no fake kernel unless it is clear."""
        operator = self._opoverload
        put = self._registered.put
        put("autograd", DispatchKey.Autograd, autograd_not_implemented_fallback)
        if self._schema.mutated:
            put("writes", DispatchKey.ADInplaceOrView, inplace_or_view_fallback)
        is_clear = self._returns_written or (self._schema.mutated and self._schema.declaration.endswith("-> ()"))
        put("fake", DispatchKey.Meta, Shim((returning_written if is_clear else no_fake)(operator)))

    @property
    def _returns_written(self) -> bool:
        tags = self._opoverload.tags
        return Tag.inplace in tags or Tag.out in tags

    def _put_kernel(self, key: DispatchKey, function: Function) -> None:
        schema = self._schema
        if function is self.__wrapped__:
            kernel = FunctionKernel(self._opoverload, function, schema.arrays, schema.returns_arrays)
        else:
            called = without_defaults(self._opoverload, function)
            kernel = FunctionKernel(self._opoverload, called, *arrays_wanted(function))
        self._registered.current().put(("kernel", key), key, kernel, place_of(function))

    def register_kernel(self, device_types: DeviceTypes, fn: Function | None = None, /) -> Any:
        """Register a function as the kernel of some devices, instead of the one there was; None stands for all devices
        without one of their own. A decorator where `fn` is left out. It is called without arguments that equal their
        defaults, so that it may leave these out or have defaults of its own. Raises RuntimeError for an unknown
        device."""
        keys = keys_of_devices(device_types, self._schema.declaration, self._qualname)

        def register(function: Function) -> Function:
            with registry.lock:
                self._devices |= named_devices(device_types)
                for key in keys:
                    self._put_kernel(key, function)
                for device in self._disabled:
                    self._disable(device)
            return function

        return register if fn is None else register(fn)

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> AbstractContextManager[None]:
        """Use the kernel of a device no more (`enabled=False`), or again, in the block; the function that the operator
        was defined by stands in for it. It holds for all threads. Warns of a device without a kernel of its own, and of
        one that is enabled, or disabled, already."""
        return KernelSwitch(self, device_type, enabled)

    def _warn_of_no_change(self, device_type: str, enabled: bool) -> None:
        change = "enable" if enabled else "disable"
        problems = []
        if device_type not in self._devices:
            problems.append("no kernel was registered for this device type")
        if enabled == (device_type not in self._disabled):
            problems.append(f"it is {change}d already")
        for problem in problems:
            warnings.warn(
                f"attempted to {change} the kernel of {self._qualname} for {device_type}, but {problem}", stacklevel=3
            )

    def _set_disabled(self, device_type: str, count: int) -> None:
        self._disabled.pop(device_type, None)
        if count:
            self._disabled[device_type] = count
            self._disable(device_type)
        else:
            self._registered.current().drop(("disabled", device_type))

    def _disable(self, device_type: str) -> None:
        try:
            (key,) = keys_of_devices(device_type, self._schema.declaration, self._qualname)
        except RuntimeError:
            return  # no such device, of which there was a warning
        kernel = FunctionKernel(self._opoverload, self.__wrapped__, self._schema.arrays, self._schema.returns_arrays)
        self._registered.current().put(("disabled", device_type), key, kernel, place_of(self.__wrapped__))

    def register_fake(self, fn: Function, /) -> Function:
        """Register what results look like without data, as `opwright.library.register_fake` says; the newest counts."""
        if self._returns_written:
            warnings.warn(
                f"the fake kernel of {self._qualname} is unnecessary: an operator with the tag inplace or out returns "
                "what it is given, also without data. It is used all the same",
                stacklevel=2,
            )
        kernel = UserKernel(given_defaults(self._opoverload, fn))
        with registry.lock:
            registered = self._registered.current()
            registered.put("fake", DispatchKey.Meta, kernel, place_of(fn))
            registered.drop("meta")
        return fn

    def register_meta(self, formula: str, /) -> None:
        """Register what results look like by a formula of schema files, `pointwise(x, other)`: the fake kernel, which
        `opcheck` holds the results against, and all that follows from it. `opwright rules` lists the rules.

        Raises RegistrationError for a formula that cannot be, with the position in it, and for results that are no new
        tensors.
        """
        self._put_formula(formula_of(self._qualname, self._opoverload.declaration, formula), caller())

    def _put_formula(self, formula: MetaFormula, where: str) -> None:
        with registry.lock:
            registered = self._registered.current()
            registered.put("fake", DispatchKey.Meta, Shim(fake_by(registered.operator, formula)), where)
            registered.give("meta", FORMULAS, formula)

    def register_autograd(
        self, backward: Function, /, *, setup_context: Function | None = None, jvp: Function | None = None
    ) -> None:
        """Register how calls are differentiated.

        `setup_context(ctx, inputs, output)` (`(ctx, inputs, keyword_only_inputs, output)` where there are keyword-only
        arguments) saves on `ctx` what `backward(ctx, *grads)` needs, which returns a gradient or None for each
        positional argument; `ctx` is that of `autograd.Function`. `jvp(ctx, *tangents)` is forward mode: it gets a
        tangent or None for each positional argument, and returns one for each result.
        Raises RuntimeError for operators that write to arguments, return nothing, or return views of several.
        """
        operator = self._opoverload
        check_differentiable(operator)
        check_functions(operator, backward, setup_context, jvp)
        formula = Formula(operator, backward, setup_context, self._schema.arrays, self._schema.returns_arrays)
        registered = self._registered.current()
        with registry.lock:
            if jvp is None:
                registered.drop("jvp")
            else:
                registered.hold("jvp", functools.partial(give_jvp, operator, setup_context, jvp))
            registered.put("autograd", DispatchKey.Autograd, formula, place_of(backward))

    def register_vmap(self, func: Function | None = None, /) -> Any:
        """Register the rule for `vmap`, `func(info, in_dims, *args, **kwargs) -> (output, out_dims)`; or decorate."""

        def register(function: Function) -> Function:
            with registry.lock:
                self._registered.current().give("vmap", REGISTERED, function)
            return function

        return register if func is None else register(func)

    def register_effect(self, effect: EffectType | None, /) -> None:
        """Register a side effect that the declaration does not tell; None for none."""
        self._registered.current().hold("effect", lambda held: put_rule(EFFECTS, self._qualname, effect, held=held))

    def register_torch_dispatch(self, torch_dispatch_class: type, func: Function | None = None, /) -> Any:
        """Register the rule for a dispatch mode or a Tensor subclass, `func(mode or class, func, types, args, kwargs)`,
        which stands in for its `__torch_dispatch__`; a decorator where `func` is left out."""

        def register(function: Function) -> Function:
            from opwright.python_dispatch import register_rule

            with registry.lock:
                self._registered.current().hold(
                    ("torch_dispatch", torch_dispatch_class),
                    functools.partial(register_rule, self._opoverload.name, torch_dispatch_class, function),
                )
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: object) -> None:
        """Have floating-point Tensors on a device (but float64) cast to a dtype where autocast is on for it; the
        function then runs without it. Raises ValueError for what is no str, RuntimeError for a device without autocast.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"expected the name of a device type, got {device_type!r}")
        with registry.lock:
            self._autocast[available_device(device_type)] = as_dtype(cast_inputs)
            wrapper = Wrapper(functools.partial(casting, dict(self._autocast)), is_for_any=True, lets_record=True)
            self._registered.current().put("autocast", DispatchKey.Autocast, wrapper)

    def __reduce__(self) -> tuple[Callable[[str, str], CustomOpDef[..., Any]], tuple[str, str]]:
        return _restore, (self._qualname, self.__module__)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _call_first(definition: weakref.ref[CustomOpDef[..., Any]], /, *args: Any, **kwargs: Any) -> Any:
    """Call an operator whose stub may not be rendered yet."""
    found = definition()
    assert found is not None  # it is being called
    operator = found._opoverload
    result = operator(*args, **kwargs)
    if operator.stub is not None:
        found._pass_calls_to(operator.stub)
    return result


def _place(function: Function) -> tuple[str, ...]:
    """Return where a function is defined, however often the file is read. A cell of a notebook that is edited has
    another file each time, but the module `__main__`."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", repr(function))
    code = getattr(function, "__code__", None)
    file = "" if code is None else code.co_filename
    is_cell = module == "__main__" and ("ipykernel" in file or file.startswith("<"))
    return module, name, "" if is_cell else file


def find_definition(op: object) -> CustomOpDef[..., Any] | None:
    """Return the custom operator of that name, or that the operator belongs to; None if it is none."""
    if isinstance(op, CustomOpDef):
        return op
    name = op.name if isinstance(op, Operator) else op.removesuffix(".default") if isinstance(op, str) else ""
    found = _definitions.get(name)
    return found if found is not None and found._is_defined() else None


def _restore(name: str, module: str) -> CustomOpDef[..., Any]:
    """Return a custom operator that was pickled by name: its module defines it."""
    found = find_definition(name)
    if found is None:
        importlib.import_module(module)
        found = find_definition(name)
    if found is None:
        raise RegistrationError(f"{module} defines no custom operator {name}")
    return found
