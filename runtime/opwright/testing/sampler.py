"""Inputs for an operator, drawn from its schema: dtypes, and layouts from 0-dim to expanded.

What the declaration lists is drawn first. Else drawing is blind, and the operator judges: its fake kernel first, which
costs no more than the shapes, then the operator itself. What both take is a sample. What is refused for a reason that
further draws do not change, such as the dtype, is not drawn again.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from random import Random
from typing import Any, Final

from opwright.dimensions.declared import declared_of
from opwright.dimensions.families import Elementwise
from opwright.errors import FakeKernelError, LibraryMissingError
from opwright.fake import FakeTensorMode
from opwright.metadata.dtype_limits import promote_types
from opwright.testing.arguments import declared_dtypes, draw
from opwright.testing.layouts import MIXED, SITUATIONS, Copies
from opwright_core.arrays.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.errors import DispatchError
from opwright_core.tensors.tensor import Tensor

__all__ = ["DTYPES", "Sample", "samples"]

DTYPES: Final = (
    float32, float64, int64, bool_, complex64, float16, bfloat16, int32, int16, int8, uint8, complex128,
)  # fmt: skip
_TRIES: Final = 50  # for one sample
_EQUAL: Final = 16  # errors of one text: the situation is none of the operator's
_OF_DTYPE: Final = 4  # such errors about the dtype, one after another
_REFUSALS: Final = 2  # situations that ended so, before any sample of the dtype


@dataclass(frozen=True)
class Sample:
    """The arguments of one call, tensors among them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def converted(self, convert: Callable[[Tensor], Any]) -> Sample:
        """Return the sample with something else for each tensor."""
        args = tuple(converted_value(value, convert) for value in self.args)
        return Sample(args, {name: converted_value(value, convert) for name, value in self.kwargs.items()})

    def copied(self) -> Sample:
        """Return the sample with tensors of their own memory, layouts and sharing kept: for calls that write."""
        return self.converted(Copies())

    def __str__(self) -> str:
        parts = [_shown(value) for value in self.args] + [f"{k}={_shown(value)}" for k, value in self.kwargs.items()]
        return f"({', '.join(parts)})"


def converted_value(value: Any, convert: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return convert(value)
    if isinstance(value, list | tuple):
        return type(value)(converted_value(item, convert) for item in value)
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{list(value.shape)}/{list(value.stride())}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def samples(
    op: Operator | Packet | str,
    *,
    dtypes: Sequence[object] = DTYPES,
    situations: Sequence[str] = SITUATIONS,
    seed: int = 0,
    by_fakes: bool = True,
) -> Iterator[Sample]:
    """Yield calls that an operator takes, at most one for each dtype and situation; the same for the same `seed`.

    `op` is an operator, one's qualified name (`"aten::add.Tensor"`), or a packet, which stands for its overloads.
    `situations` are those of SITUATIONS: `contiguous`, `transposed`, `sliced`, `expanded`, `broadcast`, `0-dim`,
    `empty`, `size 1`, `mixed dtypes` (of operators that take several tensors). Without `by_fakes` the operator alone
    judges, and not its fake kernel before it. Raises DispatchError for a name that is no operator, and for one whose
    library has not been built.
    """
    if isinstance(op, Packet):
        for operator in op.operators.values():
            yield from samples(operator, dtypes=dtypes, situations=situations, seed=seed, by_fakes=by_fakes)
        return
    operator = find_operator(op.removesuffix(".default")) if isinstance(op, str) else op
    wanted = list(map(as_dtype, dtypes))
    if not operator.signature.tensors:
        wanted, situations = wanted[:1], situations[:1]
    if not _takes_several(operator):
        situations = [each for each in situations if each != MIXED]
    listed = declared_dtypes(operator)
    for dtype in sorted(wanted, key=lambda each: each not in listed):
        yield from _of_dtype(operator, dtype, situations, seed, by_fakes)


def _takes_several(operator: Operator) -> bool:
    """Return whether a call may have tensors of several dtypes."""
    texts = [argument.type for argument in operator.arguments if argument.type.startswith("Tensor")]
    return len(texts) > 1 or any("[" in text for text in texts)


def _of_dtype(
    operator: Operator, dtype: DType, situations: Sequence[str], seed: int, by_fakes: bool
) -> Iterator[Sample]:
    """Yield a sample for each situation. A dtype that two of them were refused for is none of the operator's."""
    refused = 0
    for situation in situations:
        random = Random(f"{operator.name} {dtype} {situation} {seed}")
        found = _search(operator, dtype, situation, random, by_fakes)
        if isinstance(found, Sample):
            refused = -len(situations)  # it is: other draws failed by chance
            yield found
        elif found is not None and _is_about_dtype(found, dtype):
            refused += 1
            if refused == _REFUSALS:
                return


def _search(
    operator: Operator, dtype: DType, situation: str, random: Random, by_fakes: bool
) -> Sample | Exception | None:
    """Return a sample; else the error that is met again and again, None where errors differ."""
    errors: Counter[str] = Counter()
    of_dtype = 0  # one after another
    for _ in range(_TRIES):
        args, kwargs = draw(operator, dtype, situation, random)
        found = Sample(tuple(args), kwargs)
        error = _refusal_of_fakes(operator, found) if by_fakes else None
        error = error or _refusal(operator, found)
        if error is None or (situation == MIXED and _breaks_promise(operator, found, by_fakes)):
            return found
        errors[str(error)] += 1
        of_dtype = of_dtype + 1 if _is_about_dtype(error, dtype) else 0
        if of_dtype == _OF_DTYPE or errors[str(error)] == _EQUAL:
            return error
    return None


def _breaks_promise(operator: Operator, sample: Sample, by_fakes: bool) -> bool:
    """Return whether an elementwise operator, whose rule promotes its operands and takes these, refuses them as they
    are and takes them promoted. Such a sample is yielded: a check reports the error."""
    family = declared_of(operator).family
    places = family.promoted if isinstance(family, Elementwise) else ()
    if by_fakes and _refusal_of_fakes(operator, sample) is not None:
        return False
    given = [value.dtype for place, value in enumerate(sample.args) if place in places and isinstance(value, Tensor)]
    if len({*given}) < 2:
        return False
    common = reduce(promote_types, given)
    args = [
        value.to(common) if place in places and isinstance(value, Tensor) else value
        for place, value in enumerate(sample.args)
    ]
    return _refusal(operator, Sample(tuple(args), sample.kwargs)) is None


def _is_about_dtype(error: Exception, dtype: DType) -> bool:
    """Whether a message names the dtype, or speaks of dtypes: other numbers of that dtype are refused as well."""
    said = str(error)
    return str(dtype) in said or "dtype" in said


def _refusal_of_fakes(operator: Operator, sample: Sample) -> Exception | None:
    """Return what the fake kernel raises. What only it cannot say does not count against the operator."""
    mode = FakeTensorMode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            faked = sample.converted(mode.from_tensor)
            with mode:
                operator(*faked.args, **faked.kwargs)
        except (FakeKernelError, DispatchError) as error:
            if isinstance(error, DispatchError) and "fake kernel" not in str(error):
                return error
        except Exception as error:
            return error
    return None


def _refusal(operator: Operator, sample: Sample) -> Exception | None:
    """Return what the operator raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            real = sample.copied()
            operator(*real.args, **real.kwargs)
        except LibraryMissingError:  # no other arguments help
            raise
        except Exception as error:
            return error
    return None
