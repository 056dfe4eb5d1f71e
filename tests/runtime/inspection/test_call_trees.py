"""`opwright.trace_calls`: which kernels ran, at which keys, who registered them, and what they called."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import opwright
from opwright.inspection.call_trees import Call, CallTree
from opwright_core.dispatch.registry.tables import registry

PAGE = Path(__file__).parents[3] / "docs" / "call-trees.md"


def test_the_page_shows_what_its_examples_print() -> None:
    """But for lines of schema files, which move."""
    blocks = re.findall(r"^```(python)?\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    compared = 0
    for (language, code), (other, shown) in itertools.pairwise(blocks):
        if not (language and not other):
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        lines = [re.sub(r"yaml:\d+", "yaml", text).split("\n") for text in (printed.getvalue(), shown)]
        assert [line.split() for line in lines[0]] == [line.split() for line in lines[1]]
        compared += 1
    assert compared == 2


def test_calls_know_keys_kernels_and_callers() -> None:
    x = opwright.ones(3, requires_grad=True)
    with opwright.trace_calls(times=True, hashes=True) as calls:
        y = x.mul(x)
        y.sum().backward()
    outer = calls.calls[0]
    assert (outer.operator, outer.key, outer.rule) == ("aten::mul.Tensor", "AutogradCPU", "autograd kernel")
    assert (outer.arguments, outer.results, outer.error) == (["f32[3]", "f32[3]"], ["f32[3]"], None)
    assert outer.keys == [["AutogradCPU", "ADInplaceOrView", "CPU"]] * 2
    (inner,) = outer.calls
    assert (inner.operator, inner.key, inner.calls) == ("aten::mul.Tensor", "CPU", [])
    assert outer.where == inner.where and outer.where.startswith("schemas/pointwise.yaml:")
    assert outer.seconds is not None and inner.seconds is not None and outer.seconds >= inner.seconds > 0
    assert outer.digest == inner.digest
    backward = [each.operator for each in calls if each.key == "CPU"][2:]
    assert backward.count("aten::mul.Tensor") == 2 and "aten::add.Tensor" in backward


def test_hashes_tell_results_apart() -> None:
    def digest(value: object) -> str | None:
        with opwright.trace_calls(hashes=True) as calls:
            opwright.add(opwright.as_tensor(value), 0)
        return calls.calls[-1].digest

    array = np.arange(6.0).reshape(2, 3)
    same = digest(array)
    assert same == digest(array.copy()) == digest(np.asfortranarray(array))
    others = [digest(each) for each in (array + 1, array.reshape(3, 2), array.astype("float32"))]
    assert len({same, *others}) == 4


def test_errors_are_in_the_tree() -> None:
    with opwright.trace_calls() as calls, pytest.raises(RuntimeError):
        opwright.add(opwright.ones(3), opwright.ones(4))
    error = calls.calls[-1].error
    assert error is not None and error.startswith("RuntimeError: The size of tensor a (3)")
    assert error in str(calls)


def test_plain_arrays_and_operators_of_ones_own() -> None:
    with opwright.library._scoped_library("traced", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x.mul(2), "CompositeImplicitAutograd")
        with opwright.trace_calls() as calls:
            opwright.ops.traced.twice(opwright.ones(2))
            assert opwright.add(np.ones(2), np.ones(2)).tolist() == [2, 2]
    own, plain = calls.calls[1:]
    assert own.operator == "traced::twice" and [each.operator for each in own.calls] == ["aten::mul.Scalar"]
    assert Path(__file__).name in own.where
    assert (plain.operator, plain.results) == ("aten::add.Tensor", ["f64[2]"])


def test_a_block_sees_its_own_thread_and_nothing_else() -> None:
    inside, done = threading.Event(), threading.Event()

    def elsewhere() -> None:
        inside.wait()
        opwright.add(opwright.ones(5), 1)
        done.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with opwright.trace_calls() as calls:
        opwright.neg(opwright.ones(2))
        inside.set()
        done.wait()
        with opwright.trace_calls() as within:
            opwright.abs(opwright.ones(2))
    thread.join()
    assert {each.operator for each in calls} == {"aten::ones", "aten::neg"}
    assert {each.operator for each in within} == {"aten::ones", "aten::abs"}


def test_nothing_is_left_behind() -> None:
    """Kernels are composed without what watches them before a block and after it, whatever ended it."""
    x = opwright.ones(2)
    kernels = []
    for _ in range(2):
        opwright.neg(x)
        kernels.append(opwright.ops.aten.neg.default.table[x.keys])
        with pytest.raises(KeyError), opwright.trace_calls():
            opwright.neg(x)
            kernels.append(opwright.ops.aten.neg.default.table[x.keys])
            raise KeyError
        assert registry.watch is None
    names = [getattr(each, "__qualname__", "") for each in kernels]
    assert [name.startswith("_watched") for name in names] == [False, True, False, True]


def test_data_and_text() -> None:
    with opwright.trace_calls() as calls:
        opwright.func.vmap(opwright.sum)(opwright.ones(2, 3))
    data = json.loads(json.dumps(calls.as_dicts()))
    assert data[1]["operator"] == "aten::sum" and data[1]["calls"][0]["calls"] is not None
    assert len(list(calls)) == str(calls).count("\n") + 1
    assert (str(CallTree()), list(CallTree())) == ("", [])
    odd = Call("a::<b>", "CPU", "kernel", "f.yaml:1", ["'&'"], [], results=["<"])
    tree = CallTree()
    tree.calls.append(odd)
    assert str(tree).startswith("a::<b>('&') → <")


@pytest.mark.parametrize("said, has_times, has_digests", [("1", False, False), ("times,hashes", True, True)])
def test_a_whole_program(said: str, has_times: bool, has_digests: bool) -> None:
    program = "import opwright; x = opwright.ones(2, 2); print(opwright.softmax(x, 0).sum().item())"
    environment = {"OPWRIGHT_TRACE": said, "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "2.0\n"
    lines = run.stderr.splitlines()
    assert [line for line in lines if line.startswith("aten::softmax.int")] and "└─ aten::_softmax" in run.stderr
    assert all(("µs" in line, "#" in line) == (has_times, has_digests) for line in lines)
