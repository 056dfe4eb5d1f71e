"""Samples: calls that one operator takes, drawn once and shared by all properties; calls derived from them.

What the declaration lists is drawn first. Drawing is blind else, and the fake kernel judges first, since it costs only
the shapes, then the operator. One accepted shape is enough: layouts and sizes are derived from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from random import Random
from typing import Any, Final

import numpy as np

from opwright.testing import arguments, sampler
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, DType, bool_, float32, float64, int64
from opwright_core.errors import ArgumentError
from opwright_core.tensors.tensor import Tensor
from opwright_gate import checking
from opwright_gate.cases import CALLED, Array, Case, drawn
from opwright_gate.comparing import difference
from opwright_gate.examples import examples_of
from opwright_gate.memory import poison
from opwright_gate.patterns import PATTERNS
from opwright_gate.references import refusal_of_reference
from opwright_gate.refusing import cause_of
from opwright_gate.repairing import repaired
from opwright_gate.states import Snapshot
from opwright_gate.subjects import Subject

__all__ = ["Samples", "is_called_as_positions", "poisoned"]

_TRIES: Final = 50  # for one sample
_EQUAL: Final = 8  # errors of one text: no draw helps
_OF_DTYPE: Final = 2  # of them about the dtype
_REPEATING: Final = ("::put", "index_put", "scatter", "unpool", "index_copy")
_LATER: Final = 20  # further tries for a rich one
_MORE: Final = 4  # other calls of the dtype that comes first


class Samples:
    """The drawn calls of one operator. `refused` counts those that it did not take, by what it said."""

    def __init__(self, subject: Subject, seed: int = 0) -> None:
        self.subject = subject
        self.seed = seed
        self.refused: Counter[str] = Counter()
        self.at_first: Snapshot | None = None  # before any call
        self.answers: list[tuple[Case, Any]] = []  # what calls gave first
        self.kept: dict[int, int] = {}  # their outputs at that time
        self.fake_errors: list[tuple[Case, Exception]] = []
        self.kernel_errors: list[tuple[Case, Exception]] = []  # of what fake kernels took
        self.breaches: list[tuple[Case, Exception]] = []  # what our own checks of calls say
        self.written = subject.operator.signature.written

    @cached_property
    def bases(self) -> dict[DType, Case]:
        """Return a call for each dtype that is taken, row-major, without a size of 0."""
        operator = self.subject.operator
        listed = arguments.declared_dtypes(operator)
        wanted = listed or sampler.DTYPES if operator.signature.tensors else sampler.DTYPES[:1]
        found: dict[DType, Case | None] = {}
        for dtype in wanted:
            found[dtype] = self._like(found, dtype)
        if not any(found.values()):  # the fake kernel may be wrong
            found = {dtype: self._search(dtype, self.seed, by_fakes=False) for dtype in wanted[:2]}
        return {dtype: case for dtype, case in found.items() if case is not None}

    def _like(self, found: Mapping[DType, Case | None], dtype: DType) -> Case | None:
        """Return the call of a dtype that was found in another dtype, or another one if that is refused for another
        reason than the dtype."""
        known = next(((each, case) for each, case in found.items() if case is not None), None)
        if known is None:
            return self._search(dtype, self.seed)
        case = known[1].converted(
            lambda a, place: drawn(a.values.shape, dtype, self.seed + place) if a.values.dtype == known[0] else a
        )
        error = self._refusal(case, by_fakes=True)
        if error is None:
            return case
        self.refused[f"{type(error).__name__}: {error}"] += 1
        return None if str(dtype) in str(error) or "dtype" in str(error) else self._search(dtype, self.seed)

    @cached_property
    def first(self) -> Case | None:
        """Return the call that stands for all: of float64 or float32 where these are taken."""
        for dtype in (float64, float32):
            if dtype in self.bases:
                return self.bases[dtype]
        return next(iter(self.bases.values()), None)

    @cached_property
    def dtype(self) -> DType:
        """Return the dtype of the call that stands for all."""
        return next((dtype for dtype, case in self.bases.items() if case is self.first), float32)

    @cached_property
    def some(self) -> list[Case]:
        """Return a call of a float, of an integer, of bool and of a complex dtype, as far as these are taken."""
        groups: dict[str, Case] = {}
        first = [] if self.first is None else [(self.dtype, self.first)]
        for dtype, case in (*first, *self.bases.items()):
            kind = "f" if dtype in FLOATING else "c" if dtype in COMPLEX else "b" if dtype is bool_ else "i"
            groups.setdefault(kind, case)
        return list(groups.values())

    @cached_property
    def more(self) -> list[Case]:
        """Return other calls of the first dtype: other ranks, numbers, defaults given and left out."""
        found = [self._search(self.dtype, self.seed + number) for number in range(1, _MORE)] if self.bases else []
        return [each for each in found if each is not None]

    @cached_property
    def why_unstable(self) -> str:
        """Return why values of calls cannot be compared, "" where they can: they are not the same twice, or nobody
        writes some."""
        if self.subject.draws_random_numbers:
            return "it draws random numbers"
        if self.subject.returns_what_memory_held:
            return "it returns memory that nobody has written, by its name"
        if any(word in self.subject.name for word in _REPEATING):
            return "positions may be drawn twice, and then nobody says which value is written last"
        called = set(CALLED)
        try:
            return self._why_unstable()
        finally:  # who asks this does not judge by these calls
            CALLED.intersection_update(called)

    def _why_unstable(self) -> str:
        for case in self.some:
            sizes = [array.nbytes for _, array in self.subject.run(case).outputs]
            found = [poisoned(self.subject, case, byte, sizes) for byte in (0x5B, 0x5B, 0xA4)]
            if difference(found[0], found[1], exact=True) is not None:
                return "it gives something else each time"
            if difference(found[0], found[2], exact=True) is not None:
                return "its results have elements that nobody writes"
        return ""

    @cached_property
    def floats(self) -> dict[DType, Case]:
        """Return the calls of real floating-point dtypes."""
        return {dtype: case for dtype, case in self.bases.items() if dtype in FLOATING}

    def special(self, case: Case) -> Iterator[Case]:
        """Yield the call with values that ask for trouble. Positions stay what they are."""
        for note in ("zeros", "negative", "NaN", "mixed", "large", "equal"):
            if any(a.values.dtype.kind not in "biu" for a in case.arrays) or note in ("zeros", "negative", "equal"):
                yield case.converted(lambda a, place, note=note: self._special(a, place, note), note)  # type: ignore[misc]

    def extreme(self, value: Array, place: int) -> Array:
        """Return integers at the limits of their dtype instead of others that are no positions."""
        array = value.values
        if array.dtype.kind not in "iu" or self.is_position(place):
            return value
        info = np.iinfo(array.dtype)
        low, high = int(info.min), int(info.max)
        numbers = [high, high - 1, low, low + 1, 1, high // 2 + 3, 200 if high > 200 else 100, 0]
        return Array(np.resize(np.array([each for each in numbers if low <= each <= high], array.dtype), array.shape))

    def is_position(self, place: int) -> bool:
        """Whether an argument is called as positions are, or has integers where another one has none."""
        return place in self._integral or is_called_as_positions(self.subject, place)

    @cached_property
    def _integral(self) -> frozenset[int]:
        """Return the positions of arguments that have integers in each call of a floating-point dtype."""
        found = [
            {place for place, value in enumerate(case.values) if _is_integral(value)} for case in self.floats.values()
        ]
        return frozenset(set.intersection(*found) if found else ())

    def _special(self, value: Array, place: int, note: str) -> Array:
        array = value.values
        if self.is_position(place) or array.dtype.kind == "b":
            return value
        if array.dtype.kind in "iu":
            made = {
                "zeros": array * 0,
                "negative": -array if array.dtype.kind == "i" else array,
                "equal": array * 0 + 1,
            }
            return Array(made.get(note, array).astype(array.dtype))
        with np.errstate(all="ignore"):
            return Array(np.resize(np.array(_VALUES[note]), array.shape).astype(array.dtype))

    def _search(self, dtype: DType, seed: int, *, by_fakes: bool = True) -> Case | None:
        """Return a call that is taken: one that is known of, else a rich one if one is found soon."""
        for args, kwargs in examples_of(self.subject.operator.name)[seed - self.seed :][:1]:
            case = self._of_dtype(self._bound(args, kwargs), dtype)
            if self._refusal(case, by_fakes) is None:
                return case
        random = Random(f"{self.subject.drawn_as} {dtype} {seed}")
        errors: Counter[str] = Counter()
        of_dtype, found, best, last = 0, None, -1, _TRIES
        for number in range(_TRIES):
            if number > last:
                break
            try:
                case = self._drawn(dtype, random)
            except ArgumentError as refused:  # an argument that its declared type does not take
                self.refused[f"ArgumentError: {refused}"] += 1
                continue
            if number % 2 and number < 4 * len(self._patterns):
                case = self._shaped(case, self._patterns[number // 2 % len(self._patterns)], dtype)
                case = case if number < 2 * len(self._patterns) else self._with_positions(case, dtype)
            elif number % 3 == 2:
                case = self._with_positions(case, dtype)
            if found is not None and not _is_rich(case):
                continue
            case, error = self._repaired(case, by_fakes)
            if error is None:
                worth = _is_rich(case) + 2 * self._is_meant(case)
                if worth == 3:
                    return case
                last = number + _LATER if found is None else last
                if worth > best:
                    found, best = case, worth
                continue
            text = str(error)
            self.refused[f"{type(error).__name__}: {text}"] += 1
            errors[text] += 1
            of_dtype = of_dtype + 1 if str(dtype) in text or "dtype" in text else 0
            is_tried = number >= 4 * len(self._patterns)
            is_alone = len(self.subject.operator.signature.tensors) == 1
            if found is None and ((is_tried and errors[text] >= _EQUAL) or of_dtype >= _OF_DTYPE * (2 - is_alone)):
                return None
        return found

    def _repaired(self, case: Case, by_fakes: bool) -> tuple[Case, Exception | None]:
        """Return a call as its refusals demand, and what is raised in the end."""
        error = self._refusal(case, by_fakes)
        for _ in case.values:
            better = error and repaired(case, error, self.subject.operator.signature.names, self.seed)
            if not better:
                break
            case, error = better, self._refusal(better, by_fakes)
        return case, error

    @cached_property
    def _patterns(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Return shapes of several Tensors that often go together."""
        tensors = [
            each for each in self.subject.operator.signature.tensors if not each.is_list and not each.is_optional
        ]
        return PATTERNS.get(len(tensors), ())

    def _shaped(self, case: Case, shapes: tuple[tuple[int, ...], ...], dtype: DType) -> Case:
        """Return the call with Tensors of these shapes."""
        tensors = [each.position for each in self.subject.operator.signature.tensors if not each.is_list]
        required = dict(zip(tensors, shapes, strict=False))

        def convert(value: Array, place: int) -> Array:
            if place not in required:
                return value
            if value.values.dtype in (dtype, bool_):  # masks are of the shape, too
                return drawn(required[place], value.values.dtype, self.seed + place)
            is_position = is_called_as_positions(self.subject, place) and value.values.dtype == int64
            return drawn(required[place], int64, self.seed + place, 2) if is_position else value

        return case.converted(convert)

    def _with_positions(self, case: Case, dtype: DType) -> Case:
        """Return the call with small integers for all Tensors but the first: it may be that they say positions."""
        first = min((each.position for each in self.subject.operator.signature.tensors), default=0)
        return case.converted(
            lambda a, place: (
                a if place == first or a.values.dtype != dtype else drawn(a.values.shape, int64, self.seed + place, 2)
            )
        )

    def _is_meant(self, case: Case) -> bool:
        """Whether a reference that refuses some calls, as PyTorch does, takes this one."""
        known = self.subject.reference
        return known is None or known.looks is None or refusal_of_reference(self.subject, case) is None

    def _refusal(self, case: Case, by_fakes: bool) -> Exception | None:
        """Return what the fake kernel or the operator raises; note the answer where neither does."""
        error = self.subject.refusal_of_fake(case) if by_fakes else None
        if error is not None:
            self.fake_errors.append((case, error))
            return error
        answer = self.subject.run(case)
        if answer.error is None:
            self.answers.append((case, answer))
            self.kept[id(case)] = hash(tuple(array.tobytes() for _, array in answer.outputs))
        elif cause_of(answer.error) is not None:
            self.breaches.append((case, answer.error))
        else:
            self.kernel_errors.append((case, answer.error))
        return answer.error

    def _drawn(self, dtype: DType, random: Random) -> Case:
        args, kwargs = arguments.draw(self.subject.operator, dtype, "contiguous", random)
        return self._bound(tuple(args), kwargs)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Case:
        call = checking.Call.of(self.subject.operator, args, kwargs)
        return Case(tuple(map(_as_arrays, call.arguments)))

    def _of_dtype(self, case: Case, dtype: DType) -> Case:
        """Return the call with a dtype instead of that of its first floating-point Tensor, else of its first one."""
        kinds = [each.values.dtype for each in case.arrays]
        first = next((kind for kind in kinds if kind in FLOATING), kinds[0] if kinds else dtype)
        return case.converted(lambda a, _: Array(a.values.astype(dtype)) if a.values.dtype == first else a)


