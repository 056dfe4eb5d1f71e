"""The fast companions of a pointwise shim: Note [Kernel shims] in `backend`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opwright_codegen.formula.emit import with_out
from opwright_codegen.targets.kernels.dense import ALL_KINDS, DenseFacts
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.views.layout import bracketed, condition, fill_comment, formula_lines, statement

__all__ = ["FastShim", "FastShimBuilder", "dtypes_name"]


# What the two serve, after the name of the general shim, to which they hand whatever is not as they want it.
_DENSE: Final = "where every tensor is simple: dense, row-major, with elements, of a dtype that computes in itself."
_ARRAYS: Final = "where plain NumPy arrays stand for all tensors: arrays in, an array out."


_FITS: Final = "1e38"  # what every floating dtype that computes in itself can hold


@dataclass(frozen=True, slots=True)
class FastShim:
    """A `_dense` or `_arrays` shim, which leaves to the general one what `elsewhere` holds for or `compute` raises on.

    `general` is that call at the function's end, `general_inner` in an `if`. `result` are the lines behind `compute`.
    """

    comment: str
    signature: str
    arrays: tuple[str, ...]
    elsewhere: str
    general: str
    general_inner: str
    compute: str
    result: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Call:
    """A statement that calls: up to its arguments, these, and the rest."""

    head: str
    arguments: Sequence[str]
    tail: str

    def at(self, indent: int) -> str:
        """Return the statement as it is laid out at a column."""
        return bracketed(self.head, self.arguments, self.tail, indent)


def dtypes_name(kinds: str) -> str:
    """Return what a module calls the dtypes of these kinds that compute in themselves."""
    return f"DTYPES_{kinds.upper()}"


class FastShimBuilder:
    """The builder of the fast shims beside a general one, whose names for things they share."""

    def __init__(self, shim: ShimBuilder, facts: DenseFacts, key: str) -> None:
        self._shim = shim
        self._facts = facts
        self._key = key

    def shims(self) -> tuple[FastShim, ...]:
        """Return the shims that the backend has."""
        names = self._shim.names
        found = [self.dense()] if names.dense else []
        return (*found, self.plain_arrays()) if names.arrays else tuple(found)

    def dense(self) -> FastShim:
        """Return the shim for Tensors whose arrays are row-major."""
        facts, shim = self._facts, self._shim
        arrays = {name: shim.arrays[name] for name in facts.operands}
        first = arrays[facts.operands[0]]
        takes_numbers = facts.writes and bool(facts.ones) and not facts.scalars  # (the dtype is the target's)
        tests = self.tests(arrays, takes_numbers=takes_numbers)
        if facts.writes and len(arrays) > 1:
            # Arrays that share memory have one owner, or one owns the other's; what overlaps in part is an error.
            for name in facts.operands[1:]:
                other = arrays[name]
                tests.append(
                    f"({other}.base is not None and ({other}.base is {first} or {other}.base is {first}.base))"
                )
                tests.append(f"{other} is {first}.base")
        general = _Call(f"return {shim.names.general}(", [shim.own[a.name] for a in shim.schema.arguments], ")")
        formula = facts.whole if takes_numbers else facts.formula
        result: tuple[str, ...]
        if facts.writes:
            formula = with_out(formula, first, positional=True, writers=facts.writers) or formula
            result = (f"return {shim.own[facts.operands[0]]}",)
        else:
            result = (
                *self._checked(f"{first}.dtype", general),
                "made = Tensor()",
                "made.array = result",
                f"made.keys = DENSE_{self._key}",
                "made.edge = None",
                "made.extra = None",
                "return made",
            )
        formula, spelling = spelled(formula, shim.function_names(), {}), shim.spelling({**shim.own, **arrays})
        return FastShim(
            fill_comment(f"{shim.names.general} {_DENSE}"),
            shim.head(shim.names.dense),
            tuple(f"{array} = {shim.own[name]}.array" for name, array in arrays.items()),
            condition(tests, "or", 4) if tests else "",
            general.at(4),
            general.at(8),
            statement(formula, spelling, 8) if facts.writes else formula_lines(formula, spelling, 8, "result = "),
            result,
        )

    def plain_arrays(self) -> FastShim:
        """Return the shim for NumPy arrays."""
        facts, shim = self._facts, self._shim
        arrays = {name: shim.own[name] for name in facts.operands}
        first = arrays[facts.operands[0]]
        dtype = shim.claim("dtype")  # looked up once: a look-up takes a tenth of what NumPy takes for an add
        tests = self.tests(arrays, dtype, facts.kinds or ALL_KINDS)
        passed = [f"wrap({shim.own[a.name]})" if a.name in arrays else shim.own[a.name] for a in shim.schema.arguments]
        general = _Call(f"return {shim.names.general}(", passed, ").array")
        return FastShim(
            fill_comment(f"{shim.names.general} {_ARRAYS}"),
            shim.head(shim.names.arrays, "NDArray[Any]", "Any"),
            (f"{dtype} = {first}.dtype",),
            condition(tests, "or", 4),
            general.at(4),
            general.at(8),
            formula_lines(spelled(facts.formula, shim.function_names(), {}), shim.spelling(shim.own), 8, "result = "),
            (
                *self._checked(dtype, general),
                f"return result if {shim.builtins['type']}(result) is ndarray else np.asarray(result)",
            ),
        )

    def _checked(self, dtype: str, general: _Call) -> tuple[str, ...]:
        """Return the lines that send a result of another dtype to the general shim, where there may be one."""
        return (f"if result.dtype is not {dtype}:", f"    {general.at(12)}") if self._facts.checks_result else ()

    def tests(
        self, arrays: Mapping[str, str], dtype: str = "", kinds: str = "", *, takes_numbers: bool = False
    ) -> list[str]:
        """Return what sends a call to the general shim; `dtype` is the variable that holds that of the first operand,
        if one does, and `kinds` are those that are served, if not those that the facts say. `takes_numbers`: factors
        that are not 1 are served, too, of floating operands."""
        facts, shim = self._facts, self._shim
        first, *others = [arrays[name] for name in facts.operands]
        dtype = dtype or f"{first}.dtype"
        kind = shim.builtins["type"]
        tests = []
        for name, value in facts.ones:
            own = shim.own[name]
            is_other = f"{own} != {value!r}"
            if takes_numbers:
                not_float = f"{kind}({own}) is not {shim.builtins['float']}"
                is_large = f"not -{_FITS} < {own} < {_FITS}"
                is_other = f"({is_other} and ({not_float} or {is_large} or {dtype} not in {dtypes_name('fc')}))"
            tests.append(is_other)
            if value in (0, 1):  # which equal False and True: those are refused beside numbers
                tests.append(f"{shim.own[name]} is {bool(value)}")
        tests += [f"{other}.dtype is not {dtype}" for other in others]
        kinds = kinds or facts.kinds
        if kinds:  # (one look-up; what a dtype says of itself takes longer, and it may be big-endian, or half)
            tests.append(f"{dtype} not in {dtypes_name(kinds)}")
        for name in facts.scalars:
            own = shim.own[name]
            exact = (shim.builtins["float"], shim.builtins["int"])
            tests.append(f"({kind}({own}) is not {exact[0]} and {kind}({own}) is not {exact[1]})")
        return tests
