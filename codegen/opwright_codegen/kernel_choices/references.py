"""References of schema files, which say what values mean: a function of NumPy or of the project's, or an operator."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.errors import Errors, SchemaError, nearest, shorten
from opwright_codegen.formula.allowed_names import ARRAY_FUNCTIONS
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.source import Text

__all__ = ["references"]

_OPERATOR: Final = re.compile(r"\w+::\w+(?:\.\w+)?")
_PATH: Final = re.compile(r"(?:((?:\w+\.)*\w+)[.:])?(\w+)", re.ASCII)
_HINT: Final = "write numpy.cosh, module:function, or the name of an operator, namespace::name"


def references(
    operators: OperatorSet, namespace: str, kernels: KernelModules, used: Sequence[UsedPackage]
) -> dict[str, str]:
    """Return what says the values of operators: `module:function` or an operator's name, by names without namespace.

    Variants have the reference of their group. Raises SchemaErrors for what is not there.
    """
    found, errors = dict[str, str](), Errors()
    for group in operators.groups:
        said = next((member for member in group.members if member.reference is not None), None)
        if said is None or said.namespace != namespace:
            continue
        for member in group.members:
            try:
                text = _resolved(member if member.reference is not None else said, operators.operators, kernels, used)
            except SchemaError as error:
                if member is said or member.reference is not None:
                    errors.add(error)
            else:
                found[member.name.removeprefix(f"{namespace}::")] = text
    errors.raise_if_any()
    return found


def _resolved(
    operator: Operator, operators: Mapping[str, Operator], kernels: KernelModules, used: Sequence[UsedPackage]
) -> str:
    assert operator.reference is not None
    text = operator.reference
    if "::" in text.text:
        return _operator(operator, text, operators, used)
    found = _PATH.fullmatch(text.text)
    if found is None:
        raise SchemaError("reference-form", f"{shorten(text.text)!r} is no reference", text.span, _HINT)
    module, name = found[1], found[2]
    if module == "numpy" or (module or "").startswith("numpy."):
        return _numpy_function(text, f"{module}.{name}".removeprefix("numpy."))
    function = kernels.find(name, text.span) if module is None else kernels.find_path(module, name, text.span)
    if function is None:
        raise kernels.unknown(name, text.span)
    _check_call(function, operator, text)
    return f"{function.module}:{function.name}"


def _operator(operator: Operator, text: Text, operators: Mapping[str, Operator], used: Sequence[UsedPackage]) -> str:
    name = text.text.removesuffix(".default")
    if not _OPERATOR.fullmatch(name):
        raise SchemaError("reference-form", f"{shorten(text.text)!r} is no reference", text.span, _HINT)
    known = {*operators}
    for package in () if name in known else used:
        declared = package.declarations()
        known |= {f"{declared.namespace}::{each.name}" for each in declared.operators}
    if name not in known:
        near = nearest(name, sorted(known))
        hint = f"did you mean {near!r}?" if near else "it is one of this project, or of a package that 'uses' names"
        raise SchemaError("unknown-reference", f"there is no operator {shorten(name)!r}", text.span, hint)
    if name == operator.name:
        raise SchemaError("reference-itself", f"{name} is its own reference", text.span, _HINT)
    return name


def _numpy_function(text: Text, name: str) -> str:
    if name not in ARRAY_FUNCTIONS:
        near = nearest(name, sorted(ARRAY_FUNCTIONS))
        hint = f"did you mean numpy.{near}?" if near else "name a function that computes arrays from arrays"
        message = f"NumPy has no function {shorten(name)!r} that a reference may be"
        raise SchemaError("unknown-reference", message, text.span, hint)
    module, _, function = f"numpy.{name}".rpartition(".")
    return f"{module}:{function}"


def _check_call(function: KernelFunction, operator: Operator, text: Text) -> None:
    """Raise SchemaError unless a function takes the arguments by position, those of `out` aside."""
    given = [each.name for each in operator.schema.arguments if each not in operator.schema.out_arguments]
    positional = [each for each in function.positional if each.name not in ("xp", "out")]
    least = sum(each.is_required for each in positional)
    most = len(given) if function.vararg is not None else len(positional)
    if least <= len(given) <= most and not any(each.is_keyword and each.is_required for each in function.signature):
        return
    shown = f"{function.module}.{function.name}({', '.join(each.name for each in positional)})"
    message = f"{operator.name}: {shown} cannot be called with the {len(given)} arguments of the operator"
    raise SchemaError("reference-arguments", message, text.span, f"it gets: {', '.join(given) or 'nothing'}")
