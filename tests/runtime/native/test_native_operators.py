"""Operators with C kernels, and expressions, keep what operators keep: opcheck, gradients, fakes, copies, plug-ins."""

from __future__ import annotations

import copy
import importlib
import json
import operator as operators
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
import seeds
from native_projects import EXAMPLE, build

import opwright
from opwright.autograd import gradcheck
from opwright.func import functionalize, vmap
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import opcheck

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
PROJECTS = {"kernels": EXAMPLE, "lines": EXAMPLE.parent / "expressions"}
DECLARED = re.compile(r"^- func: \w+::(\w+)", re.MULTILINE)
OPERATORS = [
    f"{kind}.{name}" for kind, path in PROJECTS.items() for name in DECLARED.findall((path / "ops.yaml").read_text())
]
SMOOTH = ("kernels.axpy", "lines.axpy", "lines.fused", "lines.swish", "lines.huber")


def floats(*shape: int, grad: bool = False) -> Any:
    values = seeds.numpy_generator(len(shape) + sum(shape)).random(shape) + 0.1
    return opwright.tensor(values.tolist(), dtype=opwright.float64, requires_grad=grad)


def sample(name: str, grad: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments of a call."""
    match name:
        case "kernels.axpy" | "lines.axpy":
            return [floats(2, 3, grad=grad), floats(2, 3, grad=grad)], {"alpha": 0.5}
        case "kernels.wave":
            return [floats(2, 3)], {"damping": 0.2}
        case "kernels.centred_rows":
            return [floats(3, 4), floats(4)], {}
        case "kernels.running_max" | "kernels.moments":
            return [floats(3, 4)], {}
        case "kernels.adamw_step":
            return [floats(3, 2) for _ in range(4)], {"step": 2}
        case "kernels.scale_":
            return [floats(3, 2), 2.0], {}
        case "kernels.nll_rows":
            return [floats(3, 2), opwright.tensor([0, 1, 1]), floats(2)], {}
        case "lines.fused":
            return [floats(3, 2, grad=grad), *(floats(*shape, grad=grad) for shape in [(2,), (3, 1), (1, 2)])], {}
        case "lines.swish":
            return [floats(2, 3, grad=grad)], {"beta": 0.5}
        case "lines.huber":
            return [floats(2, 3, grad=grad), floats(3, grad=grad)], {"delta": 0.2}
        case "lines.within":
            return [floats(2, 3), floats(2, 3) - 0.1, floats(2, 3) * 2], {}
        case "lines.bucket":
            return [opwright.tensor([-5, 0, 70_000]), 8], {}
    raise AssertionError(f"no arguments are known for {name}: add some")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, built under names of their own."""
    made = tmp_path_factory.mktemp("operators")
    for kind, example in PROJECTS.items():
        project = made / kind
        shutil.copytree(example, project, ignore=shutil.ignore_patterns("*_demo", "__pycache__", ".*"))
        for path in (*project.glob("*.*"), *project.glob("csrc/*")):
            path.write_text(re.sub("(native|expression)_demo", f"kept_{kind}", path.read_text()))
        build(project)
    return made


@pytest.fixture(scope="module")
def ops(folder: Path) -> Iterator[dict[str, Any]]:
    """The operators by the names above."""
    places = [str(folder / kind) for kind in PROJECTS]
    sys.path[:0] = places
    for kind in PROJECTS:
        importlib.import_module(f"kept_{kind}")
    yield {name: operators.attrgetter(f"kept_{name}")(opwright.ops) for name in OPERATORS}
    for place in places:
        sys.path.remove(place)


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
def test_opcheck_and_gradients(ops: dict[str, Any], name: str) -> None:
    """Schema, registration of autograd, fakes, and what tracing records."""
    operator = ops[name].default
    arguments, named = sample(name)
    assert set(opcheck(operator, tuple(arguments), named).values()) == {"SUCCESS"}
    if name in SMOOTH:
        assert gradcheck(lambda *given: operator(*given, **named), tuple(sample(name, grad=True)[0]))


@pytest.mark.parametrize("name", OPERATORS)
def test_plain_arrays_and_tensors_agree(ops: dict[str, Any], name: str) -> None:
    operator = ops[name]
    assert called(operator, name) == called(operator, name, np.asarray)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex128])
