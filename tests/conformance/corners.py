"""Operators at corners: their samples with the values of floating inputs replaced by zeros, ties, NaN and infinities;
results, what records, gradients and tangents of both libraries beside each other."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import seeds
import torch
from declared import functional_of, operators
from differentiating import DIFFERENT, SAMPLES_OF, flattened, leaves, overload
from differentiating_once import DIFFERENT_TANGENTS
from known_corners import is_known_corner
from known_differences import is_known
from known_versions import OLDER
from oracle import call, copied, difference, numpy_of, to_opwright, to_torch
from samples import SAMPLES
from sampling import COMPLEXES, FLOATS, Sample, make

import opwright
from opwright_codegen.schema.model import SchemaKind

NAN, INF = np.nan, np.inf
# What inputs are drawn from: ties, zeros of both signs and negative numbers; these, and a few that are not finite.
PALETTES: dict[str, tuple[float, ...]] = {
    "finite": (-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0),
    "a few odd": (-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 3.0, -3.0, 3.0, NAN, INF, -INF),
    "odd": (-1.0, -0.0, 0.0, 1.0, 1.0, NAN, INF, -INF),
    "NaN": (1.0, 1.0, 2.0, -1.0, -1.0, 0.0, NAN),
}
WIDE = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))
MAX_ELEMENTS = 300


def arrays_of(sample: Sample) -> list[np.ndarray]:
    """The arrays among the arguments."""
    return [each for each in leaves([*sample.args, *sample.kwargs.values()]) if isinstance(each, np.ndarray)]


def samples_of(name: str) -> list[Sample]:
    """Small samples of an operator that have a floating input in 32 or 64 bits."""
    key = SAMPLES_OF.get(name, name)
    found = SAMPLES.get(key) or SAMPLES.get(functional_of(key), lambda: ())
    unique = {str(one): one for one in found()}
    wide = [one for one in unique.values() if any(each.dtype in WIDE for each in arrays_of(one))]
    return [one for one in wide if sum(each.size for each in arrays_of(one)) <= MAX_ELEMENTS]


def cornered(sample: Sample, palette: str, seed: int) -> Sample:
    """The sample with floating inputs drawn from a palette, under the same strides.

    Complex numbers are finite or NaN: their infinities are another matter in each library's products.
    """
    rng = seeds.numpy_generator(seed, zlib.crc32(f"{palette}{sample}".encode()))
    drawn = np.array(PALETTES[palette])

    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if not isinstance(value, np.ndarray) or value.dtype not in (*FLOATS, *COMPLEXES):
            return value
        view = copied(value)
        chosen = np.asarray(rng.choice(drawn, value.shape))
        if value.dtype in COMPLEXES:
            parts = np.array([np.where(np.isinf(chosen), 1, chosen), rng.choice(PALETTES["finite"], value.shape)])
            chosen = parts[0] + 1j * parts[1]
        view[...] = chosen.astype(value.dtype)
        return view

    return Sample(tuple(map(replaced, sample.args)), {name: replaced(value) for name, value in sample.kwargs.items()})


class Run:
    """One recorded call under one of the libraries."""

    def __init__(self, library: Any, name: str, sample: Sample) -> None:
        self.library, self.name, self.sample = library, name, sample
        self.convert = to_torch if library is torch else to_opwright
        self.is_inplace = operators()[name].schema.kind is SchemaKind.INPLACE
        self.inputs: list[Any] = []
        self.results = self.called(self.leaf)

    def called(self, make_leaf: Any) -> Any:
        """The results with arguments made by this function, or the error. An in-place operator writes to a copy."""
        self.library.default_generator.manual_seed(7)
        function = overload(self.library, self.name)
        if self.is_inplace:
            operator = function

            def function(first: Any, *args: Any, **kwargs: Any) -> Any:
                return operator(first.clone(), *args, **kwargs)

        return call(function, self.sample, make_leaf)

    def leaf(self, value: Any) -> Any:
        """The argument as a tensor of the library, which records if it is floating."""
        if isinstance(value, list):
            return [self.leaf(each) for each in value]
        found = self.convert(copied(value))
        if isinstance(value, np.ndarray) and value.dtype in (*FLOATS, *COMPLEXES):
            self.inputs.append(found.requires_grad_())
        return found

    def dual(self, value: Any) -> Any:
        """The argument with a tangent of small whole numbers, if it is floating."""
        if isinstance(value, list):
            return [self.dual(each) for each in value]
        found = self.convert(copied(value))
        if isinstance(value, np.ndarray) and value.dtype in (*FLOATS, *COMPLEXES):
            return self.library.autograd.forward_ad.make_dual(found, self.vector(value.shape, value.dtype, 5))
        return found

    def vector(self, shape: tuple[int, ...], dtype: np.dtype, seed: int) -> Any:
        """Small whole numbers, 0 among them."""
        wide = np.dtype("complex128" if dtype in COMPLEXES else "float64")
        return self.convert(np.asarray(np.round(make(shape, wide, seed=seed, low=-2, high=2))).astype(dtype))

    @property
    def outputs(self) -> list[Any]:
        """The tensors among the results."""
        return tensors_among(self.results)

    def gradients(self, places: list[int]) -> list[np.ndarray]:
        """Of the outputs at these places, for each input; zeros for none."""
        chosen = [self.outputs[place] for place in places]
        vectors = [self.vector(tuple(each.shape), array_of(each).dtype, 3) for each in chosen]
        found = self.library.autograd.grad(chosen, self.inputs, vectors, allow_unused=True)
        pairs = zip(found, self.inputs, strict=True)
        return [np.zeros_like(array_of(leaf)) if each is None else array_of(each) for each, leaf in pairs]

    def tangents(self) -> list[np.ndarray]:
        """Of the outputs; zeros for none."""
        ad = self.library.autograd.forward_ad
        with ad.dual_level():
            results = self.called(self.dual)
            if isinstance(results, Exception):
                raise results
            pairs = [ad.unpack_dual(each) for each in tensors_among(results)]
            return [
                array_of(each.primal if each.tangent is None else each.tangent) * (each.tangent is not None)
                for each in pairs
            ]


def is_expected(name: str, sample: Sample, problem: str) -> bool:
    """Whether a difference is known: of the operator anywhere, of its gradients, or at corners alone."""
    functional = functional_of(name)
    table = DIFFERENT_TANGENTS if problem.startswith("tangent") else DIFFERENT
    return (
        is_known(name, sample, problem)
        or is_known_corner(functional, sample, problem)
        or OLDER.covers(functional, problem, sample)
        or (not problem.startswith("value") and table.covers(functional, problem, sample))
    )


def tensors_among(results: Any) -> list[Any]:
    if isinstance(results, Exception):
        return []
    flat = flattened(tuple(results) if isinstance(results, tuple | list) else (results,))
    return [each for each in flat if hasattr(each, "requires_grad")]


def array_of(tensor: Any) -> np.ndarray:
    if isinstance(tensor, opwright.Tensor):
        return tensor.detach().array
    return numpy_of(tensor.detach().resolve_neg().clone())


def detached(results: Any) -> Any:
    if isinstance(results, tuple | list):
        return [detached(each) for each in results]
    return results.detach() if hasattr(results, "detach") else results


def problems(name: str, sample: Sample) -> Iterator[str]:
    """How our values, what of them records, gradients and tangents differ from PyTorch's, where PyTorch has any."""
    ours, theirs = Run(opwright, name, sample), Run(torch, name, sample)
    if isinstance(theirs.results, Exception) and "utomatic differentiation" in str(theirs.results):
        return  # of complex numbers, and of a write to what cannot record
    found = value_problem(ours.results, theirs.results, sample)
    if found is not None:
        yield f"value: {found}"
        return
    recorded = [[each.requires_grad for each in run.outputs] for run in (ours, theirs)]
    if recorded[0] != recorded[1]:
        yield f"records: {recorded[0]}, not {recorded[1]}"
    places = [number for number, both in enumerate(zip(*recorded, strict=True)) if all(both)]
    if places and ours.inputs:
        yield from gradient_problems(ours, theirs, places)
        yield from tangent_problems(ours, theirs)


