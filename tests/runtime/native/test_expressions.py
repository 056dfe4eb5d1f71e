"""Operators of one expression: what follows from it without a library, and what derivatives it has."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from known_versions import OLDER

import opwright
from opwright.autograd import gradcheck, gradgradcheck
from opwright.func import vmap
from opwright.library import opcheck
from opwright_codegen.cli import main
from opwright_codegen.expressions.functions import FUNCTIONS, Result

EXAMPLE = Path(__file__).parents[3] / "examples" / "expressions"
SMOOTH = [name for name, found in FUNCTIONS.items() if found.result in (Result.SAME, Result.FLOAT)]
# Where functions are smooth that are not so everywhere.
PLACES = {"acosh": (1.2, 3.0), "asin": (-0.8, 0.8), "acos": (-0.8, 0.8), "atanh": (-0.8, 0.8), "rsqrt": (0.5, 3.0)}
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "power", "cbrt", "lgamma", "hypot", "reciprocal", "divide")
MORE = """
- func: made::axpy(Tensor self, Tensor y, *, Scalar alpha=1) -> Tensor
  kernel: self + alpha * y
  autogen: axpy_, axpy.out
- func: made::powers(Tensor x, float n, int k) -> Tensor
  kernel: power(x, n) + x ** k + x ** 3 + 2 ** x + x ** 2 + x ** 0.5
- func: made::chosen(Tensor x, Tensor y, bool flag) -> Tensor
  kernel: (x * y if flag else x - y) + (3.0 if x > y else -1.0) * x
- func: made::steps(Tensor x) -> Tensor
  kernel: sign(x) + floor(x)
- func: made::masked(Tensor mask, Tensor x) -> Tensor
  kernel: where(mask, x, 0) + (x > 0) * 2 - (x < 0)
- func: made::deep(Tensor x, Tensor y) -> Tensor
  kernel: tanh(x * sigmoid(y) + log1p(exp(x))) / (1 + square(y))
- func: made::gelu(Tensor x) -> Tensor
  kernel: 0.5 * x * (1 + erf(x / 2 ** 0.5))
- func: made::rotated(Tensor x, Tensor y) -> Tensor
  kernel: x * y + exp(x) / y
  dtypes: float64, complex128
- func: made::written(Tensor x) -> Tensor
  kernel: x * 3
