"""`meta=` and `register_meta`: the formula of schema files at run time, in place of a fake kernel."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.errors import RegistrationError
from opwright.fake import FakeTensorMode
from opwright.inspection.meta_formulas import FORMULAS, Expression, RuleCall
from opwright.library import Library, custom_op, opcheck, register_meta
from opwright.symbolic import ShapeEnv

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


def facts(result: Any) -> Any:
    if isinstance(result, list | tuple):
        return [facts(each) for each in result]
    return tuple(result.shape), result.stride(), result.dtype, result.device.type


def test_one_line_in_place_of_a_fake_kernel() -> None:
    @custom_op("formed::scale", mutates_args=(), meta="pointwise(x)")
    def scale(x: np.ndarray, by: float) -> np.ndarray:
        return x * np.float32(by)

    x = opwright.randn(2, 3)
    assert opcheck(scale, (x, 2.0)) == dict.fromkeys(opcheck(scale, (x, 2.0)), "SUCCESS")
    with FakeTensorMode() as mode:
        assert facts(scale(mode.from_tensor(x).t(), 2.0)) == ((3, 2), (1, 3), opwright.float32, "cpu")
        assert facts(scale(opwright.ones(4, device="cuda"), 2.0)) == ((4,), (1,), opwright.float32, "cuda")
    assert facts(scale(x.to("meta"), 2.0)) == ((2, 3), (3, 1), opwright.float32, "meta")


def test_what_is_derived_from_a_formula_finds_it() -> None:
    @custom_op(
        "formed::f", mutates_args=(), meta="reduce(x, [dim], keepdim=keep), like(y) if keep else pointwise(x, y)"
    )
    def f(x: Tensor, y: Tensor, dim: int, keep: bool = False) -> tuple[Tensor, Tensor]:
        return x.sum(dim, keep), y.clone()

    found = FORMULAS.find("formed::f")
    assert found is not None and (found.operands, found.has_list) == (("x",), False)
    assert found.calls == (
        RuleCall(
            "reduce", (Expression("x", "x"), Expression("[dim]", None)), (("keepdim", Expression("keep", "keep")),)
        ),
        None,  # a choice
    )
    first, second = found.plans(np.ones((2, 3)), np.ones(3, np.int8), 1, False)
    assert (first.shape, second.shape, second.dtype) == ((2,), (2, 3), opwright.float64)

    @custom_op("formed::join", mutates_args=(), meta="cat(tensors, dim)")
    def join(tensors: list[Tensor], dim: int = 0) -> Tensor:
        return opwright.cat(tensors, dim)

    found = FORMULAS.find("formed::join")
    assert found is not None and (found.operands, found.has_list) == (("tensors",), True)
    assert facts(join([opwright.ones(2, 3, device="meta")] * 2))[0] == (4, 3)


def test_several_results_lists_and_factories() -> None:
    @custom_op("formed::sorted", mutates_args=(), meta="like(x), like(x, dtype=int64)")
    def sort(x: Tensor) -> tuple[Tensor, Tensor]:
        found = x.sort()
        return found[0], found[1]

    opcheck(sort, (opwright.randn(3, 4),))
    library = Library("formed", "FRAGMENT")
    library.define("grid(int n, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
    register_meta("formed::grid", "empty([n, n], dtype=dtype, device=device)", lib=library)
    with FakeTensorMode():
        made = opwright.ops.formed.grid(3, dtype=opwright.float64, device="cuda")
        assert facts(made) == ((3, 3), (3, 1), opwright.float64, "cuda")


def test_a_device_that_the_formula_names() -> None:
    library = Library("formed", "FRAGMENT")
    for name, schema, formula in [
        ("row", "(Tensor x, Device? device=None) -> Tensor", "empty([x.shape[0]], dtype=x.dtype, device=device)"),
        ("pair", "(Tensor x, Device d) -> (Tensor, Tensor)", "empty([2]), empty([2], device=d)"),
    ]:
        library.define(f"{name}{schema}")
        register_meta(f"formed::{name}", formula, lib=library)
    mode = FakeTensorMode()
    with mode:
        x = opwright.ones(3, device="cuda")
    row, pair = opwright.ops.formed.row, opwright.ops.formed.pair
    devices = [row(x), row(x, "cpu"), row(x, "cuda:1"), row(x.to("meta")), *pair(x, "cpu")]
    assert [str(each.device) for each in devices] == ["cuda", "cpu", "cuda:1", "meta", "cuda", "cpu"]


def test_sizes_that_are_not_known() -> None:
    @custom_op("formed::product", mutates_args=(), meta='gufunc("(m,k),(k,n)->(m,n)", a, b)')
    def product(a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    a, b = mode.from_tensor(opwright.ones(3, 4)), mode.from_tensor(opwright.ones(4, 5))
    found = product(a, b)
    assert (str(found.shape[0]), str(found.shape[1])) == (str(a.shape[0]), str(b.shape[1]))
    with pytest.raises(RuntimeError):
        product(opwright.ones(3, 4, device="meta"), opwright.ones(3, 4, device="meta"))


def test_opcheck_finds_results_that_are_others() -> None:
    @custom_op("formed::wrong", mutates_args=(), meta="pointwise(x)")
    def wrong(x: Tensor, how: str) -> Tensor:
        return {"shape": x.sum(), "dtype": x.double(), "strides": x.t().contiguous().t(), "right": x * 2}[how]

    x = opwright.randn(2, 3)
    opcheck(wrong, (x, "right"))
    for how in ("shape", "dtype", "strides"):
        with pytest.raises(Exception, match="formed::wrong"):
            opcheck(wrong, (x, how))


def test_the_newest_of_formula_and_fake_kernel_serves() -> None:
    @custom_op("formed::f", mutates_args=(), meta="pointwise(x)")
    def f(x: Tensor) -> Tensor:
        return x.clone()

    x = opwright.ones(2, 3, device="meta")
    f.register_fake(lambda x: x.new_empty(7))
    assert f(x).shape == (7,) and FORMULAS.find("formed::f") is None
    register_meta(f, "reduce(x, [1])")
    found = FORMULAS.find("formed::f")
    assert f(x).shape == (2,) and found is not None and found.text == "reduce(x, [1])"
    library = Library("formed", "FRAGMENT")
    register_meta(f, "reduce(x, None)", lib=library)
    assert f(x).shape == ()
    library._destroy()
    assert f(x).shape == (2,)
    del f
    gc.collect()
    assert FORMULAS.find("formed::f") is None


def test_a_formula_for_an_operator_of_a_library() -> None:
    library = Library("formed", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    register_meta("formed::twice", "pointwise(x)", lib=library)
    opcheck(opwright.ops.formed.twice.default, (opwright.randn(2, 3),))
    with pytest.raises(opwright.DispatchError, match="does not exist"):
        register_meta("formed::thrice", "pointwise(x)", lib=library)


def test_a_definition_that_is_run_again() -> None:
    text = """
