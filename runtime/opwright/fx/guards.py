"""Guards: for which inputs a graph does what the traced function does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opwright.fx.trees import flatten_as
from opwright.pytree import TreeSpec
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.tensors.tensor import Tensor

__all__ = ["Condition", "Expression", "Guards", "InputGuard", "evaluate", "expression_of"]

# A number; `("symbol", "s0")`; or a function's name and its arguments, as `opwright.symbolic.evaluation` has them.
Expression = int | float | bool | tuple[Any, ...]


def expression_of(expr: Any) -> Expression:
    """Return a symbolic expression as plain tuples."""
    from opwright.symbolic.expressions import is_constant, value_of

    if is_constant(expr):
        return value_of(expr)
    if expr.is_Symbol:
        return "symbol", str(expr.name)
    name = "add" if expr.is_Add else "mul" if expr.is_Mul else "pow" if expr.is_Pow else str(expr.name)
    arguments = expr.args if expr.is_Add or expr.is_Mul or expr.is_Pow else expr.arguments
    return (name, *map(expression_of, arguments))


def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:
    """Return an expression's value for these values of its symbols. Raises KeyError for one without."""
    from opwright.symbolic.evaluation import FUNCTIONS

    if not isinstance(expression, tuple):
        return expression
    name, *arguments = expression
    if name == "symbol":
        return values[arguments[0]]
    if name == "where":
        return evaluate(arguments[1] if evaluate(arguments[0], values) else arguments[2], values)
    found = [evaluate(each, values) for each in arguments]
    if name in ("add", "mul"):
        total: Any = 0 if name == "add" else 1
        for each in found:
            total = total + each if name == "add" else total * each
        return total
    return FUNCTIONS[name](*found)


@dataclass(frozen=True, slots=True)
class InputGuard:
    """An input as it was traced: a tensor of this dtype, device and layout, whose sizes may be expressions; a number
    that is a symbol; a constant; or an instance of a custom class, with what its `guard_fn` listed."""

    name: str
    dtype: str | None = None
    device: str = ""
    shape: tuple[Expression, ...] = ()
    strides: tuple[Expression, ...] = ()
    value: Any = None
    guard_fn: Callable[[Any], list[Any]] | None = None
    is_any: bool = False  # nothing is asked of it

    def facts(self, given: Any) -> Iterator[tuple[str, Expression, Any]]:
        """Yield what is asked of an input: how it is written, what it was, and what it is here."""
        if self.dtype is None:
            if not self.is_any:
                asked = given if self.guard_fn is None else list(self.guard_fn(given))
                yield self.name if self.guard_fn is None else f"guards of {self.name}", self.value, asked
            return
        for dim, (expression, size) in enumerate(zip(self.shape, given.shape, strict=True)):
            yield f"{self.name}.size({dim})", expression, size
        for dim, (expression, stride) in enumerate(zip(self.strides, given.stride(), strict=True)):
            if given.shape[dim] > 1:  # of one element, or none, a stride says nothing
                yield f"{self.name}.stride({dim})", expression, stride


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on symbols that the traced function branched on, which way it went, and the user's line."""

    text: str
    expression: Expression
    value: bool
    location: str = ""

    def __str__(self) -> str:
        text = self.text if self.value else f"not ({self.text})"
        return f"{text}  ({self.location})" if self.location else text


