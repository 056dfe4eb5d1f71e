"""The resolution of names: what each name in a formula stands for, and what a formula uses."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.formula.ast import Attribute, Formula, Kind, Name, Reference, rewrite, walk
from opwright_codegen.formula.limits import problems
from opwright_codegen.records import dataclass, field

if TYPE_CHECKING:
    from opwright_codegen.schema.model import FunctionSchema

__all__ = ["Scope", "Use", "resolve", "uses"]

DTYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip
CONSTANTS = ("inf", "nan", "pi")
BUILTINS = ("abs", "all", "any", "float", "int", "len", "list", "max", "min", "range", "sum", "tuple")
_SHOWN = 8  # names of a scope, where a message lists them

_NO_SUCH_WORD = {
    "lambda": "formulas have no lambda",
    "true": "write True",
    "false": "write False",
    "null": "write None",
    "nullptr": "write None",
    "np": "the array module is called xp, so that one formula serves NumPy and CuPy",
    "cp": "the array module is called xp, so that one formula serves NumPy and CuPy",
    "numpy": "the array module is called xp, so that one formula serves NumPy and CuPy",
    "cupy": "the array module is called xp, so that one formula serves NumPy and CuPy",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use, `names` before the others; dtypes, constants and some builtins besides."""

    names: dict[str, Kind]
    rules: Collection[str] = ()
    operators: Collection[str] = ()
    functions: Collection[str] = ()
    of: str = "the operator"
    methods: Collection[str] = ()  # of tensors, beside the operators
    has_own_attributes: bool = False  # whoever made it looks at attributes by lists of its own

    def _others(self) -> tuple[tuple[Collection[str], Kind], ...]:
        """Return what has names beside `names`, before what it hides. None of it is listed until one is unknown."""
        return (
            (self.rules, Kind.RULE),
            (self.functions, Kind.FUNCTION),
            (self.operators, Kind.OPERATOR),
            (DTYPES, Kind.DTYPE),
            (CONSTANTS, Kind.CONSTANT),
            (BUILTINS, Kind.BUILTIN),
        )

    def _kind(self, name: str) -> Kind | None:
        return self.names.get(name) or next((kind for known, kind in self._others() if name in known), None)

    @staticmethod
    def for_meta(schema: FunctionSchema, rules: Collection[str]) -> Scope:
        """Return the scope of `meta:`, which sees the arguments and the rules."""
        return Scope(_arguments(schema), rules, of=str(schema.name))

    @staticmethod
    def for_dims(schema: FunctionSchema, families: Collection[str]) -> Scope:
        """Return the scope of a family in `dims:`, which sees the arguments and the families of rules."""
        return Scope(_arguments(schema), functions=families, of=str(schema.name))

    @staticmethod
    def for_kernel(schema: FunctionSchema, functions: Collection[str] = ()) -> Scope:
        """Return the scope of a backend's kernel: the arguments, Tensors among them as arrays, the array module, and
        `functions` of kernel modules."""
        return Scope({"xp": Kind.MODULE} | _arguments(schema), functions=functions, of=str(schema.name))

    @staticmethod
    def for_composite(schema: FunctionSchema, operators: Collection[str], methods: Collection[str] = ()) -> Scope:
        """Return the scope of a composite kernel: the arguments as they were passed, and the operators, as methods too;
        `methods` are those that are no functions."""
        return Scope(_arguments(schema), operators=operators, of=str(schema.name), methods=methods)

    @staticmethod
    def for_derivative(
        schema: FunctionSchema,
        operators: Collection[str],
        functions: Collection[str] = (),
        outputs: Collection[int] | None = None,
    ) -> Scope:
        """Return the scope of a derivative: arguments, results, gradients of these, operators and backward functions.

        `outputs` are the positions of those that have gradients; without it, all.
        """
        names = {"grad": Kind.GRAD, "grads": Kind.GRAD, "grad_input_mask": Kind.MASK}
        names |= dict.fromkeys(schema.output_names, Kind.RESULT)
        for position, returned in enumerate(schema.returns):
            if returned.name is not None and (outputs is None or position in outputs):
                names[f"grad_{returned.name}"] = Kind.GRAD
        names |= _arguments(schema)
        return Scope(names, (), operators, functions, str(schema.name), has_own_attributes=True)

    @staticmethod
    def for_forward(
        schema: FunctionSchema,
        inputs: Collection[str],
        operators: Collection[str],
        functions: Collection[str] = (),
    ) -> Scope:
        """Return the scope of a forward formula: `_p`, `_t` of differentiable `inputs`, other arguments, results."""
        names = dict.fromkeys(schema.output_names, Kind.RESULT)
        for name, kind in _arguments(schema).items():
            if name in inputs:
                names |= {f"{name}_p": Kind.PRIMAL, f"{name}_t": Kind.TANGENT}
            else:
                names[name] = kind
        return Scope(names, (), operators, functions, str(schema.name), has_own_attributes=True)

    def find(self, name: str) -> Reference | None:
        """Return what `name` stands for; `from_` also finds the argument `from`."""
        kind = self._kind(name)
        if kind is None and name.endswith("_") and keyword.iskeyword(name[:-1]):
            name = name[:-1]
            kind = self._kind(name)
        return None if kind is None else Reference(kind, name)

    def unknown(self, name: Name) -> SchemaError:
        """Return the error for a name that nothing has."""
        word = name.name
        near = nearest(word, [*self.names, *(each for known, _ in reversed(self._others()) for each in known)])
        hint = _NO_SUCH_WORD.get(word) or (f"did you mean {near!r}?" if near else self._known())
        return SchemaError("unknown-name", f"{self.of} has no {word!r} to use here", name.span, hint)

    def _known(self) -> str:
        """Return a few of the names, the arguments first, and where the others are listed."""
        known = [*self.names, *sorted(self.rules)]
        if not known:
            return "no names are known here"
        shown = known if len(known) <= _SHOWN else list(self.names) or known[:_SHOWN]
        rest = f", and {len(known) - len(shown)} rules, which `opwright rules` lists" if len(shown) < len(known) else ""
        return f"known here: {', '.join(shown)}{rest}{' and operators' if self.operators else ''}"


