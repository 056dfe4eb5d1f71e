"""What the target `autograd` makes of small schemas: what nodes keep, which gradients they compute, odd names."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import seeds
from pipeline import generate_project, imported, new_namespace

import opwright
from opwright.autograd import gradcheck, gradgradcheck

ROOT = Path(__file__).parents[2]
KERNELS = """
from typing import Any
import numpy as np

def product(self: Any, other: Any) -> Any:
    return self * other

def lists(tensors: Any, maybe: Any, more: Any = None, last: Any = None) -> Any:
    total = sum(tensors) + sum((place + 1) * each for place, each in enumerate(maybe) if each is not None)
    for each in more or []:
        total = total * each
    return total if last is None else total + last

def pieces(self: Any, count: int) -> Any:
    return [piece.copy() for piece in np.split(np.exp(self), count)]

def head(self: Any) -> Any:
    return self * 2, [self * 3, self * 4]

def keywords(first: Any, second: Any, third: float) -> Any:
    return first * third, first * 3 + (0 if second is None else second)

def double(self: Any) -> Any:
    return self * 2

def write(self: Any, other: Any) -> Any:
    self *= other
    return self
"""
GRADIENTS = """
from typing import Any
import opwright

def lists_backward(grad: Any, tensors: Any, maybe: Any, more: Any) -> Any:
    total = sum(tensors[1:], tensors[0])
    for place, each in enumerate(maybe):
        total = total if each is None else total + (place + 1) * each
    factor = 1
    for each in more or []:
        factor = factor * each
    of_maybe = [None if each is None else grad * factor * (place + 1) for place, each in enumerate(maybe)]
    return [grad * factor] * len(tensors), of_maybe, [grad * total * factor / each for each in more or []]

def pieces_backward(grads: Any, result: Any) -> Any:
    return opwright.cat([opwright.zeros_like(r) if g is None else g * r for g, r in zip(grads, result, strict=True)])

def spread(grad: Any, tensors: Any) -> Any:
    return [grad for _ in tensors]

def keywords_backward(low: Any, high: Any, factor: float) -> Any:
    return sum(each * by for each, by in ((low, factor), (high, 3)) if each is not None)
"""


@contextmanager
def project(folder: Path, text: str) -> Iterator[ModuleType]:
    """The package of a project: entries `schema ; kernel ; line ; line`, of a namespace that no other test has."""
    namespace = new_namespace()
    schemas, derivatives = [], []
    for entry in text.strip().split("\n"):
        schema, kernel, *lines = (part.strip() for part in entry.split(" ; "))
        schemas.append(f"- func: {namespace}::{schema}\n  dispatch: {{CPU: {kernel}}}\n")
        if lines:
            derivatives.append("\n  ".join((f"- name: {namespace}::{schema}", *lines)) + "\n")
    run = generate_project(folder, "".join(schemas), "".join(derivatives), KERNELS, GRADIENTS)
    with imported(run) as package:
        yield package


def leaf(*shape: int) -> opwright.Tensor:
    return opwright.tensor(seeds.numpy_generator(len(shape)).standard_normal(shape) + 3).requires_grad_()


def kept(result: Any) -> set[str]:
    """The names of what the result's node has saved."""
    node = result.grad_fn
    return {name for name in type(node).__slots__ if getattr(node, name) is not None}


PRODUCT = "product(Tensor self, Tensor other) -> Tensor ; product"


def test_what_a_formula_names_is_kept_if_its_gradient_may_be_asked_for(tmp_path: Path) -> None:
    with project(tmp_path, f"{PRODUCT} ; self: grad * other ; other: grad * self") as package:
        x, y = leaf(3), leaf(3)
        assert kept(package.ops.product(x, y)) == {"self", "other"}
        assert kept(package.ops.product(x, y.detach())) == {"other"}
        assert kept(package.ops.product(x.detach(), y)) == {"self"}
        assert not package.ops.product(x.detach(), y.detach()).requires_grad


def test_facts_are_kept_instead_of_tensors(tmp_path: Path) -> None:
    formulas = "self: (grad * other.shape[0]).expand(self.shape) ; other: grad.new_zeros(other.shape).to(other.dtype)"
    with project(tmp_path, f"{PRODUCT} ; {formulas}") as package:
        x, y = leaf(3), leaf(3)
        node = package.ops.product(x, y).grad_fn
        assert set(type(node).__slots__) == {"other_shape_0", "self_shape", "other_shape", "other_dtype"}
        assert (node._saved_self_shape, node._saved_other_shape_0) == ((3,), 3)
        assert type(node).saved == ()