def test_plain_arrays_of_other_dtypes_and_tensors_agree(ops: dict[str, Any], name: str, dtype: Any) -> None:
    """Each argument in turn has another dtype: the same values, or the same error."""

    def outcome(index: int, convert: Any) -> Any:
        arguments, named = sample(name)
        given = [np.asarray(each) if isinstance(each, opwright.Tensor) else each for each in arguments]
        given[index] = given[index].astype(dtype)
        try:
            return flat(
                ops[name](*(convert(each) if isinstance(each, np.ndarray) else each for each in given), **named)
            )
        except Exception as error:
            return type(error), str(error)

    for index in [i for i, each in enumerate(sample(name)[0]) if isinstance(each, opwright.Tensor)]:
        assert outcome(index, np.asarray) == outcome(index, opwright.from_numpy), index


@pytest.mark.parametrize("name", OPERATORS)
def test_a_batch_is_its_samples(ops: dict[str, Any], name: str) -> None:
    operator = ops[name]
    arguments, named = sample(name)
    tensors = [place for place, value in enumerate(arguments) if isinstance(value, opwright.Tensor)]
    places = [place for place in tensors if place != 1 or name in SMOOTH]  # (targets are those of all samples)
    batched = [opwright.stack([v, v * 2]) if place in places else v for place, v in enumerate(arguments)]
    in_dims = tuple(0 if place in places else None for place in range(len(arguments)))

    def program(*given: Any) -> Any:
        """Return what it returns, and what it writes to."""
        own = [each.clone() if isinstance(each, opwright.Tensor) else each for each in given]
        results = operator(*own, **named)
        found = list(results) if isinstance(results, tuple) else [] if results is None else [results]
        return (*found, *(own[place] * 1 for place in places))

    if name == "kernels.adamw_step":  # as every operator that returns nothing
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
def test_transforms_change_nothing(ops: dict[str, Any], name: str) -> None:
    """Functionalized, traced and run, and in a region of autocast."""
    operator = ops[name]
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
    assert f"kept_{name}" in traced.code
    with opwright.autocast("cpu", dtype=opwright.bfloat16):
        assert flat(program(*arguments)) == wanted


@pytest.mark.parametrize("name", OPERATORS)
def test_copies_are_the_operator(ops: dict[str, Any], name: str) -> None:
    """Operators are pickled by name; tensors that they made, as tensors."""
    operator = ops[name].default
    assert pickle.loads(pickle.dumps(operator)) is operator
    assert copy.deepcopy(operator) is operator
    arguments, named = sample(name)
    result = operator(*arguments, **named)
    made = (*arguments, *(result if isinstance(result, tuple) else [result]))
    for tensor in (each for each in made if isinstance(each, opwright.Tensor)):
        for again in (pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor)):
            assert again.tolist() == tensor.tolist() and again.dtype == tensor.dtype


@pytest.mark.parametrize("kind", PROJECTS)
def test_a_plug_in_brings_its_library(folder: Path, kind: str) -> None:
    """A distribution names the package as an entry point: nothing imports it, and its operators are there."""
    information = folder / kind / f"kept_{kind}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: kept-demo\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[opwright.kernels]\nkept = kept_{kind}\n")
    code = (
        "import json, opwright\n"
        "x = opwright.ones(3)\n"
        f"found = opwright.ops.kept_{kind}.axpy(x, x, alpha=2.0).tolist()\n"
        f"import kept_{kind}.native as native\n"
        "served = native.axpy.fast(*[x.array] * 2, 2.0, None) is not NotImplemented\n"
        "print(json.dumps([found, [str(each) for each in opwright.plugins.loaded()], served]))"
    )
    path = os.pathsep.join([str(folder / kind), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if k != "OPWRIGHT_PLUGINS"} | {"PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, plugins, served = json.loads(done.stdout)
    assert served
    assert values == [3.0] * 3
    assert any("kept-demo 1.0" in each for each in plugins)
