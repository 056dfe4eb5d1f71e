"""Operators of windows, running reductions, products and losses on Dask's arrays: values, gradients, memory."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from aten_binding import import_binding
from dask_of_aten import chunked

import opwright
from opwright_core.dispatch.call.packets import find_packet

pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")
import dask.array as da

RANDOM = seeds.numpy_generator(3)
ROWS, IMAGES, VOLUMES = (RANDOM.normal(size=shape) for shape in ((3, 4, 23), (2, 4, 11, 13), (2, 2, 7, 6, 8)))
WEIGHTS = {dims: RANDOM.normal(size=(6, 2, *[3, 2, 3][:dims])) for dims in (1, 2, 3)}
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("max_pool1d", (ROWS, 3)),
    ("max_pool1d", (ROWS, 4, 2, 2, 1, True)),
    ("max_pool2d", (IMAGES, [3, 2], 1)),
    ("max_pool2d", (IMAGES, 2, [2, 3], [1, 0], 3)),
    ("max_pool3d", (VOLUMES, 2, 1, 1)),
    ("avg_pool1d", (ROWS, 5, 3, 2, True, False)),
    ("avg_pool2d", (IMAGES, 4, 3, 2, True)),
    ("avg_pool2d", (IMAGES, 3, [])),
    ("avg_pool3d", (VOLUMES, 3, 2, 1, False, True, 5)),
    ("conv1d", (ROWS, WEIGHTS[1], RANDOM.normal(size=6), 2, 2, 2, 2)),
    ("conv1d", (ROWS, WEIGHTS[1], None, 1, "same", 3, 2)),
    ("conv2d", (IMAGES, WEIGHTS[2], RANDOM.normal(size=6), 1, [2, 1], 1, 2)),
    ("conv2d", (IMAGES, WEIGHTS[2], None, [1, 3], "valid", 1, 2)),
    ("conv3d", (VOLUMES, WEIGHTS[3], None, 2, 1)),
    ("unfold_copy", (ROWS, 2, 5, 3)),
    ("unfold_copy", (ROWS, 1, 2, 1)),
    ("cumsum", (ROWS, 2)),
    ("cumprod", (ROWS, -1)),
    ("logcumsumexp", (ROWS, 1)),
    ("matmul", (ROWS, RANDOM.normal(size=(23, 5)))),
    ("mm", (ROWS[0], RANDOM.normal(size=(23, 5)))),
    ("mv", (ROWS[0], RANDOM.normal(size=23))),
    ("bmm", (ROWS, RANDOM.normal(size=(3, 23, 5)))),
    ("linear", (ROWS, RANDOM.normal(size=(7, 23)), RANDOM.normal(size=7))),
    ("linear", (ROWS, RANDOM.normal(size=(7, 23)))),
    ("mse_loss", (ROWS, RANDOM.normal(size=ROWS.shape), 1)),
    ("l1_loss", (ROWS, RANDOM.normal(size=ROWS.shape), 2)),
    ("layer_norm", (ROWS, [23], RANDOM.normal(size=23))),
]
IDS = [name for name, _ in CALLS]


@pytest.fixture(scope="module")
def binding(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_binding(tmp_path_factory.mktemp("aten"), "dask")


@pytest.mark.parametrize(("name", "args"), CALLS, ids=IDS)
def test_values_are_those_of_the_whole(binding: ModuleType, name: str, args: tuple[Any, ...]) -> None:
    expected = find_packet(f"aten::{name}")(*[tensor(each) for each in args]).numpy()
    small = [da.from_array(each, chunks=2) if isinstance(each, np.ndarray) else each for each in args]
    made = getattr(binding, name)(*small)
    assert made.npartitions > 1 or made.ndim == 0
    for each in (made, *[getattr(binding, name)(*in_blocks(args, seeds.generator(seed))) for seed in range(2)]):
        assert (each.shape, each.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(each.compute(scheduler="sync"), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "args"), CALLS, ids=IDS)
def test_gradients_are_those_of_the_whole(binding: ModuleType, name: str, args: tuple[Any, ...]) -> None:
    given = [tensor(each, requires_grad=True) for each in args]
    result = find_packet(f"aten::{name}")(*given)
    grad = seeds.numpy_generator(4).normal(size=tuple(result.shape))
    result.backward(opwright.tensor(grad))
    random = seeds.generator(5)
    found = getattr(binding, name).gradients(chunked(grad, random), *in_blocks(args, random))
    expected = [each.grad.numpy() for each in given if isinstance(each, opwright.Tensor)]
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.compute(scheduler="sync"), other, rtol=1e-9, atol=1e-10)


def tensor(value: Any, **options: Any) -> Any:
    return opwright.tensor(value, **options) if isinstance(value, np.ndarray) else value


def in_blocks(args: tuple[Any, ...], random: Random) -> list[Any]:
    return [chunked(each, random) if isinstance(each, np.ndarray) else each for each in args]


def test_windows_ask_for_no_more_than_their_neighbours(binding: ModuleType) -> None:
    """A block of the result is computed from the blocks around it: the rest of the operand may not even exist."""
    touched = []

    def block(info: Any) -> Any:
        touched.append(info[None]["chunk-location"])
        return np.ones((1, 1, 100))

    x = da.map_blocks(lambda block_info=None: block(block_info), chunks=((1,), (1,), (100,) * 50), dtype=float)
    touched.clear()
    pooled = binding.avg_pool1d(x, 5, 1, 2)
    assert not touched and pooled.shape == (1, 1, 5000)
    assert pooled[0, 0, 1510].compute(scheduler="sync") == 1
    assert sorted(each[2] for each in touched) == [14, 15, 16]


def test_running_reductions_keep_dtypes(binding: ModuleType) -> None:
    x = np.array([200, 100, 250, 3], np.uint8)
    found = binding.cumsum(da.from_array(x, chunks=1), 0)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.compute(scheduler="sync"), np.cumsum(x))
    halves = binding.cumsum(da.from_array(np.full(4, 1.5), chunks=2), 0, dtype=opwright.int64)
    np.testing.assert_array_equal(halves.compute(scheduler="sync"), [1, 2, 3, 4])


def test_dimensions_with_windows_need_known_sizes(binding: ModuleType) -> None:
    x = da.from_array(np.array([[[-2.0, 1.0, 3.0, 0.1]]]), chunks=2)
    with pytest.raises(ValueError, match="call compute_chunk_sizes"):
        binding.max_pool1d(x[:, :, x[0, 0] > 0], 2)
