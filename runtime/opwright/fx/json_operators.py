"""Versions of the operators that a graph in JSON calls, kept with it; calls of former versions, upgraded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from opwright.fx.graph import Graph
from opwright.fx.json_values import JSONFormatError
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.package.declarations import REQUIRED, Argument, read
from opwright_core.texts.deprecations import former_versions, version_of

__all__ = ["SavedOperators", "operators_text"]

_LONGEST: Final = 20_000  # characters of a schema


def operators_text(graph: Graph) -> dict[str, dict[str, Any]]:
    """Return the version and the schema of each operator that a graph calls."""
    targets = {node.target for node in graph.nodes if isinstance(node.target, Operator)}
    return {
        operator.name: {"version": version_of(operator), "schema": operator.declaration}
        for operator in sorted(targets, key=lambda each: each.name)
    }


class SavedOperators:
    """The versions and schemas of operators, as a graph was saved with them. Raises JSONFormatError for what is none;
    graphs of before have none, and their calls are taken as they are."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise JSONFormatError(f"operators: an object is expected, but got {type(data).__name__}")
        self._records: dict[str, tuple[int, str]] = {}
        self._arguments: dict[str, tuple[Argument, ...]] = {}
        for name, record in data.items():
            version, schema = (record.get(key) for key in ("version", "schema")) if isinstance(record, dict) else (0, 0)
            if type(version) is not int or version < 1 or not isinstance(schema, str) or len(schema) > _LONGEST:
                raise JSONFormatError(f"operators: {name!r:.80} has no version and schema")
            self._records[name] = version, schema

    def told(self, name: Any) -> str:
        """Return the version that the graph was saved with, for a message; nothing where that is not known."""
        record = self._records.get(name) if isinstance(name, str) else None
        return "" if record is None else f", saved with version {record[0]} of {name},"

    def upgraded(
        self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], where: str
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call as the operator's present version takes them. Raises JSONFormatError where
        that is not known: it names both versions, and the mend."""
        record = self._records.get(operator.name)
        if record is None or record[1] == operator.declaration:
            return args, kwargs
        version, schema = record
        formers = former_versions(operator)
        if version <= len(formers):
            given = self._given(operator.name, schema, args, kwargs, where)
            return _rewritten(operator, formers[version - 1], version, given, where)
        why = _difference(self._read(operator.name, schema), operator.arguments, args, kwargs)
        if why is None:
            return args, kwargs
        raise JSONFormatError(_unserved(operator, version, schema, len(formers) + 1, why, where))

    def _read(self, name: str, schema: str) -> tuple[Argument, ...]:
        if name not in self._arguments:
            try:
                self._arguments[name] = read(schema).arguments
            except (ValueError, IndexError) as error:
                raise JSONFormatError(f"operators: the schema of {name} cannot be read: {error}") from None
        return self._arguments[name]

    def _given(
        self, name: str, schema: str, args: tuple[Any, ...], kwargs: dict[str, Any], where: str
    ) -> dict[str, Any]:
        """Return every argument of the version that was saved, defaults of then among them."""
        declared = self._read(name, schema)
        names = [argument.name for argument in declared]
        found = dict(zip(names, args, strict=False)) | kwargs
        missing = [each.name for each in declared if each.name not in found and each.default is REQUIRED]
        if missing or len(args) > len(declared) or not found.keys() <= set(names):
            raise JSONFormatError(f"{where} does not call {name} as the schema saved with it says: {schema}")
        return {each.name: found.get(each.name, each.default) for each in declared}


def _rewritten(
    operator: Operator, former: tuple[str, Any], version: int, given: dict[str, Any], where: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the call that an upgrade makes of all arguments of a former version."""
    declaration, upgrade = former
    names = [argument.name for argument in read(declaration).arguments]
    if set(names) != given.keys():
        raise JSONFormatError(
            f"{where} calls version {version} of {operator.name} with {', '.join(given)}, and its upgrade is for "
            f"{declaration}: say in 'upgrade' what that version was (from: …)"
        )
    try:
        args, kwargs = upgrade(*[given[name] for name in names])
    except (TypeError, ArithmeticError) as error:  # a node of the graph is no number
        raise JSONFormatError(
            f"{where}: the upgrade of version {version} of {operator.name} cannot compute its arguments: {error}. "
            "Write the graph anew"
        ) from None
    return args, kwargs


def _difference(
    then: Sequence[Argument], now: Sequence[Argument], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """Return why a call means another thing now, or nothing; None where it means the same."""
    known = {argument.name: argument for argument in now}
    positions = [argument.name for argument in now if not argument.is_keyword_only]
    for at, argument in enumerate(then):
        name = argument.name
        is_given = at < len(args) or name in kwargs
        if name not in known:
            return f"the argument '{name}' is gone"
        if at < len(args) and positions[at : at + 1] != [name]:
            return f"the argument '{name}' is no longer at position {at}"
        if not is_given and name in known and known[name].default != argument.default:
            return f"'{name}' was left out, whose default was {argument.default!r} and is {_shown(known[name].default)}"
    given = {argument.name for argument in then}
    missing = [each.name for each in now if each.default is REQUIRED and each.name not in given]
    return f"the argument '{missing[0]}' is new, and has no default" if missing else None


def _shown(default: Any) -> str:
    return "none now" if default is REQUIRED else f"{default!r} now"


def _unserved(operator: Operator, version: int, schema: str, present: int, why: str, where: str) -> str:
    base = operator.base.rpartition("::")[2]
    mend = (
        "Declare in its entry how the former call is written now, as in\n"
        f"    upgrade: {{{version + 1}: {{from: '{base}{schema}', call: '{base}(…)'}}}}\n"
        "and generate the package again; or load the graph where it was saved, and write it anew"
    )
    if version > present:
        mend = "Install the release of the package that has this version, or a later one"
    return (
        f"{where} calls {operator.name} of version {version}, {schema}, and here it is version {present}, "
        f"{operator.declaration}: {why}.\n{mend}"
    )