@opwright.library.custom_op("formed::again", mutates_args=(), meta=META)
def again(x: opwright.Tensor) -> opwright.Tensor:
    return x.clone()
"""
    names: dict[str, Any] = {"opwright": opwright, "META": "pointwise(x)", "__name__": "__main__"}
    exec(compile(text, "<cell>", "exec"), names)
    for meta in ("like(x)", None):
        names["META"] = meta
        with pytest.warns(UserWarning, match="defined anew"):
            exec(compile(text, "<cell>", "exec"), names)
        found = FORMULAS.find("formed::again")
        assert (None if found is None else found.text) == meta


def test_arguments_may_be_called_anything() -> None:
    @custom_op(
        "formed::named", mutates_args=(), schema="(Tensor rules, Tensor plans, int dtypes, int len) -> Tensor",
        meta="full([dtypes, rules.shape[0], len], 0, dtype=rules.dtype) if dtypes == 3 else pointwise(rules, plans)",
    )  # fmt: skip
    def named(rules: Tensor, plans: Tensor, dtypes: int, len: int) -> Tensor:
        return rules * plans

    x = opwright.ones(2, device="meta")
    assert (named(x, x, 2, 5).shape, named(x, x, 3, 5).shape) == ((2,), (3, 2, 5))


WRONG = [
    ("pointwse(x)", "1:1", "pointwse(x)\n    ^^^^^^^^\nhint: did you mean 'pointwise'?"),
    ("pointwise(x, z)", "1:14", "has no 'z' to use here"),
    ("pointwise(x", "1:10", "hint: add ')'"),
    ("pointwise(x), pointwise(x)", "1:1", "hint: one formula for each output"),
    ("pointwise(x, kind='boll')", "1:19", "hint: did you mean 'bool'?"),
    ("reduce(x, 1.5)", "1:11", "takes integers"),
    ("cat(x, 0)", "1:5", "tensors"),
    ("x + 1", "1:1", "'meta' calls a rule"),
    ("view", "1:1", "a function of your own is a fake kernel"),
    ("os:system", "1:1", "a function of your own is a fake kernel"),
    ("", "1:1", ""),
    ("__import__('os').system('true')", "1:1", "is a name of Python's own"),
    ("like(x.tofile('f'))", "1:8", "formulas may not use .tofile"),
    ("like(x.__class__)", "1:8", "is not a public attribute"),
    ("xp.empty(3)", "1:1", "has no 'xp' to use here"),
    ("open('f')", "1:1", "has no 'open' to use here"),
    ("not_computed(x)\n+", "2:2", ""),
]


@pytest.mark.parametrize(("text", "place", "said"), WRONG)
def test_a_wrong_formula_says_where_and_what_would_be_right(text: str, place: str, said: str) -> None:
    def function(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RegistrationError) as caught:
        custom_op("formed::wrong", function, mutates_args=(), meta=text)
    shown = str(caught.value)
    assert shown.startswith(f"formed::wrong: the meta formula cannot be used\nmeta:{place}: error: ")
    assert said in shown and "    ^" in shown.replace("^", "    ^", 1)
    assert FORMULAS.find("formed::wrong") is None
    assert custom_op("formed::wrong", function, mutates_args=())(opwright.ones(2)).tolist() == [1, 1]  # nothing is left


def test_results_that_have_no_formula() -> None:
    for schema, said in [
        ("(Tensor(a!) x) -> ()", "returns nothing"),
        ("(Tensor(a!) x) -> Tensor(a!)", "results that are new tensors, not for Tensor\\(a!\\)"),
        ("(Tensor x) -> int", "results that are new tensors, not for int"),
    ]:
        library = Library("formed", "FRAGMENT")
        library.define(f"f{schema}")
        with pytest.raises(RegistrationError, match=said):
            register_meta("formed::f", "pointwise(x)", lib=library)
        library._destroy()
    with pytest.raises(TypeError, match="a text such as 'pointwise\\(x\\)', got 3"):
        custom_op("formed::g", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor", meta=3)  # type: ignore[call-overload]


def test_sizes_of_results_by_formulas() -> None:
    @custom_op("formed::pairs", mutates_args=(), meta='gufunc("(n,d)->(p)", x, p=n * (n - 1) // 2)')
    def pairs(x: np.ndarray) -> np.ndarray:
        i, j = np.triu_indices(x.shape[-2], 1)
        return np.abs(x[..., i, :] - x[..., j, :]).sum(-1)

    @custom_op("formed::rows", mutates_args=(), meta="sized([indptr.shape[0] - 1], values)")
    def rows(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, indptr[:-1])

    x, starts, values = opwright.randn(4, 3), opwright.tensor([0, 2, 5]), opwright.randn(5)
    for op, args, size in ((pairs, (x,), 6), (rows, (starts, values), 2)):
        assert opcheck(op, args) == dict.fromkeys(opcheck(op, args), "SUCCESS")
        assert op(*args).shape == (size,)
    batch = opwright.randn(5, 4, 3)
    np.testing.assert_allclose(opwright.vmap(pairs)(batch).numpy(), pairs(batch).numpy())
    with FakeTensorMode():
        assert facts(rows(opwright.empty(7, device="cuda"), opwright.empty(3, device="cuda")))[0] == (6,)
