"""Backward operators beside PyTorch's: those of norms with every mask and any statistics, also under `vmap`; what those
of images refuse; and the names that traces of backward passes show."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright.fx import make_fx

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from torch.fx.experimental.proxy_tensor import make_fx as torch_make_fx  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

COUNT = 3  # samples of a batch


class Norm:
    """A call of a backward operator: arguments, the mask among them, and which arguments have gradients."""

    def __init__(self, name: str, arguments: list[Any], inputs: tuple[int, ...]) -> None:
        self.name, self.arguments, self.inputs = name, arguments, inputs
        self.mask = next(each for each in arguments if isinstance(each, list) and isinstance(each[0], bool))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(getattr(each, 'shape', each)) for each in self.arguments)})"

    def given(self, library: Any) -> list[Any]:
        return [library.tensor(each) if isinstance(each, np.ndarray) else each for each in self.arguments]

    def call(self, library: Any, arguments: list[Any]) -> tuple[Any, ...]:
        found = getattr(library.ops.aten, self.name)(*arguments)
        assert [each is not None for each in found] == self.mask
        return tuple(each for each in found if each is not None)


def norms() -> Iterator[Norm]:
    """Statistics that are nobody's: they count as they are given."""
    rng = seeds.numpy_generator(31)

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape)

    def positive(*shape: int) -> np.ndarray:
        return rng.uniform(0.5, 2, shape)

    masks = [list(each) for each in itertools.product((True, False), repeat=3) if any(each)]
    for mask, has_weight in [*((mask, True) for mask in masks), ([True, False, False], False)]:
        weight, bias = (some(3, 4), some(3, 4)) if has_weight else (None, None)
        given = [some(2, 3, 4), some(2, 3, 4), [3, 4], some(2, 1, 1), positive(2, 1, 1), weight, bias, mask]
        yield Norm("native_layer_norm_backward", given, (0, 1, 5) if has_weight else (0, 1))
        weight = some(3) if has_weight else None
        for train in (True, False):
            statistics = [some(3), positive(3), some(3), positive(3), train, 1e-3, mask]
            given = [some(4, 3, 2), some(4, 3, 2), weight, *statistics]
            yield Norm("native_batch_norm_backward", given, (0, 1, 2) if has_weight else (0, 1))
        weight = some(4) if has_weight else None
        given = [some(2, 4, 3), some(2, 4, 3), some(2, 2), positive(2, 2), weight, 2, 4, 3, 2, mask]
        yield Norm("native_group_norm_backward", given, ())  # PyTorch has no derivative of it


NORMS = list(norms())


def same(found: Any, wanted: Any) -> bool:
    if found is None or wanted is None:  # no gradient is one of zeros
        return all(each is None or not np.any(each.detach().numpy()) for each in (found, wanted))
    return np.allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("norm", NORMS, ids=str)
def test_values(norm: Norm) -> None:
    wanted = norm.call(torch, norm.given(torch))
    with opwright.no_grad():
        assert all(map(same, norm.call(opwright, norm.given(opwright)), wanted))
    assert all(map(same, norm.call(opwright, norm.given(opwright)), wanted))


def second(library: Any, norm: Norm, chosen: tuple[int, ...]) -> list[Any]:
    arguments = norm.given(library)
    for place in chosen:
        arguments[place].requires_grad_()
    results = norm.call(library, arguments)
    along = [
        library.tensor(np.cos(np.arange(each.numel(), dtype=float)).reshape(tuple(each.shape))) for each in results
    ]
    total = sum((result * each).sum() for result, each in zip(results, along, strict=True))
    if not total.requires_grad:
        return []
    return list(library.autograd.grad(total, [arguments[place] for place in chosen], allow_unused=True))


@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm.inputs], ids=str)
def test_gradients_count_the_statistics_that_are_given(norm: Norm) -> None:
    for count in range(1, len(norm.inputs) + 1):
        for chosen in itertools.combinations(norm.inputs, count):
            assert all(map(same, second(opwright, norm, chosen), second(torch, norm, chosen))), chosen


@pytest.mark.parametrize("norm", NORMS, ids=str)
def test_batches_are_pytorchs_samples(norm: Norm) -> None:
    places = [place for place, each in enumerate(norm.arguments) if isinstance(each, np.ndarray)]
    stacks = {place: np.stack([norm.arguments[place] * (1 + each / 4) for each in range(COUNT)]) for place in places}

    def of(*tensors: Any) -> tuple[Any, ...]:
        given = list(norm.arguments)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        return norm.call(opwright, given)

    found = opwright.vmap(of)(*[opwright.tensor(stacks[place]) for place in places])
    for number in range(COUNT):
        given = list(norm.arguments)
        for place in places:
            given[place] = torch.tensor(stacks[place][number])
        assert all(same(each[number], right) for each, right in zip(found, norm.call(torch, given), strict=True))


NORMALISED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "layer_norm": lambda t, x, weight: module(t).layer_norm(x, (4,), weight, weight),
    "group_norm": lambda t, x, weight: module(t).group_norm(x, 2, weight, weight),
    "batch_norm": lambda t, x, weight: module(t).batch_norm(x, None, None, weight, weight, training=True),
}


