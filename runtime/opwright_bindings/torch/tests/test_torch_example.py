"""examples/everywhere in PyTorch: values, gradients, batches, compiled and exported programs, writes, casts."""

from __future__ import annotations

import contextlib
import importlib
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copying import copy_example

from opwright_codegen.cli import main

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle
EXAMPLES = Path(__file__).parents[4] / "examples"
NAMES = ("soft_threshold", "haversine", "squared_distances", "standardize", "peak", "moving_mean")


@pytest.fixture(scope="module", autouse=True)
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package, generated in a folder of its own; PyTorch keeps its operators as long as the module lives."""
    folder = tmp_path_factory.mktemp("everywhere") / "project"
    copy_example("everywhere", folder)
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    logging.disable(logging.CRITICAL)
    try:
        yield importlib.import_module("everywhere_ops_torch")
    finally:
        sys.path.remove(str(folder))
        logging.disable(logging.NOTSET)
        torch._dynamo.reset()


def drawn(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def sample(name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for an operator, the same each time."""
    torch.manual_seed(0)
    match name:
        case "soft_threshold":
            return (drawn(3, 4),), {"limit": 0.3}
        case "haversine":
            return (drawn(3, 4), drawn(4), drawn(3, 1), drawn(3, 4)), {}
        case "squared_distances":
            return (drawn(2, 3, 4), drawn(5, 4)), {}
        case "peak":
            return (drawn(3, 4), 0), {}
        case "moving_mean":
            return (drawn(3, 6), 1), {}
        case _:
            return (drawn(3, 5),), {}


def operator(name: str) -> Any:
    return getattr(torch.ops.everywhere, name).default


def tensors(args: tuple[Any, ...]) -> list[Any]:
    return [each for each in args if isinstance(each, torch.Tensor)]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_numpy(name: str) -> None:
    ops = importlib.import_module("everywhere_ops.ops")
    args, kwargs = sample(name)
    arrays = [each.detach().numpy() if isinstance(each, torch.Tensor) else each for each in args]
    found = operator(name)(*args, **kwargs).detach().numpy()
    assert np.array_equal(found, getattr(ops, name)(*arrays, **kwargs))


@pytest.mark.parametrize("name", NAMES)
def test_opcheck_and_gradcheck(name: str) -> None:
    args, kwargs = sample(name)
    found = torch.library.opcheck(operator(name), args, kwargs)
    assert set(found.values()) == {"SUCCESS"}
    assert torch.autograd.gradcheck(lambda *given: operator(name)(*given, **kwargs), args)
    assert torch.autograd.gradgradcheck(lambda *given: operator(name)(*given, **kwargs), args)


