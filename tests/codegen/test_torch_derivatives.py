"""PyTorch's own derivatives.yaml through the generator, beside its native_functions.yaml: gradients by its formulas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from known_versions import oracle_version

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

PACKAGED = Path(torchgen.__file__).parent / "packaged"
ROOT = Path(__file__).parents[2]

# Declared otherwise here, since they copy; one operator has one declaration in a process.
CONJUGATES = ("conj", "mH", "adjoint", "matrix_H")
SETTINGS = """
[tool.opwright]
schemas = ["native_functions.yaml"]
derivatives = "derivatives.yaml"
output = "torch_ops"
namespace = "aten"
kernels = []
strict_kernels = false
"""

# Calls of both libraries, each with the same numbers: the name, and arguments of which arrays become tensors.
PROGRAM = """
import json, sys, warnings
import numpy as np, torch, opwright
opwright.add
import torch_ops

warnings.simplefilter("ignore")
draw = np.random.default_rng(0)
def f(*shape): return draw.random(shape) * 0.8 + 0.1
a, b, square = f(2, 3), f(2, 3), f(3, 3)
spd = square @ square.T + 3 * np.eye(3)
z = f(2, 3) + 1j * f(2, 3)
index = np.array([[0, 1, 1], [1, 1, 0]])
nn = "nn.functional."
CASES = [
    ("add", a, b), ("sub", a, f(3)), ("mul", a, b), ("div", a, b), ("pow", a, b), ("pow", a, 2.5), ("atan2", a, b),
    ("mul", z, 2.0), ("mul", z, a), ("div", z, z + 1), ("exp", z), ("abs", z), ("angle", z), ("sgn", z),
    ("mm", a, f(3, 4)), ("addmm", f(2, 4), a, f(3, 4)), ("bmm", f(2, 2, 3), f(2, 3, 2)), ("mv", a, f(3)),
    ("exp", a), ("sigmoid", a), ("tanh", a), ("log1p", a), ("sqrt", a), ("lgamma", a), ("erf", a), ("sinc", a),
    ("deg2rad", a), ("special.i1", a), ("xlogy", a, b), ("copysign", a, b), ("where", a > 0.5, a, b),
    ("clamp", a, 0.2, 0.6), ("maximum", a, b), ("addcmul", a, b, f(2, 3)), ("masked_fill", a, a > 0.5, 0.0),
    ("mean", a, 1), ("var", a, 1), ("std", a, 1), ("prod", a, 1), ("cumsum", a, 1), ("cumprod", a, 1),
    ("logsumexp", a, 1), ("logcumsumexp", a, 1), ("amax", a, (1,)), ("max", a, 1), ("median", a, 1), ("norm", a),
    ("linalg.vector_norm", a), ("renorm", a, 2, 0, 0.5), ("sort", a, 1), ("topk", a, 2, 1), ("cdist", a, b),
    ("cat", [a, b], 0), ("stack", [a, b], 0), ("transpose", a, 0, 1), ("permute", a, (1, 0)), ("unbind", a, 0),
    ("split", a, 1, 1), ("as_strided", a, (2, 2), (1, 2)), ("diagonal", square), ("take", a, np.array([1, 3])),
    ("gather", a, 1, index), ("scatter_add", a, 0, index, b), ("scatter_reduce", a, 0, index, b, "prod"),
    ("index_select", a, 1, np.array([0, 2])), ("index_add", a, 0, np.array([0, 0]), b),
    ("softmax", a, 1), ("log_softmax", a, 1), (nn + "gelu", a), (nn + "silu", a), (nn + "mish", a), (nn + "elu", a),
    (nn + "relu", a), (nn + "softplus", a), (nn + "hardtanh", a), (nn + "hardswish", a), (nn + "logsigmoid", a),
    (nn + "mse_loss", a, b), (nn + "smooth_l1_loss", a, b), (nn + "cross_entropy", a, np.array([0, 2])),
    (nn + "binary_cross_entropy", a, b), (nn + "embedding", np.array([0, 1, 1]), a), (nn + "pad", a, (1, 1)),
    (nn + "conv2d", f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)), (nn + "max_pool2d", f(1, 2, 4, 4), 2),
    (nn + "avg_pool2d", f(1, 2, 4, 4), 2), (nn + "interpolate", f(1, 2, 4, 4), None, 2, "bilinear"),
    (nn + "grid_sample", f(1, 1, 4, 4), f(1, 3, 3, 2)), (nn + "batch_norm", a, None, None, f(3), f(3), True),
    ("linalg.cholesky", spd), ("linalg.inv", spd), ("linalg.eigh", spd), ("linalg.qr", spd),
    ("linalg.matrix_exp", square), ("linalg.lu_factor", spd), ("trace", spd), ("tril", spd),
]

