"""Calls of operators under `vmap`, held against the same calls for one sample after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from sampling import Sample

import opwright
from opwright_core.arrays import dtypes

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
COUNT = 3  # samples of a batch


# They see how samples lie in memory: a batch that is not in front changes that.
BY_LAYOUT = (
    "_linalg_det", "_linalg_slogdet", "_reshape_alias", "_reshape_alias_copy", "as_strided", "as_strided_",
    "as_strided_copy", "as_strided_scatter", "view.dtype", "view_as_complex", "view_as_complex_copy", "view_copy.dtype",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A call whose tensors are batched along these dimensions: `stacks` has the samples of each, `dims` where the batch
    is, None where there is none."""

    name: str
    sample: Sample
    stacks: tuple[tuple[Array, ...], ...]
    dims: tuple[int | None, ...]
    is_inplace: bool

    def __str__(self) -> str:
        return f"{self.name}{self.sample} in_dims={self.dims}"

    def call(self, tensors: Sequence[Any]) -> Any:
        """Call the operator with these tensors in place of the sample's arrays. What is written is a copy."""
        given = iter(tensors)
        args = [refilled(value, given) for value in self.sample.args]
        kwargs = {key: refilled(value, given) for key, value in self.sample.kwargs.items()}
        if self.is_inplace:
            args[0] = args[0].clone()
        results = operator(self.name)(*args, **kwargs)
        # Gradients that nobody asked for are None, which a function under vmap may not return.
        return tuple([each for each in results if each is not None]) if type(results) is tuple else results


def operator(name: str) -> Function:
    """The overload of that name."""
    base, _, overload = name.partition(".")
    found: Function = getattr(getattr(opwright.ops.aten, base), overload or "default")
    return found


def arrays_of(value: Any) -> list[Array]:
    """The arrays in an argument."""
    if isinstance(value, np.ndarray):
        return [value]
    return [array for each in value for array in arrays_of(each)] if isinstance(value, list | tuple) else []


def refilled(value: Any, given: Iterator[Any]) -> Any:
    """The argument with other values in place of its arrays."""
    if isinstance(value, np.ndarray):
        return next(given)
    if isinstance(value, list | tuple):
        return type(value)([refilled(each, given) for each in value])
    return converted(value)


def converted(value: Any) -> Any:
    return dtypes.as_dtype(value) if isinstance(value, np.dtype) else value


def cases(name: str, sample: Sample, is_inplace: bool) -> Iterator[Case]:
    """Yield the call with each of its tensors batched alone, and with all: at the front, at the back, and counted from
    the back."""
    arrays = [array for value in (*sample.args, *sample.kwargs.values()) for array in arrays_of(value)]
    chosen = [set(range(len(arrays)))]
    if len(arrays) > 1:
        chosen += [{place} for place in range(len(arrays))]
    if name in BY_LAYOUT and not all(array.flags.c_contiguous for array in arrays):
        return
    for number, places in enumerate(chosen):
        wheres = ("front", "back", "last") if number == 0 else (("front", "back")[number % 2],)
        for where in ("front",) if name in BY_LAYOUT else wheres:
            dims = tuple(_dim(where, array.ndim) if place in places else None for place, array in enumerate(arrays))
            stacks = tuple(_samples(array) if place in places else (array,) for place, array in enumerate(arrays))
            yield Case(name, sample, stacks, dims, is_inplace)


def _dim(where: str, ndim: int) -> int:
    return {"front": 0, "back": ndim, "last": -1}[where]


def _samples(array: Array) -> tuple[Array, ...]:
    other = np.flip(array, 0).copy() if array.ndim else array
    return (array, other, array)


def same(case: Case) -> Case:
    """The case with equal samples: others may be no valid arguments."""
    stacks = tuple((stack[0],) * len(stack) for stack in case.stacks)
    return Case(case.name, case.sample, stacks, case.dims, case.is_inplace)


def tensor(array: Array) -> Any:
    return opwright.from_numpy(array)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def looped(case: Case) -> list[list[Any]]:
    """What each sample gives."""
    found = []
    for number in range(COUNT):
        given = [tensor(s[number] if dim is not None else s[0]) for s, dim in zip(case.stacks, case.dims, strict=True)]
        found.append(leaves(case.call(given)))
    return found


def batched(case: Case) -> list[Any]:
    """What all samples give at once."""
    given = [
        tensor(s[0]) if dim is None else opwright.stack([tensor(each) for each in s], dim)
        for s, dim in zip(case.stacks, case.dims, strict=True)
    ]
    return leaves(opwright.vmap(lambda *tensors: case.call(tensors), case.dims)(*given))


def nested(case: Case) -> list[Any]:
    """What two batches of the samples give, of which the second is in reverse order: one vmap within another."""
    given = []
    for samples, dim in zip(case.stacks, case.dims, strict=True):
        if dim is None:
            given.append(tensor(samples[0]))
        else:
            rows = [opwright.stack([tensor(each) for each in order], dim) for order in (samples, samples[::-1])]
            given.append(opwright.stack(rows))
    outer = tuple(None if dim is None else 0 for dim in case.dims)
    inner = opwright.vmap(lambda *tensors: case.call(tensors), case.dims)
    return leaves(opwright.vmap(inner, outer)(*given))