@pytest.mark.parametrize("name", NAMES)
def test_vmap_is_a_loop(name: str) -> None:
    args, kwargs = sample(name)
    batched = [
        torch.stack([each, each * 0.5], -1).detach() if isinstance(each, torch.Tensor) else each for each in args
    ]
    dims = tuple(-1 if isinstance(each, torch.Tensor) else None for each in args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTorch warns where it has no rule, and loops
        found = torch.vmap(lambda *given: operator(name)(*given, **kwargs), in_dims=dims)(*batched)
    one_by_one = [
        operator(name)(*[each[..., place] if isinstance(each, torch.Tensor) else each for each in batched], **kwargs)
        for place in range(2)
    ]
    torch.testing.assert_close(found, torch.stack(one_by_one))


@pytest.mark.parametrize("name", NAMES)
def test_compiled_forward_and_backward(name: str) -> None:
    args, kwargs = sample(name)

    def program(*given: Any) -> Any:
        return operator(name)(*given, **kwargs).sin().sum()

    torch._dynamo.reset()
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager", dynamic=True)
    found = torch.autograd.grad(compiled(*args), tensors(args))
    expected = torch.autograd.grad(program(*args), tensors(args))
    torch.testing.assert_close(found, expected)


def laid_out(gradient: Any) -> Iterator[Any]:
    """Yield the same values in other layouts: with gaps, transposed, reversed, and one value for all elements."""
    yield torch.stack([gradient, gradient], -1)[..., 0]
    yield gradient.mT.contiguous().mT
    yield torch.cat([gradient, gradient], -1)[..., : gradient.shape[-1]]
    yield gradient.flatten()[:1].expand(gradient.shape)
    yield gradient.neg()._neg_view()


@pytest.mark.parametrize("name", NAMES)
def test_incoming_gradients_lie_in_any_layout(name: str) -> None:
    """PyTorch promises no strides of what a backward formula is given."""
    args, kwargs = sample(name)
    result = operator(name)(*args, **kwargs)
    if result.dim() < 2:
        result = result[None]
    for gradient in laid_out(torch.randn_like(result)):
        found, wanted = (
            torch.autograd.grad(result, tensors(args), each, retain_graph=True)
            for each in (gradient, gradient.resolve_neg().contiguous())
        )
        torch.testing.assert_close(found, wanted)


def test_a_step_of_fsdp(everywhere: Any, tmp_path: Path) -> None:
    """FSDP2 resizes the memory of parameters, which calls must leave resizable."""
    program = Path(__file__).parent / "fsdp_step.py"
    command = [sys.executable, str(program), str(Path(everywhere.__file__).parent), "0", "1", str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_exported_with_dynamic_sizes(name: str) -> None:
    args, kwargs = sample(name)
    given = tuple(each.detach() for each in tensors(args))
    rest = args[len(given) :]

    class Program(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *inputs: Any) -> Any:
            return operator(name)(*inputs, *rest, **kwargs)

    def is_batched(tensor: Any) -> bool:
        return bool(tensor.dim() > 1 and tensor.shape[0] == given[0].shape[0])

    batch = torch.export.Dim("batch", min=2)
    shapes = tuple({0: batch} if is_batched(each) else {} for each in given)
    exported = torch.export.export(Program(), given, dynamic_shapes=(shapes,))
    larger = tuple(torch.cat([each] * 3) if is_batched(each) else each for each in given)
    assert f"everywhere.{name}" in str(exported.graph)
    torch.testing.assert_close(exported.module()(*larger), Program()(*larger), equal_nan=True)


def test_what_writes_its_arguments() -> None:
    ops = torch.ops.everywhere
    x = torch.randn(3, requires_grad=True)
    y = x * 1
    before = y._version
    ops.soft_threshold_(y, limit=0.2)
    y.sum().backward()
    assert y._version > before
    assert torch.equal(x.grad, (x.detach().abs() > 0.2).float())
    out = torch.empty(0)
    assert ops.soft_threshold.out(x.detach(), limit=0.2, out=out) is out
    assert torch.equal(out, y.detach())
    for each, args, kwargs in (
        (ops.soft_threshold_.default, (x.detach().clone(),), {}),
        (ops.soft_threshold.out, (x.detach(),), {"out": torch.empty(3)}),
    ):
        assert set(torch.library.opcheck(each, args, kwargs).values()) == {"SUCCESS"}
    inner = torch.ones(3)
    torch.compile(lambda tensor: ops.soft_threshold_(tensor), fullgraph=True, backend="aot_eager")(inner)
    assert torch.equal(inner, torch.full((3,), 0.5))


def test_autocast_casts_by_the_policy() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ops.everywhere.standardize(torch.randn(2, 3, dtype=torch.bfloat16)).dtype == torch.float32


def test_dtypes_that_numpy_does_not_have_and_odd_layouts() -> None:
    peak, threshold = torch.ops.everywhere.peak, torch.ops.everywhere.soft_threshold
    short = torch.tensor([[1.0, -3.0], [2.0, 0.5]], dtype=torch.bfloat16)
    assert torch.equal(threshold(short), torch.tensor([[0.5, -2.5], [1.5, 0.0]], dtype=torch.bfloat16))
    long = torch.randn(4, 6)[::2, ::3]
    assert torch.equal(peak(long.t(), 0), long.abs().amax(1))
    assert threshold(torch.empty(0, 3)).shape == (0, 3)


def test_results_share_no_memory_with_arguments() -> None:
    x = torch.ones(2, 3)
    torch.ops.everywhere.soft_threshold(x, limit=0.0).zero_()
    assert torch.equal(x, torch.ones(2, 3))


def test_errors_are_ours() -> None:
    with pytest.raises(RuntimeError, match="size of tensor"):
        torch.ops.everywhere.haversine(torch.ones(2), torch.ones(3), torch.ones(2), torch.ones(2))


def test_flop_counters_of_pytorch_count_them() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    x, w = torch.ones(3, 4, requires_grad=True), torch.ones(4, 5)
    with FlopCounterMode(display=False) as counter:
        (torch.ops.everywhere.soft_threshold(x, limit=0.3) @ w).sum().backward()
    found = {str(packet): count for packet, count in counter.get_flop_counts()["Global"].items()}
    assert found["everywhere.soft_threshold"] == 5 * 12  # sign, abs, minus, maximum, times
    assert found["aten.mm"] == 2 * (2 * 3 * 4 * 5)  # and its gradient
    with torch._subclasses.FakeTensorMode() as mode, FlopCounterMode(display=False) as counter:
        torch.ops.everywhere.squared_distances(*[mode.from_tensor(torch.ones(n, 4)) for n in (300, 500)])
    assert counter.get_total_flops() == 3 * 300 * 500 * 4


def test_tangents_go_through_transforms_and_variants() -> None:
    ops, forward = torch.ops.everywhere, torch.autograd.forward_ad
    x, along = drawn(4).detach() * 2, drawn(4).detach()

    def squares(x: Any) -> Any:
        return ops.soft_threshold(x * x, limit=0.1)

    slope = 2 * x * (x * x > 0.1)
    torch.testing.assert_close(torch.func.jacfwd(squares)(x), torch.diag(slope))
    torch.testing.assert_close(torch.autograd.functional.jacobian(squares, x, strategy="forward-mode", vectorize=True),
                               torch.diag(slope))  # fmt: skip
    nested = torch.func.jvp(lambda x: torch.func.jvp(squares, (x,), (along,))[1], (x,), (along,))[1]
    torch.testing.assert_close(nested, 2 * along * along * (x * x > 0.1))
    with forward.dual_level():
        dual = forward.make_dual(x.clone(), along)
        ops.soft_threshold_(dual, limit=0.1)
        torch.testing.assert_close(forward.unpack_dual(dual).tangent, along * (x.abs() > 0.1))
        with pytest.raises(RuntimeError, match=r"soft_threshold\.out: it writes arguments"):
            ops.soft_threshold.out(forward.make_dual(x, along), out=torch.empty_like(x))
    torch._dynamo.reset()
    compiled = torch.compile(lambda *given: torch.func.jvp(squares, given[:1], given[1:]), backend="aot_eager")
    torch.testing.assert_close(compiled(x, along)[1], slope * along)


@pytest.mark.parametrize("transform", ["jvp", "jacfwd", "hessian", "grad", "jacrev"])
def test_transforms_that_do_not_go_through_are_refused(transform: str) -> None:
    def program(x: Any) -> Any:
        return torch.ops.everywhere.standardize(x).sum()

    x = drawn(2, 3).detach()
    with pytest.raises((NotImplementedError, RuntimeError), match=r"no forward formula|autograd\.Function"):
        torch.func.jvp(program, (x,), (x,)) if transform == "jvp" else getattr(torch.func, transform)(program)(x)


def test_tangents_of_tensors_that_require_grad_are_refused() -> None:
    forward = torch.autograd.forward_ad
    places, other = drawn(3).detach(), drawn(3)
    with forward.dual_level(), pytest.raises(NotImplementedError, match="has a tangent and one requires grad"):
        torch.ops.everywhere.haversine(forward.make_dual(places, places), other, places, places)
