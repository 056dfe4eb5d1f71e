"""The question whether a schema may replace an older one, with reasons, each with a code.

Backward: every call written for the old schema must still mean the same. Forward: a call written for the new one, once
defaults are left out of it, must be one for the old schema. The rules are those of
`torch._C.FunctionSchema.is_backward_compatible_with` and `check_forward_compatible_with`.
"""

from __future__ import annotations

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import Argument, FunctionSchema, Return
from opwright_codegen.schema.types import BaseType, GenericType, ListType, OptionalType, Type

__all__ = ["Difference", "differences", "forward_incompatibilities", "incompatibilities", "is_subtype"]

_NUMBERS = frozenset({"int", "float", "complex", "SymInt"})  # a bool is none: PyTorch says so, too


@dataclass(frozen=True, slots=True)
class Difference:
    """A reason why a schema may not replace an older one: `name` is the old argument's, or the new one's where only
    that is there; `instead` what stands in its place."""

    code: str
    message: str
    name: str = ""
    instead: str = ""


def incompatibilities(new: FunctionSchema, old: FunctionSchema) -> list[str]:
    """Return why calls of `old` would break under `new`; empty when they would not."""
    return [difference.message for difference in differences(new, old)]


def differences(new: FunctionSchema, old: FunctionSchema) -> list[Difference]:
    """Return why calls of `old` would break under `new`; empty when they would not."""
    if new.name != old.name:
        return [Difference("operator-renamed", f"the operator is called {new.name} instead of {old.name}")]
    return [*_of_returns(new, old), *_of_arguments(new, old)]


def _of_returns(new: FunctionSchema, old: FunctionSchema) -> list[Difference]:
    found: list[Difference] = []
    if new.is_varret != old.is_varret:
        how = "varies now" if new.is_varret else "no longer varies"
        found.append(Difference("result-count", f"the number of results {how}"))
    if len(new.returns) != len(old.returns):
        message = f"there are {len(new.returns)} results instead of {len(old.returns)}"
        return [*found, Difference("result-count", message)]
    for i, (result, before) in enumerate(zip(new.returns, old.returns, strict=True)):
        what = f"result {i}"
        if result.name != before.name:
            message = f"{what} is named {result.name} instead of {before.name}"
            found.append(Difference("result-renamed", message))
        found += _changed_aliases(what, result, before)
        if _size(result.type) != _size(before.type) or not is_subtype(result.type, before.type):
            message = f"{what} is of type {result.type}, which is not a {before.type}"
            found.append(Difference("result-type", message))
    return found


def _of_arguments(new: FunctionSchema, old: FunctionSchema) -> list[Difference]:
    """Compare arguments one by one up to the first out argument of the old schema, out arguments from there on; what
    the new schema has in between is added."""
    found: list[Difference] = []
    if new.is_vararg != old.is_vararg:
        how = "varies now" if new.is_vararg else "no longer varies"
        found.append(Difference("argument-count", f"the number of arguments {how}"))
    names = {a.name for a in new.arguments}
    missing = [a for a in old.arguments if a.name not in names]
    if missing:
        return [*found, *(_gone(a, new, old) for a in missing)]
    old_out, new_out = _first_out(old), _first_out(new)
    shift = new_out - old_out
    for i, before in enumerate(old.arguments):
        at = i if i < old_out else i + shift
        after = new.arguments[at] if 0 <= at < len(new.arguments) else None
        if after is None or after.name != before.name:
            message = f"argument '{before.name}' is no longer at position {at}"
            found.append(Difference("argument-moved", message, before.name))
        else:
            found += _of_argument(after, before)
    added = new.arguments[old_out:new_out] + new.arguments[len(old.arguments) + max(shift, 0) :]
    for a in added:
        if a.default is None:
            found.append(Difference("argument-required", f"new argument '{a.name}' has no default", a.name))
    return found


def _gone(argument: Argument, new: FunctionSchema, old: FunctionSchema) -> Difference:
    """Return what became of an argument: another name, where one of its type stands in its place, or nothing."""
    at = old.arguments.index(argument)
    after = new.arguments[at] if at < len(new.arguments) else None
    known = {a.name for a in old.arguments}
    if after is None or after.name in known or _plain(after.type) != _plain(argument.type):
        return Difference("argument-removed", f"argument '{argument.name}' is gone", argument.name)
    message = f"argument '{argument.name}' is called '{after.name}' now"
    return Difference("argument-renamed", message, argument.name, after.name)


