"""`python -m benchmarks.scaling [ENGINE …]`: weak scaling on two processes of DTensor, JAX and Dask.

A stencil that is cut along its windows, a contraction along what is summed, a softmax along rows: one process with N
elements, one with 2 N, two with 2 N. For each the most memory that a process took beyond its imports, the time of a
call, and the bytes that one process sent, beside those that the dimension rule says. Two processes want two free cores.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

SCHEMAS = """
- func: scaling::stencil(Tensor self, int radius) -> Tensor
  meta: scan(self, -1, accepts="floating")
  dims: windows(self, dim=-1, before=radius, after=radius); batched by leading((self, 1))
  dispatch: {CPU: "scaling_kernels:stencil"}
- func: scaling::mix(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(m,k),(k,n)->(m,n)", a, b, accepts="floating")
  dims: m k, k n -> m n; k sum
  dispatch: {CPU: a @ b}
- func: scaling::softmax(Tensor self) -> Tensor
  meta: scan(self, -1, accepts="floating")
  dims: leading((self, 1)); batched
  dispatch: {CPU: "scaling_kernels:softmax"}
"""
KERNELS = """
import numpy as np
def stencil(self, radius):
    total = self.copy()
    for shift in range(1, radius + 1):
        total[..., shift:] += self[..., :-shift]
        total[..., :-shift] += self[..., shift:]
    return total
def softmax(self):
    found = self - self.max(-1, keepdims=True)
    np.exp(found, out=found)
    found /= found.sum(-1, keepdims=True)
    return found
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
output = "scaling_ops"
kernels = ["scaling_kernels"]
bindings = ["torch", "dask", "jax"]
"""
ENGINES = ("torch", "jax", "dask")
ROUNDS, RADIUS, ROWS, SIDE = 3, 2, 8, 256
# For each work, of one process: shapes of its operands, which dimension of each is cut, other arguments.
WORKS: dict[str, tuple[list[tuple[int, ...]], list[int], list[Any]]] = {
    "stencil": ([(ROWS, 1 << 20)], [1], [RADIUS]),
    "mix": ([(SIDE, 1 << 15), (1 << 15, SIDE)], [1, 0], []),
    "softmax": ([(1 << 11, 1 << 12)], [0], []),
}
# Bytes that a process of two sends, by the rule: the edge of its block, a share of a sum, nothing. (JAX's programs are
# one for all devices, and send what windows need on both sides.)
RULE = {"stencil": RADIUS * ROWS * 4, "mix": SIDE * SIDE * 4, "softmax": 0}
Told = dict[str, Any]


def main(engines: Sequence[str]) -> None:
    print("| engine | work | processes, elements of each | memory beyond imports, MB | ms | bytes sent | by the rule |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for name, text in (("ops.yaml", SCHEMAS), ("scaling_kernels.py", KERNELS), ("pyproject.toml", SETTINGS)):
            Path(folder, name).write_text(text, encoding="utf-8")
        subprocess.run([sys.executable, "-m", "opwright_codegen.cli", "generate"], cwd=folder, check=True)
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *sys.path])
        for engine in engines:
            for work, (shapes, _, _) in WORKS.items():
                size = math.prod(shapes[0])
                for count, times in ((1, 1), (1, 2), (2, 1)):
                    told = measured(engine, work, count, times)
                    sent = max(each["sent"] for each in told)
                    megabytes = ", ".join(f"{each['memory'] / 1e6:.0f}" for each in told)
                    seconds = max(each["seconds"] for each in told)
                    rule = RULE[work] * (2 if (engine, work) == ("jax", "stencil") else 1) if count > 1 else 0
                    said = f"{count} × {size * times / 1e6:.1f}·10⁶"
                    print(f"| {engine} | {work} | {said} | {megabytes} | {1e3 * seconds:.0f} | {sent} | {rule} |")
                    sys.stdout.flush()


def measured(engine: str, work: str, count: int, times: int) -> list[Told]:
    """Return what each process tells."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    ranks = range(count if engine != "dask" else 1)
    words = [[sys.executable, "-W", "ignore", "-m", __spec__.name, "--of", f"{engine} {work} {count} {times} {rank} {port}"] for rank in ranks]  # fmt: skip # noqa: E501
    running = [subprocess.Popen(each, stdout=subprocess.PIPE, stderr=None, text=True) for each in words]
    told = [each.communicate()[0].splitlines()[-1] for each in running]
    found = [json.loads(each) for each in told]
    return found if engine != "dask" else found[0]


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def local(work: str, times: int, rank: int) -> list[np.ndarray[Any, Any]]:
    """Return a process's own blocks of the operands, `times` as long."""
    random = np.random.default_rng(rank)
    shapes, dims, _ = WORKS[work]
    sizes = [tuple(size * times if dim == at else size for at, size in enumerate(shape)) for shape, dim in zip(shapes, dims, strict=True)]  # fmt: skip # noqa: E501
    return [random.random(size, dtype=np.float32) for size in sizes]


def timed(call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[ROUNDS // 2]


def in_torch(work: str, count: int, times: int, rank: int, port: int) -> Told:
    import scaling_ops_torch  # noqa: F401
    import torch
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor, Replicate, Shard, init_device_mesh
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Sent(TorchDispatchMode):
        """The bytes that collectives are given."""

        bytes = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if DTensor in types:
                return NotImplemented
            if function.namespace == "_c10d_functional" and not re.search("wait|wrap", function.name()):
                tensors = [each for each in tree_leaves(args) if isinstance(each, torch.Tensor)]
                self.bytes += sum(each.numel() * each.element_size() for each in tensors)
            return function(*args, **(kwargs or {}))

    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=count)
    mesh = init_device_mesh("cpu", (count,))
    before = peak()
    _, dims, rest = WORKS[work]
    operands = [
        DTensor.from_local(torch.from_numpy(block), mesh, [Shard(dim)], run_check=False)
        for block, dim in zip(local(work, times, rank), dims, strict=True)
    ]

    def call() -> None:
        found = getattr(torch.ops.scaling, work)(*operands, *rest)
        if found.placements[0].is_partial():
            found = found.redistribute(mesh, [Replicate()])
        found.to_local()

    with Sent() as sent:
        call()
    told = {"seconds": timed(call), "sent": sent.bytes if count > 1 else 0, "memory": peak() - before}
    dist.barrier()
    dist.destroy_process_group()
    return told


def in_jax(work: str, count: int, times: int, rank: int, port: int) -> Told:
    import jax

    if count > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{port}", num_processes=count, process_id=rank)
    import scaling_ops_jax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((count,), ("x",))
    jax.jit(lambda: jax.numpy.zeros(3))().block_until_ready()
    before = peak()
    _, dims, rest = WORKS[work]
    operands = []
    for block, dim in zip(local(work, times, rank), dims, strict=True):
        lies = NamedSharding(mesh, PartitionSpec(*["x" if at == dim else None for at in range(block.ndim)]))
        shape = tuple(size * count if at == dim else size for at, size in enumerate(block.shape))
        operands.append(jax.make_array_from_single_device_arrays(shape, lies, [jax.device_put(block)]))
    with jax.set_mesh(mesh):
        function = getattr(scaling_ops_jax, work)
        compiled = jax.jit(lambda *given: function(*given, *rest)).lower(*operands).compile()
        jax.block_until_ready(compiled(*operands))
        seconds = timed(lambda: jax.block_until_ready(compiled(*operands)))
    found = re.findall(r"= (\S+) (all-reduce|all-gather|collective-permute)\((.*)", compiled.as_text())
    sent = sum(_bytes(shape) for shape, kind, rest in found if kind != "collective-permute" or f"{{{rank}," in rest)
    return {"seconds": seconds, "sent": sent, "memory": peak() - before}


def _bytes(shape: str) -> int:
    (sizes,) = re.findall(r"f32\[([\d,]*)\]", shape)
    return 4 * math.prod(map(int, filter(None, sizes.split(","))))


def in_dask(work: str, count: int, times: int, *_: int) -> list[Told]:
    import dask
    import dask.array as da
    import scaling_ops_dask
    from dask.distributed import Client, LocalCluster, wait

    dask.config.set({"distributed.scheduler.work-stealing": False})
    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster, Client(cluster) as client:  # fmt: skip # noqa: E501
        client.run(_imports)
        workers = list(client.scheduler_info()["workers"])
        before = client.run(peak)
        shapes, dims, rest = WORKS[work]
        own = [client.submit(local, work, times, rank, workers=[each]) for rank, each in enumerate(workers)]
        operands = []
        for place, dim in enumerate(dims):
            blocks = [client.submit(_of, each, place, workers=[at]) for each, at in zip(own, workers, strict=True)]
            wait(blocks)
            shape = tuple(size * times if at == dim else size for at, size in enumerate(shapes[place]))
            parts = [da.from_delayed(dask.delayed(each), shape, np.float32) for each in blocks]
            operands.append(da.concatenate(parts, dim))
        del own
        operands = [each.persist() for each in operands]
        wait(operands)
        function = getattr(scaling_ops_dask, work)

        def call() -> None:
            wait(function(*operands, *rest).persist())

        call()  # (small results of scheduling, and code, go once)
        start = client.run(_sent)
        call()
        end = client.run(_sent)
        seconds = timed(call)
        after = client.run(peak)
    return [
        {"seconds": seconds, "sent": end[each] - start[each], "memory": after[each] - before[each]} for each in workers
    ]


def _imports() -> None:
    for name in ("dask.array", "scaling_ops"):
        importlib.import_module(name)


def _of(blocks: Sequence[Any], place: int) -> Any:
    return blocks[place]


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("engines", nargs="*", choices=[*ENGINES, []], help="which; all when none is named")
    parser.add_argument("--of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        engine, work, *numbers = options.of.split()
        print(json.dumps({"torch": in_torch, "jax": in_jax, "dask": in_dask}[engine](work, *map(int, numbers))))
    else:
        main(options.engines or ENGINES)