def test_only_gradients_that_are_asked_for_are_computed(tmp_path: Path) -> None:
    text = f'{PRODUCT} ; self: grad * other ; other: not_implemented("nobody needed it")'
    with project(tmp_path, text) as package:
        x, y = leaf(3), leaf(3)
        result = package.ops.product(x, y)
        (found,) = opwright.autograd.grad(result.sum(), [x], retain_graph=True)
        assert found.tolist() == y.tolist()
        with pytest.raises(NotImplementedError, match="nobody needed it"):
            result.sum().backward()


LISTS = "lists(Tensor[] tensors, Tensor?[] maybe, Tensor[]? more=None, Tensor? last=None) -> Tensor ; lists"


def test_several_lists_of_inputs(tmp_path: Path) -> None:
    formulas = "tensors, maybe, more: lists_backward(grad, tensors, maybe, more) ; last: grad"
    with project(tmp_path, f"{LISTS} ; {formulas}") as package:
        lists = package.ops.lists
        a, b, c, d, e, f = (leaf(2) for _ in range(6))
        assert gradcheck(lambda a, b, c, d, e, f: lists([a, b], [c, None, d], [e], f), (a, b, c, d, e, f))
        assert gradgradcheck(lambda a, b, c, d: lists([a], [b], [c, d]), (a, b, c, d))
        assert gradcheck(lambda a, b: lists([a], [], [b]), (a, b))
        assert gradcheck(lambda a: lists([a], [None]), (a,))
        assert not lists([a.detach()], [None]).requires_grad
        (found,) = opwright.autograd.grad(lists([a, b], [c], [d], e).sum(), [e])  # behind all lists
        assert found.tolist() == [1.0, 1.0]


def test_several_lists_with_formulas_of_their_own(tmp_path: Path) -> None:
    schema = "lists(Tensor[] counts, Tensor[] edges) -> Tensor ; lists"
    with project(tmp_path, f"{schema} ; counts: spread(grad, counts) ; edges: not_implemented('later')") as package:
        a, b = leaf(2), leaf(2)
        package.ops.lists([a, a.detach()], [b.detach()]).sum().backward()
        assert a.grad.tolist() == [1.0, 1.0]
        with pytest.raises(NotImplementedError, match="later"):
            package.ops.lists([a], [b]).sum().backward()


PIECES = "pieces(Tensor self, int count) -> Tensor[] {} ; pieces ; self: pieces_backward({}, {})"


@pytest.mark.parametrize("names", [("", "grads", "result"), ("parts", "grad_parts", "parts")])
def test_results_that_are_a_list_are_kept(names: tuple[str, str, str], tmp_path: Path) -> None:
    with project(tmp_path, PIECES.format(*names)) as package:
        x = leaf(4)
        assert gradcheck(lambda x: package.ops.pieces(x, 2), (x,))
        assert gradcheck(lambda x: package.ops.pieces(x, 2)[1], (x,))
        assert gradgradcheck(lambda x: package.ops.pieces(x, 4)[2:], (x,))
        first, second = package.ops.pieces(x, 2)
        with opwright.no_grad():
            second.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            first.sum().backward()


def test_kept_results_make_no_cycle(tmp_path: Path) -> None:
    with project(tmp_path, PIECES.format("", "grads", "result")) as package:
        gc.disable()
        try:
            results = package.ops.pieces(leaf(4), 2)
            watched = [weakref.ref(result) for result in results]
            del results
            assert [each() for each in watched] == [None, None]
        finally:
            gc.enable()


def test_one_list_among_results(tmp_path: Path) -> None:
    text = """
        head(Tensor self) -> (Tensor a, Tensor[] b) ; head ; output_differentiability: [True, False] ; self: grad * 2
        tail(Tensor self) -> (Tensor, Tensor[]) ; head ; output_differentiability: [False, True] ; self: grads[0] * 3
    """
    with project(tmp_path, text) as package:
        first, rest = package.ops.head(leaf(2))
        assert first.requires_grad and not any(each.requires_grad for each in rest)
        x = leaf(2)
        first, rest = package.ops.tail(x)
        assert not first.requires_grad and all(each.requires_grad for each in rest)
        rest[0].sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]


_LAMBDA = "lambda(Tensor from, Tensor? print=None, *, float type=1.0) -> (Tensor return, Tensor yield)"
NAMES_OF_PYTHON = f"""
    {_LAMBDA} ; keywords ; from: keywords_backward(grad_return, grad_yield, type) ; print: grad_yield
    any(Tensor[] len, Tensor[] any) -> Tensor ; lists ; len: spread(grad, len) ; any: spread(grad, any)
    save(Tensor node, Tensor edges) -> Tensor ; product ; node: grad * edges ; edges: grad * node
    record(Tensor grad, Tensor record) -> Tensor ; product ; grad: grads[0] * record ; record: not_implemented("no")
"""


