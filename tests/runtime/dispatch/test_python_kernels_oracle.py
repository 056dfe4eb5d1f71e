"""Kernels of the Python dispatcher beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from conftest import Maker

from opwright import dispatch
from opwright.errors import DispatchError
from opwright.registering.kernels import register
from opwright_core.tensors.tensor import wrap

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

KEYS = ("CPU", "AutogradCPU", "Autograd", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
CHOICES = [keys for count in (0, 1, 2) for keys in itertools.combinations(KEYS, count)]


@pytest.mark.parametrize("python", [keys for keys in CHOICES if keys])
def test_the_same_kernel_runs(define: Maker, python: tuple[str, ...]) -> None:
    from torch._dispatch.python import enable_python_dispatcher

    for number, ordinary in enumerate(CHOICES):
        ours = define(f"f{number}(Tensor x) -> str")
        library = torch.library.Library(define.namespace, "FRAGMENT")
        library.define(f"f{number}(Tensor x) -> str")
        theirs = getattr(getattr(torch.ops, define.namespace), f"f{number}").default
        for key in ordinary:
            register(ours, key, lambda x, key=key: key)
            library.impl(f"f{number}", lambda x, key=key: key, key)
        for key in python:
            ours.py_impl(key)(lambda x, key=key: f"Python {key}")
            theirs.py_impl(getattr(torch._C.DispatchKey, key))(lambda x, key=key: f"Python {key}")
        with dispatch.enable_python_dispatcher():
            our_answer = answer(ours, wrap(np.ones(1)))
        with enable_python_dispatcher():
            their_answer = answer(theirs, torch.ones(1))
        assert our_answer == their_answer, (python, ordinary)
        library._destroy()


def answer(operator: Any, x: Any) -> str:
    try:
        return str(operator(x))
    except (NotImplementedError, DispatchError):
        return "nothing"
