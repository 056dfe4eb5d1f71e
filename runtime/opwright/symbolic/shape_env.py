"""ShapeEnv: the symbols of a program, what is known of them, and the guards under which that holds."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opwright.errors import GuardOnDataDependentError
from opwright.symbolic.data_dependent import describe, describe_symbol
from opwright.symbolic.locations import Location, users_line
from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
from opwright_core.arrays.sizes import is_symbolic, raise_failed

if TYPE_CHECKING:
    from opwright.symbolic.expressions import Expr
else:
    Expr = Any

Number = int | float | bool
Range = tuple[int | float, int | float]  # an end without bound is infinite


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that the program branched on, the way it went, and the user's line."""

    expression: SymBool
    value: bool
    location: Location | None

    def __str__(self) -> str:
        text = str(self.expression) if self.value else f"not ({self.expression})"
        return text if self.location is None else f"{text}  ({self.location})"


@dataclass(frozen=True, slots=True)
class DeferredAssertion:
    """A condition that `check` took to hold: to be asserted when the program runs."""

    expression: SymBool
    message: str
    location: Location | None

    def __str__(self) -> str:
        return f"{self.expression}  ({self.message})" if self.message else str(self.expression)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol's origin, and the range that it has from the start."""

    name: str
    hint: int | None
    sources: list[str]
    range: Range
    location: Location | None


