"""The finished text about operators that templates are given. Several targets share what is here; each adds its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePath
from typing import assert_never

from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.defaults import EnumName, Value
from opwright_codegen.schema.model import Argument, FunctionSchema
from opwright_codegen.schema.types import BaseType, ListType, Type
from opwright_codegen.source import Span
from opwright_codegen.views.annotations import Tensors, annotation, tensors_in
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.names import BuiltinNames, Namer, NamespaceNames, argument_names, is_word, returns_list
from opwright_codegen.views.schema_modules import modules_of_files

__all__ = [
    "NamespaceView", "OperatorView", "Parameter", "Parameters", "is_public", "namespace_view", "parameter_list",
    "plain_parameters", "signature", "source_path", "tuple_text",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument: its name in Python, the schema's argument, its default as Python text; and what follows from them.

    `declared` is how `def` has it, `row` how the Operator's arguments list it.
    """

    name: str
    argument: Argument
    default: str | None
    tensors: Tensors
    declared: str
    row: str

    @property
    def is_renamed(self) -> bool:
        return self.name != self.argument.name


@dataclass(frozen=True, slots=True)
class OperatorView:
    """The view of an operator for every target: its names, its parameters, its schema as the comment over functions.

    `passed` is the parameters as a call passes them by position. Where some have other names than the schema's, the
    stub `is_generic`: it leaves the binding of arguments to the runtime. `ints` is the position of a list of ints that
    may be passed one by one (Note [Ints one by one]). `result` is the class of several results with names. `function`
    is what code calls it by; where it `is_merged`, that is the function for all overloads, and there is no other stub.
    """

    name: str
    operator: Operator
    schema: FunctionSchema
    stub: str
    private: str
    parameters: tuple[Parameter, ...]
    declaration: str
    passed: str
    is_generic: bool
    ints: int | None
    result: str | None
    function: str = ""
    is_merged: bool = False


@dataclass(frozen=True)
class NamespaceView:
    """The operators of one namespace, for the modules of one package, or those of one schema module of it (Note [Schema
    modules] in `schema_modules`). `sources`: schema files as the package names them, by their paths. `used`: packages
    that it builds upon, by the names that its modules import them under. `calls`: what formulas may call, by base name,
    as generated modules spell it: operators of this namespace, then those of the packages that it builds upon. `homes`:
    the schema module of each operator. `is_trusted`: results of its kernels are as declared, and errors of functions
    say what is wrong."""

    namespace: str
    package: str
    sources: Mapping[str, str]
    operators: Mapping[str, OperatorView]
    packets: Mapping[str, tuple[OperatorView, ...]]
    names: NamespaceNames
    builtins: BuiltinNames
    used: Mapping[str, UsedPackage]
    calls: Mapping[str, str]
    schema_modules: Mapping[str, str]
    homes: Mapping[str, str]
    is_trusted: bool = False

    def of_module(self, name: str) -> NamespaceView:
        """Return the operators of one schema module."""
        own = {path: shown for path, shown in self.sources.items() if path == self.schema_modules[name]}
        return replace(
            self,
            sources=own,
            operators={key: operator for key, operator in self.operators.items() if self.homes[key] == name},
            packets={base: group for base, group in self.packets.items() if self.homes[group[0].name] == name},
        )

    def function(self, operator: OperatorView) -> str:
        """Return the function that calls an operator, as other modules of the package spell it."""
        public = f"ops.{operator.function}"
        if self.calls.get(operator.schema.name.base) == public:
            return public
        return f"ops.{self.homes[operator.name]}.{operator.function}"

    @cached_property
    def schemas(self) -> dict[str, list[FunctionSchema]]:
        """Return the schemas of each name, overloads as calls try them."""
        return {base: [each.schema for each in group] for base, group in self.packets.items()}

    @cached_property
    def used_methods(self) -> frozenset[str]:
        """Return the methods of Tensor in the packages that it builds upon, functions of theirs or not."""
        return frozenset(name for package in self.used.values() for name in package.methods)

    def imports(self, words: Collection[str]) -> list[tuple[str, str, str]]:
        """Return the modules of operators among `words`, as `import_lines` takes them."""
        modules = {"ops": ".."} | {alias: package.name for alias, package in self.used.items()}
        return [(module, "ops", alias) for alias, module in modules.items() if alias in words]


