"""`opwright.library`: operators defined at run time, and kernels for any operator. The names are `torch.library`'s.

What is registered without a Library lasts; with one, as long as it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

from opwright.inspection.kernel_handles import get_kernel
from opwright.inspection.out_variants import check_out_variant, to_out_variant
from opwright.library.custom_classes import register_custom_class, unregister_custom_class
from opwright.library.libraries import Library, lasting_library, scoped_library, split_name
from opwright.library.schema_inference import infer_schema
from opwright.names.late_bound import late_bound
from opwright.registering.custom_classes import CustomClassBase, MemberType
from opwright.registering.effects import EffectType
from opwright.user_kernels.registering import key_of_device, register_array_kernel
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Key, as_key, fallthrough_kernel
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.names.missing import missing_attribute

if TYPE_CHECKING:
    from opwright.fake.context import FakeContext
    from opwright.library.custom_ops import (
        CustomOpDef,
        custom_op,
        register_autocast,
        register_autograd,
        register_effect,
        register_kernel,
        register_meta,
        register_torch_dispatch,
        register_vmap,
        triton_op,
        wrap_triton,
    )
    from opwright_gate.checking import opcheck

__all__ = [
    "CustomClassBase",
    "CustomOpDef",
    "EffectType",
    "Library",
    "MemberType",
    "check_out_variant",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_array_kernel",
    "register_autocast",
    "register_autograd",
    "register_custom_class",
    "register_effect",
    "register_fake",
    "register_kernel",
    "register_meta",
    "register_torch_dispatch",
    "register_vmap",
    "to_out_variant",
    "triton_op",
    "unregister_custom_class",
    "wrap_triton",
]  # fmt: skip

_NAMELESS: Final = re.compile(r"\s*\(.*\)\s*->.*", re.DOTALL)
_Function = Callable[..., Any]
_scoped_library = scoped_library  # PyTorch's name


@overload
def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: str | Iterable[str] | None = ()
) -> None: ...


@overload
def define(qualname: Library, schema: str, alias_analysis: str = "") -> Callable[[_Function], _Function]: ...


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: str | Iterable[str] | None = (),
) -> Any:
    """Define the operator "namespace::name.overload" by a schema without a name, `(Tensor x) -> Tensor`.

    It lives as long as `lib`, or for ever. Given a Library and a whole schema instead, it is a decorator of the
    operator's CompositeImplicitAutograd kernel. Raises ValueError for a name without namespace, a schema with a name or
    one that breaks the rules of its tags; RegistrationError for a schema that does not parse and a name that is taken.
    """
    if isinstance(qualname, Library):
        library = qualname

        def define_with_kernel(function: _Function) -> _Function:
            with registry.lock:
                library.impl(library.define(schema, alias_analysis), function)
            return function

        return define_with_kernel
    namespace, name = split_name(qualname, "define")
    if not _NAMELESS.fullmatch(schema):
        raise ValueError(f'define({qualname!r}, …): expected a schema like "(Tensor x) -> Tensor", got "{schema}"')
    (lib or lasting_library(namespace)).define(name + schema.lstrip(), tags=tags)
    return None


@overload
def impl(
    qualname: str | Operator, types: str | Sequence[str], func: None = None, *, lib: Library | None = None
) -> Callable[[_Function], _Function]: ...


@overload
def impl(
    qualname: str | Operator, types: str | Sequence[str], func: _Function, *, lib: Library | None = None
) -> None: ...


@overload
def impl(qualname: Library, types: str, func: str = "") -> Callable[[_Function], _Function]: ...


def impl(
    qualname: str | Operator | Library,
    types: str | Sequence[str],
    func: _Function | str | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel of an operator for device types: "cpu", "cuda", a backend's name, or "default" for all.

    A decorator where `func` is left out. Names of dispatch keys are taken too. It lives as long as `lib`, or for ever.
    Given a Library, the operator's name and a dispatch key ("" for the library's own), it is the decorator form of
    `Library.impl`. Raises ValueError for a name without namespace, RuntimeError for an unknown device, and what
    `Library.impl` does.
    """
    if isinstance(qualname, Library):
        library, name, key = qualname, types, func or ""

        def register_at_key(function: _Function) -> _Function:
            library.impl(name, function, key)  # type: ignore[arg-type]
            return function

        return register_at_key
    op = qualname.name if isinstance(qualname, Operator) else qualname
    namespace, _ = split_name(op, "impl")
    keys = list(dict.fromkeys(map(_key, (types,) if isinstance(types, str) else types)))

    def register_function(function: _Function) -> _Function:
        library = lib or lasting_library(namespace)
        with registry.lock:
            for key in keys:
                library.impl(op, function, key)
        return function

    if func is None:
        return register_function
    register_function(func)  # type: ignore[arg-type]  # a Library would have come first
    return None


def _key(name: str) -> Key:
    """Return a device's key, or the key of that name."""
    try:
        return as_key(name)
    except RegistrationError:
        pass
    return key_of_device(name)


def register_fake(
    op: str | Operator | CustomOpDef[..., Any],
    func: _Function | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register what an operator's results look like, without data; a decorator where `func` is left out.

    `op` is "namespace::name" or an operator. The function gets the operator's arguments, fake tensors among them, and
    returns new tensors of the right shape, strides, dtype and device; it must not read data (`get_ctx()` gives sizes
    that depend on it). The newest is used, as long as its `lib` lives, or for ever. Raises RegistrationError where the
    operator has such a kernel already and `allow_override` is false, or does not exist; ValueError for what is no
    operator's name. Semantics: `torch.library.register_fake`.
    """
    from opwright.library.custom_ops import find_definition

    definition = find_definition(op)
    if definition is not None and lib is None and allow_override:
        return definition.register_fake if func is None else definition.register_fake(func)
    name: Any = definition._qualname if definition is not None else op.name if isinstance(op, Operator) else op
    namespace, _ = split_name(name, "register_fake")

    def register_function(function: _Function) -> _Function:
        return (lib or lasting_library(namespace)).register_fake(name, function, allow_override=allow_override)

    return register_function if func is None else register_function(func)


impl_abstract = register_fake  # PyTorch's older name


def get_ctx() -> FakeContext:
    """Return what a running fake kernel may ask for, `get_ctx().new_dynamic_size()`; None outside of one."""
    from opwright.fake.context import running

    return running.get()  # type: ignore[return-value]  # kernels need not ask whether it is None


def __getattr__(name: str) -> Any:
    if name == "_register_effectful_op":  # PyTorch's name
        name = "register_effect"
    if name not in __all__:
        raise missing_attribute(f"module {__name__!r} has no attribute {name!r}", name, __all__)
    if name == "opcheck":
        return late_bound.tools().opcheck
    from opwright.library import custom_ops

    return getattr(custom_ops, name)


def __dir__() -> list[str]:
    return sorted(__all__)