def value_problem(ours: Any, theirs: Any, sample: Sample) -> str | None:
    """What makes our results others than PyTorch's, to the accuracy of the narrowest input."""
    found = difference(detached(ours), detached(theirs))
    if found is None or not found.startswith("values"):
        return found
    pairs = zip(tensors_among(ours), tensors_among(theirs), strict=True)
    told = (array_problem(array_of(mine), array_of(right), sample) for mine, right in pairs)
    return next((each for each in told if each is not None), None)


def gradient_problems(ours: Run, theirs: Run, places: list[int]) -> Iterator[str]:
    try:
        wanted = theirs.gradients(places)
    except Exception:
        return  # PyTorch has none
    try:
        got = ours.gradients(places)
    except Exception as error:
        yield f"backward: raises {error!r:.300}"
        return
    for number, (mine, right) in enumerate(zip(got, wanted, strict=True)):
        found = array_problem(mine, right, ours.sample, array_of(ours.inputs[number]))
        if found is not None:
            yield f"gradient {number}: {found}"


def tangent_problems(ours: Run, theirs: Run) -> Iterator[str]:
    try:
        wanted = theirs.tangents()
    except Exception:
        return
    try:
        got = ours.tangents()
    except Exception as error:
        yield f"forward: raises {error!r:.300}"
        return
    wanted = wanted[: len(got)]  # PyTorch has zeros for the last gradients, where nobody asked for them
    for number, (mine, right) in enumerate(zip(got, wanted, strict=True)):
        found = array_problem(mine, right, ours.sample)
        if found is not None:
            yield f"tangent {number}: {found}"


_ACCURACY = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-4, "complex64": 1e-4}


def array_problem(left: np.ndarray, right: np.ndarray, sample: Sample, at: np.ndarray | None = None) -> str | None:
    """Where two arrays differ, and what the input is there. Complex numbers that are not finite need only be so in
    both."""
    if (left.shape, left.dtype) != (right.shape, right.dtype):
        return f"{left.dtype}{left.shape}, not {right.dtype}{right.shape}"
    if left.dtype.kind in "biu":
        close = np.equal(left, right)
    else:
        wide = np.complex128 if right.dtype.kind == "c" else np.float64
        left, right = left.astype(wide), right.astype(wide)
        accuracy = max(_ACCURACY.get(str(each.dtype), 1e-9) for each in arrays_of(sample))
        scale = np.abs(right[np.isfinite(right)]).max(initial=1.0)
        close = np.isclose(left, right, rtol=accuracy, atol=accuracy * scale, equal_nan=True)
        if wide is np.complex128:
            close |= ~np.isfinite(left) & ~np.isfinite(right)
    if close.all():
        return None
    places = [tuple(map(int, place)) for place in np.argwhere(~close)]
    told = (f"{left[place]} not {right[place]}" + ("" if at is None else f" of {at[place]}") for place in places[:4])
    return "values " + "; ".join(told)
