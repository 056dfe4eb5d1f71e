"""ATen's operators on Dask's arrays: on random chunkings they give what they give for whole arrays."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from aten_binding import import_binding
from dask_of_aten import chunked
from samples import SAMPLES

import opwright
from opwright.testing.sampler import Sample, samples
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.dispatch.call.packets import find_packet

dask = pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")
import dask.array as da  # noqa: E402

DTYPES = (opwright.float32, opwright.int64)
SITUATIONS = ("contiguous", "broadcast")
# Operators that Dask is given and that are not compared here, each with the reason. All others are.
NOT_COMPARED = {
    "_linalg_eigh": "vectors are right up to a sign or a rotation",
    "linalg_eigh": "vectors are right up to a sign or a rotation",
    "_linalg_svd": "vectors are right up to a sign or a rotation",
    "linalg_svd": "vectors are right up to a sign or a rotation",
    "linalg_qr": "vectors are right up to a sign",
    "qr": "vectors are right up to a sign",
    "linalg_eig": "values come in any order",
    "linalg_eigvals": "values come in any order",
    "_linalg_eigvals": "values come in any order",
    "empty_like": "what is in its memory is nobody's choice",
}


@pytest.fixture(scope="module")
def binding(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_binding(tmp_path_factory.mktemp("aten"), "dask")


def functions(binding: ModuleType) -> Iterator[tuple[str, Any]]:
    """Each operator that Dask is given, with its function."""
    from opwright_bindings.dask.runtime import Function

    for function in vars(binding).values():
        if isinstance(function, Function):
            for overload in function._overloads:
                name = f"aten::{function.__name__}"
                yield (name if overload == "default" else f"{name}.{overload}"), function


def check(operator: Any, function: Callable[..., Any], sample: Any, random: Random) -> None:
    expected = operator(*sample.args, **sample.kwargs)
    tensors = [each for each in (*sample.args, *sample.kwargs.values()) if is_tensor(each)]
    given = {id(each): chunked(each.array, random) for each in tensors}
    args = [given.get(id(each), each) for each in sample.args]
    made = function(*args, **{name: given.get(id(each), each) for name, each in sample.kwargs.items()})
    results = made if isinstance(made, tuple) else (made,)
    for one, other in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert isinstance(one, da.Array)
        assert one.shape == tuple(other.shape) and one.dtype == other.array.dtype
        computed = np.asarray(one.compute(scheduler="sync"))
        assert computed.shape == one.shape and computed.dtype == one.dtype
        np.testing.assert_allclose(computed, other.array, rtol=1e-4, atol=1e-5)


def is_tensor(value: object) -> bool:
    return isinstance(value, opwright.Tensor)


def is_meant(operator: Any, sample: Any) -> bool:
    """Whether a call by the name without overload is one of the operator, on tensors."""
    packet = find_packet(operator.name.partition(".")[0])
    has_tensors = any(is_tensor(each) for each in (*sample.args, *sample.kwargs.values()))
    if isinstance(sample.kwargs.get("alpha"), bool):
        return False  # the fake of rsub refuses it, as PyTorch does; the kernel takes it
    return has_tensors and packet.resolve(tuple(sample.args), dict(sample.kwargs)) is operator


def calls_of(operator: Any) -> list[Any]:
    """Calls of an operator that its name without overload means too: drawn from its schema, else of the table."""
    for dtype in DTYPES:
        drawn = samples(operator, dtypes=(dtype,), situations=SITUATIONS)
        if found := [each for each in drawn if is_meant(operator, each)]:
            return found[:2]
    return list(islice(tabled(operator), 2))


def tabled(operator: Any) -> Iterator[Any]:
    """Samples of the table of all operators that the operator takes, and that are of floats."""
    for sample in SAMPLES.get(operator.name.removeprefix("aten::"), lambda: ())():
        ours = Sample(*(_ours(each) for each in (sample.args, sample.kwargs)))
        tensors = [each for each in (*ours.args, *ours.kwargs.values()) if is_tensor(each)]
        if any(each.dtype in (opwright.float16, opwright.bfloat16) for each in tensors):
            continue
        with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if is_meant(operator, ours):
                operator(*ours.args, **ours.kwargs)
                yield ours


def _ours(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ours(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_ours(each) for each in value)
    return opwright.tensor(value) if isinstance(value, np.ndarray) else value


def test_every_operator_gives_the_same_by_blocks(binding: ModuleType) -> None:
    random = seeds.generator(0)
    failed, never, count = [], [], 0
    for name, function in functions(binding):
        if function.__name__ in NOT_COMPARED:
            continue
        operator = find_operator(name)
        found = calls_of(operator)
        if not found:
            never.append(name)
        for sample in found:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    check(operator, function, sample, random)
                except Exception as error:  # all that fail are shown together
                    failed.append(f"{name}: {sample}: {type(error).__name__}: {error}")
            count += 1
    assert not failed, f"{len(failed)} of {count}:\n" + "\n".join(failed)
    assert not never, f"no call was found for {never}"
    assert set(NOT_COMPARED) <= {function.__name__ for _, function in functions(binding)}
