"""The names that generated modules define operators with: declarations, and the functions that call them.

An operator is declared once, by its schema. Its stub is the generated function that looks its kernel up (`lookup`); an
out variant has none, and its calls are bound by the runtime.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, Final

from opwright_core.dispatch.call.keywords import given_by_name
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet, packet
from opwright_core.dispatch.compiled import signature_keys
from opwright_core.dispatch.package.stub_rows import function_row, stub_row
from opwright_core.dispatch.registry.tables import registry, show_operators
from opwright_core.errors import RegistrationError
from opwright_core.names.late_imports import import_late
from opwright_core.source_locations import PlacesOf, place_text, shown

__all__ = ["Declarations", "Overloaded", "function_of", "result_class", "stub_of"]

Function = Callable[..., Any]
_NOT_LOOKED_FOR: Final[Any] = object()


class Declarations:
    """A maker of declarations in `namespace`: `declare("add(Tensor self) -> Tensor", "core pointwise")`.

    `tags` are those of all of them; `module` has their stubs. `places` says where each is declared, by its full name:
    without it, the module `where` of the package does.
    """

    def __init__(
        self, namespace: str, places: Mapping[str, str] | None = None, tags: str = "", module: str = ""
    ) -> None:
        self._namespace = namespace
        self._module = module
        self._tags = frozenset(tags.split())
        self._places = places or PlacesOf(module.rpartition(".ops.")[0])
        self._declared: dict[str, list[Operator]] = {}

    def __call__(
        self,
        schema: str,
        tags: str = "",
        doc: str = "",
        *,
        out: str = "",
        out_tags: str | None = None,
        dtypes: str = "",
    ) -> Operator:
        """Return the operator, which `parts.install` has named. Packages that declare one alike share it.

        `out` is the overload of its out variant, which takes one argument more and has the operator's tags (but for
        `core`) and `out`, where there are no `out_tags`. `dtypes` are those of its C kernel, `float32 float64`, then
        `; target: int64` for an argument that is always of one.

        Raises RegistrationError where another declaration has the name.
        """
        made = self._declare(schema, tags, doc, dtypes)
        if out:
            if out_tags is None:
                out_tags = " ".join([each for each in tags.split() if each != "core"] + ["out"])
            self._declare(_with_out(schema, out), out_tags, "", dtypes)
        return made

    def alone(
        self,
        schema: str,
        tags: str = "",
        doc: str = "",
        *,
        out: str = "",
        out_tags: str | None = None,
        dtypes: str = "",
    ) -> tuple[Overloaded, Operator]:
        """Define the one operator of its name, its out variant aside; return all of that name, and the operator."""
        made = self(schema, tags, doc, out=out, out_tags=out_tags, dtypes=dtypes)
        return self.overloaded(made), made

    def overloaded(self, first: Operator) -> Overloaded:
        """Return all declared operators of one name."""
        return Overloaded(first, *[each for each in self._declared[first.base] if each is not first])

    def stub(self, operator: Operator, name: str = "") -> Function:
        """Return the stub of one overload, called `add_Tensor` where it has no other `name`."""
        made = stub_row(operator, name or f"{operator.base}_{operator.overload or 'default'}", self._module)
        return stub_of(operator)(made)

    def function(self, callee: Overloaded | Operator, operator: Operator | None = None, name: str = "") -> Function:
        """Return the function of a name that is the stub of its one `operator`, which is all of the name where there is
        no `callee` but it."""
        if operator is None:
            assert isinstance(callee, Operator)
            operator = callee
        overloaded = Overloaded(callee) if isinstance(callee, Operator) else callee
        made = function_row(callee, operator, name or operator.base, self._module)
        return function_of(overloaded, operator)(made)

    def _declare(self, schema: str, tags: str, doc: str, dtypes: str) -> Operator:
        at = schema.index("(")
        name, declaration = f"{self._namespace}::{schema[:at]}", schema[at:]
        known = registry.operators[name]  # without the lock: Note [Schema modules and the lock]
        if not known.is_declared:
            known.declare(declaration, tuple(sorted(self._tags.union(tags.split()))), doc, dtypes)
        elif known.declaration != declaration:
            raise RegistrationError(
                f"{name} is declared in two ways: {known.declaration} at {shown(known.where)}, "
                f"then {declaration} at {place_text(self._places[name])}"
            )
        self._declared.setdefault(known.base, []).append(known)
        return known


def _with_out(schema: str, overload: str) -> str:
    """Return the schema of an operator's out variant, as the generator reads it (`documents.generated`)."""
    name, _, rest = schema.partition("(")
    arguments = rest.rpartition(") -> ")[0]
    mark = "" if ", *, " in f", {arguments}" else "*, "
    between = ", " if arguments else ""
    return f"{name.partition('.')[0]}.{overload}({arguments}{between}{mark}Tensor(a!) out) -> Tensor(a!)"


