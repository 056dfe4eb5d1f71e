"""A program of its own: threads that load rooms at once, each by another first call (Note [Packages and their parts]).

`python first_imports.py SEED`. Finding a module takes a while here, so that threads meet within the imports.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

import numpy as np

import opwright

X = opwright.ones(3, 3)


class _Slow:
    """A finder that finds nothing, slowly."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name.startswith("opwright"):
            time.sleep(0.0005)


def _define_custom() -> None:
    opwright.library.custom_op("first_imports::f", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")


def _checkpoint() -> None:
    opwright.utils.checkpoint.checkpoint(opwright.sin, X, use_reentrant=False)


CALLS: tuple[Callable[[], object], ...] = (
    lambda: opwright.fake.FakeTensorMode(),
    lambda: opwright.ones(2, device="meta") + 1,
    lambda: opwright.randint_like(X, 5),
    lambda: opwright.vmap(opwright.sin)(X),
    lambda: opwright.func.grad(lambda x: x.sum())(X),
    lambda: opwright.func.functionalize(lambda x: x.add_(1))(X.clone()),
    lambda: opwright.fx.make_fx(opwright.sin)(X),
    lambda: opwright.autocast("cpu", opwright.bfloat16).__enter__(),
    lambda: opwright.amp.custom_fwd,
    lambda: opwright.is_autocast_enabled("cpu"),
    lambda: opwright.python_dispatch.TorchDispatchMode,
    lambda: opwright.symbolic.ShapeEnv(),
    lambda: opwright.rules.convolution,
    lambda: opwright.rules.pointwise,
    lambda: opwright.nn.functional.conv2d(opwright.ones(1, 1, 4, 4), opwright.ones(1, 1, 2, 2)),
    lambda: opwright.max_pool2d(opwright.ones(1, 1, 4, 4), 2),
    lambda: opwright.softmax(X, 0),
    lambda: opwright.gather(X, 0, opwright.zeros(1, 1, dtype=opwright.int64)),
    lambda: opwright.linalg.qr(X),
    lambda: opwright.library.opcheck,
    lambda: opwright.testing.samples,
    lambda: opwright.testing.opcheck_all,
    lambda: opwright.library.get_ctx(),
    lambda: opwright.autograd.gradcheck,
    lambda: opwright.utils._pytree,
    _define_custom,
    _checkpoint,
    lambda: opwright.fake_profile,
    lambda: opwright.array_api.asarray(np.ones(2)),
)  # fmt: skip


def main(seed: int) -> None:
    sys.setswitchinterval(1e-5)
    sys.meta_path.insert(0, _Slow)  # type: ignore[arg-type]
    calls = random.Random(seed).sample(CALLS, len(CALLS))
    barrier = threading.Barrier(len(calls))
    errors: list[str] = []

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except BaseException as error:
            errors.append(f"{call.__code__.co_name}:{call.__code__.co_firstlineno}: {error!r}")

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "hangs"
    assert not errors, "\n".join(errors)
    assert import_module("opwright.fake").FakeTensor
    print(f"{len(calls)} first calls")


if __name__ == "__main__":
    main(int(sys.argv[1]))
