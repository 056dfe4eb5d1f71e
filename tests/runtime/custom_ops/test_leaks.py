"""What operators leave behind when they are dropped: nothing."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from opwright import Tensor, ones, ops
from opwright.library import CustomOpDef, custom_op
from opwright_core.dispatch.registry.tables import registry

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


def define(name: str, default: float = 1.0) -> CustomOpDef:
    def function(x: Tensor, scale: float = default) -> Tensor:
        return x * scale

    op: CustomOpDef = custom_op(f"dropped::{name}", function, mutates_args=())
    return op


def define_use_and_drop(number: int, x: Tensor, leaf: Tensor) -> None:
    """All that an operator can have, called in every way. The declaration of each tenth is its own: for these code is
    rendered, and dropped with them."""
    op = define(f"f{number}", 1.0 if number % 10 else float(number))
    op(x)
    op.register_kernel("cpu", lambda x, scale: x + 1)
    op.register_fake(lambda x, scale: x.new_empty(x.shape))
    op.register_vmap(lambda info, in_dims, x, scale: (x, in_dims[0]))
    op.register_autocast("cpu", x.dtype)
    op.register_autograd(
        lambda ctx, grad: (grad * ctx.saved_tensors[0], None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:1]),
    )
    op(leaf).sum().backward()
    getattr(ops.dropped, f"f{number}").default(x)


def main(count: int) -> None:
    """Print by how much the resident memory grew, in MB, after a tenth as many operators for caches to fill."""
    x, leaf = ones(4), ones(4).requires_grad_()
    kept = define("kept")
    kept(leaf)  # the others share its code

    def resident() -> float:
        gc.collect()
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096 / 1e6

    for number in range(count // 10):
        define_use_and_drop(number, x, leaf)
    before = resident()
    for number in range(count // 10, count + count // 10):
        define_use_and_drop(number, x, leaf)
    print(resident() - before)
    del kept


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_of_thousands_of_operators_returns() -> None:
    command = [sys.executable, __file__]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert float(found) < 2.5  # half a kilobyte for each is more than is lost


def test_no_table_remembers_a_dropped_operator() -> None:
    define_use_and_drop(7, ones(2), ones(2).requires_grad_())
    gc.collect()
    for table in (registry.operators, registry.overloads, registry.kernels):
        assert not [name for name in table if name.startswith("dropped::")]


if __name__ == "__main__":
    main(4_000)
