"""Formulas of derivatives in our language: what each name is, what is saved for them, which gradients they use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from opwright_codegen.derivatives.counterparts import translated
from opwright_codegen.derivatives.derivative import Derivative, ForwardDerivative, ForwardKind, Saved
from opwright_codegen.derivatives.foreign import refuse_sizes
from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.formula.allowed_names import may_be_method
from opwright_codegen.formula.ast import (
    Attribute,
    Call,
    Constant,
    Formula,
    Kind,
    Name,
    Reference,
    Subscript,
    Tuple,
    Unary,
    rewrite,
    walk,
)
from opwright_codegen.formula.operator_calls import check_operator_calls
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.formula.sorts import check_sorts
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Text

__all__ = ["Foreign", "Formulas"]

# What is known of a tensor without its data: read when the operator is called, so that the tensor need not be kept.
_FACTS = frozenset(("shape", "dtype", "device", "ndim", "layout"))
_FACT_CALLS = frozenset(
    ("dim", "is_complex", "is_conj", "is_floating_point", "is_contiguous", "numel", "storage_offset", "stride")
)
# The same of each tensor of a list: `shapes_of(tensors)`.
_LIST_FACTS: Mapping[str, str] = {"shapes_of": "shapes", "dtypes_of": "dtypes"}
_OTHER_ATTRIBUTES = frozenset(("T", "mT", "H", "mH", "real", "imag", "conjugate"))


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file of PyTorch's, with formulas in C++: the user's own `functions`, by which those of C++ are called, and the
    `operators` that have a kernel here."""

    functions: Collection[str]
    operators: Collection[str]


@dataclass(frozen=True, slots=True)
class Formulas:
    """The reader of formulas over `operators` (the schemas of each name, by the namespace of the entry; none for those
    of other packages), the `methods` of tensors, and backward `functions`."""

    operators: Mapping[str, Mapping[str, Sequence[FunctionSchema]]]
    methods: Collection[str]
    functions: Mapping[str, KernelFunction]
    foreign: Foreign | None = None

    def read(self, text: Text, schema: FunctionSchema) -> Formula:
        """Return the formula `text`, its names not resolved yet."""
        refuse_sizes(text, is_ours=self.foreign is None)
        if self.foreign is None:
            return parse(text)
        return translated(text, schema, self.foreign.functions, self.foreign.operators)

    def callable(self, schema: FunctionSchema) -> Collection[str]:
        """Return the operators that formulas of an entry with this schema may call."""
        return self.operators[schema.name.namespace]

    def derivative(
        self, schema: FunctionSchema, inputs: tuple[str, ...], text: Text, outputs: tuple[int, ...]
    ) -> Derivative:
        """Return the gradients of `inputs` by the formula `text`; `outputs` are positions of those with a gradient."""
        formula = self.read(text, schema)
        reason = _reason(formula)
        if reason is not None:
            return Derivative(inputs, text, formula, reason=reason)
        scope = Scope.for_derivative(schema, self.callable(schema), self.functions, outputs)
        formula = resolve(formula, scope)
        self._check(formula, schema)
        check_sorts(formula, schema, inputs=inputs)
        if isinstance(formula, Tuple) and len(formula.items) != len(inputs):
            message = f"{len(formula.items)} gradients for {len(inputs)} inputs"
            raise SchemaError("gradient-count", message, formula.span, f"give one for each of {', '.join(inputs)}")
        _check_gradients(formula, schema, outputs)
        names = frozenset(node.name for node in _references(formula, Kind.GRAD))
        saved, shortened = _saved(formula, schema)
        return Derivative(
            inputs,
            text,
            shortened,
            tuple(each for kind, each in saved if kind is Kind.ARGUMENT),
            tuple(each for kind, each in saved if kind is Kind.RESULT),
            _positions(formula, schema, outputs),
            names,
            any(True for _ in _references(formula, Kind.MASK)),
        )

    def forward(
        self, schema: FunctionSchema, outputs: tuple[str, ...], text: Text, derivatives: tuple[Derivative, ...]
    ) -> ForwardDerivative:
        """Return the tangents of `outputs` by the formula `text`, given the derivatives of the same entry."""
        inputs = [name for derivative in derivatives for name in derivative.inputs]
        match text.text.strip():
            case "auto_linear":
                return _linear(schema, outputs, text, inputs)
            case "auto_element_wise":
                return self._element_wise(schema, outputs, text, derivatives[0])
            case _:
                formula = _resolve_forward(self.read(text, schema), schema, inputs, self)
                self._check(formula, schema)
                check_sorts(formula, schema, inputs=inputs)
                return _forward(outputs, text, ForwardKind.WRITTEN, formula)

    def check_condition(self, schema: FunctionSchema, text: Text) -> None:
        """Raise SchemaErrors for a condition of `output_differentiability` that is no formula over the arguments."""
        resolve(self.read(text, schema), Scope.for_composite(schema, self.callable(schema)))

    def _element_wise(
        self, schema: FunctionSchema, outputs: tuple[str, ...], text: Text, derivative: Derivative
    ) -> ForwardDerivative:
        """Apply the gradient formula to the conjugate: a diagonal Jacobian J gives J t = conj(conj(J) conj(t))."""
        if derivative.reason is not None:
            message = "auto_element_wise needs the formula of the input's gradient"
            raise SchemaError("auto-element-wise", message, text.span)
        (name,) = derivative.inputs
        scope = Scope.for_derivative(schema, self.callable(schema), self.functions)
        written = resolve(self.read(derivative.text, schema), scope)

        def change(part: Formula) -> Formula | None:
            match part:
                case Reference(Kind.GRAD):
                    return Call(Attribute(Reference(Kind.TANGENT, f"{name}_t"), "conj"), ())
                case Reference(Kind.ARGUMENT, argument) if argument == name:
                    return Reference(Kind.PRIMAL, f"{name}_p")
                case _:
                    return None

        formula = Call(Attribute(rewrite(written, change), "conj"), ())
        return _forward(outputs, text, ForwardKind.ELEMENT_WISE, formula)

    def _check(self, formula: Formula, schema: FunctionSchema) -> None:
        """Raise SchemaErrors for attributes that tensors have not, and calls that backward functions or operators do
        not take."""
        if self.foreign is None:
            check_operator_calls(formula, self.operators[schema.name.namespace], "backward-call")
        errors = Errors()
        for node in walk(formula):
            match node:
                case Attribute(_, name) if not self._has(name):
                    near = nearest(name, [*_FACTS, *_FACT_CALLS, *self.methods])
                    hint = f"did you mean {near!r}?" if near else "operators with 'variants: method' are methods"
                    span = node.span.sub(len(node.span.text) - len(name), len(node.span.text)) if node.span else None
                    errors.add(SchemaError("unknown-attribute", f"tensors have no {name!r}", span, hint))
                case Call(Reference(Kind.FUNCTION, name), arguments, keywords):
                    function = self.functions[name]
                    problem = _call_problem(function, len(arguments), [keyword for keyword, _ in keywords])
                    if problem:
                        hint = f"{name}({', '.join(function.parameters)})"
                        errors.add(SchemaError("backward-call", f"{name} {problem}", node.span, hint))
                case _:
                    pass
        errors.raise_if_any()

    def _has(self, attribute: str) -> bool:
        known = (_FACTS, _FACT_CALLS, _OTHER_ATTRIBUTES, self.methods)
        return any(attribute in names for names in known) and may_be_method(attribute)


