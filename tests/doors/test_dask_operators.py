"""ATen's operators on Dask's arrays: on random chunkings they give what they give for whole arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from dask_of_aten import import_door

import opwright
from opwright.dispatch.operator import find_operator
from opwright.dispatch.packets import find_packet
from opwright.testing.sampler import samples

dask = pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")
import dask.array as da  # noqa: E402

DTYPES = (opwright.float32, opwright.int64)
SITUATIONS = ("contiguous", "broadcast")
# Whose results are right up to a sign or a rotation, or not specified where they stand.
UNSPECIFIED = ("_linalg_eigh", "_linalg_svd", "linalg_qr", "_linalg_eigvals", "linalg_eig", "geqrf")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_door(tmp_path_factory.mktemp("aten"))


def functions(door: ModuleType) -> Iterator[tuple[str, Any]]:
    """Each operator that Dask is given, with its function."""
    from opwright.doors.dask import Function

    for function in vars(door).values():
        if isinstance(function, Function) and function.__name__ not in UNSPECIFIED:
            for overload in function._overloads:
                name = f"aten::{function.__name__}"
                yield (name if overload == "default" else f"{name}.{overload}"), function


def chunked(array: Any, random: Random) -> Any:
    """The array in random pieces, each dimension for itself."""
    chunks = []
    for size in array.shape:
        cuts = sorted(random.sample(range(1, size), min(size - 1, random.randrange(3)))) if size > 1 else []
        chunks.append(tuple(np.diff([0, *cuts, size]).tolist()))
    return da.from_array(array, chunks=tuple(chunks))


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


def test_operators_give_the_same_by_blocks(door: ModuleType) -> None:
    random = Random(0)
    failed, checked = [], 0
    for name, function in functions(door):
        operator = find_operator(name)
        for sample in samples(operator, dtypes=DTYPES, situations=SITUATIONS):
            if not is_meant(operator, sample):
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    check(operator, function, sample, random)
                except Exception as error:  # all that fail are shown together
                    failed.append(f"{sample}: {type(error).__name__}: {error}")
            checked += 1
    assert checked > 700
    assert not failed, f"{len(failed)} of {checked}:\n" + "\n".join(failed)
