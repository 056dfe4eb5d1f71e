"""Every fast shim beside the checked one that it stands for: the same dtypes, values and errors, of any dtypes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of
from samples import NO_SAMPLES, samples_of
from sampling import Sample

import opwright
from opwright import Tensor
from opwright.testing.closeness import TOLERANCES
from opwright_core.arrays.dtypes import CANONICAL
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Lazy
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey
from opwright_core.plans.plan_cache import PlanCache, ViewCache

pytestmark = pytest.mark.filterwarnings("ignore")
NUMBERS = (2, 0.5, -1, True, 2**62, -0.0)


def fast_kernels() -> Iterator[tuple[Operator, Lazy]]:
    for operator in registry.operators.values():
        for registration in operator.registrations.get(DispatchKey.CPU, ()):
            kernel = registration.kernel
            if type(kernel) is Lazy and kernel.dense:  # (other tests may have left custom operators)
                kernel.load()
                yield operator, kernel


def loaded_kernels() -> Iterator[tuple[Operator, Lazy]]:
    for operator in registry.operators.values():
        for registration in operator.registrations.get(DispatchKey.CPU, ()):
            kernel = registration.kernel
            if type(kernel) is Lazy and not kernel.is_composite and operator.name.startswith("aten::"):
                kernel.load()
                yield operator, kernel


def views_of(kernel: Lazy) -> ViewCache | None:
    found: ViewCache | None = getattr(sys.modules[kernel.module], f"{kernel.general}_cache", None)
    return found


def cache_of(kernel: Lazy) -> PlanCache | None:
    row = getattr(kernel.loaded, "row", None)
    return None if row is None else row.cache


def operands(operator: Operator) -> Iterator[list[Any]]:
    """Arguments of every pair of dtypes; the others have their defaults."""
    tensors = [argument.position for argument in operator.signature.tensors]
    numbers = [place for place, text in enumerate(operator.signature.types) if text in ("Scalar", "number")]
    first, *others = tensors
    for dtype in CANONICAL:
        for other in CANONICAL if others else [dtype]:
            for number in NUMBERS if numbers and not others else NUMBERS[:1]:
                given = [*operator.signature.defaults]
                for place in numbers:
                    given[place] = number if not others else 1
                given[first] = (np.arange(6).reshape(2, 3) * 0.75).astype(dtype)
                for place in others:
                    given[place] = np.array([1, 0, 2]).astype(other)
                yield given


def called(function: Any, arguments: list[Any], wrap: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*(wrap(each.copy()) if isinstance(each, np.ndarray) else each for each in arguments))
        except Exception as error:
            return error


def difference(found: Any, wanted: Any) -> str | None:
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        return None if type(found) is type(wanted) else f"{found!r:.200}, not {wanted!r:.200}"
    if isinstance(found, tuple | list):
        problems = [difference(one, other) for one, other in zip(found, wanted, strict=True)]
        return next((problem for problem in problems if problem), None)
    one, other = (each.array if isinstance(each, Tensor) else each for each in (found, wanted))
    if (one.shape, one.dtype) != (other.shape, other.dtype) or one.strides != other.strides:
        return f"{one.dtype}{one.shape}, not {other.dtype}{other.shape}"
    rtol, atol = TOLERANCES.get(one.dtype, (0.0, 0.0))
    wide = [each.astype(np.complex128) for each in (one, other)]
    return None if np.allclose(*wide, rtol, atol, equal_nan=True) else f"values {one.tolist()}, not {other.tolist()}"


def test_fast_shims_are_the_checked_ones() -> None:
    wrong, count = [], 0
    for operator, kernel in fast_kernels():
        shim: Any = kernel.loaded
        for arguments in operands(operator):
            wanted = called(shim.general, arguments, opwright.from_numpy)
            found = {"dense": called(operator.call, arguments, opwright.from_numpy)}
            if shim.dense is not None and all(
                each.dtype.itemsize != 2 or each.dtype.kind in "iu" for each in arguments if hasattr(each, "dtype")
            ):
                found["dense"] = called(shim.dense, arguments, opwright.from_numpy)
            if shim.arrays is not None:
                found["arrays"] = called(shim.arrays, arguments, np.asarray)
            for how, result in found.items():
                count += 1
                problem = difference(result, wanted)
                if problem is not None:
                    shown = ", ".join(str(getattr(each, "dtype", each)) for each in arguments)
                    wrong.append(f"{operator.name}, {how}({shown}): {problem}")
    assert count > 10_000
    assert not wrong, f"{len(wrong)} of {count} wrong\n" + "\n".join(wrong[:20])


def as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return opwright.from_numpy(value.copy())
    return type(value)(map(as_tensors, value)) if isinstance(value, list | tuple) else value


def seeded(function: Any, operator: Operator, sample: Sample) -> Any:
    opwright.manual_seed(0)
    kwargs = {name: as_tensors(value) for name, value in sample.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*operator.signature.bind(as_tensors(sample.args), kwargs))
        except Exception as error:
            return error


def test_known_plans_are_those_made_anew() -> None:
    """The first call plans, the second finds the plan: both give the same, also beside plans of all other samples."""
    wrong, count, operators = [], 0, 0
    for operator, kernel in loaded_kernels():
        name, forms = operator.name.removeprefix("aten::"), cache_of(kernel)
        if forms is None or functional_of(name) in NO_SAMPLES or name.startswith("empty"):  # (whose values are any)
            continue
        before = count
        general: Any = kernel.loaded.general
        samples = sweeps.share([*islice(samples_of(name), 40)], 10, of=name)
        wanted = []
        for sample in samples:
            forms.clear()
            wanted.append(seeded(general, operator, sample))
        forms.clear()
        for how in ("first", "then"):
            for sample, found in zip(samples, wanted, strict=True):
                count += 1
                problem = difference(seeded(general, operator, sample), found)
                if problem is not None:
                    wrong.append(f"{operator.name}, {how}{sample}: {problem}")
        operators += count > before
    assert operators > 400 and count > 4_000, (operators, count)
    assert not wrong, f"{len(wrong)} of {count} wrong\n" + "\n".join(wrong[:20])


def lies(result: Any) -> Any:
    return (result.shape, result.array.strides, result.keys, result.array.__array_interface__["data"])


def test_views_lie_where_their_kernel_puts_them() -> None:
    """The compiled core makes views of what it has seen itself; the Python calls the kernel."""
    wrong, count = [], 0
    for operator, kernel in loaded_kernels():
        name = operator.name.removeprefix("aten::")
        if views_of(kernel) is None or functional_of(name) in NO_SAMPLES:
            continue
        general: Any = kernel.loaded.general
        python = getattr(general, "python", general)
        for sample in islice(samples_of(name), 40):
            kwargs = {key: as_tensors(value) for key, value in sample.kwargs.items()}
            args = operator.signature.bind(as_tensors(sample.args), kwargs)
            try:
                wanted = lies(python(*args))
            except Exception as error:
                wanted = type(error)
            for _ in range(3):
                count += 1
                try:
                    found = lies(general(*args))
                except Exception as error:
                    found = type(error)
                if found != wanted:
                    wrong.append(f"{operator.name}{sample}: {found}, not {wanted}")
    assert count > 300
    assert not wrong, "\n".join(wrong[:20])
