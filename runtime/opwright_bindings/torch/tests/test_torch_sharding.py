"""Operators on DTensors: told when it is imported, written in place, compiled; wrong rules; PyTorch's own validator."""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.cli import main
from opwright_core.dispatch.call.operator import find_operator

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = [pytest.mark.oracle, pytest.mark.once]
OPERATORS = """
- func: shared::soft(Tensor self, *, float limit=0.5) -> Tensor
  kernel: sign(self) * maximum(abs(self) - limit, 0)
  autogen: soft_, soft.out
- func: shared::distances(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(n,d),(m,d)->(n,m)", a, b, accepts="floating")
  dims: n d, m d -> n m; d sum
  dispatch: {CPU: "((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)"}
- func: shared::total(Tensor self, int[] dim, bool keepdim=False) -> Tensor
  meta: reduce(self, dim, keepdim, accepts="floating", combines="sum")
  dims: linear(self)
  dispatch: {CPU: "self.sum(tuple(dim), keepdims=keepdim)"}
- func: shared::steps(Tensor self, Tensor scale) -> Tensor
  meta: pointwise(self, scale, accepts="floating")
  dims: r n, r n -> r n; n window(2, 1), linear(self)
  dispatch: {CPU: "scale * (xp.concatenate([self[:, 1:], 0 * self[:, :1]], 1)
                         - xp.concatenate([0 * self[:, :2], self[:, :-2]], 1))"}
- func: shared::wrong_sum(Tensor self, int dim) -> Tensor
  meta: reduce(self, dim, accepts="floating", combines="sum")
  dispatch: {CPU: self.max(dim)}
- func: shared::wrong_parallel(Tensor self) -> Tensor
  meta: pointwise(self, accepts="floating")
  dispatch: {CPU: "xp.cumsum(self, -1)"}
- func: shared::wrong_max(Tensor self, int dim) -> Tensor
  meta: reduce(self, dim, accepts="floating", combines="max")
  dispatch: {CPU: self.sum(dim)}
- func: shared::wrong_min(Tensor self, int dim) -> Tensor
  meta: reduce(self, dim, accepts="floating", combines="min")
  dispatch: {CPU: self.max(dim)}
- func: shared::wrong_window(Tensor self) -> Tensor
  meta: pointwise(self, accepts="floating")
  dims: ... n -> ... n; n window(0, 1)
  dispatch: {CPU: "self - xp.roll(self, 1, -1)"}
- func: shared::wrong_again(Tensor self, int dim) -> Tensor
  meta: reduce(self, dim, accepts="floating", combines=True)
  dispatch: {CPU: self.max(dim) - self.min(dim)}
- func: shared::wrong_whole(Tensor self) -> Tensor
  meta: pointwise(self, accepts="floating")
  dims: ... n -> ... n; n whole
  dispatch: {CPU: xp.abs(self)}
- func: shared::wrong_line(Tensor self) -> Tensor
  meta: pointwise(self, accepts="floating")
  dims: linear(self)
  dispatch: {CPU: xp.abs(self)}
"""
DERIVATIVES = """
- name: shared::distances(Tensor a, Tensor b) -> Tensor
  a, b: distances_backward(grad, a, b)
"""
BACKWARD = """
def distances_backward(grad, a, b):
    return 2 * (grad.sum(-1).unsqueeze(-1) * a - grad @ b), 2 * (grad.sum(-2).unsqueeze(-1) * b - grad.mT @ a)
"""


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two ranks that are played in this process, with a package that was given to PyTorch before it had DTensor."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\nderivatives = "derivatives.yaml"\noutput = "shared_ops"\n'
        'gradients = ["shared_backward"]\nbindings = ["torch"]\n'
    )
    (folder / "ops.yaml").write_text(OPERATORS)
    (folder / "derivatives.yaml").write_text(DERIVATIVES)
    (folder / "shared_backward.py").write_text(BACKWARD)
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    logging.disable(logging.CRITICAL)
    try:
        kept = importlib.import_module("shared_ops_torch")
        from torch.distributed._local_tensor import LocalTensorMode
        from torch.distributed.device_mesh import init_device_mesh
        from torch.testing._internal.distributed.fake_pg import FakeStore

        torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
        with LocalTensorMode(2):
            made = init_device_mesh("cpu", (2,))
        yield made
        del kept
    finally:
        torch.distributed.destroy_process_group()
        sys.path.remove(str(folder))
        logging.disable(logging.NOTSET)
        torch._dynamo.reset()


