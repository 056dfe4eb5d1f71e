"""examples/everywhere on Dask's arrays: values, gradients, graphs built without kernels, workers, memory."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeds
from copying import copy_example

import opwright
from opwright_codegen.cli import main

dask = pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")
import dask.array as da  # noqa: E402

EXAMPLE = Path(__file__).parents[4] / "examples" / "everywhere"
RANDOM = seeds.numpy_generator(0)
A, B = RANDOM.uniform(0.1, 1, (3, 7, 9)), RANDOM.uniform(0.1, 1, (5, 9))
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("soft_threshold", (A,), {"limit": 0.3}),
    ("haversine", (A, RANDOM.uniform(size=9), RANDOM.uniform(size=(7, 1)), np.asarray(0.5)), {}),
    ("squared_distances", (A, B), {}),
    ("standardize", (A,), {}),
    ("peak", (A, 1), {}),
    ("peak", (A, -1, True), {}),
    ("moving_mean", (A, 2), {}),
]
# Run in a process of its own: a small array would not tell.
REDUCING = """
import resource, dask, dask.array as da, everywhere_ops_dask as ops
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
x = da.ones((10_000, 20_000), chunks=(500, 1_000))  # 1.6 GB
with dask.config.set(scheduler="threads", num_workers=2):
    assert ops.peak(ops.peak(ops.soft_threshold(x), 1), 0).compute() == 0.5
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The example, generated in a folder of its own, from which modules are imported."""
    folder = tmp_path_factory.mktemp("everywhere") / "project"
    copy_example(EXAMPLE.name, folder)
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def ops(folder: Path) -> Any:
    return importlib.import_module("everywhere_ops_dask")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Any:
    return importlib.import_module("everywhere_ops").ops


def in_blocks(args: tuple[Any, ...]) -> list[Any]:
    return [da.from_array(each, chunks=2) if isinstance(each, np.ndarray) else each for each in args]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_blocks_give_what_the_whole_gives(ops: Any, whole: Any, name: str, args: Any, kwargs: Any) -> None:
    made = getattr(ops, name)(*in_blocks(args), **kwargs)
    expected = getattr(whole, name)(*args, **kwargs)
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(made.compute(scheduler="sync"), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_gradients_by_blocks_are_those_of_the_whole(ops: Any, whole: Any, name: str, args: Any, kwargs: Any) -> None:
    tensors = [opwright.tensor(each, requires_grad=True) if isinstance(each, np.ndarray) else each for each in args]
    result = getattr(whole, name)(*tensors, **kwargs)
    grad = seeds.numpy_generator(1).uniform(size=tuple(result.shape))
    result.backward(opwright.tensor(grad))
    found = getattr(ops, name).gradients(da.from_array(grad, chunks=2), *in_blocks(args), **kwargs)
    expected = [each.grad.numpy() for each in tensors if isinstance(each, opwright.Tensor)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.compute(scheduler="sync"), other, rtol=1e-10, atol=1e-12)


def test_no_kernel_is_called_while_a_graph_is_built(ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from opwright_bindings.dask.runtime import tasks

    called = []
    find = tasks.find_operator
    monkeypatch.setattr(tasks, "find_operator", lambda name: called.append(name) or find(name))
    made = [getattr(ops, name)(*in_blocks(args), **kwargs) for name, args, kwargs in CALLS]
    made += ops.squared_distances.gradients(made[2], *in_blocks((A, B)))
    assert not called
    dask.compute(*made, scheduler="sync")
    assert len(called) > 100


def test_costs_are_annotated_where_they_are_asked_for(ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one task, by shapes alone; a priority of the user's stays."""
    import dask

    from opwright_bindings.dask.runtime import annotate_costs
    from opwright_bindings.dask.runtime.tasks import Call

    def refuse(*_: Any) -> None:
        raise AssertionError("a kernel was called")

    def told(array: Any) -> dict[str, Any]:
        return dict(array.dask.layers[array.name].annotations or {})

    monkeypatch.setattr(Call, "call", refuse)
    a, b = da.ones((8, 6), chunks=(4, 6)), da.ones((2, 6), chunks=(2, 6))
    assert told(ops.squared_distances(a, b)) == {}
    with annotate_costs():
        small, large = (told(ops.squared_distances(each, b)) for each in (a, da.ones((800, 6), chunks=(400, 6))))
        (grad, _) = ops.squared_distances.gradients(da.ones((8, 2), chunks=(4, 2)), a, b)
        with dask.annotate(priority=-1):
            assert told(ops.soft_threshold(a))["priority"] == -1
    assert small["cost"]["flops"] == 3 * 4 * 2 * 6 and small["cost"]["written"] == 4 * 2 * 8
    assert large["priority"] > small["priority"] > 0
    costs = [(layer.annotations or {}).get("cost") for layer in grad.dask.layers.values()]
    assert max(each["flops"] for each in costs if each) > small["cost"]["flops"]