@pytest.mark.parametrize("name", sorted(NORMALISED))
def test_norms_under_transforms(name: str) -> None:
    """Gradients of each sample, their tangents, and second derivatives by either mode."""
    rng = seeds.numpy_generator(32)
    x, weight, change = (rng.standard_normal(shape) for shape in ((COUNT, 3, 4, 4), (4,), (3, 4, 4)))

    def transformed(library: Any) -> list[Any]:
        func, given = library.func, [library.tensor(each) for each in (x, weight, change)]

        def loss(x: Any, weight: Any) -> Any:
            return (NORMALISED[name](library, x, weight) ** 3).sum()

        def one(x: Any) -> Any:
            return func.grad(loss)(x, given[1])

        of_each = func.vmap(func.grad(loss, argnums=(0, 1)), in_dims=(0, None))(given[0], given[1])
        along = func.jvp(lambda x: loss(x, given[1]), (given[0][0],), (given[2],))
        twice = func.vjp(one, given[0][0])[1](given[2])
        batch = given[0].clone().requires_grad_()
        each = func.vmap(func.grad(loss), in_dims=(0, None))(batch, given[1])
        through = library.autograd.grad((each * given[2]).sum(), [batch])
        over = func.jvp(one, (given[0][0],), (given[2],))
        return [*of_each, *along, *twice, *over, *through]

    assert all(map(same, transformed(opwright), transformed(torch)))


def module(library: Any) -> Any:
    return library.nn.functional


def refused_images() -> Iterator[tuple[str, list[Any]]]:
    """Calls of backward operators of images whose sizes are no image's, or do not follow from each other."""
    for dims in (2, 3):
        for grad, self in [((2, 3), (2, 3)), ((2,) * (dims + 2), (2,) * (dims + 1))]:
            given = [np.ones(grad), np.ones(self)]
            windows = [[1] * dims, [1] * dims, [0] * dims]
            places = np.zeros(grad, np.int64)
            yield f"_adaptive_avg_pool{dims}d_backward", given
            yield f"avg_pool{dims}d_backward", [*given, *windows, False, True, None]
            yield f"adaptive_max_pool{dims}d_backward", [*given, places]
            yield f"max_pool{dims}d_with_indices_backward", [*given, *windows, [1] * dims, False, places]
    for dims, mode in itertools.product((1, 2, 3), ("reflection", "replication")):
        yield f"{mode}_pad{dims}d_backward", [np.ones((2, 3)), np.ones((2, 3)), [1]]
        yield f"{mode}_pad{dims}d_backward", [np.ones((2,) * (dims + 2)), np.ones((2,) * (dims + 2)), [1, 1] * dims]
    for grad, grid in (((3,), (3,)), ((2, 3, 4, 4), (3, 4, 4, 2)), ((2, 3, 4, 4), (2, 4, 4, 3))):
        given = [np.ones(grad), np.ones(grad), np.ones(grid)]
        yield "grid_sampler_2d_backward", [*given, 0, 0, True, [True, True]]
    options = [None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, False, True]]
    for grad, image in (((3, 3, 3, 3), (3, 3)), ((3, 3, 3, 3), (3, 2, 5, 5))):
        yield "convolution_backward", [np.ones(grad), np.ones(image), np.ones((3, 3, 3, 3)), *options]
    resized = {
        1: ("upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_linear1d"),
        2: ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa"),
        3: ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d"),
    }
    for dims, names in resized.items():
        image = np.ones((2, 2) + (3,) * dims)
        sizes = [([4] * dims, [2] * (dims + 2)), ([3] * dims, [2] * (dims + 1)), ([3] * dims, [2, 2] + [0] * dims)]
        for name, (output_size, input_size) in itertools.product(names, sizes):
            yield f"{name}_backward", [image, output_size, input_size, *([] if "nearest" in name else [True])]


def refused_norms() -> Iterator[tuple[str, list[Any]]]:
    """Calls of backward operators of norms with numbers that are none, or other sizes than the input's."""
    ones, some = np.ones((2, 3)), np.ones((2, 1))
    for grad, shape, statistics, weight in (
        (ones, [2], some, np.ones(2)),
        (ones, [-1], some, np.ones(3)),
        (ones, [3], some, np.ones(2)),
        (ones.astype(np.int64), [3], some.astype(np.int64), np.ones(3, np.int64)),
    ):
        yield "native_layer_norm_backward", [grad, grad, shape, statistics, statistics, weight, None, [True] * 3]


@pytest.mark.parametrize("library", [opwright, torch])
def test_sizes_that_do_not_fit_are_refused_by_both(library: Any) -> None:
    taken = []
    for name, arguments in [*refused_images(), *refused_norms()]:
        given = [library.from_numpy(each) if isinstance(each, np.ndarray) else each for each in arguments]
        try:
            getattr(library.ops.aten, name)(*given)
        except (RuntimeError, IndexError):  # (NotImplementedError is a RuntimeError)
            continue
        taken.append((name, [getattr(each, "shape", each) for each in given]))
    assert taken == []