def problem(case: Case, *, levels: int = 1) -> str | None:
    """Say what differs between the two; None where nothing does, or no sample can be computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = looped(case)
        except Exception:
            case = same(case)
            try:
                wanted = looped(case)
            except Exception:
                return None
        if case.is_inplace and case.dims[0] is None:
            return _unless_refused(case)
        try:
            found = batched(case) if levels == 1 else nested(case)
        except Exception as error:
            return f"{case}: {type(error).__name__}: {error}"
    orders = [wanted] if levels == 1 else [wanted, wanted[::-1]]
    for place, result in enumerate(found):
        want = [[each[place] for each in order] for order in orders]
        wrong = difference(result, want[0] if levels == 1 else want)
        if wrong:
            return f"{case}: result {place}: {wrong}"
    return None


def _unless_refused(case: Case) -> str | None:
    try:
        batched(case)
    except RuntimeError as error:
        return None if "vmap" in str(error) else f"{case}: {error}"
    return f"{case}: writing to what is not batched was not refused"


def difference(result: Any, wanted: Any) -> str:
    """Say how a batched result differs from those of samples; '' where it does not."""
    want = (
        np.array([np.array([plain(each) for each in row]) for row in wanted])
        if isinstance(wanted[0], list)
        else np.array([plain(each) for each in wanted])
    )
    one = wanted[0][0] if isinstance(wanted[0], list) else wanted[0]
    got = plain(result)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if result.dtype is not one.dtype:
        return f"dtype {result.dtype}, not {one.dtype}"
    tolerance = 2e-2 if str(one.dtype) in ("opwright.float16", "opwright.bfloat16", "float16", "bfloat16") else 2e-4
    if not np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True):
        at = ~np.isclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
        return f"{int(at.sum())} elements differ: {got[at][:3]}, not {want[at][:3]}"
    return ""


def plain(value: Any) -> Array:
    """An array that NumPy compares."""
    array = np.asarray(
        value.detach().resolve_conj().numpy() if hasattr(value, "resolve_conj") else value.detach().numpy()
    )
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 or array.dtype == np.float16 else array


# -- no samples


def empty_problem(case: Case) -> str | None:
    """Say where the call without samples gives another shape or dtype than one with some; None where it does not."""
    case = same(case)
    if case.is_inplace and case.dims[0] is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = looped(case)[0]
        except Exception:
            return None
        if not all(isinstance(each, opwright.Tensor) for each in wanted):
            return None
        given = [
            tensor(s[0]) if dim is None else opwright.stack([tensor(s[0])], dim).narrow(dim, 0, 0)
            for s, dim in zip(case.stacks, case.dims, strict=True)
        ]
        try:
            found = leaves(opwright.vmap(lambda *tensors: case.call(tensors), case.dims)(*given))
        except Exception as error:
            return f"{case}: without samples: {type(error).__name__}: {error}"
    for got, want in zip(found, wanted, strict=True):
        if tuple(got.shape) != (0, *want.shape) or got.dtype is not want.dtype:
            return f"{case}: without samples: {tuple(got.shape)} {got.dtype}, a sample is {tuple(want.shape)}"
    return None


# -- gradients


def gradient_problem(case: Case) -> str | None:
    """Say where gradients through `vmap`, and those that `vmap` of `grad` gives, differ from those of samples.

    None where nothing does, or a sample has none.
    """
    inputs = [place for place, stack in enumerate(case.stacks) if stack[0].dtype.kind == "f" and stack[0].itemsize >= 4]
    if not inputs or case.is_inplace or not all(np.isfinite(case.stacks[place][0]).all() for place in inputs):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = _sample_gradients(case, inputs)
        except Exception:
            return None
        for how in (_through, _within):
            try:
                found = how(case, inputs)
            except Exception as error:
                if "does not require grad" in str(error):  # decided by what no sample has
                    return None
                return f"{case}: {how.__name__}: {type(error).__name__}: {error}"
            for place, got in zip(inputs, found, strict=True):
                wrong = difference(got, [each[inputs.index(place)] for each in wanted])
                if wrong:
                    return f"{case}: {how.__name__}: gradient {place}: {wrong}"
    return None


def _total(case: Case, tensors: Sequence[Any]) -> Any:
    results = [each for each in leaves(case.call(tensors)) if each.dtype.kind in "fc"]
    parts = [(each.real if each.dtype.kind == "c" else each).sum() for each in results]
    return sum(part.to(opwright.float64) for part in parts)


def _sample_gradients(case: Case, inputs: list[int]) -> list[list[Any]]:
    found = []
    for number in range(COUNT):
        given = [tensor(s[number] if dim is not None else s[0]) for s, dim in zip(case.stacks, case.dims, strict=True)]
        for place in inputs:
            given[place].requires_grad_()
        got = opwright.autograd.grad(_total(case, given), [given[place] for place in inputs], allow_unused=True)
        found.append([opwright.zeros_like(given[p]) if g is None else g for p, g in zip(inputs, got, strict=True)])
    return found


def _stacked(case: Case) -> list[Any]:
    """All tensors, with a batch in front."""
    return [opwright.stack([tensor(s[n if len(s) > 1 else 0]) for n in range(COUNT)]) for s in case.stacks]


def _through(case: Case, inputs: list[int]) -> list[Any]:
    """Gradients of the sum of what `vmap` gives."""
    given = _stacked(case)
    for place in inputs:
        given[place].requires_grad_()
    total = opwright.vmap(lambda *tensors: _total(case, tensors))(*given).sum()
    got = opwright.autograd.grad(total, [given[place] for place in inputs], allow_unused=True)
    return [opwright.zeros_like(given[p]) if g is None else g for p, g in zip(inputs, got, strict=True)]


def _within(case: Case, inputs: list[int]) -> list[Any]:
    """What `vmap` of `grad` gives."""
    gradient = opwright.func.grad(lambda *tensors: _total(case, tensors), tuple(inputs))
    return list(opwright.vmap(gradient)(*_stacked(case)))