@pytest.fixture
def ranks(mesh: Any) -> Iterator[Any]:
    """The mesh, with both ranks played."""
    from torch.distributed._local_tensor import LocalTensorMode

    with LocalTensorMode(2):
        yield mesh


def placed(tensor: Any, mesh: Any, *placements: Any) -> Any:
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, mesh, list(placements))


def whole(tensor: Any) -> Any:
    return tensor.full_tensor()._local_tensors[1]


def judged(name: str, *args: Any) -> str:
    """What the table's judge says."""
    from opwright_bindings.torch.runtime.judged_shardings import judge

    with judge() as found:
        return found(find_operator(name), ours(args))[0]


def ours(args: Any) -> list[Any]:
    from opwright_bindings.torch.runtime.values import our_tensor

    return [our_tensor(each) if isinstance(each, torch.Tensor) else each for each in args]


def test_dtensor_is_told_at_its_import_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a module that stands for DTensor, since that is imported once: no finder is left, nor a loader that is other
    than it was."""
    from opwright_bindings.torch.runtime.late_modules import Finder, when_imported

    (tmp_path / "late_dtensor.py").write_text("DTensor = int\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    told: list[int] = []
    when_imported("late_dtensor", "DTensor", lambda: told.append(1))
    when_imported("late_dtensor", "DTensor", lambda: told.append(2))
    assert not told
    late: Any = importlib.import_module("late_dtensor")
    assert told == [1, 2] and not [
        each for each in sys.meta_path if isinstance(each, Finder) and each.module == "late_dtensor"
    ]
    assert "exec_module" not in vars(late.__spec__.loader)
    when_imported("late_dtensor", "DTensor", lambda: told.append(3))
    assert told == [1, 2, 3]


def test_forward_backward_and_communication(ranks: Any) -> None:
    """A contraction: rows cut nothing is sent for, of columns results are partial sums; the gradient is opaque."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.debug import CommDebugMode

    torch.manual_seed(0)
    a, b = (torch.rand(*shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 6), (3, 6)))
    expected = torch.ops.shared.distances(a, b)
    grads = torch.autograd.grad(expected.sum(), (a, b))
    for ins, out, gradients in (
        ((Shard(0), Replicate()), Shard(0), (Shard(0), Partial())),
        ((Replicate(), Shard(0)), Shard(1), (Partial(), Shard(0))),
        ((Shard(1), Shard(1)), Partial(), (Shard(1), Shard(1))),
    ):
        given = [placed(each.detach(), ranks, way).requires_grad_() for each, way in zip((a, b), ins, strict=True)]
        with CommDebugMode() as sent:
            found = torch.ops.shared.distances(*given)
            made = torch.autograd.grad(found.sum(), given)
        assert sent.get_total_counts() == 0, ins
        assert found.placements == (out,) and tuple(each.placements[0] for each in made) == gradients
        torch.testing.assert_close(whole(found), expected.detach())
        for one, other in zip(made, grads, strict=True):
            torch.testing.assert_close(whole(one), other)


def test_what_rules_depend_on_is_no_cache_hit(ranks: Any) -> None:
    """Lists and flags make other rules: DTensor remembers placements by what it is told to."""
    from torch.distributed.tensor import Partial, Shard

    x = torch.rand(4, 6, dtype=torch.float64)
    given = placed(x, ranks, Shard(0))
    for dim, keepdim, way in (
        ([0], False, Partial()),
        ([1], False, Shard(0)),
        ([1], True, Shard(0)),
        ([0, 1], True, Partial()),
    ):
        found = torch.ops.shared.total(given, dim, keepdim)
        assert found.placements == (way,)
        torch.testing.assert_close(whole(found), x.sum(dim, keepdim=keepdim))


