"""Kernels, rules and backward functions that return what is not declared: errors name operator, kernel and place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from pipeline import generate_project, imported, new_namespace

import opwright
from opwright.fake import FakeTensorMode
from opwright.symbolic import ShapeEnv

# What a kernel may return by mistake: by number, for arrays of shape (2, 3).
KERNELS = """
import numpy as np

import opwright

RETURNED = (
    lambda x: x[0], lambda x: None, lambda x: "text", lambda x: [[1], [1, 2]], lambda x: x + 1j,
    lambda x: (x, x, x), lambda x: np.array(["a"]), lambda x: object(), lambda x: x.sum(),
    lambda x: x.tolist(), lambda x: x.astype("int64"), lambda x: x > 0, lambda x: memoryview(x),
    lambda x: x + 0,
)


def wrong(x, n):
    return RETURNED[n](x)


def fake(x, n):
    return None


def wrong_composite(x, n):
    return (None, "text", [x], (x, x))[n % 4]


def raising(x):
    raise ValueError("of its own")


def some_positive(x):
    return x[x > 0]


def some_positive_fake(xp, x):
    return xp.empty_like(x, shape=(opwright.library.get_ctx().new_dynamic_size(max=6),))
"""
GRADIENTS = """
def wrong_gradients(grad, n):
    return (grad, None, "text", (grad,), (grad, grad, grad), (grad, "text"))[n]


def wrong_gradient(grad, n):
    return ("text", 1.0, (grad,), grad.sum(0))[n]
"""
RULES = """
from opwright import rules


def several(x, n):
    plan = rules.like(x)
    return (None, plan, [plan], [plan] * 3)[n]


def single(x, n):
    return (None, (rules.like(x),), 1)[n]
"""
ENTRIES = {
    "planned": "(Tensor x, int n) -> Tensor | meta: like(x) | CPU: wrong",
    "planned.out": "autogen of planned",
    "several": "(Tensor x, int n) -> (Tensor, Tensor) | meta: like(x), like(x) | CPU: wrong",
    "listed": "(Tensor x, int n) -> Tensor[] | CPU: wrong",
    "number": "(Tensor x, int n) -> int | CPU: wrong",
    "mixed": "(Tensor x, int n) -> (Tensor, int) | CPU: wrong",
    "composite": "(Tensor x, int n) -> Tensor | CompositeExplicitAutograd: wrong_composite",
    "composites": "(Tensor x, int n) -> (Tensor, Tensor) | CompositeExplicitAutograd: wrong_composite",
}
BY_RULE = """
- func: NS::by_rule(Tensor x, int n) -> Tensor
  meta: wrong_rules.rules:single
  dispatch:
    CPU: wrong
- func: NS::by_rules(Tensor x, int n) -> (Tensor, Tensor)
  meta: wrong_rules.rules:several
  dispatch:
    CPU: wrong
- func: NS::faked(Tensor x, int n) -> Tensor
  dispatch:
    CPU: wrong
    Meta: fake
- func: NS::doubled(Tensor x, Tensor y, int n) -> Tensor
  meta: pointwise(x, y)
  dispatch:
    CPU: xp.add(x, y)
- func: NS::tripled(Tensor x, Tensor y, int n) -> Tensor
  meta: pointwise(x, y)
  dispatch:
    CPU: xp.add(x, y)
- func: NS::summed(Tensor[] xs, int n) -> Tensor
  meta: like(xs[0])
  dispatch:
    CPU: xp.add(xs[0], xs[1])
- func: NS::first_wrong(Tensor x) -> (Tensor, Tensor)
  meta: like(x), like(x)
  dispatch:
    CPU: xp.sum(x), xp.positive(x)
- func: NS::second_wrong(Tensor x) -> (Tensor, Tensor)
  meta: like(x), like(x)
  dispatch:
    CPU: xp.positive(x), xp.sum(x)
- func: NS::taken(Tensor x, int n) -> Tensor
  dispatch:
    CPU: xp.take(x, n)
- func: NS::taken_twice(Tensor x, int n) -> Tensor
  dispatch:
    CompositeImplicitAutograd: taken(x, n) * 2
- func: NS::one_for_two(Tensor x) -> (Tensor, Tensor)
  dispatch:
    CompositeImplicitAutograd: x * 2