def _arguments(schema: FunctionSchema) -> dict[str, Kind]:
    return {argument.name: Kind.ARGUMENT for argument in schema.arguments}


def resolve(formula: Formula, scope: Scope) -> Formula:
    """Resolve the formula: a Reference for each Name. Raises SchemaErrors with all names that `scope` has not, then
    with all that formulas may not do (`formula.names`)."""
    errors = Errors()

    def change(part: Formula) -> Formula | None:
        if not isinstance(part, Name):
            return None
        found = scope.find(part.name)
        if found is None:
            errors.add(scope.unknown(part))
            return part
        return Reference(found.kind, found.name, span=part.span)

    resolved = rewrite(formula, change)
    errors.raise_if_any()
    methods = None if scope.has_own_attributes else {*scope.operators, *scope.methods}
    for problem in problems(resolved, is_of_arrays=scope.names.get("xp") is Kind.MODULE, methods=methods):
        errors.add(problem)
    errors.raise_if_any()
    return resolved


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a name, whole or of an attribute alone (`self.shape`, `self.size(0)`), and the node of that use."""

    reference: Reference
    attribute: str | None
    node: Formula = field(compare=False)


def uses(formula: Formula) -> Iterator[Use]:
    """Yield all uses of arguments, results, gradients and the rest in a resolved formula, from left to right."""
    values = set()
    for node in walk(formula):
        match node:
            case Attribute(Reference() as reference, name):
                values.add(id(reference))
                yield Use(reference, name, node)
            case Reference() if id(node) not in values:
                yield Use(node, None, node)
            case _:
                pass
