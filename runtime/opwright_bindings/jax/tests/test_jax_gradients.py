"""Gradients and tangents of expressions that XLA calls in C: who computes them, and what they are."""

from __future__ import annotations

import contextlib
import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import seeds

from opwright_codegen.cli import main

jax = pytest.importorskip("jax", reason="JAX is not installed: the group of dependencies `jax`")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
SCHEMAS = """
- func: graded_by_c::softclip(Tensor self, Tensor limit) -> Tensor
  kernel: limit * tanh(self / limit)
  dtypes: float16, float32, float64

- func: graded_by_c::bent(Tensor self, Tensor other, Tensor third, Scalar p, *, float q=2.0) -> Tensor
  kernel: where(self > other, self ** p, other * q) * third + clamp(self, 0.25, 2) + third ** 2
  dtypes: float32, float64

- func: graded_by_c::tripled(Tensor self, Tensor other) -> Tensor
  kernel: self * other
  dtypes: float64

- func: graded_by_c::factorial(Tensor self) -> Tensor
  kernel: lgamma(self + 1)
  dtypes: float64

- func: graded_by_c::times(Tensor x, Tensor y, float by) -> Tensor
  meta: pointwise(x, y, accepts="floating")
  dispatch: {CPU: native:times}
  convention: elementwise
  dtypes: float64

- func: graded_by_c::times_backward(Tensor grad, Tensor x, Tensor y, float by) -> (Tensor, Tensor)
  meta: pointwise(grad, x, y, accepts="floating"), pointwise(grad, x, y, accepts="floating")
  dispatch: {CPU: native:times_backward}
  convention: elementwise
  dtypes: float64
"""
KERNELS = """
#include "graded_by_c_kernels.h"
int times_f64(int64_t n, const double *x, const double *y, double by, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * y[i] * by;
    return 0;
}
int times_backward_f64(int64_t n, const double *grad, const double *x, const double *y, double by, double *a, double *b)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = grad[i] * y[i] * by;
        b[i] = grad[i] * x[i] * by;
    }
    return 0;
}
"""
DERIVATIVES = """
- name: graded_by_c::tripled(Tensor self, Tensor other) -> Tensor
  self: grad * other * 3
  other: grad * self
  result: self_t * other_p

- name: graded_by_c::times(Tensor x, Tensor y, float by) -> Tensor
  x, y: times_backward(grad, x, y, by)
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
derivatives = "derivatives.yaml"
output = "graded_by_c"
native = ["csrc"]
bindings = ["jax"]
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The functions for JAX, built in a folder of their own."""
    folder = tmp_path_factory.mktemp("graded")
    (folder / "csrc").mkdir()
    for name, text in (
        ("ops.yaml", SCHEMAS),
        ("derivatives.yaml", DERIVATIVES),
        ("pyproject.toml", SETTINGS),
        ("csrc/times.c", KERNELS),
    ):
        (folder / name).write_text(text)
    with contextlib.chdir(folder):
        assert main(["build"]) == 0
    sys.path.insert(0, str(folder))
    with jax.enable_x64(True):
        yield importlib.import_module("graded_by_c_jax")
    sys.path.remove(str(folder))


def softclip(x: Any, limit: Any) -> Any:
    return limit * jax.numpy.tanh(x / limit)


def bent(x: Any, y: Any, z: Any) -> Any:
    jnp = jax.numpy
    return jnp.where(x > y, x**3, y * 0.5) * z + jnp.clip(x, 0.25, 2) + z**2


def numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return seeds.numpy_generator(seed).uniform(0.3, 3, shape).astype(dtype)


def is_called_back(call: Callable[..., Any], *arrays: Any) -> bool:
    """Whether the compiled program calls Python; else C, or XLA, computes all."""
    return "callback" in jax.jit(call).lower(*arrays).as_text()


