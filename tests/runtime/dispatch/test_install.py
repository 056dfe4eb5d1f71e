"""Kernels that a generated package lists: imported when first needed, or only declared."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import Maker

import opwright
from opwright import dispatch
from opwright.errors import DispatchError
from opwright.library import Library
from opwright_core.dispatch.registry.registering import install
from opwright_core.tensors.tensor import wrap

MODULE = "opwright_test_kernels"
X = wrap(np.ones((2, 3)))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / f"{MODULE}.py"
    sys.modules.pop(MODULE, None)


def test_imported_at_the_first_call(define: Maker, module: Path) -> None:
    module.write_text(
        "def general(x, n): return f'general {n}'\n"
        "def dense(x, n): return f'dense {n}'\n"
        "def arrays(x, n): return f'arrays {n}'\n"
        "def composite(x): return 'composite'\n"
    )
    operator, composite = define("f(Tensor x, *, int n=1) -> str"), define("g(Tensor x) -> str")
    rows = [
        (operator.name, "CPU", MODULE, "general", "dense", "arrays"),
        ("g", "CompositeImplicitAutograd", MODULE, "composite", "", ""),
    ]
    install(define.namespace, rows)
    assert dispatch.table(operator)["CPU"].source == "kernel"
    assert MODULE not in sys.modules
    assert operator(X) == "dense 1"
    assert MODULE in sys.modules
    assert operator(wrap(X.array.T), n=2) == "general 2"
    assert operator(X.array) == "arrays 1"
    assert (composite(X), composite(X.array)) == ("composite", "composite")


def test_a_module_may_register_while_it_is_imported(define: Maker, module: Path) -> None:
    operator = define("f(Tensor x) -> int")
    module.write_text(
        "from opwright.registering.kernels import register\n"
        f"register({operator.name!r}, 'CPU', lambda x: 2)\n"
        "def general(x): return 1\n"
    )
    install(define.namespace, [("f", "CPU", MODULE, "general", "", "")])
    assert operator(X) == 2


def test_declared_but_unbound(define: Maker) -> None:
    operator = define("f(Tensor x) -> Tensor")
    install(
        define.namespace,
        [
            ("f", "CPU", "", "f_cpu", "", ""),
            ("f", "CUDA", "", "f_cuda", "", ""),
            ("f", "SparseCPU", "", "f_sp", "", ""),
        ],
    )
    with pytest.raises(DispatchError, match="its kernel 'f_cpu' is declared") as error:
        operator(X)
    assert all(name in str(error.value) for name in ("CPU: f_cpu", "CUDA: f_cuda", "SparseCPU: f_sp"))
    assert dispatch.table(operator)["CPU"].kernel is None
    (said,) = re.findall(r'impl\("(\S+)", "(\S+)", function\)', str(error.value))
    library = Library(define.namespace, "FRAGMENT")
    opwright.library.impl(*said, lambda x: x.clone(), lib=library)
    assert operator(X).tolist() == X.tolist()


def test_an_operator_that_is_not_defined(define: Maker) -> None:
    with pytest.raises(DispatchError, match="does not exist"):
        install(define.namespace, [("nothing", "CPU", "", "f_cpu", "", "")])


@pytest.mark.parametrize(
    "first", ["opwright", "opwright_aten", "opwright_aten.kernels_cpu", "opwright_core.tensors.tensor"]
)
def test_whatever_is_imported_first(first: str) -> None:
    code = f"import {first}, opwright; assert opwright.ones(2).new_zeros(2, requires_grad=True).requires_grad"
    subprocess.run([sys.executable, "-c", code], check=True)