def _reason(formula: Formula) -> str | None:
    """Return the text in `not_implemented("text")`."""
    match formula:
        case Call(Name("not_implemented"), (Constant(str() as reason),), ()):
            return reason
        case _:
            return None


def _references(formula: Formula, kind: Kind) -> Iterator[Reference]:
    return (node for node in walk(formula) if isinstance(node, Reference) and node.kind is kind)


def _check_gradients(formula: Formula, schema: FunctionSchema, outputs: tuple[int, ...]) -> None:
    """Raise SchemaError for a `grad` that could be something else, or nothing."""
    hidden = next((node for node in _references(formula, Kind.ARGUMENT) if node.name in ("grad", "grads")), None)
    if hidden is not None:
        message = f"{hidden.name!r} is an argument of {schema.name} and a gradient"
        hint = "write grads[0] for the gradient" if hidden.name == "grad" else "write grad for the gradient"
        raise SchemaError(
            "ambiguous-gradient", message, hidden.span, f"{hint}, and rename the argument to use its value"
        )
    alone = next((node for node in _references(formula, Kind.GRAD) if node.name == "grad"), None)
    if alone is not None and _is_list(schema, outputs[:1]):
        message = (
            f"{schema.name} returns a list: its gradients are grads, one for each tensor, None where there is none"
        )
        raise SchemaError("gradient-of-list", message, alone.span, "write grads")


def _is_list(schema: FunctionSchema, outputs: tuple[int, ...]) -> bool:
    """Whether the outputs are one list of tensors."""
    return len(outputs) == 1 and schema.returns[outputs[0]].type.is_list_like


def _positions(formula: Formula, schema: FunctionSchema, outputs: tuple[int, ...]) -> tuple[int, ...]:
    """Return the outputs whose gradients the formula uses. Raises SchemaError for one that there is not."""
    found: set[int] = set()
    indexed: set[int] = set()
    for node in walk(formula):
        match node:
            case Subscript(Reference(Kind.GRAD, "grads") as grads, Constant(int() as index)):
                indexed.add(id(grads))
                if _is_list(schema, outputs):  # the gradient of one of its tensors
                    found.add(outputs[0])
                    continue
                if index >= len(outputs):
                    count = f"{len(outputs)} output" + ("s" if len(outputs) != 1 else "")
                    message = f"grads[{index}] is of no output: {count} can have a gradient"
                    raise SchemaError("gradient-index", message, node.span, "grads begin with grads[0]")
                found.add(outputs[index])
            case Reference(Kind.GRAD, "grads") if id(node) not in indexed:
                found |= set(outputs)
            case Reference(Kind.GRAD, "grad"):
                found |= set(outputs[:1])
            case Reference(Kind.GRAD, name):
                found |= {position for position, result in enumerate(schema.returns) if f"grad_{result.name}" == name}
            case _:
                pass
    return tuple(sorted(found))


