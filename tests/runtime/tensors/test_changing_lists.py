"""Lists that an element empties while they are read: an error or a result, never a crash of the interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Each use of a list runs with each hook, flat and nested. Errors are right; only a crash is wrong.
PROGRAM = """
import sys
import numpy as np
import opwright
from opwright.library import custom_op

HOOKS = {"__array__": np.array(1), "__len__": 1, "__index__": 1, "__float__": 1.0, "__int__": 1, "__bool__": True}

@custom_op("changing::twice", mutates_args=())
def twice(x: np.ndarray) -> np.ndarray:
    return x * 2

@custom_op("changing::made", mutates_args=())
def made(x: np.ndarray) -> np.ndarray:
    return current

def element(hook, base, lists):
    def empty(self, *args, **options):
        for each in lists:
            each.clear()
        [bytearray(64) for _ in range(40)]
        return HOOKS[hook]
    methods = {hook: empty} | ({"__getitem__": lambda self, place: [0][place]} if hook == "__len__" else {})
    return type("Element", (base,), methods)()

def given(hook, base, nested):
    lists = []
    items = [element(hook, base, lists) for _ in range(12)]
    lists.append(items)
    if nested == "none":
        return items
    return [items, [0] * 12] if nested == "first" else [[0] * 12, items]

x = opwright.arange(24)
y = opwright.ones(3)
USES = [
    lambda v: x[v],
    lambda v: x[v,],
    lambda v: x.__setitem__(v, 1),
    lambda v: x.__setitem__(slice(None), v),
    lambda v: opwright.tensor(v),
    lambda v: opwright.tensor(v, dtype=opwright.float32),
    lambda v: opwright.as_tensor(v),
    lambda v: opwright.asarray(v),
    lambda v: opwright.ones(v),
    lambda v: x.reshape(v),
    lambda v: x.permute(v),
    lambda v: opwright.sum(x, v),
    lambda v: opwright.cat(v),
    lambda v: opwright.stack(v),
    lambda v: opwright.einsum("i,i->", v),
    lambda v: x.index_put((v,), y),
    lambda v: opwright.add(x, v),
    lambda v: x + v,
    lambda v: x == v,
    lambda v: opwright.where(v, x, x),
    lambda v: opwright.isin(x, v),
    lambda v: twice(v),
    lambda v: made(np.ones(2)),
    lambda v: opwright.Generator().set_state(v),
    lambda v: x.new_tensor(v),
    lambda v: opwright.testing.assert_close(v, v),
    lambda v: np.add(x, v),
    lambda v: np.maximum(v, x),
    lambda v: np.take(x, v),
    lambda v: np.repeat(x, v),
    lambda v: np.concatenate([x, v]),
]
for hook in HOOKS:
    for base in (object, float):
        for nested in ("none", "first", "last"):
            for use in USES:
                current = given(hook, base, nested)
                try:
                    use(current)
                except Exception:
                    pass
print("done")
"""


@pytest.mark.parametrize("pure", ["0", "1"])
def test_no_use_of_a_changing_list_crashes(pure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_PURE", pure)
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", PROGRAM]
    found = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert found.stdout == "done\n", found.stderr[-2000:]