def test_names_that_python_and_the_module_need(tmp_path: Path) -> None:
    with project(tmp_path, NAMES_OF_PYTHON) as package:
        ops = package.ops
        x, y = leaf(2), leaf(2)
        assert gradcheck(lambda x, y: tuple(ops.lambda_(x, y, type=2.0)), (x, y))
        assert gradcheck(lambda x: ops.lambda_(x)[1], (x,))
        assert gradcheck(lambda x, y: ops.any([x, x], [y]), (x, y))
        assert gradcheck(ops.save, (x, y))
        assert gradcheck(lambda x: ops.record(x, y.detach()), (x,))


@pytest.mark.once  # mypy and ruff read what was generated
def test_code_with_names_that_python_needs_is_clean(tmp_path: Path) -> None:
    with project(tmp_path, NAMES_OF_PYTHON) as package:
        folder = Path(package.__file__ or "").parent
        options = ["--config-file", "pyproject.toml", "--follow-imports=silent"]  # as test_render: what is kept serves
        command = [sys.executable, "-m", "mypy", *options, "-p", folder.name]
        environment = os.environ | {"MYPYPATH": str(folder.parent)}
        checked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout
    for lint in (["check", "--ignore", "I001,E501"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *lint, "--config", str(ROOT / "pyproject.toml"), str(folder)]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout


def test_many_results(tmp_path: Path) -> None:
    text = "keywords(Tensor a, Tensor? b=None, float c=2.0) -> (Tensor low, Tensor high) ; keywords"
    with project(tmp_path, f"{text} ; a: keywords_backward(grads[0], grads[1], c) ; b: grads[1]") as package:
        x = leaf(2)
        package.ops.keywords(x).high.sum().backward()  # the other gradient is undefined
        assert x.grad.tolist() == [3.0, 3.0]
        assert gradcheck(lambda x, y: tuple(package.ops.keywords(x, y)), (x, leaf(2)))


def test_a_condition_decides_whether_a_call_is_recorded(tmp_path: Path) -> None:
    schema = "cast(Tensor self, ScalarType? dtype=None, bool flag=True) -> Tensor ; double_cast"
    condition = 'output_differentiability: ["flag and (dtype is None or dtype == self.dtype)"]'
    kernels = KERNELS + "\ndef double_cast(self: Any, dtype: Any, flag: bool) -> Any:\n    return self * 2\n"
    namespace = new_namespace()
    name, kernel = schema.split(" ; ")
    run = generate_project(
        tmp_path,
        f"- func: {namespace}::{name}\n  dispatch: {{CPU: {kernel}}}\n",
        f"- name: {namespace}::{name}\n  {condition}\n  self: grad * 2\n",
        kernels,
    )
    with imported(run) as package:
        cast = package.ops.cast
        assert gradcheck(cast, (leaf(2),))
        assert cast(leaf(2), opwright.float64).requires_grad
        assert not cast(leaf(2), opwright.float32).requires_grad
        assert not cast(leaf(2), flag=False).requires_grad


def test_formulas_of_a_key(tmp_path: Path) -> None:
    namespace = new_namespace()
    schema = f"{namespace}::double(Tensor self) -> Tensor"
    run = generate_project(
        tmp_path,
        f"- func: {schema}\n  dispatch: {{CPU: double}}\n",
        f"- name: {schema}\n  dispatch:\n    Default:\n      self: grad * 2\n    AutogradCPU:\n      self: grad * 20\n"
        "    AutogradCUDA:\n      self: not_implemented('not there')\n",
        KERNELS,
    )
    with imported(run) as package:
        x = leaf(2)
        package.ops.double(x).sum().backward()
        assert x.grad.tolist() == [20.0, 20.0]


def test_operators_without_an_entry_are_not_cut_off_in_silence(tmp_path: Path) -> None:
    text = """
        double(Tensor self) -> Tensor ; double
        index(Tensor self) -> Tensor ; double ; output_differentiability: [False]
        write_(Tensor(a!) self, Tensor other) -> Tensor(a!) ; write
    """
    with project(tmp_path, text) as package:
        result = package.ops.double(leaf(2))
        assert result.requires_grad
        with pytest.warns(UserWarning, match="double: a backward pass went through it and found no gradient"):
            result.sum().backward()
        assert not package.ops.index(leaf(2)).requires_grad
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            package.ops.write_(leaf(2), leaf(2))
