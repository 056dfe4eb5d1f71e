"""torch.compile with its default backend: arguments of all kinds in any order, with and without out variants."""

from __future__ import annotations

import contextlib
import importlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from opwright_codegen.cli import main

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle
SCHEMAS = """
- func: inductor_zoo::keyword(Tensor self, *, float by=2.0) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: self * by}
  autogen: keyword.out, keyword_

- func: inductor_zoo::between(Tensor x, float by, Tensor y) -> Tensor
  meta: pointwise(x, y)
  dispatch: {CPU: x * by - y}
  autogen: between.out

- func: inductor_zoo::first(Scalar by, Tensor x) -> Tensor
  meta: pointwise(by, x)
  dispatch: {CPU: "xp.multiply(by, x)"}
  autogen: first.out

- func: inductor_zoo::optional(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor
  meta: like(x)
  dispatch: {CPU: optional}
  autogen: optional.out

- func: inductor_zoo::joined(Tensor[] xs, Tensor y) -> Tensor
  meta: like(y)
  dispatch: {CPU: joined}
  autogen: joined.out

- func: inductor_zoo::rolled(Tensor x, int[] shifts, bool back=False) -> Tensor
  meta: like(x)
  dispatch: {CPU: rolled}
  autogen: rolled.out

- func: inductor_zoo::cast(Tensor x, *, ScalarType? dtype=None, str how="up") -> Tensor
  meta: like(x, dtype=dtype)
  dispatch: {CPU: cast}
  autogen: cast.out

- func: inductor_zoo::both(Tensor x, float by, Tensor y, *, bool flip=False) -> (Tensor more, Tensor less)
  meta: pointwise(x, y), pointwise(x, y)
  dispatch: {CPU: both}
  autogen: both.out

- func: inductor_zoo::plain(Tensor x, Tensor y, float by=2.0, int power=1) -> Tensor
  meta: pointwise(x, y)
  dispatch: {CPU: x * by - y ** power}
  autogen: plain.out

- func: inductor_zoo::weighted(Tensor x, *, Tensor weight) -> Tensor
  meta: pointwise(x, weight)
  dispatch: {CPU: x / weight}
  autogen: weighted.out

- func: inductor_zoo::named(Tensor x, float by) -> Tensor
  meta: pointwise(x)
  dispatch: {CPU: x * by}

- func: inductor_zoo::named.into(Tensor x, float by, *, Tensor(a!) result) -> Tensor(a!)
  meta: pointwise(x)
  dispatch: {CPU: x * by}

- func: inductor_zoo::only.out(Tensor x, *, float by=2.0, Tensor(a!) out) -> Tensor(a!)
  meta: pointwise(x)
  dispatch: {CPU: x * by}
"""
KERNELS = """
import numpy as np


def optional(x, weight, bias):
    scaled = x * 1 if weight is None else x * weight
    return scaled if bias is None else scaled + bias


def joined(xs, y):
    made = y * 3
    for at, each in enumerate(xs):
        made = made + each * (at + 1)
    return made


def rolled(x, shifts, back):
    return np.roll(x, [-each if back else each for each in shifts], tuple(range(len(shifts))))


def cast(x, dtype, how):
    return (x + 1 if how == "up" else x - 1).astype(x.dtype if dtype is None else dtype)


def both(x, by, y, flip):
    more, less = x * by + y, x * by - y
    return (less, more) if flip else (more, less)
"""
torch.manual_seed(0)
X, Y, W = (torch.rand(3, 4) + 1 for _ in range(3))
CALLS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("keyword", (X,), {"by": 3.0}),
    ("keyword", (X,), {}),
    ("between", (X, 2.0, Y), {}),
    ("first", (3.0, X), {}),
    ("optional", (X,), {}),
    ("optional", (X, W), {}),
    ("optional", (X, None, W), {}),
    ("optional", (X, W, Y), {}),
    ("joined", ([X, W], Y), {}),
    ("rolled", (X, [1, 2]), {}),
    ("rolled", (X, [1, 2], True), {}),
    ("cast", (X,), {"dtype": torch.float64, "how": "down"}),
    ("both", (X, 2.0, Y), {"flip": True}),
    ("plain", (X, Y), {}),
    ("plain", (X, Y, 3.0, 2), {}),
    ("plain", (X, Y), {"power": 3}),
    ("weighted", (X,), {"weight": W}),
    ("named", (X, 3.0), {}),
)


