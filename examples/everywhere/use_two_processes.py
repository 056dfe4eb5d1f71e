"""The operators on arrays of which each of two processes holds a part: DTensor, JAX and Dask.

    python use_two_processes.py

Each process has half of the rows, or of the columns. Printed is how the result lies, what was sent, and whether values
are NumPy's. What is not installed is left out.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from functools import partial
from importlib.util import find_spec

import numpy as np

ROWS, COLUMNS, OTHERS = 64, 48, 8
rng = np.random.default_rng(0)
a, b = rng.standard_normal((ROWS, COLUMNS)), rng.standard_normal((OTHERS, COLUMNS))
DISTANCES = ((a[:, None] - b) ** 2).sum(2)
MEANS = sum(np.pad(a, ((0, 0), (1, 1)))[:, first : first + COLUMNS] for first in range(3)) / 3
SOFT = np.sign(a) * np.maximum(np.abs(a) - 0.5, 0)
STANDARD = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)


def in_torch(rank: int, port: int) -> None:
    import everywhere_ops_torch  # noqa: F401
    import torch
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode

    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    ops = torch.ops.everywhere
    rows, columns, others = (
        distribute_tensor(torch.from_numpy(array), mesh, [way])
        for array, way in ((a, Shard(0)), (a, Shard(1)), (b, Replicate()))
    )
    cut = distribute_tensor(torch.from_numpy(b), mesh, [Shard(1)])
    for what, call, expected in (
        ("soft_threshold of rows", lambda: ops.soft_threshold(rows), SOFT),
        ("squared_distances of rows", lambda: ops.squared_distances(rows, others), DISTANCES),
        ("squared_distances of columns", lambda: ops.squared_distances(columns, cut), DISTANCES),
        ("standardize of rows", lambda: ops.standardize(rows), STANDARD),
        ("moving_mean of columns", lambda: ops.moving_mean(columns, 1), MEANS),
    ):
        with CommDebugMode() as sent:
            result = call()
        assert isinstance(result, DTensor)
        whole = result.full_tensor().numpy()
        if rank == 0:
            print(f"DTensor: {what}: {result.placements}, {sent.get_total_counts()} sent, {same(whole, expected)}")
    dist.destroy_process_group()


def in_jax(rank: int, port: int) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=rank)
    import everywhere_ops_jax as ops
    from jax.experimental.multihost_utils import process_allgather
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((2,), ("x",))
    with jax.set_mesh(mesh):

        def placed(array: np.ndarray, *axes: str | None) -> jax.Array:
            return jax.make_array_from_callback(array.shape, NamedSharding(mesh, P(*axes)), array.__getitem__)

        rows, columns, others = placed(a, "x", None), placed(a, None, "x"), placed(b, None, None)
        for what, function, given, expected in (
            ("soft_threshold of rows", ops.soft_threshold, (rows,), SOFT),
            ("squared_distances of rows", ops.squared_distances, (rows, others), DISTANCES),
            ("squared_distances of columns", ops.squared_distances, (columns, placed(b, None, "x")), DISTANCES),
            ("standardize of rows", ops.standardize, (rows,), STANDARD),
            ("moving_mean of columns", partial(ops.moving_mean, radius=1), (columns,), MEANS),
        ):
            compiled = jax.jit(function).lower(*given).compile()
            result = compiled(*given)
            text = compiled.as_text()
            sent = sum(text.count(f"{name}(") for name in ("all-reduce", "all-gather", "collective-permute"))
            whole = process_allgather(result, tiled=True)
            if rank == 0:
                print(f"JAX: {what}: {result.sharding.spec}, {sent} sent, {same(np.asarray(whole), expected)}")


def in_dask() -> None:
    import dask.array as da
    import everywhere_ops_dask as ops
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        rows, columns = da.from_array(a, chunks=(ROWS // 2, COLUMNS)), da.from_array(a, chunks=(ROWS, COLUMNS // 2))
        others = da.from_array(b, chunks=(OTHERS, COLUMNS // 2))
        for what, result, expected in (
            ("soft_threshold of rows", ops.soft_threshold(rows), SOFT),
            ("squared_distances of columns", ops.squared_distances(columns, others), DISTANCES),
            ("standardize of rows", ops.standardize(rows), STANDARD),
            ("moving_mean of columns", ops.moving_mean(columns, 1), MEANS),
        ):
            print(f"Dask: {what}: {len(result.__dask_graph__())} tasks, {same(result.compute(), expected)}")


def same(found: np.ndarray, expected: np.ndarray) -> str:
    return "equal" if np.allclose(found, expected) else "different"


def main() -> None:
    for name in ("torch", "jax"):
        if find_spec(name) is None:
            print(f"{name} is not installed")
            continue
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        both = [subprocess.Popen([sys.executable, __file__, name, str(rank), str(port)]) for rank in range(2)]
        if sum(each.wait() for each in both):
            sys.exit(f"{name}: a process failed")
    if find_spec("distributed") is None:
        print("dask is not installed, or its distributed scheduler is not")
    else:
        in_dask()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["torch", rank, port]:
            in_torch(int(rank), int(port))
        case ["jax", rank, port]:
            in_jax(int(rank), int(port))
        case _:
            main()