def _is_integral(value: Any) -> bool:
    return isinstance(value, Array) and value.values.dtype == int64


def is_called_as_positions(subject: Subject, place: int) -> bool:
    """Whether an argument has a name that positions have."""
    return any(word in subject.operator.signature.names[place] for word in arguments.POSITIONS)


def poisoned(subject: Subject, case: Case, byte: int, sizes: list[int]) -> Any:
    """Return the outputs of a call whose results lie in memory that is full of a byte."""
    call = case.call(subject.operator)
    poison(byte, sizes)
    try:
        return subject.run_call(call).outputs
    finally:
        poison(0xFF, [])


_VALUES: Final[dict[str, tuple[float, ...]]] = {
    "zeros": (0.0,),
    "negative": (-1.5, -2.25, -0.5, -3.75, -7.0),
    "NaN": (1.0, float("nan"), -2.0, 0.5, 3.0),
    "mixed": (0.5, float("inf"), -0.0, 1.5, float("nan"), -float("inf"), 2.5, -1.5, 0.0, -0.5),
    "large": (6e4, -6e4, 1e30, 3.0, -1e30, 1e-30),
    "equal": (1.0,),
}


def _is_rich(case: Case) -> bool:
    """Whether a call has what layouts and sizes are derived from: two or three dimensions of different sizes."""
    arrays = case.arrays
    shape = arrays[0].values.shape if arrays else ()
    has_distinct = 2 <= len(shape) <= 3 and len({*shape}) == len(shape)
    return not arrays or (has_distinct and all(each.values.size > 1 for each in arrays))


def _as_arrays(value: Any) -> Any:
    if isinstance(value, Tensor):
        array = value.numpy(force=True)
        return Array(np.array(array, order="C"))
    return [_as_arrays(item) for item in value] if isinstance(value, list | tuple) else value