@pytest.fixture(scope="module", autouse=True)
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Generate the package and yield its operators. Compiled programs are not read from PyTorch's cache."""
    inductor, autograd = map(importlib.import_module, ("torch._inductor.config", "torch._functorch.config"))
    folder = tmp_path_factory.mktemp("inductor_zoo")
    (folder / "ops.yaml").write_text(SCHEMAS)
    (folder / "inductor_zoo_kernels.py").write_text(KERNELS)
    (folder / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "inductor_zoo_ops"\n'
        'kernels = ["inductor_zoo_kernels"]\nbindings = ["torch"]\n'
    )
    logging.disable(logging.CRITICAL)
    no_cache = inductor.patch(fx_graph_cache=False), autograd.patch(enable_autograd_cache=False)
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch, no_cache[0], no_cache[1]:
        patch.syspath_prepend(folder)
        assert main(["generate"]) == 0
        module = importlib.import_module("inductor_zoo_ops_torch")
        yield torch.ops.inductor_zoo
        torch._dynamo.reset()
        del module
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("dynamic", [False, True])
def test_arguments_arrive_in_any_order(zoo: Any, dynamic: bool) -> None:
    """A program of all calls; each result is compared by itself."""

    def program() -> list[Any]:
        return [getattr(zoo, name)(*args, **kwargs) for name, args, kwargs in CALLS]

    torch._dynamo.reset()
    compiled = torch.compile(program, fullgraph=True, dynamic=dynamic)
    wrong = []
    for call, found, wanted in zip(CALLS, compiled(), program(), strict=True):
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        wrong += [call for one, other in pairs if one.dtype != other.dtype or not torch.equal(one, other)]
    assert wrong == []


def test_out_variants_in_compiled_and_exported_programs(zoo: Any) -> None:
    calls = [(getattr(zoo, name).out, args, kwargs) for name, args, kwargs in CALLS if name not in ("named", "both")]
    calls += [(zoo.named.into, (X, 3.0), {}), (zoo.only.out, (X,), {"by": 3.0})]
    outs = [torch.zeros(3, 4, dtype=kwargs.get("dtype")) for _, _, kwargs in calls]

    class Program(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *outs: Any) -> list[Any]:
            found = []
            for (overload, args, kwargs), out in zip(calls, outs, strict=True):
                name = "result" if overload is zoo.named.into else "out"
                found.append(overload(*args, **kwargs, **{name: out}) + 1)
            return found

    wanted_outs = [each.clone() for each in outs]
    wanted = Program()(*wanted_outs)
    torch._dynamo.reset()
    compiled = torch.compile(Program(), fullgraph=True, backend="aot_eager")  # (inductor would compile 20 loops of C++)
    for how in (compiled, torch.export.export(Program(), tuple(outs)).module()):
        given = [each.clone() for each in outs]
        found = how(*given)
        assert all(map(torch.equal, found, wanted))
        assert all(map(torch.equal, given, wanted_outs))
    for overload, args, kwargs in calls:
        name = "result" if overload is zoo.named.into else "out"
        tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
        named = {**kwargs, name: torch.zeros(3, 4, dtype=kwargs.get("dtype"))}
        assert set(torch.library.opcheck(overload, args, named, test_utils=tests).values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.zeros(3, 4, dtype=torch.int64), "result type Float can't be cast to the desired output type Long"),
        (torch.zeros(0), r"'out' has shape \[0\], the result \[3, 4\]"),
    ],
)
def test_outs_that_do_not_fit_are_refused(zoo: Any, out: Any, message: str) -> None:
    torch._dynamo.reset()
    with pytest.raises(Exception, match=message):
        torch.compile(lambda x, out: zoo.keyword.out(x, out=out), fullgraph=True, backend="aot_eager")(X, out)


def test_variants_write_in_a_program_of_inductor(zoo: Any) -> None:
    def program(x: Any, out: Any) -> Any:
        return zoo.keyword_(x, by=3.0) + zoo.optional.out(x, None, Y, out=out)

    torch._dynamo.reset()
    given, wanted = ((X.clone(), torch.zeros(3, 4)) for _ in range(2))
    found = torch.compile(program, fullgraph=True)(*given)
    torch.testing.assert_close((found, *given), (program(*wanted), *wanted))
