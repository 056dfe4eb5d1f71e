"""examples/everywhere on JAX's arrays: values, derivatives, batches, programs, and what is refused."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeds
from copying import copy_example

from opwright_codegen.cli import main

jax = pytest.importorskip("jax", reason="JAX is not installed: the group of dependencies `jax`")
import jax.numpy as jnp  # noqa: E402

EXAMPLE = Path(__file__).parents[4] / "examples" / "everywhere"
RANDOM = seeds.numpy_generator(0)
A, B = RANDOM.uniform(0.1, 1, (2, 3, 4)), RANDOM.uniform(0.1, 1, (5, 4))
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("soft_threshold", (A,), {"limit": 0.3}),
    # Places far from each other: where they meet, the second derivatives are as large as differences are wrong.
    ("haversine", (A, RANDOM.uniform(size=4), RANDOM.uniform(1.5, 2, size=(3, 1)), np.asarray(3.0)), {}),
    ("squared_distances", (A, B), {}),
    ("standardize", (A,), {}),
    ("peak", (A,), {"dim": -2}),
    ("peak", (A,), {"dim": -1, "keepdim": True}),
    ("moving_mean", (A,), {"radius": 2}),
]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """The functions for JAX, and the operators themselves, generated in a folder of their own."""
    folder = tmp_path_factory.mktemp("everywhere") / "project"
    copy_example(EXAMPLE.name, folder)
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    with jax.enable_x64(True):
        yield importlib.import_module("everywhere_ops_jax"), importlib.import_module("everywhere_ops").ops
    sys.path.remove(str(folder))


@pytest.fixture
def f(modules: tuple[Any, Any]) -> Any:
    return modules[0]


@pytest.fixture
def ops(modules: tuple[Any, Any]) -> Any:
    return modules[1]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_values_shapes_and_derivatives(f: Any, ops: Any, name: str, args: Any, kwargs: Any) -> None:
    from jax.test_util import check_grads

    def call(*given: Any) -> Any:
        return getattr(f, name)(*given, **kwargs)

    expected = getattr(ops, name)(*args, **kwargs)
    for found in (call(*args), jax.jit(call)(*args)):
        np.testing.assert_array_equal(np.asarray(found), expected)
        assert found.dtype == expected.dtype
    shown = jax.eval_shape(call, *args)
    assert (shown.shape, shown.dtype) == (expected.shape, expected.dtype)
    check_grads(call, args, 2, rtol=1e-3)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_batches_at_every_dimension(f: Any, ops: Any, name: str, args: Any, kwargs: Any) -> None:
    def call(*given: Any) -> Any:
        return getattr(f, name)(*given, **kwargs)

    choices = [[None, *range(np.ndim(each) + 1)] for each in args]
    found = [dims for dims in itertools.product(*choices) if any(dim is not None for dim in dims)]
    for dims in found:
        pairs = zip(args, dims, strict=True)
        batches = [each if dim is None else np.stack([each, each + 1, each / 2], dim) for each, dim in pairs]
        together = np.asarray(jax.vmap(call, in_axes=dims)(*batches))
        for place, one in enumerate(together):
            sample = [
                each if dim is None else np.take(each, place, dim) for each, dim in zip(batches, dims, strict=True)
            ]
            np.testing.assert_allclose(one, getattr(ops, name)(*sample, **kwargs), rtol=1e-9, atol=1e-12)


def loss(f: Any, a: Any, b: Any) -> Any:
    return f.squared_distances(f.standardize(a), f.moving_mean(b, 1)).mean()


def test_programs_of_jax(f: Any) -> None:
    a, b = A[0], B
    grad = jax.grad(lambda a: loss(f, a, b))
    expected = grad(a)
    np.testing.assert_allclose(jax.jit(jax.grad(jax.checkpoint(lambda a: loss(f, a, b))))(a), expected, rtol=1e-12)
    pulled = jax.jit(lambda a, by: jax.vjp(lambda a: loss(f, a, b), a)[1](by))(a, jnp.asarray(2.0))
    np.testing.assert_allclose(pulled[0], 2 * expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(grad))(A), [grad(each) for each in A], rtol=1e-9)
    hessian = jax.jit(jax.hessian(lambda a: loss(f, a, b)))(a)
    ahead = jax.jvp(grad, (a,), (np.ones_like(a),))[1]  # forward over reverse
    np.testing.assert_allclose(hessian.sum((2, 3)), ahead, rtol=1e-6, atol=1e-9)

    _, linear = jax.linearize(lambda a: f.standardize(a), a)
    several = jax.vmap(linear, in_axes=1)
    moved = np.moveaxis(A, 0, 1)
    (pulled,) = jax.linear_transpose(several, moved)(jnp.ones_like(A))
    for place in range(2):  # a batch of a derivative, transposed
        one = jax.vjp(f.standardize, a)[1](jnp.ones_like(a))[0]
        np.testing.assert_allclose(pulled[:, place], one, rtol=1e-9, atol=1e-12)

    def scanned(a: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            return f.soft_threshold(f.standardize(carry), limit=0.1), f.peak(carry, -1)

        carry, peaks = jax.lax.scan(step, a, None, length=3)
        return carry.sum() + peaks.sum()

    numeric = (scanned(a + 1e-5) - scanned(a - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.jit(jax.grad(scanned))(a).sum(), numeric, rtol=1e-5)


def test_complex_derivatives_are_those_of_jax(modules: Any) -> None:
    """JAX transposes without conjugating, our gradients are conjugated."""
    from opwright_bindings.jax.runtime.primitive import bind
    from opwright_bindings.jax.runtime.programs import Call, Slot

    z, w = np.array([1 + 2j, -0.5j]), np.array([0.3 - 1j, 2 + 0j])
    call = Call("aten::mul.Tensor", ("z",), (Slot(0), Slot(1)))
    ours = jax.vjp(lambda z, w: bind(call, (z, w))[0], z, w)[1](np.array([1j, 2 + 1j]))
    theirs = jax.vjp(lambda z, w: z * w, z, w)[1](np.array([1j, 2 + 1j]))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_thirty_two_bits(f: Any) -> None:
    from opwright_bindings.jax.runtime import Function
    from opwright_core.dispatch.call.packets import find_packet

    total = Function(find_packet("aten::sum"), ["default", "dim_IntList"])
    with jax.enable_x64(False):
        assert total(np.arange(3)).dtype == np.int32
        with pytest.warns(UserWarning, match="float64 was asked for, and JAX gives float32"):
            assert total(A, dtype=np.float64).dtype == np.float32
        assert f.peak(A, -1).dtype == np.float32
        assert jax.jit(f.standardize)(A).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: jax.jit(f.peak)(A, 1), TypeError, "peak takes a number where an array was given.*static_argnames"),
        (lambda f: jax.jit(lambda x: f.peak(x, 3))(A), IndexError, "Dimension out of range"),
        (lambda f: jax.eval_shape(f.haversine, A, A, A, A[:, :2, :2]), RuntimeError, "must match the size"),
        (lambda f: f.peak(jnp.arange(3), 0), RuntimeError, "not implemented for int64"),
        (lambda f: f.peak(2.0, 0), TypeError, "expected Tensor"),
        (lambda f: f.soft_threshold_(A), AttributeError, "soft_threshold_"),
    ],
)
def test_errors_are_raised_while_jax_traces(f: Any, call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(f)


def test_costs_are_those_of_the_program_that_jax_traces(f: Any) -> None:
    from opwright_bindings.jax.runtime import cost

    once = cost(f.soft_threshold, jnp.ones((3, 4)))
    assert (once.flops, once.read, once.written) == (60, 96, 96)
    assert cost(jax.jit(lambda x: f.soft_threshold(x).sum()), jnp.ones((3, 4))) == once
    assert cost(jax.grad(lambda x: f.soft_threshold(x).sum()), jnp.ones((3, 4))).flops > 2 * once.flops
    assert cost(jax.vmap(f.squared_distances), jnp.ones((6, 3, 4)), jnp.ones((6, 7, 4))).flops == 6 * 3 * 3 * 7 * 4

    def steps(x: Any) -> Any:
        return jax.lax.scan(lambda carry, _: (f.soft_threshold(carry), None), x, None, length=10)

    assert cost(steps, jnp.ones((3, 4))).flops == 10 * once.flops
