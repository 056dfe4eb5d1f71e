"""Libraries: operators and kernels defined at run time, which live as long as the library that holds them."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from opwright.inspection import schema as _schema
from opwright.library.contents import Contents
from opwright.library.rendered_stubs import rendered_stub
from opwright.library.schema_tags import check_tagged
from opwright.metadata.tags import as_tags
from opwright.registering.effects import EFFECTS, EffectType
from opwright.registering.kernels import register, undefine
from opwright.registering.lost import forget_lost, lost_kernels
from opwright.registering.removing import Making, Removable, remove_all
from opwright.registering.rules import put_rule
from opwright.user_kernels.registering import register_fallback
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import (
    Boxed,
    Key,
    Unbound,
    UserKernel,
    Wrapper,
    as_key,
    fallthrough_kernel,
)
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey
from opwright_core.keysets import KeySet
from opwright_core.source_locations import OURS, Place, caller, shown

__all__ = ["Library", "caller", "lasting_library", "scoped_library", "split_name"]

_KINDS: Final = ("DEF", "FRAGMENT", "IMPL")
_RESERVED: Final = ("prim",)


class Library:
    """A set of definitions, kernels and fallbacks in one namespace.

    `kind` is DEF (the one library that owns the namespace), FRAGMENT (adds to it) or IMPL (kernels alone).
    `dispatch_key` is the key of kernels registered without one.

    Keep a reference: when a Library is destroyed, explicitly or as garbage, its operators and kernels go with it.
    Raises ValueError for an unknown kind or a reserved namespace, RegistrationError for a second DEF.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: DispatchKey | str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind!r}; a Library is one of {', '.join(_KINDS)}")
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if not (ns == "_" or all(part.isidentifier() for part in ns.split("::"))):
            raise ValueError(f"{ns!r} is no namespace: it must be an identifier")
        self.ns = ns
        self.kind = kind
        self.dispatch_key: Key | None = as_key(dispatch_key) if dispatch_key else None
        self.where = caller()
        with registry.lock:
            self._contents = Contents(ns, kind == "DEF", self.where)
            self._keep = registry.lock.watch(self, self._contents.collect)
            try:
                self._contents.claim()
            except BaseException:  # an interrupt of a thread may come anywhere
                self._contents.take_back()
                raise

    def define(self, schema: str, alias_analysis: str = "", *, tags: str | Iterable[str] | None = ()) -> str:
        """Define an operator, `f.overload(Tensor x) -> Tensor`, and return its name, with a namespace that is written.

        `tags` are of `opwright.Tag`; those named `out` and `inplace` hold the schema to their rules (ValueError).
        Warns of what PyTorch takes, too, though it is bad manners: two arguments of one name, a list without default
        after an argument with one, a default that is none of its type (`Tensor x=None`).
        Raises RegistrationError for a schema that does not parse, a name that is taken, and in an IMPL library.
        """
        self._check_alive()
        if self.kind == "IMPL":
            raise RegistrationError(f"an IMPL library cannot define operators; open {self.ns} as FRAGMENT to add to it")
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RegistrationError(f"Invalid alias_analysis type {alias_analysis}")
        given = as_tags(tags)
        manners: list[str] = []
        parsed = _schema.parse_definition(schema, manners)
        if parsed.name.namespace not in ("", self.ns):
            raise RegistrationError(f"{parsed.name} is not in the namespace of its library, {self.ns}")
        check_tagged(parsed, given)
        for problem in manners:
            _warn(f"PyTorch takes this, and callers will stumble over it\n{problem}")
        declaration = _schema.declaration_of(parsed)
        name = str(parsed.name) if parsed.name.namespace else f"{self.ns}::{parsed.name}"
        where = caller()
        with registry.lock:
            self._check_alive()
            known = registry.operators.get(name)
            if known is not None and where.is_rerun_of(known.where):
                undefine(known)  # its kernels handle the operator that replaces it
            known = registry.operators.get(name)
            try:
                operator = Operator(name, declaration, where=where, tags=given)
                operator.renderer = None if manners else rendered_stub  # a function with such parameters there is not
                self._contents.operators.append(operator)
                forget_lost(operator)
            except BaseException:
                self._contents.undo(registry.operators.get(name), known)
                raise
        return name if parsed.name.namespace else name.removeprefix(f"{self.ns}::")

    def impl(
        self, op_name: str | Operator, fn: Callable[..., Any] | Wrapper, dispatch_key: DispatchKey | str = "", *,
        with_keyset: bool = False, allow_override: bool = True,
    ) -> None:  # fmt: skip
        """Register a function on Tensors as the kernel of an operator, which may be defined later.

        `fn` may be `fallthrough_kernel` (dispatch skips the key) or one of the fallbacks of `opwright.autograd`.
        Without a key: the library's own, or CompositeImplicitAutograd. With `with_keyset`, `fn` gets the KeySet first.
        It replaces an earlier kernel of that key as long as the library lives; without `allow_override`
        that is a RegistrationError if a library registered the other one. Raises TypeError for what cannot be called;
        RegistrationError for another library's key or an operator of another namespace, and at Meta where the operator
        has a CompositeImplicitAutograd kernel.
        """
        kernel = fn if _is_kernel(fn) else UserKernel(_checked(fn), with_keyset)
        name = self._qualified(op_name)
        key = self._key(dispatch_key)
        where = caller()
        with registry.lock:
            self._check_alive()
            earlier = _earlier(name, key)
            if not allow_override:
                _check_free(name, key)
            if key is DispatchKey.Meta and registry.kernels.get(name, {}).get(DispatchKey.CompositeImplicitAutograd):
                raise RegistrationError(
                    f"{name} needs no kernel for tensors without data: it has a CompositeImplicitAutograd kernel, "
                    "which runs on them; give the operators it calls such kernels"
                )
            register(name, _name(key), kernel, where=where, held=self._contents.handles)
            lost_kernels.forget(name)
        if key is not DispatchKey.Meta and earlier is not None and not where.is_rerun_of(earlier):
            _warn_of_override(name, key, earlier, where)

    def fallback(
        self, fn: Callable[..., Any] | Wrapper, dispatch_key: DispatchKey | str = "", *, with_keyset: bool = False
    ) -> None:
        """Register what handles a key for every operator without a kernel there: `fn(op, *args, **kwargs)`.

        Only in the namespace `_`. With `with_keyset`, `fn` gets the KeySet first. Raises RegistrationError, TypeError.
        """
        if self.ns != "_":
            raise RegistrationError(
                f"a fallback serves every namespace: register it in a Library of '_', not '{self.ns}'"
            )
        kernel = fn if _is_kernel(fn) else _boxed(_checked(fn), with_keyset)
        if not dispatch_key and self.dispatch_key is None:
            raise RegistrationError("a fallback needs a dispatch key")
        key = _name(self._key(dispatch_key))
        where = caller()
        with registry.lock:
            self._check_alive()
            fallbacks = registry.fallbacks.get(as_key(key), ())  # type: ignore[arg-type]  # a foreign key has none
            known = next((each for each in fallbacks if isinstance(each.where, Place)), None)
            if known is not None and not where.is_rerun_of(known.where):
                raise RegistrationError(
                    f"{key} has a fallback already, registered at {known.where}: there is one for a key, and this one, "
                    f"at {where}, would hide it. Destroy the Library of the first"
                )
            register_fallback(key, kernel, where=where, held=self._contents.handles)

    def register_fake(
        self, op_name: str | Operator, fn: Callable[..., Any], *, allow_override: bool = True
    ) -> Callable[..., Any]:
        """Register what an operator's results look like, without data: a function of the operator's arguments that
        returns new tensors of the right shape, strides, dtype and device (`x.new_empty(shape)`). It must not read data;
        a size that depends on it is `get_ctx().new_dynamic_size()`. The newest of an operator is used.

        Raises RegistrationError where the operator does not exist or has such a kernel (unless `allow_override`),
        TypeError for what cannot be called.
        """
        name = self._qualified(op_name)
        with registry.lock:
            if name not in registry.operators:
                raise RegistrationError(f"operator {name} does not exist: define it before its fake kernel")
            self.impl(name, fn, DispatchKey.Meta, allow_override=allow_override)
        return fn

    _register_fake = register_fake  # PyTorch's name

    def _register_effectful_op(self, op_name: str | Operator, effect: EffectType | None) -> None:
        """Register a side effect that the operator's declaration does not tell, as `register_effect` does."""
        name = self._qualified(op_name)
        self.keep(lambda held: put_rule(EFFECTS, name, effect, held=held))

    def keep(self, *make: Making) -> None:
        """Call each to register something that ends with the library, all of it or nothing. Raises RegistrationError if
        it was destroyed."""
        made: list[Removable] = []
        with registry.lock:
            self._check_alive()
            try:
                for each in make:
                    each(made)
                self._contents.handles += made
            except BaseException:  # an interrupt of a thread may come anywhere
                remove_all(made)
                raise

    def destroy(self) -> None:
        """Take back everything the library defined and registered. Doing so again has no effect."""
        with registry.lock:
            self._contents.take_back()
            self._keep()  # last: what an interrupt leaves is taken back with the library

    _destroy = destroy  # PyTorch's name

    def _check_alive(self) -> None:
        if self._contents.is_destroyed:
            raise RegistrationError(f"the Library for {self.ns} made at {self.where} was destroyed")

    def _qualified(self, op_name: str | Operator) -> str:
        if isinstance(op_name, Operator):
            name = op_name.name
        elif isinstance(op_name, str):
            name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        else:
            raise RegistrationError(f"op_name should be either a name or an operator, got {type(op_name).__name__}")
        if not name.startswith(f"{self.ns}::"):
            raise RegistrationError(f"{name} is not in the namespace of its library, {self.ns}")
        return name.removesuffix(".default")

    def _key(self, dispatch_key: DispatchKey | str) -> Key:
        if not dispatch_key:
            return self.dispatch_key or DispatchKey.CompositeImplicitAutograd
        key = as_key(dispatch_key)
        if self.dispatch_key is not None and key != self.dispatch_key:
            raise RegistrationError(
                f"inconsistent dispatch key {_name(key)}: the Library was made for {_name(self.dispatch_key)}"
            )
        return key

    def __repr__(self) -> str:
        key = "" if self.dispatch_key is None else f", dispatch_key={_name(self.dispatch_key)}"
        return f"Library(kind={self.kind}, ns={self.ns}{key})"