class ShapeEnv:
    """The symbols of one program.

    `duck_shape`: sizes of equal hint share a symbol. `specialize_zero_one`: sizes 0 and 1 become plain ints, so that
    symbols are at least 2. `allow_scalar_outputs` and `allow_dynamic_output_shape_ops` are read by fake tensors:
    whether `item()` and operators such as `nonzero` give unbacked symbols or an error. Imports sympy.
    """

    def __init__(
        self,
        *,
        duck_shape: bool = True,
        specialize_zero_one: bool = True,
        allow_scalar_outputs: bool = True,
        allow_dynamic_output_shape_ops: bool = True,
    ) -> None:
        from opwright.symbolic import evaluation, expressions, knowledge, operations, relations

        self._evaluation, self._expressions, self._relations = evaluation, expressions, relations
        self.duck_shape = duck_shape
        self.specialize_zero_one = specialize_zero_one
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.guards: list[Guard] = []
        self.deferred: list[DeferredAssertion] = []
        self.symbols: dict[str, Symbol] = {}
        self.memo: dict[Any, Any] = {}  # results by operation and operands
        self.revision = 0  # counts what makes expressions simpler than they were
        self._by_hint: dict[int, SymInt] = {}
        self._named = {"s": 0, "u": 0, "uf": 0}
        self._knowledge = knowledge.Knowledge()
        self._operations = operations.Operations(self, self._knowledge)
        self.apply, self.apply_unary = self._operations.apply, self._operations.apply_unary
        self.choose, self.show = self._operations.choose, self._operations.show

    # Symbols

    def create_symbol(self, hint: int, source: str = "") -> SymInt | int:
        """Make a backed symbol: a size that is `hint` for the inputs at hand; `source` names it in messages.

        0 and 1 stay plain ints under `specialize_zero_one`; equal hints share a symbol under `duck_shape`.
        """
        hint = operator.index(hint)
        if self.specialize_zero_one and hint in (0, 1):
            return hint
        if self.duck_shape and hint in self._by_hint:
            shared = self._by_hint[hint]
            self.symbols[shared.origin.name].sources.append(source)
            return shared
        low = -math.inf if hint < 0 else 2 if self.specialize_zero_one else 0
        made: SymInt = self._create("s", hint, source, (low, math.inf))
        self._by_hint[hint] = made
        return made

    def create_unbacked_symint(self, *, min: int = 0, max: int | None = None, source: str = "") -> SymInt:
        """Make a size that only data tells, within [min, max]; `source` names the operator that made it."""
        made: SymInt = self._create("u", None, source, (min, math.inf if max is None else max))
        return made

    def create_unbacked_symfloat(self, *, source: str = "") -> SymFloat:
        """Make a float that only data tells."""
        made: SymFloat = self._create("uf", None, source, (-math.inf, math.inf))
        return made

    def create_unbacked_symbool(self, *, source: str = "") -> SymBool:
        """Make a condition that only data tells: an unbacked number, 0 or 1, is 1."""
        condition: SymBool = self._create("u", None, source, (0, 1)) == 1
        return condition

    def _create(self, prefix: str, hint: int | None, source: str, bounds: Range) -> Any:
        name = f"{prefix}{self._named[prefix]}"
        self._named[prefix] += 1
        self.symbols[name] = Symbol(name, hint, [source], bounds, users_line())
        expr = self._expressions.symbol(name)
        if prefix != "uf":
            self._narrow(expr, bounds)
        return self._operations.number(float if prefix == "uf" else int, expr, hint)

    def _narrow(self, expr: Expr, bounds: Range) -> None:
        for name, bound in (("ge", bounds[0]), ("le", bounds[1])):
            if abs(bound) != math.inf:
                self._learn(self._relations.compare(name, expr, self._expressions.constant(int(bound))))

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Return what each symbol lies between, as far as it is known."""
        of = self._expressions.symbol
        return {
            name: self._knowledge.interval(self._knowledge.put_in(of(name)))
            for name in self.symbols
            if not name.startswith("uf")
        }

    def constrain_range(self, value: SymInt | int, min: int = 0, max: int | None = None) -> None:
        """Take a number to lie within [min, max]. Raises ValueError where it does not."""
        high = math.inf if max is None else max
        seen = value.hint if isinstance(value, SymInt) else value
        low, most = (value, value) if not isinstance(value, SymInt) else self._knowledge.interval(value.expr)
        if (seen is not None and not min <= seen <= high) or most < min or low > high:
            raise ValueError(f"{value} is not within [{min}, {'inf' if max is None else max}]")
        if isinstance(value, SymInt):
            self._narrow(value.expr, (min, high))
            self._simpler()

    def size_hint(self, value: SymInt | int) -> int:
        """Return a number's value for the inputs at hand. Raises GuardOnDataDependentError where only data tells."""
        if not isinstance(value, SymInt):
            return value
        if value.hint is None:
            raise self._data_dependent(f"the hint of {value}", value.expr)
        hint: int = value.hint
        return hint

    # Deciding

    def decide(self, condition: SymBool) -> bool | None:
        """Whether a condition always holds, or never; None where it depends on its symbols."""
        if condition.known is None and condition.undecided_at != self._knowledge.changes:
            condition.known = self._knowledge.decide(condition.expr)
            condition.undecided_at = self._knowledge.changes
        return condition.known

    def truth(self, condition: SymBool | bool) -> bool | None:
        """Whether a condition holds, by a guard if need be; None where only data tells."""
        if not isinstance(condition, SymBool):
            return condition
        known = self.decide(condition)
        if known is None and condition.hint is not None:
            known = condition.known = bool(condition.hint)
            self.guards.append(Guard(condition, known, users_line()))
            self._learn(condition.expr if known else self._relations.negate(condition.expr))
        return known

    def branch(self, condition: SymBool) -> bool:
        """Return `bool(condition)`."""
        known = self.truth(condition)
        if known is None:
            # Frames: this one, __bool__, who asks. Note [Undecided comparisons] in `layouts`.
            if "UNDECIDED_IS_FALSE" in sys._getframe(2).f_globals:
                return False
            raise self._data_dependent(str(condition), condition.expr)
        return known

    def specialize(self, value: SymInt | SymFloat) -> Any:
        """Return `int(value)` or `float(value)`: the hint, which a guard fixes."""
        expr = value.expr
        if isinstance(value, SymInt):
            low, high = self._knowledge.interval(expr)
            if low == high:
                return int(low)
        elif self._expressions.is_constant(expr):
            return self._expressions.value_of(expr)
        if value.hint is None:
            raise self._data_dependent(f"{'int' if isinstance(value, SymInt) else 'float'}({value})", expr)
        self.truth(value == value.hint)
        return value.hint

    def expect(self, condition: SymBool, message: str | Callable[[], str]) -> None:
        """Take the condition to hold, as `check(condition)` does."""
        known = self.truth(condition)
        if known is None:
            text = message() if callable(message) else message
            self.deferred.append(DeferredAssertion(condition, text, users_line()))
            condition.known = True
            self._learn(condition.expr)
            self._simpler()
        elif not known:
            raise_failed(condition, message)

    def _learn(self, condition: Expr) -> None:
        replaced = self._knowledge.replaced
        self._knowledge.learn(condition)
        if self._knowledge.replaced != replaced:
            self._simpler()

    def _simpler(self) -> None:
        """Simplify what was made before something was learnt."""
        self.revision += 1
        self.memo.clear()

    def simplify(self, expr: Expr) -> Expr:
        """Return the expression with all that is known put in."""
        return self._knowledge.put_in(expr)

    def _data_dependent(self, what: str, expr: Expr) -> GuardOnDataDependentError:
        return GuardOnDataDependentError(describe(self, what, sorted(str(each) for each in expr.free_symbols)))

    # At concrete values

    def evaluate(self, value: Any, bindings: Mapping[str, int]) -> Any:
        """Return a symbolic number at values of its symbols, by their names. Raises KeyError for one without."""
        if not is_symbolic(value):
            return value
        return self._evaluation.evaluate(value.origin, lambda symbol: self._bound(symbol, bindings))

    def _bound(self, symbol: Expr, bindings: Mapping[str, int]) -> Any:
        if symbol.name in bindings:
            return bindings[symbol.name]
        known = self._knowledge.replacements.get(symbol)
        if known is None:
            given = ", ".join(bindings) or "nothing"
            raise KeyError(f"{symbol.name} has no value: the values given are those of {given}")
        return self._evaluation.evaluate(known, lambda inner: self._bound(inner, bindings))

    def check(self, bindings: Mapping[str, int]) -> list[Guard]:
        """Return the guards that fail at these values, those of the symbols' first ranges before them."""
        ranges = self._range_guards([name for name in self.symbols if name in bindings])
        failed = [Guard(each, True, None) for each in ranges if not self.evaluate(each, bindings)]
        return failed + [each for each in self.guards if not self._holds(each, bindings)]

    def _holds(self, guard: Guard, bindings: Mapping[str, int]) -> bool:
        try:
            return bool(self.evaluate(guard.expression, bindings) == guard.value)
        except ZeroDivisionError:  # an earlier guard fails, which led here
            return False

    def _range_guards(self, names: Iterable[str]) -> Iterator[SymBool]:
        """Yield the guards that a symbol's range has from the start."""
        for symbol in map(self.symbols.__getitem__, names):
            for name, bound in (("ge", symbol.range[0]), ("le", symbol.range[1])):
                if abs(bound) != math.inf:
                    parts = self._expressions.symbol(symbol.name), self._expressions.constant(int(bound))
                    yield SymBool(self, self._expressions.Call(name, *parts), True)

    def __repr__(self) -> str:
        lines = [f"  {describe_symbol(self, name)}" for name in self.symbols]
        lines += [f"  guard: {guard}" for guard in self.guards]
        lines += [f"  deferred: {assertion}" for assertion in self.deferred]
        return "\n".join(["ShapeEnv:", *lines])