def _saved(formula: Formula, schema: FunctionSchema) -> tuple[list[tuple[Kind, Saved]], Formula]:
    """Return what the formula needs of arguments and results, and the formula with references to it."""
    found: dict[str, tuple[Kind, Saved]] = {}
    tensors = {argument.name for argument in schema.arguments if argument.type.is_tensor_like}

    def change(part: Formula) -> Formula | None:
        fact = _fact(part)
        if fact is not None:
            reference, suffix = fact
            if reference.kind is Kind.RESULT or reference.name in tensors:
                name = f"{reference.name}_{suffix}"
                found[name] = (reference.kind, Saved(name, reference.name, part))
                return Reference(Kind.SAVED, name, span=part.span)
        if isinstance(part, Reference) and part.kind in (Kind.ARGUMENT, Kind.RESULT):
            found[part.name] = (part.kind, Saved(part.name, part.name))
        return None

    shortened = rewrite(formula, change)
    return list(found.values()), shortened


def _fact(part: Formula) -> tuple[Reference, str] | None:
    """Return the argument or result that `part` is one fact about, and how that is called."""
    match part:
        case Subscript(Attribute(Reference() as reference, "shape"), index):
            word = _index_word(index)
            fact = None if word is None else f"shape_{word}"
        case Attribute(Reference() as reference, name) if name in _FACTS:
            fact = name
        case Call(Attribute(Reference() as reference, name), (), ()) if name in _FACT_CALLS:
            fact = name
        case Call(Reference(Kind.FUNCTION, name), (Reference() as reference,), ()) if name in _LIST_FACTS:
            fact = _LIST_FACTS[name]
        case _:
            return None
    is_saved = fact is not None and reference.kind in (Kind.ARGUMENT, Kind.RESULT)
    return (reference, fact) if is_saved and fact else None


def _index_word(index: Formula) -> str | None:
    match index:
        case Constant(int() as number):
            return str(number)
        case Unary("-", Constant(int() as number)):
            return f"minus_{number}"
        case Reference(Kind.ARGUMENT, name):
            return name
        case _:
            return None


def _resolve_forward(formula: Formula, schema: FunctionSchema, inputs: list[str], formulas: Formulas) -> Formula:
    ambiguous = [node for node in walk(formula) if isinstance(node, Name) and node.name in inputs]
    if ambiguous:
        name = ambiguous[0].name
        hint = f"{name}_p is its value, {name}_t its tangent"
        raise SchemaError("ambiguous-input", f"{name!r} alone says too little here", ambiguous[0].span, hint)
    return resolve(formula, Scope.for_forward(schema, inputs, formulas.callable(schema), formulas.functions))


def _forward(outputs: tuple[str, ...], text: Text, kind: ForwardKind, formula: Formula) -> ForwardDerivative:
    def names(of: Kind) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.name for node in _references(formula, of)))

    tangents = tuple(name.removesuffix("_t") for name in names(Kind.TANGENT))
    primals = tuple(name.removesuffix("_p") for name in names(Kind.PRIMAL))
    return ForwardDerivative(outputs, text, kind, formula, tangents, primals, names(Kind.RESULT))


def _linear(schema: FunctionSchema, outputs: tuple[str, ...], text: Text, inputs: list[str]) -> ForwardDerivative:
    """Return the operator itself, with tangents for its differentiable inputs."""

    def value(name: str) -> Formula:
        return Reference(Kind.TANGENT, f"{name}_t") if name in inputs else Reference(Kind.ARGUMENT, name)

    call = Call(
        Attribute(Reference(Kind.OPERATOR, schema.name.base), schema.name.shown_overload),
        tuple(value(argument.name) for argument in schema.positional),
        tuple((argument.name, value(argument.name)) for argument in schema.kwarg_only),
    )
    return _forward(outputs, text, ForwardKind.LINEAR, call)


def _call_problem(function: KernelFunction, count: int, keywords: list[str]) -> str | None:
    """Return why the function does not take `count` arguments by position and these by name."""
    positional = [parameter.name for parameter in function.positional]
    if count > len(positional) and function.vararg is None:
        return f"takes {len(positional)} arguments, not {count}"
    given = {*positional[:count], *keywords}
    twice = [keyword for keyword in keywords if keyword in positional[:count]]
    if twice:
        return f"is given {twice[0]!r} twice"
    unknown = [keyword for keyword in keywords if keyword not in function.parameters]
    if unknown and not function.takes_keywords:
        return f"has no parameter {unknown[0]!r}"
    missing = [parameter.name for parameter in function.signature if parameter.is_required]
    missing = [name for name in missing if name not in given]
    return f"needs {', '.join(missing)}" if missing else None