def test_reductions_that_combine_are_trees(ops: Any) -> None:
    x = da.from_array(np.arange(64.0), chunks=2)
    graph = ops.peak(x, 0).__dask_graph__()
    assert any("partial" in name for name in graph.layers)
    assert ops.peak(x, 0).compute(scheduler="sync") == 63


def test_unknown_sizes(ops: Any) -> None:
    x = da.from_array(np.array([-2.0, 1.0, 3.0, 0.1]), chunks=2)
    found = ops.soft_threshold(x[x > 0])
    assert np.isnan(found.shape[0])
    np.testing.assert_allclose(found.compute(scheduler="sync"), [0.5, 2.5, 0.0])
    with pytest.raises(ValueError, match="call compute_chunk_sizes"):
        ops.standardize(x[x > 0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ops, x: ops.peak(x, 3), IndexError, "Dimension out of range"),
        (lambda ops, x: ops.haversine(x, x, x, x[:, :2, :2]), RuntimeError, "must match the size"),
        (lambda ops, x: ops.peak(x.astype(int), 0), TypeError, "int64"),
        (lambda ops, x: ops.peak(2.0, 0), TypeError, "expected Tensor"),
        (lambda ops, x: ops.peak.gradients(x, x, 0), ValueError, "its gradient"),
    ],
)
def test_errors_are_raised_while_the_graph_is_built(ops: Any, call: Any, error: Any, message: str) -> None:
    with pytest.raises((error, RuntimeError), match=message):
        call(ops, da.from_array(A, chunks=2))


def test_workers_of_their_own(ops: Any, whole: Any, folder: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the group of dependencies `dask` brings it")
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    with (
        dask.config.set({"distributed.nanny.environ.PYTHONPATH": paths}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        x = da.from_array(A, chunks=2)
        result = ops.peak(ops.standardize(ops.soft_threshold(x)), 1)
        expected = whole.peak(whole.standardize(whole.soft_threshold(A)), 1)
        np.testing.assert_allclose(result.compute(), expected, rtol=1e-12)
        (grad,) = ops.standardize.gradients(x, x)
        assert client.compute(grad).result().shape == A.shape
        assert len(client.run(os.getpid)) == 2
        assert os.getpid() not in client.run(os.getpid).values()


def test_an_array_beyond_memory_is_streamed(folder: Path) -> None:
    """A reduction needs what its blocks need, not what the array needs."""
    run = subprocess.run([sys.executable, "-c", REDUCING], cwd=folder, capture_output=True, text=True, check=True)
    assert int(run.stdout) < 400


def test_without_dask_one_line_says_so(folder: Path) -> None:
    code = "import sys; sys.modules['dask'] = None\nimport everywhere_ops_dask"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].endswith(
        "FrameworkMissing: Dask is not installed, and this module gives it operators: pip install dask[array]"
    )