def gradients(library, name, arguments):
    def value(argument):
        if isinstance(argument, list):
            return [value(each) for each in argument]
        if not isinstance(argument, np.ndarray):
            return argument
        return library.tensor(argument, requires_grad=argument.dtype.kind in "fc")

    values = [value(each) for each in arguments]
    leaves = [leaf for each in values for leaf in (each if isinstance(each, list) else [each])]
    leaves = [leaf for leaf in leaves if getattr(leaf, "requires_grad", False)]
    function = library
    for part in name.split("."):
        function = getattr(function, part)
    results = function(*values)
    results = [each for each in (results if isinstance(results, (tuple, list)) else [results]) if each.requires_grad]
    loss = sum((each * each.detach().conj().sin()).abs().sum() for each in results)
    nodes = {type(each.grad_fn).__module__ for each in results}
    found = library.autograd.grad(loss, leaves)
    return [np.asarray(each.resolve_conj().numpy()) for each in found], nodes

report = []
for name, *arguments in CASES:
    theirs, _ = gradients(torch, name, arguments)
    ours, nodes = gradients(opwright, name, arguments)
    same = all(x.shape == y.shape and x.dtype == y.dtype and np.allclose(x, y, 1e-10) for x, y in zip(theirs, ours))
    report.append((name, same, all(node.startswith("torch_ops.") for node in nodes)))
json.dump(report, sys.stdout)
"""

# Composites, whose parts are recorded by formulas of the file; and what PyTorch's own file leaves to a function that
# reads what its arguments do not have, for which opwright_aten's formulas stay.
OTHERS = {"nn.functional.mse_loss"}
if (oracle_version() or (0, 0)) >= (2, 15):
    OTHERS |= {"nn.functional.grid_sample"}  # whose second derivative is a formula of C++ without a counterpart


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a project whose schemas and derivatives are PyTorch's files, and what `generate` says of it."""
    folder = tmp_path_factory.mktemp("torch")
    text = (PACKAGED / "ATen" / "native" / "native_functions.yaml").read_text(encoding="utf-8")
    for name in CONJUGATES:
        text = text.replace(f"func: {name}(Tensor(a) self) -> Tensor(a)", f"func: {name}(Tensor self) -> Tensor")
    (folder / "native_functions.yaml").write_text(text, encoding="utf-8")
    derivatives = (PACKAGED / "autograd" / "derivatives.yaml").read_text(encoding="utf-8")
    (folder / "derivatives.yaml").write_text(derivatives, encoding="utf-8")
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    return folder, ran(folder, "-m", "opwright_codegen.cli", "generate")


def ran(folder: Path, *arguments: str) -> str:
    path = os.pathsep.join(str(p) for p in (folder, ROOT / "runtime", ROOT / "codegen", ROOT / "generated"))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_gradients_by_pytorchs_formulas_are_pytorchs(made: tuple[Path, str]) -> None:
    report: list[Any] = json.loads(ran(made[0], "-c", PROGRAM))
    assert [name for name, is_same, _ in report if not is_same] == []
    by_others = {name for name, _, is_by_file in report if not is_by_file}
    assert by_others <= OTHERS, by_others
    assert len(report) > 90


def test_what_is_left_out_is_said_in_a_line_each(made: tuple[Path, str]) -> None:
    assert "of C++ without a counterpart: opwright check lists them" in made[1]
    said = ran(made[0], "-m", "opwright_codegen.cli", "check").splitlines()
    lines = [line for line in said if ": left out: " in line]
    assert 100 < len(lines) < 260
    assert all(line.startswith("derivatives.yaml:") for line in lines)


def test_each_function_without_a_counterpart_is_an_error_where_kernels_are_strict(made: tuple[Path, str]) -> None:
    folder = made[0]
    path = os.pathsep.join(str(p) for p in (folder, ROOT / "runtime", ROOT / "codegen", ROOT / "generated"))
    (folder / "strict.toml").write_text(SETTINGS.replace("strict_kernels = false", ""), encoding="utf-8")
    program = (
        "from pathlib import Path; from opwright_codegen.read.files import read;"
        "from opwright_codegen.kernels.modules import KernelModules;"
        "from opwright_codegen.derivatives.files import read_derivatives;"
        "read_derivatives('derivatives.yaml', read([Path('native_functions.yaml')], None, 'aten'),"
        " KernelModules(['opwright_kernels.gradients'], of='backward function'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert "the C++ function 'chunk_backward_nested' has no counterpart" in done.stderr
