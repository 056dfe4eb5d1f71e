"""Calls with arrays of other libraries, beside the call with NumPy: what taking them and giving results back costs."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import opwright
from opwright.library import custom_op

from .measure import Figure, beyond, ratio

SIZE = 16


def figures() -> Iterator[Figure]:
    numbers = np.linspace(0, 1, SIZE, dtype=np.float32)
    x, tensor = torch.from_numpy(numbers), opwright.from_numpy(numbers)
    yield ratio("torch.from_numpy, which makes one tensor of PyTorch's, against a call with NumPy's array",
                lambda: torch.from_numpy(numbers), lambda: opwright.exp(numbers))  # fmt: skip
    yield beyond("exp of a tensor of PyTorch's, beyond that of NumPy's array",
                 lambda: opwright.exp(x), lambda: opwright.exp(numbers), None)  # fmt: skip
    yield ratio("add of PyTorch's tensors against torch.add", lambda: opwright.add(x, x), lambda: torch.add(x, x))
    yield beyond("add of a Tensor and an array, beyond that of Tensors",
                 lambda: opwright.add(tensor, numbers), lambda: opwright.add(tensor, tensor), None)  # fmt: skip
    yield beyond("cat of two arrays, beyond that of Tensors",
                 lambda: opwright.cat([numbers, numbers]), lambda: opwright.cat([tensor, tensor]), None)  # fmt: skip
    for operator, count in ((_shrink(), 1), (_weighed(), 2)):
        yield from _kinds(operator, [numbers] * count)


def _shrink() -> Any:
    @custom_op("measured_guests::shrink", mutates_args=())
    def shrink(x: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.exp(x)
        return made

    return shrink


def _weighed() -> Any:
    @custom_op("measured_guests::weighed", mutates_args=())
    def weighed(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        made: np.ndarray = x * weights
        return made

    return weighed


def _kinds(operator: Callable[..., Any], arrays: list[Any]) -> Iterator[Figure]:
    """Yield what each kind costs beyond arrays of NumPy."""
    for name, make in _makers().items():
        given = [make(each) for each in arrays]
        work = f"{len(arrays)} arrays of {SIZE} floats: {name}, beyond NumPy"
        yield beyond(work, functools.partial(operator, *given), functools.partial(operator, *arrays), None)


def _makers() -> dict[str, Callable[[Any], Any]]:
    makers: dict[str, Callable[[Any], Any]] = {"PyTorch": torch.from_numpy, "a Tensor": opwright.from_numpy}
    makers["lists"] = np.ndarray.tolist
    for name, module, make in (
        ("JAX", "jax.numpy", lambda library, array: library.asarray(array)),
        ("xarray", "xarray", lambda library, array: library.DataArray(array, dims=("x",))),
        ("pandas", "pandas", lambda library, array: library.Series(array)),
    ):
        if importlib.util.find_spec(module.partition(".")[0]) is not None:
            makers[name] = functools.partial(make, importlib.import_module(module))
    return makers
