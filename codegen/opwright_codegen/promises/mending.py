"""Suggestions: what to write so that a difference breaks nobody."""

from __future__ import annotations

from opwright_codegen.promises.states import Promise
from opwright_codegen.schema.model import FunctionSchema

__all__ = ["hint_for"]


def hint_for(code: str, name: str, before: Promise, after: Promise | None, instead: str | None) -> str | None:
    """Return how to mend a difference of that code; None where only the older declaration would."""
    base = before.schema.name.base
    match code:
        case "operator-removed":
            return "keep its entry for a while, with 'deprecated: {since: …, use: …}'"
        case "operator-renamed":
            short = str(instead).partition("::")[2] or str(instead)
            return f"keep an entry of the old name, with 'deprecated: {{use: {short}}}' and {short}(…) as its kernel"
        case "argument-renamed" | "argument-removed" | "default-changed" | "default-removed" | "keyword-only":
            return _upgrade(before, after)
        case "argument-required":
            return "give it a default, or leave the operator as it was and declare an overload beside it"
        case "argument-moved":
            return f"append arguments behind those that were there; or: {_upgrade(before, after)}"
        case "argument-type":
            return f"declare an overload {base}.NAME with the new type beside it, or: {_upgrade(before, after)}"
        case "argument-count" | "result-count" | "result-type" | "result-renamed":
            return "leave the operator as it was, and declare an overload or another operator beside it"
        case "alias-changed":
            return f"whoever compiles {name} relies on it: declare another operator for the other behaviour"
    return None


def _upgrade(before: Promise, after: Promise | None) -> str:
    """Return the line of `upgrade` that serves calls of the older version, as far as it is known."""
    old, new = before.schema, before.schema if after is None else after.schema
    call = _call(old, new)
    version = before.version + 1
    if _follows(old, new):
        return f"say how the former call is written now: 'upgrade: {{{version}: {_flow(call)}}}'"
    schema = str(old).partition("::")[2] or str(old)
    text = schema.replace("'", "''")
    return f"say how the former call is written now: \"upgrade: {{{version}: {{from: '{text}', call: '{call}'}}}}\""


def _call(old: FunctionSchema, new: FunctionSchema) -> str:
    """Return a call of the new schema with the arguments of the old one: those of one name, and those in the place of
    one that is gone."""
    known = {argument.name for argument in old.arguments}
    given = []
    for at, argument in enumerate(new.arguments):
        there = old.arguments[at].name if at < len(old.arguments) else ""
        names = {each.name for each in new.arguments}
        value = argument.name if argument.name in known else there if there and there not in names else ""
        if value or argument.default is None:
            given.append((argument.name, value or "…"))
    first = [name for name, value in given[:1] if name == "self" and value == "self"]
    rest = ", ".join(f"{name}={value}" for name, value in given[len(first) :])
    return f"self.{new.name.base}({rest})" if first else f"{new.name.base}({rest})"


def _follows(old: FunctionSchema, new: FunctionSchema) -> bool:
    """Whether the old schema follows from the call: only names differ."""
    pairs = zip(old.arguments, new.arguments, strict=False)
    same = all((a.type, a.default, a.kwarg_only) == (b.type, b.default, b.kwarg_only) for a, b in pairs)
    return same and len(old.arguments) == len(new.arguments) and old.returns == new.returns


def _flow(call: str) -> str:
    return f'"{call}"' if "," in call else call