"""
DERIVATIVES = """
- name: made::written(Tensor x) -> Tensor
  x: grad * 100
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A package with an operator for each smooth function; nothing is compiled."""
    folder = tmp_path_factory.mktemp("expressions")
    entries = []
    for name in SMOOTH:
        letters = "xyz"[: FUNCTIONS[name].count]
        tensors = ", ".join(f"Tensor {letter}" for letter in letters)
        entries.append(f"- func: made::f_{name}({tensors}) -> Tensor\n  kernel: {name}({', '.join(letters)})\n")
    (folder / "ops.yaml").write_text("".join(entries) + MORE)
    (folder / "derivatives.yaml").write_text(DERIVATIVES)
    (folder / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "made_ops"\nderivatives = "derivatives.yaml"\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    yield importlib.import_module("made_ops")
    sys.path.remove(str(folder))


def inputs(name: str, count: int) -> list[Any]:
    """Tensors of 3 x 2 and what broadcasts with them, away from places that are not smooth."""
    rng = seeds.numpy_generator(len(name))
    low, high = PLACES.get(name, (0.3, 2.0) if name in POSITIVE else (-2.0, 2.0))
    shapes = [(3, 2), (2,), (3, 1)][:count]
    arrays = [rng.uniform(low, high, shape).tolist() for shape in shapes]
    return [opwright.tensor(each, dtype=opwright.float64, requires_grad=True) for each in arrays]


@pytest.mark.parametrize("name", SMOOTH)
def test_every_function_has_its_derivatives(made: ModuleType, name: str) -> None:
    """Gradients, tangents, gradients of gradients, of operands that broadcast."""
    function: Callable[..., Any] = getattr(made.ops, f"f_{name}")
    given = inputs(name, FUNCTIONS[name].count)
    if name == "where":
        given = [opwright.tensor([[True, False]]), *given[1:]]
    assert gradcheck(function, given, check_forward_ad=True)
    assert gradgradcheck(function, given)


def test_functions_within_functions(made: ModuleType) -> None:
    x, y = inputs("deep", 2)
    assert gradcheck(made.ops.deep, (x, y), check_forward_ad=True)
    assert gradgradcheck(made.ops.deep, (x, y))
    assert gradcheck(made.ops.gelu, (x,), check_forward_ad=True)
    assert gradcheck(lambda a, b: made.ops.chosen(a, b, True), (x, y), check_forward_ad=True)
    assert gradcheck(lambda a, b: made.ops.chosen(a, b, False), (x, y), check_forward_ad=True)
    (positive,) = inputs("power", 1)
    for n, k in ((1.5, 3), (0.0, 0), (-2.0, 1), (2.0, 2)):
        assert gradcheck(lambda a, n=n, k=k: made.ops.powers(a, n, k), (positive,), check_forward_ad=True)


def test_complex_gradients_are_conjugated(made: ModuleType) -> None:
    x, y = (opwright.tensor([1 + 2j, -0.5 - 1j, 3j], requires_grad=True, dtype=opwright.complex128) for _ in range(2))
    assert gradcheck(made.ops.rotated, (x, y))
    with pytest.raises(NotImplementedError, match="not implemented for"):
        made.ops.deep(x, y)


def test_steps_have_gradients_of_zero_and_masks_none(made: ModuleType) -> None:
    x = opwright.tensor([1.5, -2.0], requires_grad=True)
    made.ops.steps(x).sum().backward()
    assert x.grad.tolist() == [0, 0]
    mask = opwright.tensor([True, False])
    found = made.ops.masked(mask, x)
    assert found.tolist() == [3.5, -1]
    found.sum().backward()
    assert x.grad.tolist() == [1, 0]


def test_written_derivatives_win(made: ModuleType) -> None:
    x = opwright.tensor([1.0], requires_grad=True)
    made.ops.written(x).backward()
    assert x.grad.tolist() == [100]


def test_promotion_is_that_of_meta(made: ModuleType) -> None:
    """Numbers are weak, whole numbers become floats where an expression asks for them."""
    i, f, h = (opwright.ones(2, dtype=each) for each in (opwright.int32, opwright.float32, opwright.float16))
    assert made.ops.axpy(i, i, alpha=2).dtype is opwright.int32
    assert made.ops.axpy(i, i, alpha=0.5).dtype is opwright.float32
    assert made.ops.axpy(i, h).dtype is opwright.float16
    assert made.ops.axpy(i, f, alpha=3).dtype is opwright.float32
    assert made.ops.gelu(i).dtype is opwright.float32
    assert made.ops.f_maximum(i, f).dtype is opwright.float32


def test_it_is_an_operator_like_others(made: ModuleType) -> None:
    x, y = inputs("axpy", 2)
    assert set(opcheck(opwright.ops.made.axpy.default, (x, y)).values()) == {"SUCCESS"}
    np.testing.assert_array_equal(vmap(made.ops.axpy)(x, x).detach(), made.ops.axpy(x, x).detach())
    target = opwright.zeros(3, 2, dtype=opwright.float64)
    assert made.ops.axpy(x.detach(), y.detach(), out=target) is target
    own = x.detach().clone()
    assert made.ops.axpy_(own, y.detach(), alpha=2) is own
    np.testing.assert_array_equal(own, (x + 2 * y).detach())
    with opwright.fake.FakeTensorMode():
        assert made.ops.deep(opwright.empty(5, 1), opwright.empty(7)).shape == (5, 7)


TIES = [0.0, -0.0, 1.0, -1.0, 2.0, float("nan"), float("inf"), -float("inf")]
PEERS = {
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "hypot": "hypot", "power": "pow",
    "copysign": "copysign", "abs": "abs", "relu": "relu", "sign": "sign", "floor": "floor", "sqrt": "sqrt",
    "remainder": "remainder", "fmod": "fmod", "divide": "div", "exp": "exp", "log": "log", "square": "square",
    "clamp": "clamp", "sigmoid": "sigmoid", "tanh": "tanh", "logaddexp": "logaddexp", "reciprocal": "reciprocal",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.oracle
@pytest.mark.parametrize("name", PEERS)
def test_gradients_at_corners_are_pytorchs(made: ModuleType, name: str) -> None:
    """Ties, zeros, infinities, NaN: the same gradients."""
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    count = FUNCTIONS[name].count
    grids = np.meshgrid(*[TIES] * count)
    ours = [opwright.tensor(each.ravel().tolist(), dtype=opwright.float64, requires_grad=True) for each in grids]
    theirs = [torch.tensor(each.ravel(), requires_grad=True) for each in grids]
    getattr(made.ops, f"f_{name}")(*ours).sum().backward()
    getattr(torch, PEERS[name])(*theirs).sum().backward()
    if not OLDER.covers(name, "gradients"):
        for own, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(own.grad, other.grad, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_the_operand_that_is_a_number_gets_the_gradient_beside_nan(made: ModuleType, name: str) -> None:
    nan = float("nan")
    x = opwright.tensor([nan, 1.0, nan, 2.0], dtype=opwright.float64, requires_grad=True)
    y = opwright.tensor([1.0, nan, nan, 2.0], dtype=opwright.float64, requires_grad=True)
    getattr(made.ops, f"f_{name}")(x, y).sum().backward()
    assert x.grad is not None and y.grad is not None
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.0, 1.0, 1.0, 0.5], [1.0, 0.0, 0.0, 0.5])


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_example_is_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its operators in C and, without a library, in NumPy."""
    shutil.copytree(EXAMPLE, tmp_path / "p", ignore=shutil.ignore_patterns("expression_demo", "__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "p")
        patch.syspath_prepend(str(tmp_path / "p"))
        assert main(["build"]) == 0
        capsys.readouterr()
        assert main(["build"]) == 0
        assert "up to date, 2 files" in capsys.readouterr().out
        ops = importlib.import_module("expression_demo.ops")
        native = importlib.import_module("expression_demo.native")
    x = np.linspace(-2, 2, 7)
    assert native.swish.fast(x, 1.5, None) is not NotImplemented
    np.testing.assert_allclose(ops.swish(x, beta=1.5), x / (1 + np.exp(-1.5 * x)), rtol=1e-15)
    first, second = (opwright.rand(2, 3, dtype=opwright.float64, requires_grad=True) for _ in range(2))
    assert gradcheck(ops.huber, (first, second))
    for name, given in (("axpy", (first, second)), ("fused", (first, second, first, second)), ("swish", (first,))):
        packet = getattr(opwright.ops.expression_demo, name)
        assert set(opcheck(packet.default, given).values()) == {"SUCCESS"}, name