@dataclass(frozen=True, slots=True)
class Guards:
    """The conditions on inputs for a graph to do what the traced function does; for who asks: calls do not check."""

    inputs: tuple[InputGuard, ...]
    conditions: tuple[Condition, ...] = ()
    same: tuple[tuple[int, int], ...] = ()  # inputs that were one tensor
    in_spec: TreeSpec | None = None

    def check(self, *args: Any) -> list[str]:
        """Return what fails for these arguments of the graph, as text; nothing where they fit."""
        if self.in_spec is not None:
            try:
                given: Sequence[Any] = flatten_as(args, self.in_spec)
            except ValueError as error:
                return [str(error)]
        else:
            given = args
        if len(given) != len(self.inputs):
            return [f"{len(self.inputs)} arguments are expected, but {len(given)} were given"]
        failed = [text for guard, value in zip(self.inputs, given, strict=True) for text in _kind_fails(guard, value)]
        failed += [
            f"{self.inputs[two].name} is {self.inputs[one].name}"
            for one, two in self.same
            if given[one] is not given[two]
        ]
        return failed or self._check_values(given)

    def _check_values(self, given: Sequence[Any]) -> list[str]:
        symbols: dict[str, Any] = {}
        asked = [fact for guard, value in zip(self.inputs, given, strict=True) for fact in guard.facts(value)]
        for _, expression, value in asked:
            if isinstance(expression, tuple) and expression[0] == "symbol" and isinstance(value, int | float):
                symbols.setdefault(expression[1], value)
        failed = [
            f"{text} == {_shown(expression, symbols)}, but it is {value}"
            for text, expression, value in asked
            if not _equal(expression, value, symbols)
        ]
        return failed + [str(each) for each in self.conditions if not _holds(each, symbols)]

    def fits(self, *args: Any) -> bool:
        """Whether the graph does for these arguments what the traced function does."""
        return not self.check(*args)

    def __str__(self) -> str:
        lines = [
            f"{guard.name}: {guard.dtype}[{', '.join(map(_text, guard.shape))}] on {guard.device}"
            if guard.dtype is not None
            else f"{guard.name} == {guard.value!r}"
            for guard in self.inputs
            if not guard.is_any
        ]
        lines += [f"{self.inputs[two].name} is {self.inputs[one].name}" for one, two in self.same]
        return "\n".join([*lines, *map(str, self.conditions)])


def _kind_fails(guard: InputGuard, given: Any) -> Iterator[str]:
    """Yield what is wrong with an input before its sizes are looked at."""
    if guard.dtype is None:
        return
    if not isinstance(given, Tensor):
        yield f"{guard.name} is a Tensor, but {type(given).__name__} was given"
    elif dtype_name(given.dtype) != guard.dtype:
        yield f"{guard.name} is of dtype {guard.dtype}, but it is {dtype_name(given.dtype)}"
    elif given.device.type != guard.device:
        yield f"{guard.name} is on {guard.device}, but it is on {given.device.type}"
    elif len(given.shape) != len(guard.shape):
        yield f"{guard.name} has {len(guard.shape)} dimensions, but it has {len(given.shape)}"


def _equal(expression: Expression, value: Any, symbols: Mapping[str, Any]) -> bool:
    if isinstance(expression, tuple):
        try:
            return bool(evaluate(expression, symbols) == value)
        except (KeyError, ZeroDivisionError, TypeError):
            return False
    return type(expression) is type(value) and bool(
        expression == value or (expression != expression and value != value)
    )


def _holds(condition: Condition, symbols: Mapping[str, Any]) -> bool:
    try:
        return bool(evaluate(condition.expression, symbols)) == condition.value
    except ZeroDivisionError:  # an earlier condition fails, which led here
        return False
    except KeyError:  # of what only data tells: nothing that inputs could fail
        return True


def _shown(expression: Expression, symbols: Mapping[str, Any]) -> str:
    if not isinstance(expression, tuple):
        return str(expression)
    try:
        return f"{_text(expression)} = {evaluate(expression, symbols)}"
    except (KeyError, ZeroDivisionError):
        return _text(expression)


_SIGNS: Final = {"add": " + ", "mul": "*", "floordiv": " // ", "mod": " % ", "pow": "**"}


def _text(expression: Expression) -> str:
    if not isinstance(expression, tuple):
        return str(expression)
    name, *arguments = expression
    if name == "symbol":
        return str(arguments[0])
    texts = [f"({_text(each)})" if isinstance(each, tuple) else _text(each) for each in arguments]
    return _SIGNS[name].join(texts) if name in _SIGNS else f"{name}({', '.join(texts)})"