def namespace_view(
    operators: OperatorSet,
    namespace: str,
    package: str,
    project: Path | None = None,
    used: Sequence[UsedPackage] = (),
    is_trusted: bool = False,
) -> NamespaceView:
    """Return the operators of `namespace` in the order of the schema files, made ones behind their entry. Among the
    overloads of a name declared ones come first: a call goes to the first that it fits."""
    declared_first = [operator for operator in operators.operators.values() if operator.namespace == namespace]
    names = NamespaceNames.of({operator.name: operator.schema for operator in declared_first})
    own = _by_entry(declared_first)
    builtins = BuiltinNames(names.taken)
    skipped = len(namespace) + 2 if namespace else 0
    views = {}
    packets: dict[str, list[OperatorView]] = {}
    parameters_of = Parameters(builtins)
    hidden = _hidden(own, names)
    for name, operator in own.items():
        found = names.stubs[name]
        schema = operator.schema
        parameters = parameters_of(schema.arguments, hidden[schema.name.base])
        views[name] = view = OperatorView(
            name,
            operator,
            schema,
            found.stub,
            found.operator,
            parameters,
            str(schema)[skipped:],
            ", ".join([p.name for p in parameters]),
            is_generic := schema.is_vararg or any(p.name != p.argument.name for p in parameters),
            None if is_generic else _ints(parameters),
            found.result,
            found.function,
            found.is_merged,
        )
        packets.setdefault(schema.name.base, []).append(view)
    sources = {source.path: source_path(source.path, project) for source in operators.sources}
    grouped = {base: tuple(sorted(group, key=attrgetter("operator.generated"))) for base, group in packets.items()}
    schema_modules, homes = modules_of_files(grouped, sources, names.of_module)
    aliases = _aliases(used, views, names)
    calls = _calls(grouped, names, homes, aliases)
    return NamespaceView(
        namespace, package, sources, views, grouped, names, builtins, aliases, calls, schema_modules, homes, is_trusted
    )


def _by_entry(operators: Iterable[Operator]) -> dict[str, Operator]:
    """Return operators by name, each with those that were made from its entry behind it."""
    entries: dict[Span, list[Operator]] = {}
    for operator in operators:
        entries.setdefault(operator.location, []).append(operator)
    return {operator.name: operator for entry in entries.values() for operator in entry}


def _calls(
    packets: Mapping[str, tuple[OperatorView, ...]],
    names: NamespaceNames,
    homes: Mapping[str, str],
    used: Mapping[str, UsedPackage],
) -> dict[str, str]:
    found = {name: f"{alias}.{name}" for alias, package in used.items() for name in package.functions}
    for base, group in packets.items():
        own = names.packets[base]
        home = f"ops.{homes[group[0].name]}"
        if any(returns_list(o.schema) for o in group):
            # Where functions give tuples the packet is called, which gives the list that kernels return.
            found[base] = f"{home}.{own.packet}"
        else:
            found[base] = f"{'ops' if is_public(own.function, group) else home}.{own.function}"
    return found


def is_public(function: str, group: Sequence[OperatorView]) -> bool:
    """Whether the function for the operators of a name is one that users call, not only a method."""
    return not function.startswith("__") and any("function" in o.operator.variants for o in group)


def _aliases(
    used: Sequence[UsedPackage], views: Mapping[str, OperatorView], names: NamespaceNames
) -> dict[str, UsedPackage]:
    """Return a name for each module of operators that is imported, which nothing in generated modules has."""
    taken = {"ops", *names.taken}
    for view in views.values():
        taken.update(argument.name for argument in view.schema.arguments)
        taken.update(view.schema.output_names)
    namer = Namer(taken)
    return {namer.claim(package.alias): package for package in used}


def _hidden(own: Mapping[str, Operator], names: NamespaceNames) -> dict[str, frozenset[str]]:
    """Return, by packet, the names that no argument of its operators may have in generated code."""
    groups: dict[str, list[str]] = {}
    for name, operator in own.items():
        groups.setdefault(operator.schema.name.base, []).append(name)
    return {base: names.of_packet(base, group) for base, group in groups.items()}


def source_path(path: str, project: Path | None) -> str:
    """Return a schema file's path as generated code may show it, the same on every machine: from the project's folder,
    with slashes; its name alone where it is in no project."""
    if project is not None:
        whole, root = Path(path).resolve(), project.resolve()
        if whole.is_relative_to(root):
            return whole.relative_to(root).as_posix()
    return PurePath(path).name