def forward_incompatibilities(new: FunctionSchema, old: FunctionSchema) -> list[str]:
    """Return why calls of `new` would break under `old`; empty if they would not. Results are not compared."""
    if new.name != old.name:
        return [f"the operator is called {new.name} instead of {old.name}"]
    found = _of_numbers(new, old)
    if len(new.returns) != len(old.returns):
        found.append(f"there are {len(new.returns)} results instead of {len(old.returns)}")
    old_out, new_out = _first_out(old), _first_out(new)
    outs = len(new.arguments) - new_out, len(old.arguments) - old_out
    if outs[0] != outs[1]:
        return [*found, f"there are {outs[0]} out arguments instead of {outs[1]}"]
    kept = [*zip(new.arguments[:new_out], old.arguments[:old_out], strict=False)]
    kept += zip(new.arguments[new_out:], old.arguments[old_out:], strict=True)
    found += (reason for after, before in kept for reason in _of_forwarded(after, before))
    for argument in new.arguments[old_out:new_out]:
        if argument.default is None:
            found.append(f"new argument '{argument.name}' has no default")
        elif isinstance(argument.default.value, tuple):
            found.append(f"new argument '{argument.name}' has a list as its default")
    return found


def _of_numbers(new: FunctionSchema, old: FunctionSchema) -> list[str]:
    """Whether the numbers of arguments and results vary."""
    found = []
    if new.is_vararg != old.is_vararg:
        found.append("the number of arguments " + ("varies now" if new.is_vararg else "no longer varies"))
    if new.is_varret != old.is_varret:
        found.append("the number of results " + ("varies now" if new.is_varret else "no longer varies"))
    return found


def _of_forwarded(new: Argument, old: Argument) -> list[str]:
    if new.name != old.name:
        return [f"argument '{new.name}' stands where '{old.name}' was"]
    what = f"argument '{new.name}'"
    found = _of_aliases(what, new, old)
    if new.kwarg_only and not old.kwarg_only:
        found.append(f"{what} is keyword-only now")
    if new.default != old.default:
        found.append(f"{what} has {_shown_default(new)} instead of {_shown_default(old)}")
    if _size(new.type) != _size(old.type) or not is_subtype(new.type, old.type):
        found.append(f"{what} is of type {new.type}, and the old schema takes {old.type} alone")
    return found


def _shown_default(argument: Argument) -> str:
    return "no default" if argument.default is None else f"the default {argument.default}"


def _of_argument(new: Argument, old: Argument) -> list[Difference]:
    what = f"argument '{new.name}'"
    found = _changed_aliases(what, new, old)
    if new.kwarg_only and not old.kwarg_only:
        found.append(Difference("keyword-only", f"{what} is keyword-only now", new.name))
    if old.default is not None and new.default != old.default:
        if new.default is None:
            message = f"{what} has no default now, and had {old.default}"
            found.append(Difference("default-removed", message, new.name))
        else:
            message = f"{what} has the default {new.default} instead of {old.default}"
            found.append(Difference("default-changed", message, new.name))
    if _size(new.type) != _size(old.type) or not is_subtype(old.type, new.type):
        message = f"{what} is of type {new.type}, which does not take every {old.type}"
        found.append(Difference("argument-type", message, new.name))
    return found


def _changed_aliases(what: str, new: Argument | Return, old: Argument | Return) -> list[Difference]:
    name = new.name if isinstance(new, Argument) else ""
    return [Difference("alias-changed", message, name) for message in _of_aliases(what, new, old)]


def _of_aliases(what: str, new: Argument | Return, old: Argument | Return) -> list[str]:
    if (new.annotation, new.list_annotations) == (old.annotation, old.list_annotations):
        return []
    return [f"{what} is annotated {_shown(new)} instead of {_shown(old)}"]


def _shown(part: Argument | Return) -> str:
    return " ".join(annotation.mark for annotation in part.annotations) or "as no alias"


def _first_out(schema: FunctionSchema) -> int:
    return next((i for i, a in enumerate(schema.arguments) if a.kwarg_only and a.is_write), len(schema.arguments))


def _size(type: Type) -> int | None:
    return type.list_type.size if type.list_type is not None else None


def is_subtype(type: Type, of: Type) -> bool:
    """Whether every value of the type is one of the other. Lists are invariant in their element, tuples covariant."""
    type, of = _plain(type), _plain(of)
    if type == of or of == BaseType("Any"):
        return True
    match type, of:
        case OptionalType(inner), OptionalType(outer):
            return is_subtype(inner, outer)
        case BaseType("NoneType"), OptionalType():
            return True
        case _, OptionalType(outer):
            return is_subtype(type, outer)
        case BaseType(name), BaseType("Scalar" | "number"):
            return name in _NUMBERS or name in ("Scalar", "number")
        case GenericType("Tuple", inners), GenericType("Tuple", outers):
            return len(inners) == len(outers) and all(map(is_subtype, inners, outers))
        case _:
            return False


def _plain(type: Type) -> Type:
    """Return the type as a caller sees it: a symbolic integer is an int, and a list's size says nothing of values."""
    match type:
        case BaseType("SymInt"):
            return BaseType("int")
        case ListType(elem):
            return ListType(_plain(elem))
        case OptionalType(elem):
            return OptionalType(_plain(elem))
        case _:
            return type
