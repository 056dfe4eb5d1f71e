"""Batches of one argument, and of all, beside a loop over the samples, for whatever rule handles the operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opwright.autograd import no_grad
from opwright.func import vmap
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.comparing import close, difference, shown_error
from opwright_gate.subjects import Subject

__all__ = ["batch_problem"]


def batch_problem(subject: Subject, case: Case) -> str | None:
    """Return how `vmap` differs from a loop, with the argument and the dimension that is batched.

    Nothing is said of what looks at layouts, which batches change, nor of what `vmap` itself refuses.
    """
    plain = subject.run(case)
    for layout in ("transposed", "sliced"):
        laid = subject.run(case.laid(layout))
        if plain.error is not None or laid.error is not None or difference(laid.outputs, plain.outputs) is not None:
            return None
    call = case.call(subject.operator)
    places = [place for place, value in enumerate(call.arguments) if isinstance(value, Tensor)]
    with no_grad():
        for chosen in [*([place] for place in places), *([places] if places[1:] else [])]:
            for dim in (0, -1):
                text = _difference(subject, call, chosen, dim)
                if text is not None:
                    names = ", ".join(subject.operator.signature.names[place] for place in chosen)
                    return f"a batch of {names} at dimension {dim}: {text}"
    return None


def _difference(subject: Subject, call: checking.Call, places: list[int], dim: int) -> str | None:
    samples = [[_sample(call.arguments[place], number) for place in places] for number in (0, 1)]
    try:
        wanted = [_outputs(subject, _put(call, places, given)) for given in samples]
    except Exception:
        return None  # the other values are refused
    stacked = [wrap(np.stack(pair, dim)) for pair in zip(*samples, strict=True)]

    def one(*given: Tensor) -> Any:
        made = call
        for place, tensor in zip(places, given, strict=True):
            made = made.with_argument(place, tensor)
        return tuple(each.tensor for each in checking.results_of(subject.operator, made()))

    try:
        found = vmap(one, in_dims=dim)(*stacked)
    except Exception as error:
        if str(error).startswith("vmap: "):
            return None
        return f"vmap raises {shown_error(error)}"
    for number, expected in enumerate(wanted):
        for got, (name, want) in zip(found, expected, strict=False):
            array = got.numpy(force=True)[number]
            if array.dtype != want.dtype:
                return f"{name} is {array.dtype}, not {want.dtype}"
            if not close(array, want):
                return f"{name} is another than in a loop"
    return None


def _sample(value: Tensor, number: int) -> np.ndarray[Any, Any]:
    """Return the values of a Tensor, or others: half as large, which keeps an order, and what a sign says. Integers,
    which may be positions, stay."""
    array = np.array(value.numpy(force=True), order="C")
    if number == 0 or array.dtype.kind in "iu":
        return array
    return ~array if array.dtype.kind == "b" else (array * 0.5).astype(array.dtype)  # (bfloat16's product is float32)


def _put(call: checking.Call, places: list[int], given: list[np.ndarray[Any, Any]]) -> checking.Call:
    for place, array in zip(places, given, strict=True):
        call = call.with_argument(place, wrap(array.copy()))
    return call


def _outputs(subject: Subject, call: checking.Call) -> list[tuple[str, np.ndarray[Any, Any]]]:
    return list(_named(subject, call))


def _named(subject: Subject, call: checking.Call) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    for each in checking.results_of(subject.operator, call()):
        yield each.name, np.array(each.tensor.numpy(force=True))
