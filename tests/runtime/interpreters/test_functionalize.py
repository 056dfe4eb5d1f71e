"""`functionalize`: what a program becomes, what it writes, how it nests, and what it refuses."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.func import functionalize, grad, jvp, vmap
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import Library
from opwright.utils._python_dispatch import TorchDispatchMode

aten = opwright.ops.aten


class Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name.partition("::")[2])
        return func(*args, **(kwargs or {}))


def called(function: Callable[..., Any], *args: Any, remove: str = "mutations") -> list[str]:
    with Recorder() as recorder:
        functionalize(function, remove=remove)(*args)
    return recorder.names


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("functionalized", "FRAGMENT")
    yield made
    made._destroy()


def matrix() -> Tensor:
    return opwright.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# The program


def rows(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x.view(-1)
    x[0].add_(1)
    y.mul_(2)
    return x, y


def test_a_program_without_writes_but_the_last() -> None:
    x, eager = matrix(), matrix()
    assert called(rows, x) == [
        "view", "select.int", "add.Scalar", "select_scatter", "view", "mul.Scalar", "view", "view", "copy_",
    ]  # fmt: skip
    rows(eager)
    assert x.tolist() == eager.tolist()


def test_a_program_without_views() -> None:
    x, eager = matrix(), matrix()
    assert called(rows, x, remove="mutations_and_views") == [
        "view_copy", "select_copy.int", "add.Scalar", "select_scatter", "view_copy", "mul.Scalar", "view_copy",
        "view_copy", "copy_",
    ]  # fmt: skip
    rows(eager)
    assert x.tolist() == eager.tolist()


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_trace_writes_nothing_but_at_the_end(mode: str) -> None:
    graph = make_fx(functionalize(rows), tracing_mode=mode)(matrix())
    written = [node.target.signature.written for node in graph.graph.nodes if node.op == "call_function"]
    assert [bool(each) for each in written] == [False] * (len(written) - 1) + [True]
    x, eager = matrix() if mode != "symbolic" else opwright.ones(4, 5), None
    eager = x.clone()
    assert [each.tolist() for each in graph(x)] == [each.tolist() for each in rows(eager)]
    assert x.tolist() == eager.tolist()


def test_results_are_new_values_where_arguments_were_written() -> None:
    x = matrix()
    assert functionalize(lambda x: x)(x) is x
    written, view = functionalize(lambda x: (x.add_(1), x.t()))(x)
    assert written is not x
    assert view._base is written or view.untyped_storage() is written.untyped_storage()
    assert functionalize(lambda x: x[0])(x).untyped_storage() is x.untyped_storage()


def test_nothing_is_written_where_the_function_fails() -> None:
    x = matrix()

    def fails(x: Tensor) -> None:
        x.zero_()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        functionalize(fails)(x)
    assert x.tolist() == matrix().tolist()


def test_versions_within_and_outside() -> None:
    x = matrix()

    def counts(x: Tensor) -> list[int]:
        before, row = x._version, x[0]
        row.add_(1)
        return [before, row._version, x._version, x.add(1)._version]

    assert functionalize(counts)(x) == [0, 1, 1, 0]
    assert x._version == 1


def test_captured_tensors_are_written_at_the_end() -> None:
    total = opwright.zeros(3)

    def adds(x: Tensor) -> Tensor:
        total.add_(x)
        view = total[1:]
        view.mul_(2)
        return total * 1

    assert functionalize(adds)(opwright.ones(3)).tolist() == total.tolist() == [1.0, 2.0, 2.0]


def test_tensors_of_numbers_are_new_in_the_program() -> None:
    graph = make_fx(functionalize(lambda x: opwright.tensor([1.0, 2.0]).add_(x)))(opwright.ones(2))
    for _ in range(2):
        assert graph(opwright.ones(2)).tolist() == [2.0, 3.0]
    assert grad(lambda x: opwright.tensor([1.0, 2.0]).add_(x).sum())(opwright.ones(2)).tolist() == [1.0, 1.0]


def test_arguments_that_share_memory() -> None:
    def both(x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        y.mul_(2)
        return x + y.sum()

    for make in (
        lambda x: (x, x[0]),
        lambda x: (x[1], x),
        lambda x: (x, x),
        lambda x: (x[0], x[1]),
        lambda x: (x[:, ::2], x),
    ):
        ours, eager = matrix(), matrix()
        if make(ours)[0].shape == (2, 2):
            ours, eager = ours + 0, eager + 0
        assert functionalize(both)(*make(ours)).tolist() == both(*make(eager)).tolist()
        assert ours.tolist() == eager.tolist()
    x = opwright.ones(4)
    with pytest.raises(RuntimeError, match="shares a part of its memory with another tensor"):
        functionalize(both)(x[1:], x[:3])
    assert functionalize(lambda x, y: x + y)(x[1:], x[:3]).tolist() == [2.0, 2.0, 2.0]


# Shapes


def test_shapes_change_in_place() -> None:
    def turns(x: Tensor) -> Tensor:
        row = x[0]
        x.t_().unsqueeze_(0)
        x.add_(1)
        return row + x.stride(1)

    x, eager = matrix(), matrix()
    assert functionalize(turns)(x).tolist() == turns(eager).tolist()
    assert (x.shape, x.stride(), x.tolist()) == (eager.shape, eager.stride(), eager.tolist())


def test_resized_tensors() -> None:
    def grows(x: Tensor) -> Tensor:
        x.resize_(2, 4)
        x.fill_(3)
        x.resize_(3)
        return x * 2

    x, eager = matrix(), matrix()
    assert functionalize(grows)(x).tolist() == grows(eager).tolist()
    assert (x.shape, x.tolist()) == (eager.shape, eager.tolist())


def test_results_of_out_variants() -> None:
    def fills(x: Tensor) -> tuple[Tensor, Tensor]:
        small, part = opwright.empty(0), opwright.zeros(2, 6)
        opwright.add(x, 1, out=small)
        opwright.mul(x, 2, out=part[:, ::2])
        return small, part

    assert [each.tolist() for each in functionalize(fills)(matrix())] == [each.tolist() for each in fills(matrix())]
    assert not {"add.out", "mul.Scalar_out", "mul.out"} & {*called(fills, matrix())}


def test_running_statistics() -> None:
    def normalised(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        result: Tensor = opwright.nn.functional.batch_norm(x, mean, var, training=True)
        return result

    ours, eager = ((matrix(), opwright.zeros(3), opwright.ones(3)) for _ in range(2))
    assert "native_batch_norm" not in called(normalised, *ours)
    normalised(*eager)
    assert [each.tolist() for each in ours] == [each.tolist() for each in eager]


# Errors


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[0].expand(3, 3).add_(1),
        lambda x: x[0].add_(x),
        lambda x: x.view(-1)[1:].add_(x.view(-1)[:-1]),
        lambda x: x.long().add_(1.5),
        lambda x: x.t().view(-1),
        lambda x: x.as_strided((4, 4), (4, 1)),
    ],
)
def test_errors_are_those_of_eager_calls(write: Callable[[Tensor], Any]) -> None:
    with pytest.raises(Exception) as eager:
        write(matrix())
    with pytest.raises(Exception) as ours:
        functionalize(write)(matrix())
    assert (type(ours.value), str(ours.value)) == (type(eager.value), str(eager.value))


def test_windows_that_meet_are_not_written() -> None:
    with pytest.raises(RuntimeError, match="several elements are one place of memory"):
        functionalize(lambda x: x.unfold(-1, 2, 1).mul_(2))(matrix())
    ours = matrix()
    functionalize(lambda x: (x.unfold(-1, 2, 1).zero_(), x[0].expand(2, 3).fill_(5)))(ours)
    assert ours.tolist() == [[5.0] * 3, [0.0] * 3]


def test_a_word_that_remove_does_not_know() -> None:
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        functionalize(lambda x: x, remove="views")


def test_a_tensor_that_was_kept_shows_its_value() -> None:
    kept: list[Tensor] = []
    x = matrix()
    functionalize(lambda x: kept.append(x.mul_(2)[0]))(x)
    assert (kept[0] + 1).tolist() == [3.0, 5.0, 7.0]
    assert "FunctionalTensor" in repr(kept[0])


# Nesting


def loss(x: Tensor) -> Tensor:
    y = x * 2
    y[0].mul_(x[1])
    y.t().add_(1)
    return (y * x).sum()


def test_derivatives() -> None:
    x = matrix()
    expected = grad(loss)(x).tolist()
    assert grad(functionalize(loss))(x).tolist() == expected
    assert functionalize(grad(loss))(x).tolist() == expected
    (value, tangent), (other, expected_tangent) = (jvp(f, (x,), (x + 1,)) for f in (functionalize(loss), loss))
    assert (value.item(), tangent.item()) == (other.item(), expected_tangent.item())
    leaf = matrix().requires_grad_()
    functionalize(loss)(leaf).backward()
    assert leaf.grad.tolist() == expected
    assert all(name.partition(".")[0][-1] != "_" for name in called(grad(loss), x))


@pytest.mark.filterwarnings("ignore")
def test_batches() -> None:
    def sums(x: Tensor) -> Tensor:
        y = x * 2
        y.add_(x)
        return y.exp_().sum()

    x = matrix()
    expected = opwright.stack([sums(each) for each in x]).tolist()
    assert vmap(functionalize(sums))(x).tolist() == expected
    assert functionalize(vmap(sums))(x).tolist() == expected
    assert "exp_" not in called(vmap(sums), x)


def test_two_levels() -> None:
    x, y, eager = matrix(), matrix(), matrix()
    result = rows(eager)
    for each in (
        functionalize(functionalize(rows))(x),
        functionalize(functionalize(rows), remove="mutations_and_views")(y),
    ):
        assert [one.tolist() for one in each] == [one.tolist() for one in result]
    assert x.tolist() == y.tolist() == eager.tolist()


def test_nothing_is_kept() -> None:
    x = matrix()
    seen = weakref.ref(functionalize(rows)(x)[1])
    gc.collect()
    assert seen() is None


def nonzeros(x: Tensor) -> tuple[Tensor, Tensor]:
    places = opwright.nonzero(x)
    places[:, 0].mul_(2)
    turned = places.t()
    turned.sub_(1)
    return places, turned.reshape(-1)


def parts(x: Tensor) -> Tensor:
    first, second = x.split([2, x.shape[0] - 2])
    first.add_(1)
    second.t().mul_(2)
    x.view(-1)[1:].sin_()
    x.expand(2, *x.shape)[0].add_(1)
    x.unfold(0, 2, 2).mul_(2)
    x.diagonal().zero_()
    return x


def chosen(x: Tensor) -> Tensor:
    found = x[x > 2]
    found.mul_(3)
    x[x > 5] = 0
    return found


OF_ANY_SIZE: dict[str, Callable[[Tensor], Any]] = {
    "nonzeros": nonzeros,
    "parts": parts,
    "chosen": chosen,
    "turned": lambda x: x.t_().add_(1),
    "resized": lambda x: x.clone().resize_(2).fill_(1),
    "out": lambda x: opwright.add(x, 1, out=opwright.empty(0)),
    "strided": lambda x: (x.as_strided((2, 2), (1, 1)).sum(), x.as_strided((2,), (3,)).mul_(2).sum()),
}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
@pytest.mark.filterwarnings("ignore")
def test_traces_run_at_other_sizes(name: str) -> None:
    program = OF_ANY_SIZE[name]
    graph = make_fx(functionalize(program), tracing_mode="symbolic")(opwright.arange(15.0).reshape(5, 3))
    ours, eager = (opwright.arange(28.0).reshape(7, 4) for _ in range(2))
    results, expected = graph(ours), program(eager)
    assert [each.tolist() for each in leaves(results)] == [each.tolist() for each in leaves(expected)]
    assert (ours.stride(), ours.tolist()) == (eager.stride(), eager.tolist())


def leaves(value: Any) -> list[Tensor]:
    return [*value] if isinstance(value, list | tuple) else [value]


def test_fake_tensors_get_no_further_guards() -> None:
    from opwright.symbolic import ShapeEnv

    def slices(x: Tensor) -> tuple[Tensor, Tensor]:
        x[1:].add_(1)
        x.t().reshape(-1).mul_(2)
        first, second = x[0], x[1]
        first.add_(second)
        x.diagonal().mul_(2)
        return x.t(), first

    def guards(function: Callable[..., Any]) -> list[str]:
        mode = opwright.fake.FakeTensorMode(shape_env=ShapeEnv())
        function(mode.from_tensor(opwright.ones(5, 3)))
        assert mode.shape_env is not None
        return [str(each.expression) for each in mode.shape_env.guards]

    assert guards(functionalize(slices)) == guards(slices)


# Operators of users


@opwright.library.custom_op("functionalized::scale_", mutates_args=("x",))
def scale_(x: Tensor, by: float) -> None:
    x.mul_(by)


@opwright.library.custom_op("functionalized::many", mutates_args=("xs", "extra"))
def many(xs: Sequence[Tensor], y: Tensor, extra: Tensor | None = None) -> Tensor:
    for x in xs:
        x.add_(y)
    if extra is not None:
        extra.fill_(7.0)
    return y * 2


@opwright.library.custom_op("functionalized::halve_", mutates_args=("x",))
def halve_(x: np.ndarray) -> None:
    x /= 2


def of_users(x: Tensor, y: Tensor) -> Tensor:
    scale_(x[0], 3.0)
    result = many([x[0], y], x[1] * 1, x[1])
    many([y], result)
    many([x[0]], x[1])  # operands of one memory
    halve_(x)
    return result


def test_custom_operators_write_to_clones() -> None:
    ours, eager = (matrix(), opwright.ones(3)), (matrix(), opwright.ones(3))
    before = [each.tolist() for each in ours]
    with Recorder() as recorder:

        def looks(*args: Tensor) -> Tensor:
            result = of_users(*args)
            assert [each.tolist() for each in ours] == before
            return result

        result = functionalize(looks)(*ours)
    assert result.tolist() == of_users(*eager).tolist()
    assert [each.tolist() for each in ours] == [each.tolist() for each in eager]
    assert [name for name in recorder.names if name.endswith("_")] == ["scale_", "halve_", "copy_", "copy_"]
    with pytest.raises(
        RuntimeError, match="operands of functionalized::many, which has no functional variant, share memory"
    ):
        functionalize(lambda x: many([x[0]], x[1]), remove="mutations_and_views")(matrix())


def test_views_of_users(library: Library) -> None:
    library.define("row(Tensor(a) x, int i) -> Tensor(a)")
    library.impl("row", lambda x, i: x.select(0, i), "CompositeExplicitAutograd")
    library.define("rows(Tensor(a) x) -> Tensor(a)[]")
    library.impl("rows", lambda x: list(x.unbind(0)), "CPU")
    ops = opwright.ops.functionalized

    def program(x: Tensor) -> Tensor:
        row = ops.row(x, 1)
        row.add_(1)
        x.mul_(2)
        first, _ = ops.rows(x)
        first.sub_(row)
        return row + first

    x, eager = matrix(), matrix()
    names = called(program, x)
    assert "as_strided_scatter" in names
    program(eager)
    assert x.tolist() == eager.tolist()
    with pytest.raises(RuntimeError, match="register_fake"):
        functionalize(program, remove="mutations_and_views")(matrix())


def test_composed_operators_and_kernels_of_users(library: Library) -> None:
    def twice_(x: Tensor) -> None:
        x.copy_(x * 2)

    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x.clone().mul_(2), "CompositeImplicitAutograd")
    library.define("twice_(Tensor(a!) x) -> ()")
    library.impl("twice_", lambda x: None, "CPU")
    library.impl("twice_", twice_, "Functionalize")
    ops = opwright.ops.functionalized

    def program(x: Tensor) -> Tensor:
        ops.twice_(x)
        return ops.double(x)

    x = matrix()
    assert called(program, x) == ["mul.Scalar", "copy", "clone", "mul.Scalar", "copy_"]
    assert x.tolist() == (matrix() * 2).tolist()


def test_a_function_of_autograd() -> None:
    class Square(opwright.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    def program(x: Tensor) -> Tensor:
        y = Square.apply(x.clone().add_(1))
        y[0].mul_(2)
        return y.sum()

    leaf = matrix().requires_grad_()
    functionalize(program)(leaf).backward()
    assert leaf.grad.tolist() == [[8.0, 12.0, 16.0], [10.0, 12.0, 14.0]]


def test_what_a_mask_leaves_out_is_not_written() -> None:
    images, positions = opwright.ones(1, 1, 2, 2), opwright.zeros(1, 2, 2, 2)

    def backward(of_images: Tensor, of_positions: Tensor) -> Any:
        given, outs = (images, images, positions, 0, 0, False, [True, False]), (of_images, of_positions)
        opwright.ops.aten.grid_sampler_2d_backward.out(*given, out0=outs[0], out1=outs[1])
        return outs

    kept = opwright.full((1, 2, 2, 2), 7.0)
    plain = backward(opwright.zeros(1, 1, 2, 2), kept.clone())
    found = functionalize(backward)(opwright.zeros(1, 1, 2, 2), kept.clone())
    assert opwright.equal(found[0], plain[0]) and opwright.equal(found[1], kept)
