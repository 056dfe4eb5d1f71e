"""`opwright.library`: operators and kernels defined at run time, which live as long as their Library."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright import _schema
from opwright.dispatcher import Operator
from opwright.errors import RegistrationError
from opwright.keys import DispatchKey, KeySet
from opwright.ops_namespace import forget, lost
from opwright.registrations import ArrayKernel, Boxed, Key, UserKernel, fallthrough_kernel, kernels, lock
from opwright.registry import Handle, as_key, register, register_fallback

if TYPE_CHECKING:
    from opwright.fake.context import FakeContext

__all__ = ["Library", "fallthrough_kernel", "get_ctx", "register_array_kernel", "register_fake"]

_KINDS: Final = ("DEF", "FRAGMENT", "IMPL")
_RESERVED: Final = ("prim",)
_definers: Final[dict[str, str]] = {}  # the namespaces of DEF libraries, and where these were made


class Library:
    """A set of definitions, kernels and fallbacks in one namespace.

    `kind` is DEF (the one library that owns the namespace), FRAGMENT (adds to it) or IMPL (kernels alone).
    `dispatch_key` is the key of kernels registered without one.

    Keep a reference: when a Library is destroyed, explicitly or as garbage, its operators and kernels go with it.
    Raises ValueError for an unknown kind or a reserved namespace, RegistrationError for a second DEF.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind!r}; a Library is one of {', '.join(_KINDS)}")
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if not (ns == "_" or all(part.isidentifier() for part in ns.split("::"))):
            raise ValueError(f"{ns!r} is no namespace: it must be an identifier")
        self.ns = ns
        self.kind = kind
        self.dispatch_key: Key | None = as_key(dispatch_key) if dispatch_key else None
        self.where = _caller()
        self._contents = _Contents(ns, kind == "DEF", self.where)
        self._finalize = weakref.finalize(self, self._contents.take_back, collected=True)

    def define(self, schema: str, alias_analysis: str = "", *, tags: str | Sequence[str] = ()) -> str:
        """Define an operator, `f.overload(Tensor x) -> Tensor`, and return its name within the namespace.

        Raises RegistrationError for a schema that does not parse, a name that is taken, and in an IMPL library.
        """
        self._check_alive()
        if self.kind == "IMPL":
            raise RegistrationError(f"an IMPL library cannot define operators; open {self.ns} as FRAGMENT to add to it")
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RegistrationError(f"Invalid alias_analysis type {alias_analysis}")
        parsed = _schema.parse_definition(schema)
        if parsed.name.namespace not in ("", self.ns):
            raise RegistrationError(f"{parsed.name} is not in the namespace of its library, {self.ns}")
        declaration, arguments, kwarg_only = _schema.operator_parts(parsed)
        name = str(parsed.name) if parsed.name.namespace else f"{self.ns}::{parsed.name}"
        with lock:
            operator = Operator(
                name,
                declaration,
                arguments,
                kwarg_only=kwarg_only,
                where=_caller(),
                tags=(tags,) if isinstance(tags, str) else tuple(tags),
            )
            self._contents.operators.append(operator)
            lost.pop(f"{operator.namespace}::{operator.base}", None)
        return name.removeprefix(f"{self.ns}::")

    def impl(
        self,
        op_name: str | Operator,
        fn: Callable[..., Any],
        dispatch_key: DispatchKey | str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register a function on Tensors as the kernel of an operator, which may be defined later.

        Without a key: the library's own, or CompositeImplicitAutograd. With `with_keyset`, `fn` gets the KeySet first.
        Raises TypeError for what cannot be called; RegistrationError for another library's key, a key with a kernel
        from another `impl` (unless `allow_override`), or an operator of another namespace.
        """
        self._check_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = self._qualified(op_name)
        key = self._key(dispatch_key)
        with lock:
            earlier = next(
                (known for known in kernels.get(name, {}).get(key, ()) if isinstance(known.kernel, UserKernel)), None
            )
            if earlier is not None and not allow_override:
                raise RegistrationError(
                    f"{name} already has a kernel for {_name(key)}, registered at {earlier.where}; "
                    "pass allow_override=True to put this one in its place"
                )
            kernel = fn if fn is fallthrough_kernel else UserKernel(fn, with_keyset)
            self._contents.handles.append(register(name, _name(key), kernel, where=_caller()))

    def fallback(
        self, fn: Callable[..., Any], dispatch_key: DispatchKey | str = "", *, with_keyset: bool = False
    ) -> None:
        """Register what serves a key for every operator without a kernel there: `fn(op, *args, **kwargs)`.

        Only in the namespace `_`. With `with_keyset`, `fn` gets the KeySet first. Raises RegistrationError, TypeError.
        """
        self._check_alive()
        if self.ns != "_":
            raise RegistrationError(
                f"a fallback serves every namespace: register it in a Library of '_', not '{self.ns}'"
            )
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if not dispatch_key and self.dispatch_key is None:
            raise RegistrationError("a fallback needs a dispatch key")

        def call(operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return fn(keyset, operator, *args, **kwargs) if with_keyset else fn(operator, *args, **kwargs)

        kernel = fn if fn is fallthrough_kernel else Boxed(call)
        handle = register_fallback(_name(self._key(dispatch_key)), kernel, where=_caller())
        self._contents.handles.append(handle)

    def register_fake(
        self, op_name: str | Operator, fn: Callable[..., Any], *, allow_override: bool = False
    ) -> Callable[..., Any]:
        """Register what an operator's results look like, without data: a function of the operator's arguments that
        returns new tensors of the right shape, strides, dtype and device (`x.new_empty(shape)`). It must not read data;
        a size that depends on it is `get_ctx().new_dynamic_size()`.

        Raises RegistrationError where the operator has such a kernel (unless `allow_override`), TypeError for what
        cannot be called.
        """
        self.impl(op_name, fn, DispatchKey.Meta, allow_override=allow_override)
        return fn

    _register_fake = register_fake  # PyTorch's name

    def destroy(self) -> None:
        """Take back everything the library defined and registered. Doing so again has no effect."""
        self._finalize.detach()
        self._contents.take_back(collected=False)

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


class _Contents:
    """What a library added; apart from it, so that it can be taken back when the library is garbage."""

    def __init__(self, ns: str, is_definer: bool, where: str) -> None:
        self.ns = ns
        self.is_definer = is_definer
        self.where = where
        self.operators: list[Operator] = []
        self.handles: list[Handle] = []
        self.is_destroyed = False
        if is_definer:
            with lock:
                earlier = _definers.setdefault(ns, where)
                if earlier is not where:
                    raise RegistrationError(
                        f"only one Library can be the DEF of namespace {ns}: the first was made at {earlier}, this one "
                        f"at {where}; make it a FRAGMENT to add to it"
                    )

    def take_back(self, collected: bool) -> None:
        """Remove everything, newest first."""
        with lock:
            self.is_destroyed = True
            while self.handles:
                self.handles.pop().remove()
            while self.operators:
                operator = self.operators.pop()
                operator.undefine()
                forget(operator.namespace, operator.base)
                if collected:
                    lost[f"{operator.namespace}::{operator.base}"] = self.where
            if self.is_definer and _definers.get(self.ns) is self.where:
                del _definers[self.ns]


_lasting: Final[dict[str, Library]] = {}  # by namespace, for kernels registered without a Library


def register_fake(
    op: str | Operator,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = False,
) -> Any:
    """Register what an operator's results look like, without data; a decorator where `func` is left out.

    `op` is "namespace::name" or an operator. The function gets the operator's arguments, fake tensors among them, and
    returns new tensors of the right shape, strides, dtype and device; it must not read data (`get_ctx()` gives sizes
    that depend on it). It lives as long as `lib`, or for ever. Raises RegistrationError where the operator has such a
    kernel already (unless `allow_override`), or does not exist. Semantics: `torch.library.register_fake`.
    """
    name = _qualified_name(op)

    def register_function(function: Callable[..., Any]) -> Callable[..., Any]:
        return _library_for(name, lib).register_fake(name, function, allow_override=allow_override)

    return register_function if func is None else register_function(func)


def get_ctx() -> FakeContext:
    """What a running fake kernel may ask for: `get_ctx().new_dynamic_size()`. Raises RuntimeError outside of one."""
    from opwright.fake.context import get_ctx as running

    return running()


def _qualified_name(op: str | Operator) -> str:
    if isinstance(op, Operator):
        return op.name
    if not isinstance(op, str):
        raise TypeError(f"expected an operator or its qualified name, got {type(op).__name__}")
    if "::" not in op:
        raise RegistrationError(f"{op!r} is no qualified name of an operator: write namespace::name")
    return op.removesuffix(".default")


def _library_for(name: str, library: Library | None) -> Library:
    namespace = name.partition("::")[0]
    if library is not None:
        return library
    with lock:
        found = _lasting.get(namespace)
        if found is None:
            found = _lasting[namespace] = Library(namespace, "FRAGMENT")
        return found


def register_array_kernel(operator: Operator | str, key: DispatchKey | str | int, kernel: Callable[..., Any]) -> Handle:
    """Register a function on the arrays of a backend: called positionally with every argument, arrays for Tensors.

    It returns new arrays, views of its arguments where the schema says so, and for written arguments the array it was
    given, or None for all of them. `key` may be a backend's bit. Raises TypeError for what cannot be called.
    """
    if not callable(kernel):
        raise TypeError(f"a kernel must be callable, got {type(kernel).__name__} {kernel!r}")
    found = DispatchKey(key) if isinstance(key, int) else key
    return register(operator, found, ArrayKernel(kernel), where=_caller())


def _name(key: Key) -> str:
    return key.name if isinstance(key, DispatchKey) else key


def _caller() -> str:
    """The file and line outside this package from which it was called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("opwright."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library that is destroyed at the end of the block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library.destroy()
