"""Operators: from a call's arguments to the kernel that handles them.

Generated stubs look `table` up themselves; everything uncommon comes here: missing entries, plain arrays, wrong types.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from opwright_core.core import fast
from opwright_core.dispatch.call.conversion import Mismatch
from opwright_core.dispatch.call.introspection import ShownDocstring, ShownSignature
from opwright_core.dispatch.call.keywords import given_by_name, translated
from opwright_core.dispatch.call.plain_arrays import NoArray, call_with_arrays, check_tensors, is_all_numpy
from opwright_core.dispatch.call.signature import Signature, argument_error
from opwright_core.dispatch.package.declarations import Argument, Declaration, read
from opwright_core.dispatch.registry.entries import Entries
from opwright_core.dispatch.registry.tables import registry, why_lost
from opwright_core.errors import DispatchError
from opwright_core.keys import ARRAYS
from opwright_core.late_bound import has_library, late_bound
from opwright_core.names.late_imports import explained, import_late
from opwright_core.names.missing import did_you_mean
from opwright_core.source_locations import Where
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.package.schema_modules import SchemaModule
    from opwright_core.dispatch.registry.rule_table import RuleTable

__all__ = ["Operator", "find_operator"]

Kernel = Callable[..., Any]
_DECLARED: Final = frozenset(("_doc", "_stub", "declaration", "dtypes", "result", "straight_stub", "tags"))  # by a part
_CALLS: Final = 8  # to repay the rendering of a stub


class Operator(Entries):
    """One overload of an operator, `aten::add.Tensor`: its declaration, and a table from keysets to composed kernels.

    `declaration` is canonical text, `(Tensor self, *, int x=1) -> Tensor`; it is read when a part of it is first asked
    for. `where` says where it is declared, `doc` what its declaration says that it does. Making one defines it; a name
    that is taken raises RegistrationError.
    """

    __slots__ = (
        "__weakref__", "_doc", "_parts", "_shown_schema", "_signature", "_stub", "calls", "declaration", "dtypes",
        "home", "renderer", "result", "rules", "table", "tags",
    )  # fmt: skip
    __signature__ = ShownSignature()

    def __init__(self, name: str, declaration: str, *, where: str = "", tags: tuple[str, ...] = ()) -> None:
        self.declare(declaration, tags, "")
        self.stub = None
        self._define(name, where, None)

    def _define(self, name: str, where: Where, home: SchemaModule | None) -> None:
        super().__init__(name, where)
        self.home = home  # which declares it when it is loaded
        self.table: dict[int, Kernel] = {}
        self.rules: dict[RuleTable[Any], Any] = {}  # those that are gone with it
        self._parts: Declaration | None = None
        self._signature: Signature | None = None
        self.renderer: Callable[[Operator], Kernel] | None = None  # of a stub, where no generated module has one
        self.calls = 0  # that were handled without a stub
        self.registrations = registry.define(self)

    @classmethod
    def named(cls, name: str, where: Where, home: SchemaModule) -> Operator:
        """Define an operator of a generated package, which declares it when it is first asked what it is."""
        made = cls.__new__(cls)
        made._define(name, where, home)
        return made

    @property
    def is_declared(self) -> bool:
        """Whether it is known what the operator is, not only its name."""
        try:
            object.__getattribute__(self, "declaration")
        except AttributeError:
            return False
        return True

    def declare(self, declaration: str, tags: tuple[str, ...], doc: str, dtypes: str = "") -> None:
        """Take what a module declares, without the lock (Note [Schema modules and the lock] in `schema_modules`)."""
        self.tags = tags
        self._doc = doc
        self.dtypes = dtypes  # of a C kernel, as `Declarations` takes them
        self.result: Callable[..., Any] | None = None  # makes of several results one with names
        self.straight_stub = None
        self._stub: Kernel | None = self  # until a function replaces it: out variants have none
        self.declaration = declaration

    def load(self) -> None:
        """Import the part that declares the operator. Raises ImportError where it does not."""
        if self.home is not None and not self.is_declared:
            self.home.load()
            if not self.is_declared:
                raise ImportError(f"{self.home.module} does not declare {self.name}: run `opwright generate` again")

    def __getattr__(self, name: str) -> Any:
        if name not in _DECLARED or self.is_declared or self.home is None:
            if not name.startswith("__") and has_library() and name in late_bound.tools().add_facts():
                return object.__getattribute__(self, name)  # the library has added it
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        self.load()
        return object.__getattribute__(self, name)

    @property
    def doc(self) -> str:
        """Return what it does, as the `doc:` of its entry says; '' where that says nothing."""
        return self._doc or str(import_late("opwright_core.texts.docstrings").text_of(self))

    @property
    def parts(self) -> Declaration:
        """Return the declaration, read."""
        if self._parts is None:
            self._parts = read(self.declaration)
        return self._parts

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Return the declared arguments, in order."""
        return self.parts.arguments

    @property
    def signature(self) -> Signature:
        """Return the arguments as calls need them."""
        if self._signature is None:
            self._signature = made = Signature(self)
            if fast is not None:
                required = sum([1 << position for position in made.required])
                self._take_signature(made.fewest, made.positional, tuple(map(intern, made.names)), required)
        return self._signature

    def _call_uncommon(self, /, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            stub = self.straight_stub or self.warm_stub()
            signature = self.signature
            if stub is not None and signature.fewest <= len(args) <= signature.positional:
                return stub(*args)
        return self.call(*self.signature.bind(args, kwargs))

    if fast is None or TYPE_CHECKING:
        __call__ = _call_uncommon

    def warm_stub(self) -> Kernel | None:
        """Return the stub, if there is one by now: it is rendered for an operator that was called a few times."""
        if self.renderer is not None and self.straight_stub is None:
            self.calls += 1
            if self.calls > _CALLS:
                self.straight_stub = self.renderer(self)
        return self.straight_stub

    def call_by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call with arguments by their other names, too (`keywords`)."""
        return self.call(*self.signature.bind(args, translated(self.base, self.signature.names, kwargs)))

    def call_given(self, values: tuple[Any, ...], named: dict[str, Any], more: tuple[Any, ...] = ()) -> Any:
        """Call with the values of the generated function's parameters, and with what was given by other names.

        Raises ArgumentError if there are `more` positional arguments than parameters.
        """
        assert self._stub is not None
        if more:
            return self.call_by_name((*values[: self.signature.positional], *more), named)
        return self.call_by_name((), given_by_name(self._stub, values, named))

    @property
    def stub(self) -> Kernel | None:
        """Return the generated function for the operator, if there is one."""
        return self._stub

    @stub.setter
    def stub(self, stub: Kernel | None) -> None:
        self._stub = stub
        if stub is not None and (doc := stub.__doc__):
            self._doc = inspect.cleandoc(doc)
        # The stub, where its parameters are the operator's: one of `*args, **kwargs` comes back to have them bound.
        code = getattr(stub, "__code__", None)
        is_straight = code is not None and (code.co_argcount or not code.co_flags & inspect.CO_VARKEYWORDS)
        self.straight_stub = stub if is_straight else None

    def call(self, *args: Any) -> Any:
        """Dispatch. `args` are all of them in order, converted but for tensors.

        Raises ArgumentError for what is no tensor where one is declared, DispatchError where no kernel handles the
        keys.
        """
        keys = 0
        for position, is_list, is_optional, has_optional_items in self.signature.tensors:
            value = args[position]
            if isinstance(value, Tensor) and not is_list:
                keys |= value.keys
            elif is_list and type(value) is list:
                for item in value:
                    if isinstance(item, Tensor):
                        keys |= item.keys
                    elif item is not None or not has_optional_items:
                        return self._call_with_others(args)
            elif value is not None or not is_optional:
                return self._call_with_others(args)
        modes = active_modes()
        if modes is not None:
            keys = (keys | modes.include) & modes.mask
        kernel = self.table.get(keys) or self.resolve(keys)
        result = kernel(*args)
        return result if self.result is None else self.result(*result)

    otherwise = call  # (`lookup`)

    def _call_with_others(self, args: tuple[Any, ...]) -> Any:
        """Call with plain arrays, sequences that are no lists, lists with None, what is made an array; or raise."""
        try:
            checked = check_tensors(self, args)
        except NoArray:
            checked = ()  # handled below, so that no error has this one behind it
        if not checked:
            return import_late("opwright_core.inputs.calls").call_operator(self, args)
        if active_modes() is None and is_all_numpy(self.signature, checked):
            result = (self.table.get(ARRAYS) or self.resolve(ARRAYS))(*checked)
        else:
            result = call_with_arrays(self, checked)
        return result if self.result is None else self.result(*result)

    def convert(self, position: int, value: Any) -> Any:
        """Return a value as kernels receive it for the argument at `position`. Raises ArgumentError."""
        try:
            return self.signature.converters[position](value)
        except Mismatch as error:
            raise argument_error(self, position, value, str(error)) from None

    def resolve(self, keys: int) -> Kernel:
        """Return the kernel for a keyset, composed and stored; the first search loads plug-ins. Raises DispatchError,
        and ImportError where Python shuts down."""
        with explained(self.name):
            return self._find(keys)

    def _find(self, keys: int) -> Kernel:
        from opwright_core import plugins  # (as below: importing a package resolves nothing yet)

        if plugins.are_loaded():
            return self._resolve(keys)
        plugins.load(wait=False)  # another thread may load one whose module this thread is importing
        try:
            return self._resolve(keys)
        except DispatchError:
            pass
        plugins.load()
        return self._resolve(keys)

    def _resolve(self, keys: int) -> Kernel:
        # Note [Imports and the lock]: generated kernels are imported without the lock: a thread that imports such a
        # module holds Python's import lock and may register kernels, which needs ours. Composing and storing happen
        # under one hold of the lock: a table filled while another thread clears it would keep stale entries. Only a
        # finalizer, run in this thread, that destroys a library comes between: `changes` tells, and it is done again.
        from opwright_core.dispatch.registry.compose import compose, compose_arrays, find_unloaded

        while True:
            with registry.lock:
                if registry.operators.get(self.name) is not self:
                    raise DispatchError(f"{self.name} is no longer defined: its library was destroyed")
                unloaded = find_unloaded(self, keys)
                if unloaded is None:
                    changes = self.changes
                    kernel = compose_arrays(self) if keys == ARRAYS else compose(self, keys)
                    if "deprecated" in self.tags:
                        kernel = import_late("opwright_core.texts.deprecations").warning_first(self, kernel)
                    if changes == self.changes:
                        self.table[keys] = kernel
                        return kernel
                    continue
            unloaded()

    def forget_table(self) -> None:
        """Drop everything computed from registrations."""
        self.forget_entries()
        self.table.clear()

    def __reduce__(self) -> tuple[Callable[[str], Operator], tuple[str]]:
        return find_operator, (self.name,)

    def __repr__(self) -> str:
        return f"<Operator {self.name}{self.declaration}>"


Operator.__doc__ = ShownDocstring(Operator.__doc__)  # type: ignore[assignment]  # what instances have too


def find_operator(name: str) -> Operator:
    """Return the operator of that qualified name, `aten::add.Tensor`. Raises DispatchError."""
    found = registry.operators.get(name)
    if found is not None:
        return found
    from opwright_core import plugins

    if has_library():
        late_bound.tools().load_whole()
    plugins.load()
    found = registry.operators.get(name)
    if found is None:
        why = why_lost(name) or did_you_mean(name, registry.operators)
        raise DispatchError(f"operator {name} does not exist{why}{plugins.failures()}")
    return found
