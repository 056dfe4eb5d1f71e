"""The batching rule of each operator: what `dims` says, or what follows from `meta` and the roles of the rule's
parameters (Note [Roles] in `opwright_core.arrays.annotations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import Call, Conditional, Constant, Formula, Kind, Reference, walk
from opwright_codegen.kernel_choices.bind import Binding
from opwright_codegen.kernel_choices.core_dimensions import has_sizes_of_operands, read_signature, takes_signature
from opwright_codegen.kernel_choices.family_calls import Family, Value, family_of_text
from opwright_codegen.kernel_choices.metas import Plans
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.read.dims import Dims
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.records import replace
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.source import Text

__all__ = ["families", "family_of"]

# The roles of operands that the families `Leading` and `Folded` are of, with the dimensions that one operand has.
_LEADING: Final = {"Vectors": 1, "Matrices": 2, "Channels": 3}
_FOLDED: Final = {"Images": 3, "Columns": 2, "Batches": 2}
# The roles of tensors, whatever the family.
_TENSORS: Final = frozenset(("Elementwise", "Mask", "Target", "Along", "Cores", *_LEADING, *_FOLDED))


def families(
    operators: OperatorSet, bindings: Sequence[Binding], kernels: KernelModules, rules: KernelModules
) -> dict[str, Family]:
    """Return the family of each operator that has one, by qualified name. Raises SchemaErrors for a wrong `dims`."""
    errors = Errors()
    functional = {
        member.name: group.functional
        for group in operators.groups
        for member in group.members
        if group.functional is not None
    }
    found: dict[str, Family] = {}
    for binding in bindings:
        operator = binding.view.operator
        if operator.name in found or operator.kind in (SchemaKind.OUT, SchemaKind.MUTABLE):
            if _is_batched(operator.dims) and operator.name not in found:
                errors.add(_refused(operator))
            continue
        members = (operator, binding.base, functional.get(operator.name))
        dims = next((each.dims for each in members if each is not None and _is_batched(each.dims)), None)
        try:
            family = _from_meta(binding, rules) if dims is None else _written(operator.schema, dims, kernels)
        except SchemaError as error:
            errors.add(error)
        else:
            if family is not None:
                found[operator.name] = family
    errors.raise_if_any()
    return found


def _is_batched(dims: Dims | None) -> bool:
    return dims is not None and (dims.is_batched or dims.batched_by is not None)


def _refused(operator: Operator) -> SchemaError:
    message = f"{operator.name} writes to arguments that need not be batched: it has no rule"
    hint = "write it for the operator that returns what it makes"
    return SchemaError("dims-writes", message, operator.span("dims"), hint)


# What `dims` says


def _written(schema: FunctionSchema, dims: Dims, kernels: KernelModules) -> Family:
    text = dims.batching
    if text is None:
        assert dims.names is not None  # the value was parsed
        return _of_names(schema, dims.names)
    if "(" not in text.text:
        module, _, name = text.text.partition(":")
        function = kernels.find_path(module, name, text.span)
        if len(function.positional) < 2 and function.vararg is None:
            message = f"{function.module}:{function.name} cannot be called with (info, in_dims, *args)"
            hint = f"write: def {function.name}(info, in_dims, ...)"
            raise SchemaError("dims-function", message, text.span, hint)
        return Family("ByHand", (function.module, function.name))
    family = family_of_text(text, schema)
    if family.name == "Windows":
        hint = "say: batched by leading((self, 1))"
        raise SchemaError("dims-family", "windows() says nothing of batches", text.span, hint)
    return replace(family, keywords=tuple(each for each in family.keywords if each[0] != "combines"))


def _of_names(schema: FunctionSchema, names: Text) -> Family:
    """Return the family of operators on named dimensions, which batches come before."""
    operands = names.text.partition("->")[0]
    if "*" in operands:
        hint = "say: batched by leading((self, 2))"
        raise SchemaError("dims-form", "'*' is any number of dimensions, so batches are not known", names.span, hint)
    cores = [sum(name not in ("...", "()") for name in group.split()) for group in operands.split(",")]
    places = [place for place, each in enumerate(schema.arguments) if each.type.is_tensor_like]
    if not any(cores):
        return Family("Elementwise", tuple(places))
    return Family("Leading", tuple(zip(places, cores, strict=False)))


# What follows from `meta`


def _from_meta(binding: Binding, rules: KernelModules) -> Family | None:
    if not isinstance(binding.meta, Plans):
        return None
    return _common(family_of(binding.view.operator.schema, each, rules) for each in binding.meta.formulas)


def _common(found: Iterable[Family | None]) -> Family | None:
    """Return the family that all formulas have in common, None where they differ."""
    first, *others = found
    return first if all(each == first for each in others) else None


def family_of(schema: FunctionSchema, formula: Formula, rules: KernelModules) -> Family | None:
    """Return the family that follows from a formula, of a `meta` that is bound, and the roles of the rule's parameters;
    None where these say nothing of it."""
    if isinstance(formula, Conditional):
        return _common(family_of(schema, each, rules) for each in (formula.then, formula.otherwise))
    assert isinstance(formula, Call) and isinstance(formula.function, Reference)
    call, name = formula, formula.function.name
    module, _, function = name.rpartition(":")
    rule = rules.find_path(module, function) if module else rules.find(name)
    assert rule is not None  # the formula is bound
    places = {argument.name: position for position, argument in enumerate(schema.arguments)}
    tensors = {position for position, argument in enumerate(schema.arguments) if argument.type.is_tensor_like}
    if takes_signature(rule) and has_sizes_of_operands(
        call, rule, frozenset(schema.arguments[p].name for p in tensors)
    ):
        return None
    positions: list[tuple[str, int]] = []
    constants: dict[str, object] = {}
    for role, value in _passed(call, rule):
        match value:
            case Reference(Kind.ARGUMENT, argument) if role in _NUMBERS or places.get(argument) in tensors:
                positions.append((role, places[argument]))
            case Constant(constant):
                constants[role] = constant
            case _ if role in _TENSORS and _reads(value, tensors, places):
                return None  # of a part of a tensor, whose dimensions are others
    may_be_none = any(
        parameter.role in ("Dim", "Dims") and "None" in parameter.annotation for parameter in rule.signature
    )
    return _family(positions, constants, may_be_none)


def _reads(formula: Formula, tensors: Set[int], positions: Mapping[str, int]) -> bool:
    """Whether a tensor argument is in the formula."""
    nodes = (node for node in walk(formula) if isinstance(node, Reference) and node.kind is Kind.ARGUMENT)
    return any(positions.get(node.name) in tensors for node in nodes)


def _passed(call: Call, rule: KernelFunction) -> Iterator[tuple[str, Formula]]:
    """Yield what is passed to parameters that have a role, with the role."""
    by_name = {parameter.name: parameter.role for parameter in rule.signature}
    positional = rule.positional
    for parameter, value in zip(positional, call.arguments, strict=False):
        if parameter.role:
            yield parameter.role, value
    if rule.vararg_role:
        yield from ((rule.vararg_role, value) for value in call.arguments[len(positional) :])
    for name, value in call.keywords:
        if by_name.get(name):
            yield by_name[name], value


_NUMBERS: Final = frozenset(("Dim", "Dims", "NewDim", "Size", "Shifts", "Spatial", "Reduction", "EmptyIsAll"))


def _family(positions: Sequence[tuple[str, int]], constants: Mapping[str, object], may_be_none: bool) -> Family | None:
    """Return the family of an operator whose arguments play these roles, None where they say nothing of it.

    `positions` are arguments by the role of the parameter that they are passed for, `constants` what else is passed.
    `may_be_none`: the rule takes None for dimensions, which stands for all of them, as no dimensions do.
    """

    def of(*names: str) -> tuple[int, ...]:
        return tuple(position for role, position in positions if role in names)

    if operands := of("Elementwise", "Mask", "Target"):
        flags: list[tuple[str, Value]] = [("masks", masks)] if (masks := of("Mask")) else []
        flags += [("onto_first", True)] if of("Target") else []
        if reduction := of("Reduction"):
            return Family("Reducing", operands, (("reduction", reduction[0]), *flags))
        return Family("Elementwise", operands, tuple(flags))
    if operands := of("Along"):
        dims = {"dim": of("Dim", "Dims"), "new": of("NewDim"), "size": of("Size")}
        keywords: list[tuple[str, Value]] = []
        keywords += [(key, found[0] if len(found) == 1 else found) for key, found in dims.items() if found]
        if not keywords:
            return Family("Everything", operands)
        if may_be_none and constants.get("EmptyIsAll", True):
            keywords.append(("empty_is_all", True))
        return Family("Along", operands, tuple(keywords))
    text = constants.get("CoreDimensions")
    if (cores := of("Cores")) and isinstance(text, str) and constants.get("Batched", True) is True:
        signature = read_signature(text)
        counts = None if signature is None else signature.counts
        return None if counts is None else Family("Leading", tuple(zip(cores, counts, strict=True)))
    if leading := [(position, _LEADING[role]) for role, position in positions if role in _LEADING]:
        return Family("Leading", tuple(leading))
    if folded := [(position, _FOLDED[role]) for role, position in positions if role in _FOLDED]:
        spatial = constants.get("Spatial")
        core = spatial + 1 if isinstance(spatial, int) else folded[0][1]
        return Family("Folded", tuple(position for position, _ in folded), (("core", core),))
    return None
