"""Operators with C kernels keep what operators keep: opcheck, gradients, transforms, fakes, copies, plug-ins."""

from __future__ import annotations

import copy
import importlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_projects import EXAMPLE, build

import opwright
from opwright.autograd import gradcheck
from opwright.func import functionalize, vmap
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import opcheck

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
OPERATORS = re.findall(r"^- func: native_demo::(\w+)", (EXAMPLE / "ops.yaml").read_text(), re.MULTILINE)


def floats(*shape: int, grad: bool = False) -> Any:
    values = np.random.default_rng(len(shape) + sum(shape)).random(shape) + 0.1
    return opwright.tensor(values.tolist(), dtype=opwright.float64, requires_grad=grad)


def sample(name: str, grad: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments of a call."""
    match name:
        case "axpy":
            return [floats(2, 3, grad=grad), floats(2, 3, grad=grad)], {"alpha": 0.5}
        case "running_max" | "moments":
            return [floats(3, 4)], {}
        case "adamw_step":
            return [floats(3, 2) for _ in range(4)], {"step": 2}
        case "scale_":
            return [floats(3, 2), 2.0], {}
        case "nll_rows":
            return [floats(3, 2), opwright.tensor([0, 1, 1]), floats(2)], {}
    raise AssertionError(f"no arguments are known for {name}: add some")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example under a name of its own."""
    made = tmp_path_factory.mktemp("operators") / "project"
    shutil.copytree(EXAMPLE, made, ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    for path in (*made.glob("*.*"), *made.glob("csrc/*")):
        path.write_text(path.read_text().replace("native_demo", "kept_demo"))
    build(made)
    return made


@pytest.fixture(scope="module")
def ops(folder: Path) -> Iterator[Any]:
    sys.path.insert(0, str(folder))
    importlib.import_module("kept_demo")
    yield opwright.ops.kept_demo
    sys.path.remove(str(folder))


def flat(result: Any) -> list[Any]:
    found = result if isinstance(result, tuple) else [] if result is None else [result]
    return [each.detach().tolist() if isinstance(each, opwright.Tensor) else each.tolist() for each in found]


def called(operator: Any, name: str, convert: Any = lambda value: value) -> list[Any]:
    """Return the results of a call with the sample, and what the arguments then are."""
    arguments, named = sample(name)
    given = [convert(value) if isinstance(value, opwright.Tensor) else value for value in arguments]
    found = flat(operator(*given, **named))
    return [found, [each.tolist() if hasattr(each, "tolist") else each for each in given]]


@pytest.mark.parametrize("name", OPERATORS)
def test_opcheck_and_gradients(ops: Any, name: str) -> None:
    """Schema, registration of autograd, fakes, and what tracing records."""
    operator = getattr(ops, name).default
    arguments, named = sample(name)
    assert set(opcheck(operator, tuple(arguments), named).values()) == {"SUCCESS"}
    if name == "axpy":
        assert gradcheck(lambda *given: operator(*given, **named), tuple(sample(name, grad=True)[0]))


@pytest.mark.parametrize("name", OPERATORS)
def test_plain_arrays_and_tensors_agree(ops: Any, name: str) -> None:
    operator = getattr(ops, name)
    assert called(operator, name) == called(operator, name, np.asarray)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_batch_is_its_samples(ops: Any, name: str) -> None:
    operator = getattr(ops, name)
    arguments, named = sample(name)
    tensors = [place for place, value in enumerate(arguments) if isinstance(value, opwright.Tensor)]
    places = [place for place in tensors if place != 1 or name == "axpy"]  # (targets are those of all samples)
    batched = [opwright.stack([v, v * 2]) if place in places else v for place, v in enumerate(arguments)]
    in_dims = tuple(0 if place in places else None for place in range(len(arguments)))

    def program(*given: Any) -> Any:
        """Return what it returns, and what it writes to."""
        own = [each.clone() if isinstance(each, opwright.Tensor) else each for each in given]
        results = operator(*own, **named)
        found = list(results) if isinstance(results, tuple) else [] if results is None else [results]
        return (*found, *(own[place] * 1 for place in places))

    if name == "adamw_step":  # as every operator that returns nothing
        with pytest.raises(RuntimeError, match="cannot be called for each sample in turn: it writes to its arguments"):
            vmap(program, in_dims=in_dims)(*batched)
        return
    alone = [flat(program(*(v[at] if place in places else v for place, v in enumerate(batched)))) for at in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what writes has no rule: it is called for each sample
        found = flat(vmap(program, in_dims=in_dims)(*batched))
    assert len(found) == len(alone[0]) > 0
    for place, each in enumerate(found):
        np.testing.assert_allclose(each, [one[place] for one in alone], rtol=1e-12)


@pytest.mark.parametrize("name", OPERATORS)
def test_transforms_change_nothing(ops: Any, name: str) -> None:
    """Functionalized, traced and run, and in a region of autocast."""
    operator = getattr(ops, name)
    arguments, named = sample(name)
    expected = called(operator, name)

    def program(*given: Any) -> Any:
        own = [each.clone() if isinstance(each, opwright.Tensor) else each for each in given]
        results = operator(*own, **named)
        found = list(results) if isinstance(results, tuple) else [] if results is None else [results]
        return (*found, *(each * 1 for each in own if isinstance(each, opwright.Tensor)))

    wanted = flat(program(*arguments))
    assert wanted[: len(expected[0])] == expected[0]
    assert flat(functionalize(program)(*arguments)) == wanted
    traced = make_fx(program)(*arguments)
    assert flat(tuple(traced(*arguments))) == wanted
    assert f"kept_demo.{name}" in traced.code
    with opwright.autocast("cpu", dtype=opwright.bfloat16):
        assert flat(program(*arguments)) == wanted


@pytest.mark.parametrize("name", OPERATORS)
def test_copies_are_the_operator(ops: Any, name: str) -> None:
    """Operators are pickled by name; tensors that they made, as tensors."""
    operator = getattr(ops, name).default
    assert pickle.loads(pickle.dumps(operator)) is operator
    assert copy.deepcopy(operator) is operator
    arguments, named = sample(name)
    result = operator(*arguments, **named)
    made = (*arguments, *(result if isinstance(result, tuple) else [result]))
    for tensor in (each for each in made if isinstance(each, opwright.Tensor)):
        for again in (pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor)):
            assert again.tolist() == tensor.tolist() and again.dtype == tensor.dtype


def test_a_plug_in_brings_its_library(folder: Path) -> None:
    """A distribution names the package as an entry point: nothing imports it, and its operators are there."""
    information = folder / "kept_demo-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: kept-demo\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[opwright.kernels]\nkept = kept_demo\n")
    code = (
        "import json, opwright\n"
        "x = opwright.ones(3)\n"
        "found = opwright.ops.kept_demo.axpy(x, x, alpha=2.0).tolist()\n"
        "print(json.dumps([found, [str(each) for each in opwright.plugins.loaded()]]))"
    )
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if k != "OPWRIGHT_PLUGINS"} | {"PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, plugins = json.loads(done.stdout)
    assert values == [3.0] * 3
    assert any("kept-demo 1.0" in each for each in plugins)