- func: NS::real_part(Tensor(a) x) -> Tensor(a)
  meta: view
  dispatch:
    CPU: x.real
- func: NS::raising(Tensor x) -> Tensor
  dispatch:
    CPU: raising
- func: NS::some_positive(Tensor x) -> Tensor
  tags: dynamic_output_shape
  dispatch:
    CPU: some_positive
    Meta: some_positive_fake
- func: NS::turned_back(Tensor x) -> Tensor
  meta: like(x)
  dispatch:
    CPU: xp.negative(x)
"""
DERIVATIVES = """
- name: NS::doubled(Tensor x, Tensor y, int n) -> Tensor
  x, y: wrong_gradients(grad, n)
- name: NS::tripled(Tensor x, Tensor y, int n) -> Tensor
  x: wrong_gradient(grad, n)
  y: grad
- name: NS::summed(Tensor[] xs, int n) -> Tensor
  xs: wrong_gradients(grad, n)
- name: NS::turned_back(Tensor x) -> Tensor
  x: grad * x.T
"""


def _entries() -> str:
    found = ""
    for name, text in ENTRIES.items():
        if "|" in text:
            schema, *parts = text.split(" | ")
            meta = "".join(f"  {part}\n" for part in parts[:-1])
            found += f"- func: NS::{name}{schema}\n{meta}  dispatch:\n    {parts[-1]}\n"
            found += "  autogen: planned.out\n" if name == "planned" else ""
    return found


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder, namespace = tmp_path_factory.mktemp("kernel_errors"), new_namespace()
    (folder / "wrong_rules").mkdir()
    (folder / "wrong_rules" / "rules.py").write_text(RULES)
    text = (_entries() + BY_RULE).replace("NS", namespace)
    run = generate_project(folder, text, DERIVATIVES.replace("NS", namespace), KERNELS, GRADIENTS)
    with imported(run):
        yield getattr(opwright.ops, namespace)


def _assert_named(error: pytest.ExceptionInfo[BaseException], operator: Any, function: str) -> None:
    """The message has the operator, the kernel, and where the operator is declared."""
    text = str(error.value)
    for part in (operator.name, function, f"{operator.name}{operator.declaration}", "declared at ", "ops.yaml:"):
        assert part in text, text


RIGHT = 13  # what `planned` may return


@pytest.mark.parametrize("number", range(RIGHT))
@pytest.mark.parametrize("name", [name for name in ENTRIES if "composite" not in name])
def test_kernels(ops: Any, name: str, number: int) -> None:
    base, _, overload = name.partition(".")
    operator = getattr(getattr(ops, base), overload or "default")
    if (name, number) in (("listed", 5), ("listed", 0), ("mixed", 0)):  # rows of an array are a list of arrays
        return
    x = opwright.ones(2, 3)
    out = {"out": opwright.ones(2, 3)} if overload else {}
    for _ in range(2):  # planned for this call, and by the plan of a call that was right
        with pytest.raises(RuntimeError) as error:
            operator(x, number, **out)
        _assert_named(error, operator, "wrong")
        with suppress(RuntimeError):
            operator(x, RIGHT, **out)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("name", ["composite", "composites"])
def test_composites(ops: Any, name: str, number: int) -> None:
    if (name, number) == ("composites", 3):
        return
    operator = getattr(ops, name).default
    with pytest.raises(RuntimeError, match="must return") as error:
        operator(opwright.ones(2, 3), number)
    _assert_named(error, operator, "wrong_composite")


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", ["by_rule", "by_rules"])
def test_rules_of_ones_own(ops: Any, name: str, number: int) -> None:
    operator = getattr(ops, name).default
    with pytest.raises(RuntimeError, match="the rule for CPU") as error:
        operator(opwright.ones(2, 3), number)
    _assert_named(error, operator, "single" if name == "by_rule" else "several")
    with FakeTensorMode(), pytest.raises(RuntimeError, match="the rule for Meta"):
        operator(opwright.ones(2, 3), number)


def test_fakes_and_plain_arrays(ops: Any) -> None:
    with FakeTensorMode(), pytest.raises(RuntimeError) as error:
        ops.faked(opwright.ones(2, 3), 0)
    _assert_named(error, ops.faked.default, "fake")
    with pytest.raises(RuntimeError) as error:
        ops.planned(np.ones((2, 3)), 0)
    _assert_named(error, ops.planned.default, "wrong")


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("name", ["doubled", "tripled", "summed"])
def test_backward_functions(ops: Any, name: str, number: int) -> None:
    operator = getattr(ops, name).default
    if name == "tripled" and number > 3:
        return
    x, y = (opwright.ones(2, 3, requires_grad=True) for _ in range(2))
    result = operator([x, y], number) if name == "summed" else operator(x, y, number)
    with pytest.raises(RuntimeError, match=r"must return 2 gradients|invalid gradient at index") as error:
        result.sum().backward()
    _assert_named(error, operator, f"{name.title()}Backward0")


@pytest.mark.parametrize("name", ["first_wrong", "second_wrong"])
def test_of_several_expressions_the_one_that_is_wrong_is_shown(ops: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match=r"the kernel for CPU, `np.sum\(x_?(\.array)?\)`, returned shape \[\]"):
        getattr(ops, name)(opwright.ones(2, 3))


@pytest.mark.parametrize("x", [opwright.ones(2, 3), np.ones((2, 3))], ids=["Tensor", "array"])
def test_errors_raised_by_kernels_say_which_operator(ops: Any, x: Any) -> None:
    """NumPy's errors and those of a project's own functions keep their class and text, and get a note."""
    for name, kind, args, key in (("taken", IndexError, (9,), "CPU"), ("raising", ValueError, (), "CPU")):
        operator = getattr(ops, name).default
        with pytest.raises(kind) as error:
            operator(x, *args)
        (note,) = error.value.__notes__
        assert note.startswith(f"In the kernel of {operator.name} for {key}, declared at ops.yaml:")
    with pytest.raises(IndexError) as error:
        ops.taken_twice(x, 9)
    inner, outer = error.value.__notes__
    assert ops.taken.default.name in inner and f"{ops.taken_twice.default.name} for CompositeImplicit" in outer


@pytest.mark.parametrize("create_graph", [False, True])
def test_errors_of_what_backward_functions_call_say_which_operator(ops: Any, create_graph: bool) -> None:
    x = opwright.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="size of tensor a") as error:
        ops.turned_back(x).sum().backward(create_graph=create_graph)
    called, backward = error.value.__notes__
    assert called.startswith("In the kernel of aten::mul.Tensor")
    assert backward.startswith(f"In the backward function of {ops.turned_back.default.name}, declared at ops.yaml:")


def test_a_fake_by_hand_makes_sizes_that_depend_on_data(ops: Any) -> None:
    """`get_ctx()` works in a `Meta:` kernel of a schema file, with fixed, symbolic and unbacked sizes."""
    assert ops.some_positive(opwright.tensor([[1.0, -1.0, 2.0]])).tolist() == [1.0, 2.0]
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(opwright.ones(4, 5))
    with mode:
        found = ops.some_positive(x)
        again = ops.some_positive(found + 1)
        assert (found.ndim, found.dtype, found.device.type) == (1, opwright.float32, "cpu")
        assert str(found.shape[0]).startswith("u") and str(again.shape[0]).startswith("u")
        assert str(found.shape[0]) != str(again.shape[0])
    with FakeTensorMode(), pytest.raises(opwright.errors.DynamicOutputShapeError, match="some_positive"):
        ops.some_positive(opwright.ones(2))
    opwright.library.opcheck(ops.some_positive.default, (opwright.tensor([1.0, -1.0]),))


def test_expressions_over_operators_give_what_is_declared(ops: Any) -> None:
    with pytest.raises(RuntimeError, match=r"must return 2 values \(Tensor, Tensor\), but returned Tensor"):
        ops.one_for_two(opwright.ones(2, 3))


def test_views_that_arrays_without_data_do_not_have(ops: Any) -> None:
    assert ops.real_part(opwright.ones(2)).tolist() == [1.0, 1.0]
    with FakeTensorMode(), pytest.raises(opwright.errors.FakeKernelError, match=r"a kernel used \.real") as error:
        ops.real_part(opwright.ones(2))
    assert ops.real_part.default.name in error.value.__notes__[0]