def check(ours: Callable[..., Any], wanted: Callable[..., Any], *arrays: Any, rtol: float = 1e-12) -> None:
    """Compare what a compiled program gives, which calls nothing back."""
    assert not is_called_back(ours, *arrays)
    found, expected = jax.tree.leaves(jax.jit(ours)(*arrays)), jax.tree.leaves(jax.jit(wanted)(*arrays))
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(np.asarray(one, "float64"), np.asarray(other, "float64"), rtol=rtol, atol=rtol)


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss whose gradient by the result is no constant."""
    return lambda *arrays: (function(*arrays) ** 2).sum()


@pytest.fixture(scope="module")
def pairs(ops: Any) -> list[tuple[Any, Any, tuple[int, ...]]]:
    return [
        (ops.softclip, softclip, (0, 1)),
        (lambda x, y, z: ops.bent(x, y, z, 3, q=0.5), bent, (0, 1, 2)),
    ]


def test_gradients_of_each_choice_of_operands(pairs: Any) -> None:
    for ours, wanted, every in pairs:
        arrays = [numbers(3, 4, seed=seed) for seed in every]
        for by in (every, every[:1], every[:0:-1]):
            check(jax.grad(summed(ours), by), jax.grad(summed(wanted), by), *arrays)


def test_operands_that_broadcast(pairs: Any) -> None:
    for ours, wanted, every in pairs:
        for shapes in ([(3, 4), (4,), (3, 1)], [(), (2, 1, 5), (3, 1)]):
            arrays = [numbers(*shape, seed=seed) for seed, shape in zip(every, shapes, strict=False)]
            check(jax.grad(summed(ours), every), jax.grad(summed(wanted), every), *arrays)
    (ours, _, every), *_ = pairs
    empty = jax.jit(jax.grad(summed(ours), every))(numbers(0, 3), numbers(3))
    assert empty[0].shape == (0, 3) and not empty[1].any()


def test_dtypes(ops: Any) -> None:
    for dtype, rtol in (("float16", 4e-3), ("float32", 1e-5), ("float64", 1e-12)):
        x, limit, grad = [numbers(70, dtype=dtype, seed=seed) for seed in range(3)]
        exact = [each.astype("float64") for each in (x, limit, grad)]

        def pulled(function: Any, x: Any, limit: Any, grad: Any) -> Any:
            return jax.vjp(function, x, limit)[1](grad)

        assert not is_called_back(lambda *given: pulled(ops.softclip, *given), x, limit, grad)
        for one, other in zip(pulled(ops.softclip, x, limit, grad), pulled(softclip, *exact), strict=True):
            assert one.dtype == dtype
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
    half = jax.jit(jax.grad(lambda x: ops.softclip(x, x).sum()))(numbers(70, dtype="float16"))
    np.testing.assert_allclose(half, np.full(70, np.tanh(1.0)), rtol=2e-3)  # rounded once each


def test_tangents(pairs: Any) -> None:
    for ours, wanted, every in pairs:
        arrays, tangents = [tuple(numbers(3, 4, seed=seed + start) for seed in every) for start in (0, 9)]

        def pushed(function: Any, arrays: Any, tangents: Any) -> Any:
            return jax.jvp(function, arrays, tangents)[1]

        def first(function: Any, arrays: Any, tangents: Any) -> Any:
            return jax.jvp(lambda x: function(x, *arrays[1:]), arrays[:1], tangents[:1])[1]

        for push in (pushed, first):
            check(lambda *given, push=push, ours=ours: push(ours, *given),
                  lambda *given, push=push, wanted=wanted: push(wanted, *given), arrays, tangents)  # fmt: skip


def test_batches(pairs: Any) -> None:
    for ours, wanted, every in pairs:
        x, y, z = numbers(5, 3, 4), numbers(4, 5, seed=1), numbers(3, 1, seed=2)
        arrays, axes = (x, y, z)[: len(every)], (0, 1, None)[: len(every)]

        def of_samples(function: Any, axes: Any = axes, every: Any = every) -> Any:
            return jax.vmap(jax.grad(summed(function), every), in_axes=axes)

        def of_batch(function: Any, axes: Any = axes, every: Any = every) -> Any:
            return jax.grad(lambda *given: summed(jax.vmap(function, in_axes=axes))(*given), every)

        def pushed(function: Any, axes: Any = axes) -> Any:
            batched = jax.vmap(function, in_axes=axes)
            return lambda *given: jax.jvp(batched, given, tuple(each * 2 for each in given))[1]

        def twice(function: Any, axes: Any = axes, every: Any = every) -> Any:
            outer = [None] * (len(every) - 1)
            return lambda *given: jax.vmap(of_batch(function), in_axes=(-1, *outer))(
                jax.numpy.stack([given[0], given[0] + 1], -1), *given[1:]
            )

        for derived in (of_samples, of_batch, pushed, twice)[: 4 if len(every) == 2 else 1]:
            check(derived(ours), derived(wanted), *arrays)
    ours, wanted, _ = pairs[0]
    x, y = numbers(3), numbers(3, seed=1)
    for jacobian in (jax.jacfwd, jax.jacrev):  # batches of tangents and of gradients
        check(jacobian(ours, 1), jacobian(wanted, 1), x, y)


def test_second_derivatives(pairs: Any) -> None:
    for ours, wanted, every in pairs:
        arrays = [numbers(3, seed=seed) for seed in every]

        def slope(function: Any, x: Any, *others: Any, by: int = every[-1]) -> Any:
            gradients = jax.grad(lambda *given: summed(function)(x, *given), by - 1)
            return gradients(*others).sum()

        found = jax.jit(jax.grad(lambda *given, ours=ours: slope(ours, *given), every))(*arrays)
        expected = jax.grad(lambda *given, wanted=wanted: slope(wanted, *given), every)(*arrays)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_large_arrays_in_parts(ops: Any) -> None:
    x, limit = numbers(3, 70_001, dtype="float32"), numbers(3, 1, dtype="float32", seed=1)
    check(jax.grad(summed(ops.softclip), (0, 1)), jax.grad(summed(softclip), (0, 1)), x, limit, rtol=2e-3)
    np.testing.assert_allclose(jax.jit(ops.softclip)(x, limit), softclip(x, limit), rtol=1e-5)


def test_what_a_project_declares_is_what_c_computes(ops: Any) -> None:
    x, y = numbers(4), numbers(4, seed=1)
    check(jax.grad(lambda x, y: ops.tripled(x, y).sum(), (0, 1)), lambda x, y: (3 * y, x), x, y)
    pushed = jax.jit(lambda x, y: jax.jvp(ops.tripled, (x, y), (x, y))[1])
    np.testing.assert_allclose(pushed(x, y), x * y)  # the formula for tangents says something else


def test_what_has_no_form_in_c_is_called_back(ops: Any) -> None:
    gradient = jax.grad(lambda x: ops.factorial(x).sum())
    assert "callback" in jax.jit(gradient).lower(numbers(3)).as_text()
    np.testing.assert_allclose(jax.jit(gradient)(np.ones(2)), np.full(2, 0.42278433509846713))


def test_backward_kernels_that_are_declared(ops: Any) -> None:
    def times(x: Any, y: Any) -> Any:
        return ops.times(x, y, 1.5)

    for x, y in ((numbers(4), numbers(4, seed=1)), (numbers(3, 1), numbers(4, seed=1))):
        for by in ((0, 1), (1,)):
            gradient = jax.jit(jax.grad(summed(times), by))
            text = gradient.lower(x, y).as_text()
            assert "callback" not in text and text.count("opwright_jax_times_backward") == 1
            expected = jax.grad(lambda x, y: ((1.5 * x * y) ** 2).sum(), by)(x, y)
            for one, other in zip(gradient(x, y), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
    batched = jax.jit(jax.vmap(jax.grad(summed(times)), in_axes=(0, None)))(numbers(2, 3), numbers(3, seed=1))
    np.testing.assert_allclose(batched, 4.5 * numbers(2, 3) * numbers(3, seed=1) ** 2, rtol=1e-12)


def test_light_expressions_are_xlas_own_on_each_platform(ops: Any) -> None:
    """So are their gradients, tangents and second derivatives, in float32 and float64; in C what is heavy."""
    x, limit = numbers(3, 4, dtype="float32"), numbers(4, dtype="float32", seed=1)

    def push(x: Any, limit: Any) -> Any:
        return jax.jvp(ops.softclip, (x, limit), (x, limit))[1]

    gradient = jax.grad(summed(ops.softclip), (0, 1))
    twice = jax.grad(lambda x, limit: gradient(x, limit)[0].sum(), (0, 1))
    for call in (ops.softclip, gradient, push, twice):
        lowered = jax.jit(call).trace(x, limit).lower(lowering_platforms=("cpu", "tpu", "cuda"))
        assert "custom_call" not in lowered.as_text()
    wanted = jax.grad(lambda x, limit: jax.grad(summed(softclip))(x, limit).sum(), (0, 1))(x, limit)
    for one, other in zip(twice(x, limit), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    heavy = jax.jit(jax.grad(lambda x: ops.bent(x, x, x, 3).sum())).lower(numbers(3))
    assert "opwright_vjp" in heavy.as_text()
    halves = jax.jit(jax.grad(lambda x: ops.softclip(x, x).sum())).lower(numbers(3, dtype="float16"))
    assert "opwright_vjp" in halves.as_text()