def test_writes(ranks: Any) -> None:
    """What is written stays as it is placed; where that cannot be an error says so."""
    from torch.distributed.tensor import Partial, Shard

    x = torch.rand(4, 6, dtype=torch.float64) - 0.5
    expected = torch.ops.shared.soft(x)
    given, out = placed(x.clone(), ranks, Shard(1)), placed(torch.zeros_like(x), ranks, Shard(1))
    torch.ops.shared.soft(given, out=out)
    torch.testing.assert_close(whole(out), expected)
    assert torch.ops.shared.soft_(given) is given and given.placements == (Shard(1),)
    torch.testing.assert_close(whole(given), expected)
    partial = torch.ops.shared.total(placed(x, ranks, Shard(0)), [0])
    assert partial.placements == (Partial(),)
    with pytest.raises(RuntimeError, match=r"what is written is placed as .* redistribute first"):
        torch.ops.shared.soft_(partial)


def test_wrong_rules_are_found(mesh: Any) -> None:
    torch.manual_seed(0)
    x = torch.rand(4, 6, dtype=torch.float64) - 0.5
    assert judged("shared::soft", x, 0.2) == ""
    assert judged("shared::total", x, [0], False) == ""
    assert judged("shared::wrong_sum", x, 1).startswith("placed as S(1) -> P(sum): results 1: ")
    assert judged("shared::wrong_max", x, 1).startswith("placed as S(1) -> P(max): results 1: ")
    assert judged("shared::wrong_min", x, 1).startswith("placed as S(1) -> P(min): results 1: ")
    assert judged("shared::wrong_parallel", x).startswith("placed as S(1) -> S(1): results 1: ")
    assert judged("shared::wrong_window", x).startswith("placed as S(1) -> S(1): results 1: ")
    assert judged("shared::steps", x, x + 1) == ""
    assert judged("shared::wrong_again", x, 1) == judged("shared::wrong_whole", x) == ""  # gathered, which is right
    assert judged("shared::wrong_line", x).startswith("placed as P(sum) -> P(sum): results 1: ")


def test_compiled(mesh: Any) -> None:
    """A sharded call in a compiled program, forward and backward; its sizes may be dynamic."""
    from torch.distributed.tensor import Replicate, Shard

    a, b = torch.rand(4, 6, dtype=torch.float64), torch.rand(3, 6, dtype=torch.float64)

    def program(one: Any, other: Any) -> Any:
        return torch.ops.shared.distances(torch.ops.shared.soft(one, limit=0.1), other)

    given = placed(a, mesh, Shard(0)).requires_grad_(), placed(b, mesh, Replicate()).requires_grad_()
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager", dynamic=True)
    results = [each(*given) for each in (compiled, program)]
    grads = [torch.autograd.grad(each.sum(), given) for each in results]
    assert [each.placements for each in results] == [(Shard(0),)] * 2
    torch.testing.assert_close(*[each.to_local() for each in results])
    for one, other in zip(*grads, strict=True):
        assert one.placements == other.placements
        torch.testing.assert_close(one.to_local(), other.to_local())


def test_pytorchs_own_validator_finds_what_is_wrong_and_what_is_missing(mesh: Any) -> None:
    """All placements of few tensors are tried: missing are partial numbers through what is not said to be linear, and
    what is whole without need."""
    from opwright_bindings.torch.runtime.validated_shardings import judge, verdict

    torch.manual_seed(0)
    x = torch.rand(4, 6, dtype=torch.float64) - 0.5
    with judge():
        wrong = {
            name: verdict(find_operator(f"shared::{name}"), ours(args), 0)[0]
            for name, args in (
                ("total", (x, [1], False)),
                ("wrong_sum", (x, 1)),
                ("steps", (x, x)),
                ("distances", (x, x)),
            )
        }
        assert [name for name, each in wrong.items() if each] == ["wrong_sum"], wrong
        assert "S(1) -> P(sum): Value mismatch" in wrong["wrong_sum"][0]
        for name, args, missing in (("soft", (x[0], 0.3), "P(max) -> P(max)"), ("wrong_whole", (x,), "S(1) -> S(1)")):
            assert missing in verdict(find_operator(f"shared::{name}"), ours(args))[1]
