"""Edges: sizes of 0 and 1, no dimensions, None, negative dimensions, lists of other lengths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opwright_gate.cases import Array, Case, drawn
from opwright_gate.comparing import difference, shown_error
from opwright_gate.properties.property import CaseProperty, Problem
from opwright_gate.refusing import cause_of, says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.variations import DIMS

__all__ = ["Edges", "NegativeDims"]

_OTHER = 5  # a size that no drawn call has
_CAUSES = {
    "empty": "refuses-empty", "0-dim": "refuses-0-dim", "size 1": "refuses-size-1", "None": "refuses-none",
    "list": "refuses-list-length", "one array": "refuses-list-length",
}  # fmt: skip


class Edges(CaseProperty):
    """Calls that the fake kernel takes and the operator does not."""

    name, title, group = "takes-edges", "Takes empty, 0-d, None, other lengths", "schema"
    finds = (
        "A call that the declaration and the fake kernel take and the kernel does not, without saying what it demands."
    )
    example = "def kernel(x):\n    return x / x.max()  # raises for an empty x"
    mend = "Handle it, or refuse it in the fake kernel and the kernel, with a message that says what is demanded."

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls with a size of 0 or 1, without dimensions, with None, with lists of other lengths."""
        for case in [*samples.some[:1], *samples.more[:1]]:
            if _has_positions(samples, case):  # these fit the sizes that were drawn
                yield from _other_arguments(subject, case)
                continue
            free = [size for size in case.sizes if subject.refusal(case.resized({size: _OTHER})) is None]
            for size in free:  # (a size that is fixed is a rule of the operator's)
                if size in _demanded_sizes(subject, case, free):
                    continue
                yield _noted(case.resized({size: 0}), "empty")
                yield _noted(case.resized({size: 1}), "size 1")
            shapes = {each.values.shape for each in case.arrays}
            if len(shapes) == 1 and shapes != {()} and _takes_ranks(subject, case):
                yield case.without_dims("0-dim")
            yield from _other_arguments(subject, case)

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return what is raised, unless the message says what is demanded."""
        if case.note not in _CAUSES:
            return None
        error = subject.refusal(case)
        if error is None or says_what_is_demanded(error, subject.operator.signature.names):
            return None
        if isinstance(error, IndexError) and case.may_have_positions:
            return None  # (positions that were right are outside of the new sizes)
        if cause_of(error) is not None or subject.fake(case).error is not None:
            return None
        return Problem(_CAUSES[case.note], f"it refuses what its fake kernel takes ({case.note}): {shown_error(error)}")


def _has_positions(samples: Samples, case: Case) -> bool:
    """Whether some arrays are integers beside others, or called as positions are."""
    kinds = {each.values.dtype.kind in "iu" for each in case.arrays}
    tensors = samples.subject.operator.signature.tensors
    return len(kinds) > 1 or any(samples.is_position(each.position) for each in tensors)


def _demanded_sizes(subject: Subject, case: Case, free: list[int]) -> list[int]:
    """Return sizes that are reduced over, where some others may be 0: a largest element of none there is not."""
    errors = {size: subject.refusal(case.resized({size: 0})) for size in free}
    reduced = [size for size, error in errors.items() if error is not None and "no identity" in str(error)]
    return reduced if len(reduced) < len(free) else []


def _takes_ranks(subject: Subject, case: Case) -> bool:
    """Whether arrays of one dimension and of four are taken: else the rank is a rule of the operator's."""

    def ranked(rank: int) -> Case:
        shape = (2, 3, 1, 2)[:rank]
        return case.converted(lambda a, place: drawn(shape, a.values.dtype, place))

    return all(subject.refusal(ranked(rank)) is None for rank in (1, 4))


def _noted(case: Case, note: str) -> Case:
    return Case(case.values, note)


def _other_arguments(subject: Subject, case: Case) -> Iterator[Case]:
    signature = subject.operator.signature
    for position, (text, value) in enumerate(zip(signature.types, case.values, strict=True)):
        if text.endswith("?"):
            yield case.with_value(position, None, "None")
        name = signature.names[position]
        is_free = text.rstrip("?") in ("int[]", "SymInt[]") and "dim" not in name and "ax" not in name
        if is_free and isinstance(value, list) and value:
            yield case.with_value(position, value[:1], "list")
            yield case.with_value(position, [*value, *value], "list")
        if isinstance(value, list) and value and isinstance(value[0], Array):
            yield case.with_value(position, value[:1], "one array")
            yield case.with_value(position, [value[0], value[-1], value[0], value[-1]], "list")


class NegativeDims(CaseProperty):
    """Dimensions from the end."""

    name, title, group = "negative-dims", "Counts negative dimensions from the end", "schema"
    finds = "An operator for which dimension -1 is another than the last one."
    example = "def kernel(x, dim):\n    return x.sum(tuple(range(dim, x.ndim)))"
    mend = "Add the number of dimensions to a negative one first."

    def applies(self, subject: Subject) -> bool | str:
        """Whether an argument is called as dimensions are."""
        return bool(_dims(subject))

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls with a dimension from the end."""
        for case in [*samples.some[:1], *samples.more]:
            for position in _dims(subject):
                if case.arrays and case.arrays[0].values.ndim:
                    yield case.with_value(position, -1, f"dim {position}")

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return how the call with the same dimension from the start differs."""
        position = int(case.note.split()[-1])
        dims = case.arrays[0].values.ndim
        if subject.refusal(case.with_value(position, dims)) is None:
            dims += 1  # (it counts in a result of one dimension more)
        wanted = subject.run(case.with_value(position, dims - 1))
        if wanted.error is not None:
            return None
        name = subject.operator.signature.names[position]
        found = subject.run(case)
        if found.error is not None:
            if says_what_is_demanded(found.error, subject.operator.signature.names):
                return None
            return Problem(
                "negative-dim", f"{name}=-1 raises, and {name}={dims - 1} does not: {shown_error(found.error)}"
            )
        text = None if subject.draws_random_numbers else difference(found.outputs, wanted.outputs)
        return None if text is None else Problem("negative-dim", f"with {name}=-1 instead of {dims - 1} {text}")


def _dims(subject: Subject) -> list[int]:
    signature = subject.operator.signature
    return [
        p
        for p, (name, text) in enumerate(zip(signature.names, signature.types, strict=True))
        if name in DIMS and text.rstrip("?") in ("int", "SymInt")
    ]