# Names that defaults may have, by the type of the argument.
_REDUCTIONS = {"Mean": "1", "Sum": "2"}
_ENUMS = {"MemoryFormat": "MemoryFormat", "Layout": "Layout"}


class Parameters:
    """A maker of parameters. A file has far fewer distinct arguments than arguments; the parser shares equal ones."""

    def __init__(self, builtins: Mapping[str, str]) -> None:
        self._builtins = builtins
        self._known: dict[int, Parameter] = {}

    def __call__(self, arguments: Sequence[Argument], hidden: Collection[str]) -> tuple[Parameter, ...]:
        known = self._known
        found = []
        for name, argument in zip(argument_names(arguments, hidden), arguments, strict=True):
            parameter = known.get(id(argument))
            if parameter is None or parameter.name != name:
                parameter = known[id(argument)] = self._new(name, argument)
            found.append(parameter)
        return tuple(found)

    def _new(self, name: str, argument: Argument) -> Parameter:
        text = None
        declared = f"{name}: {annotation(argument.type, self._builtins)}"
        row = f'("{argument.name}", "{argument.type}"'
        if argument.default is not None:
            text = _value_text(argument.default.value, argument.type, self._builtins)
            declared, row = f"{declared} = {text}", f"{row}, {text}"
        return Parameter(name, argument, text, tensors_in(argument.type), declared, f"{row})")


def _value_text(value: Value, type: Type, builtins: Mapping[str, str]) -> str:
    """Return the Python text of a default value."""
    match value:
        case EnumName(name):
            base = str(type.base())
            if base in ("int", "SymInt") and name in _REDUCTIONS:
                return _REDUCTIONS[name]
            return f"{_ENUMS[base]}.{name}" if base in _ENUMS and is_word(name) else quoted(name)
        case bool() | int() | None:
            return str(value)
        case str():
            return quoted(value)
        case tuple():
            return tuple_text([_value_text(item, type.base(), builtins) for item in value])
        case float():
            return repr(value) if math.isfinite(value) else f'{builtins["float"]}("{value}")'
        case complex():
            parts = (_value_text(part, type, builtins) for part in (value.real, value.imag))
            return f"{builtins['complex']}({', '.join(parts)})"
        case _:
            assert_never(value)


def tuple_text(items: Sequence[str]) -> str:
    """Return a tuple display."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _ints(parameters: Sequence[Parameter]) -> int | None:
    """Return the position of a list of ints that may come one by one. Note [Ints one by one]: `x.view(2, 3)`, as in
    PyTorch, where a list of ints is all that is passed by position beside `self`. Functions take them as methods do,
    which they are."""
    found = [i for i, p in enumerate(parameters) if not p.argument.kwarg_only and p.argument.name != "self"]
    if len(found) != 1:
        return None
    position, parameter = found[0], parameters[found[0]]
    is_last = position + 1 == len(parameters) or parameters[position + 1].argument.kwarg_only
    match parameter.argument.type:
        case ListType(BaseType("int" | "SymInt"), None) if is_last and parameter.default is None:
            return position
        case _:
            return None


def parameter_list(
    parameters: Sequence[Parameter], builtins: Mapping[str, str] | None = None, ints: int | None = None
) -> list[str]:
    """Return parameters as `def` has them, with the `*` before those that are keyword-only, and with annotations. Those
    of the list of ints at `ints` may come one by one."""
    found = [parameter.declared for parameter in parameters]
    if ints is not None:
        assert builtins is not None
        found[ints : ints + 1] = [f"{found[ints]} | {builtins['int']}", f"*more: {builtins['int']}"]
        return found
    for position, parameter in enumerate(parameters):
        if parameter.argument.kwarg_only:
            found.insert(position, "*")
            break
    return found


def plain_parameters(parameters: Sequence[Parameter], ints: int | None = None) -> list[str]:
    """Return parameters as a `def` without annotations has them; with `ints`, `*more` stands for the rest."""
    found = [p.name if p.default is None else f"{p.name}={p.default}" for p in parameters]
    if ints is not None:
        found.insert(ints + 1, "*more")
        return found
    keyword = next((i for i, p in enumerate(parameters) if p.argument.kwarg_only), None)
    return found if keyword is None else [*found[:keyword], "*", *found[keyword:]]


def signature(name: str, parameters: Sequence[str], returned: str, indent: int = 0, end: str = ":") -> str:
    """Return `def name(parameters) -> returned:`, over several lines if it must."""
    return bracketed(f"def {name}(", parameters, f") -> {returned}{end}", indent)