def test_a_reduction_of_no_name_is_the_sum() -> None:
    scores, classes, ones = np.cos(np.arange(6.0)).reshape(2, 3), np.array([0, 2]), np.ones(())
    found = []
    for library in (opwright, torch):
        given = [library.from_numpy(each) for each in (ones, scores, classes)]
        with library.enable_grad():
            given[1].requires_grad_()
            found.append(library.ops.aten.nll_loss_backward(*given, None, 3, 1, given[0]).detach().numpy())
    assert np.array_equal(*found)


# Programs whose backward passes are traced: of an image, a matrix, an index.
PROGRAMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    name: lambda t, image, matrix, index, name=name: getattr(module(t), name)(matrix)
    for name in ("silu", "gelu", "elu", "mish", "softplus", "hardtanh", "hardswish", "hardsigmoid", "leaky_relu",
                 "logsigmoid", "hardshrink", "softshrink", "glu", "sigmoid", "tanh", "relu")
} | {
    "softmax": lambda t, image, matrix, index: matrix.softmax(-1),
    "log_softmax": lambda t, image, matrix, index: matrix.log_softmax(-1),
    "mse_loss": lambda t, image, matrix, index: module(t).mse_loss(matrix, matrix.detach().sin()),
    "huber_loss": lambda t, image, matrix, index: module(t).huber_loss(matrix, matrix.detach().sin()),
    "smooth_l1_loss": lambda t, image, matrix, index: module(t).smooth_l1_loss(matrix, matrix.detach().sin()),
    "binary_cross_entropy": lambda t, image, matrix, index: module(t).binary_cross_entropy(
        matrix.sigmoid(), matrix.detach().sigmoid()
    ),
    "prelu": lambda t, image, matrix, index: module(t).prelu(matrix, matrix[0]),
    "nll_loss": lambda t, image, matrix, index: module(t).nll_loss(matrix, index),
    "layer_norm": lambda t, image, matrix, index: module(t).layer_norm(matrix, (4,), matrix[0]),
    "batch_norm": lambda t, image, matrix, index: module(t).batch_norm(image, None, None, training=True),
    "group_norm": lambda t, image, matrix, index: module(t).group_norm(image, 2),
    "embedding": lambda t, image, matrix, index: module(t).embedding(index, matrix),
    "conv2d": lambda t, image, matrix, index: module(t).conv2d(image, image.detach()[:, :, :2, :2]),
    "avg_pool2d": lambda t, image, matrix, index: module(t).avg_pool2d(image, 2),
    "max_pool2d": lambda t, image, matrix, index: module(t).max_pool2d(image, 2),
    "adaptive_avg_pool2d": lambda t, image, matrix, index: module(t).adaptive_avg_pool2d(image, 3),
    "adaptive_max_pool2d": lambda t, image, matrix, index: module(t).adaptive_max_pool2d(image, 2),
    "reflection_pad": lambda t, image, matrix, index: module(t).pad(image, (1, 1, 1, 1), mode="reflect"),
    "replication_pad": lambda t, image, matrix, index: module(t).pad(image, (1, 1, 1, 1), mode="replicate"),
    "nearest": lambda t, image, matrix, index: module(t).interpolate(image, size=(6, 6)),
    "bilinear": lambda t, image, matrix, index: module(t).interpolate(image, size=(6, 6), mode="bilinear"),
    "bicubic": lambda t, image, matrix, index: module(t).interpolate(image, size=(6, 6), mode="bicubic"),
    "select": lambda t, image, matrix, index: matrix[1],
    "slice": lambda t, image, matrix, index: matrix[:, 1:3],
    "diagonal": lambda t, image, matrix, index: matrix.diagonal(),
    "unfold": lambda t, image, matrix, index: matrix.unfold(1, 2, 1),
}  # fmt: skip


def backward_names(library: Any, trace: Callable[..., Any], name: str) -> set[str]:
    """The backward operators in the trace of a gradient, without their overloads."""

    def gradients(image: Any, matrix: Any, index: Any) -> Any:
        image, matrix = image.detach().requires_grad_(), matrix.detach().requires_grad_()
        result = PROGRAMS[name](library, image, matrix, index)
        return [
            each for each in library.autograd.grad(result.sum(), [image, matrix], allow_unused=True) if each is not None
        ]

    image, matrix, index = (
        np.arange(n, dtype=float).reshape(shape) for n, shape in ((64, (2, 2, 4, 4)), (16, (4, 4)), (4, 4))
    )
    graph = trace(gradients)(*map(library.tensor, (np.sin(image), np.cos(matrix), index.astype(np.int64))))
    targets = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    return {
        base
        for base in (text.removeprefix("aten.").partition(".")[0].split("::")[-1] for text in targets)
        if "backward" in base
    }


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_traces_show_the_names_of_pytorch(name: str) -> None:
    found = backward_names(opwright, make_fx, name)
    assert found and found == backward_names(torch, torch_make_fx, name)