class Overloaded:
    """The operators of one name as a generated package knows them. The `first` handles most calls of its function."""

    __slots__ = ("_chosen", "_function", "_out", "_packet", "_positional", "operators", "table")

    def __init__(self, first: Operator, *others: Operator) -> None:
        self.operators = (first, *others)
        self._packet: Packet | None = None
        self._chosen: dict[Any, Operator] | None = None  # the packet's: by the types of arguments
        self.table = first.table  # where `lookup` looks
        self._function: Function | None = None
        self._out: Any = _NOT_LOOKED_FOR  # the `out_calls.OutCall`, None where there is none
        self._positional = -1

    def handle_by(self, function: Function, *, gives_tuples: bool = False) -> None:
        """Take the function for all of them."""
        self._function = function
        registry.overloads[self.operators[0].packet_name].handle_by(function, self.operators, gives_tuples=gives_tuples)

    @property
    def packet(self) -> Packet:
        """Return all overloads of the name, those of other packages too."""
        if self._packet is None:
            self._packet = packet(self.operators[0].packet_name)
        return self._packet

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the first operator that the arguments fit, also by other names (`keywords`)."""
        if self._chosen is None:
            self._chosen = registry.overloads[self.packet.name].chosen
        operator = None if kwargs else self._chosen.get(tuple(map(type, args)))
        stub = None if operator is None else operator.straight_stub
        return self.packet.call(args, kwargs, named=True) if stub is None else stub(*args)

    def call_given(self, values: tuple[Any, ...], named: dict[str, Any], more: tuple[Any, ...] = ()) -> Any:
        """Call with the values of the function's parameters, and with what was given by names of no parameter.

        `more` are the arguments behind the last positional parameter.
        """
        if more:
            positional: Any = self._function
            return self.packet.call((*values[: positional.__code__.co_argcount], *more), named, named=True)
        if len(named) == 1:
            if self._out is _NOT_LOOKED_FOR:
                self._out = import_late("opwright_core.dispatch.package.out_calls").out_call_of(self.operators)
            if self._out is not None:
                out = named.get(self._out.name)
                if out is not None and self._out.takes(values):
                    return self._out.call(values, out)
        assert self._function is not None
        return self.packet.call((), given_by_name(self._function, values, named), named=True)

    def otherwise(self, *values: Any) -> Any:
        """Call with the values of the function's parameters, which no table has an entry for."""
        names = self.operators[0].signature.names
        if self._positional < 0:
            alike = [operator.signature for operator in self.operators if operator.signature.names == names]
            self._positional = min([signature.positional for signature in alike])
        count = self._positional
        return self.packet.call(values[:count], dict(zip(names[count:], values[count:], strict=True)), named=True)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.packet(*args, **kwargs)


def stub_of(operator: Operator) -> Callable[[Function], Function]:
    """Make the decorated function the stub of an operator."""

    def attach(function: Function) -> Function:
        operator.stub = called = signature_keys.stub(function, operator)
        show_operators(called, operator)
        return called

    return attach


def function_of(
    overloaded: Overloaded, operator: Operator | None = None, *, gives_tuples: bool = False
) -> Callable[[Function], Function]:
    """Make the decorated function the one for all operators of a name, and the stub of `operator`, where it is that
    too. One that `gives_tuples` does so where the operators return lists."""

    def attach(function: Function) -> Function:
        called = signature_keys.stub(function, overloaded, gives_tuples=gives_tuples)
        if operator is not None:
            operator.stub = called
        overloaded.handle_by(called, gives_tuples=gives_tuples)
        return called

    return attach


def result_class(operator: Operator, name: str, module: str) -> Callable[..., Any]:
    """Return the class of an operator's results, a named tuple with the names that its declaration gives them."""
    made = namedtuple(name, operator.parts.names_of_results, module=module)  # type: ignore[misc]
    shown_as = f"{operator.base}_out" if operator.signature.written else operator.base

    def show(result: Any) -> str:
        """Return the text of several results with names, under PyTorch's name for their class."""
        shown = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result, strict=True))
        return f"opwright.return_types.{shown_as}(\n{shown})"

    made.__repr__ = show  # type: ignore[method-assign]
    operator.result = made
    return made