def _is_kernel(fn: Any) -> bool:
    """Whether it says itself what it is a kernel for."""
    return fn is fallthrough_kernel or isinstance(fn, Wrapper)


def _checked(fn: Any) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
    return fn  # type: ignore[no-any-return]


def _boxed(fn: Callable[..., Any], with_keyset: bool) -> Boxed:
    @functools.wraps(fn)
    def call(operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return fn(keyset, operator, *args, **kwargs) if with_keyset else fn(operator, *args, **kwargs)

    return Boxed(call)


def _check_free(name: str, key: Key) -> None:
    """Raise RegistrationError where a library has registered a kernel."""
    registry.check_held()
    for known in registry.kernels.get(name, {}).get(key, ()):
        if isinstance(known.kernel, UserKernel):
            raise RegistrationError(
                f"{name} already has a kernel for {_name(key)}, registered at {known.where}; "
                "pass allow_override=True to put this one in its place"
            )


def _earlier(name: str, key: Key) -> str | None:
    """Return where the kernel that handles an operator's key was registered; None if it is declared by name alone."""
    registry.check_held()
    known = registry.kernels.get(name, {}).get(key)
    return shown(known[-1].where) if known and not isinstance(known[-1].kernel, Unbound) else None


def _warn_of_override(name: str, key: Key, earlier: str, where: str) -> None:
    """Warn that a kernel replaces another."""
    _warn(
        f"the kernel of {name} for {_name(key)} registered at {earlier} is overridden by the one registered at "
        f"{where}, as long as its Library lives"
    )


def _warn(message: str) -> None:
    """Warn the caller outside this package."""
    frame, count = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        frame, count = frame.f_back, count + 1
    warnings.warn(message, UserWarning, stacklevel=count)


_lasting: Final[dict[str, Library]] = {}


def lasting_library(namespace: str) -> Library:
    """Return the library of a namespace that is never destroyed, for what is registered without one."""
    with registry.lock:
        found = _lasting.get(namespace)
        if found is None:
            found = _lasting[namespace] = Library(namespace, "FRAGMENT")
        return found


def _name(key: Key) -> str:
    return key.name if isinstance(key, DispatchKey) else key


def split_name(qualname: object, function: str) -> tuple[str, str]:
    """Return the namespace of a qualified name, and the rest. Raises ValueError."""
    if not isinstance(qualname, str):
        raise ValueError(f"{function}({qualname}): expected an operator's name, got {type(qualname).__name__}")
    namespace, separator, name = qualname.partition("::")
    if not (namespace and separator and name) or "::" in name:
        raise ValueError(f"{function}: {qualname!r} is no qualified name of an operator, which is namespace::name")
    return namespace, name


@contextlib.contextmanager
def scoped_library(ns: str, kind: str, dispatch_key: DispatchKey | str = "") -> Iterator[Library]:
    """Yield a Library that is destroyed at the end of the block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library.destroy()
