"""PyTorch's distributions over our tensors: draws of the same seed, log probabilities, entropies, divergences, and
gradients."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sweeps

import opwright

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Name, parameters.
DISTRIBUTIONS: dict[str, tuple[Any, ...]] = {
    "Normal": ([0.0, 1.0], [1.0, 2.0]),
    "Categorical": ([0.2, 0.3, 0.5],),
    "Bernoulli": ([0.3, 0.6],),
    "Uniform": ([0.0, 1.0], [2.0, 3.0]),
    "Beta": ([2.0, 0.3], [1.0, 2.0]),
    "Gamma": ([2.0, 0.5], [1.0, 2.0]),
    "Dirichlet": ([2.0, 3.0, 0.4],),
    "MultivariateNormal": ([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]]),
    "Exponential": ([1.0, 2.0],),
    "Laplace": ([0.0, 1.0], [1.0, 2.0]),
    "Cauchy": ([0.0, 1.0], [1.0, 2.0]),
    "StudentT": ([3.0, 4.0],),
    "Geometric": ([0.3, 0.6],),
    "Gumbel": ([0.0, 1.0], [1.0, 2.0]),
    "HalfNormal": ([1.0, 2.0],),
    "LogNormal": ([0.0, 1.0], [1.0, 2.0]),
    "Pareto": ([1.0, 2.0], [3.0, 4.0]),
    "Weibull": ([1.0, 2.0], [3.0, 4.0]),
    "VonMises": ([0.0, 1.0], [1.0, 2.0]),
    "OneHotCategorical": ([0.2, 0.3, 0.5],),
    "RelaxedBernoulli": (0.5, [0.2, 0.3]),
    "ContinuousBernoulli": ([0.2, 0.3],),
    "Chi2": ([1.0, 2.0],),
}
DIVERGENCES = ("Normal", "Categorical", "Bernoulli", "Beta", "Gamma", "Dirichlet", "MultivariateNormal", "Laplace")
TRANSFORMS: dict[str, Callable[[Any], list[Any]]] = {
    "tanh": lambda d: [d.TanhTransform(cache_size=1)],
    "affine": lambda d: [d.AffineTransform(1.0, 3.0)],
    "sigmoid": lambda d: [d.SigmoidTransform()],
    "several": lambda d: [d.ExpTransform(), d.AffineTransform(1.0, 2.0), d.PowerTransform(0.5)],
}


def plain(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value


def described(lib: Any, name: str) -> list[Any]:
    """What a distribution gives, and the gradients of its parameters."""
    import torch.distributions as d  # of the block that runs

    given = [lib.tensor(each, dtype=lib.float64, requires_grad=True) for each in DISTRIBUTIONS[name]]
    made = getattr(d, name)(*given)
    lib.manual_seed(3)
    drawn = made.sample((3,))
    found = [drawn, made.sample(), made.log_prob(drawn), tuple(made.batch_shape), tuple(made.event_shape)]
    total = found[2].sum()
    if made.has_rsample:
        found.append(made.rsample((2,)))
        total = total + (found[-1] * lib.arange(found[-1].numel()).view_as(found[-1])).sum()
    for ask in (lambda: made.mean, lambda: made.variance, made.entropy, made.enumerate_support):
        try:
            found.append(ask())
        except NotImplementedError:
            found.append(None)
    if name in DIVERGENCES:
        other = getattr(d, name)(*[each.detach() * 0.9 + 0.05 for each in given])
        found.append(d.kl_divergence(made, other))
        total = total + found[-1].sum()
    gradients = lib.autograd.grad(total, given, allow_unused=True)
    return [*map(plain, found), *map(plain, gradients)]


def same(found: list[Any], expected: list[Any], rtol: float) -> None:
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, np.ndarray):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-9)
        else:
            assert mine == theirs


@sweeps.over(DISTRIBUTIONS, size=4)
def test_a_distribution_is_pytorchs(name: str) -> None:
    expected = described(torch, name)
    with opwright.as_torch():
        found = described(opwright, name)
    # PyTorch has approximations of the gradients of gamma draws.
    same(found, expected, 5e-3 if name in ("Beta", "Gamma", "Dirichlet", "StudentT", "Chi2") else 1e-6)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformed_distributions_are_pytorchs(name: str) -> None:
    def run(lib: Any) -> list[Any]:
        import torch.distributions as d

        loc = lib.tensor([[0.1, 0.4], [0.3, -0.2]], requires_grad=True)
        base = d.Normal(loc, lib.ones(2, 2))
        made = d.Independent(d.TransformedDistribution(base, TRANSFORMS[name](d)), 1)
        lib.manual_seed(5)
        drawn = made.rsample()
        total = made.log_prob(drawn).sum() + drawn.sum()
        return [*map(plain, (drawn, made.log_prob(drawn), *lib.autograd.grad(total, loc)))]

    expected = run(torch)
    with opwright.as_torch():
        same(run(opwright), expected, 1e-5)


def test_parameters_are_checked() -> None:
    with opwright.as_torch():
        from torch.distributions import Categorical, Normal, constraints, transform_to

        scale = opwright.tensor([1.0], requires_grad=True)
        assert Normal(0.0, scale).scale is not None and Normal(opwright.zeros(1), scale).scale is scale
        with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
            Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="within the support"):
            Categorical(opwright.ones(3)).log_prob(opwright.tensor(3))
        assert bool(constraints.simplex.check(transform_to(constraints.simplex)(opwright.ones(3))))


def test_gradients_of_gamma_draws_are_exact() -> None:
    special = pytest.importorskip("scipy.special")
    from opwright.torch_names.gamma_draws import _gamma_slope, dirichlet_grad

    for shape in (0.05, 0.7, 1.0, 3.0, 20.0, 400.0):
        for chance in (0.001, 0.2, 0.5, 0.9, 0.9999):
            step = 1e-5 * shape
            x = special.gammaincinv(shape, chance)
            ends = [special.gammaincinv(shape + each, chance) for each in (-step, step)]
            found = _gamma_slope(*map(np.array, ([shape], [x], [special.digamma(shape)])))
            np.testing.assert_allclose(found, (ends[1] - ends[0]) / (2 * step), rtol=1e-5, atol=1e-12)
            at = special.betaincinv(shape, 2.5, chance)
            if not 1e-100 < at < 1 - 1e-9:
                continue
            ends = [special.betaincinv(shape + each, 2.5, chance) for each in (-step, step)]
            given = [opwright.tensor([each], dtype=opwright.float64) for each in (at, shape, shape + 2.5)]
            slope = (ends[1] - ends[0]) / (2 * step) / (1 - at)
            np.testing.assert_allclose(dirichlet_grad(*given).item(), slope, rtol=1e-4)


MODES = ("error", "same", "different")
DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "gamma": lambda lib, x: lib._standard_gamma(x),
    "gamma of no sample": lambda lib, x: lib._standard_gamma(lib.tensor([2.0, 3.0])),
    "dirichlet": lambda lib, x: lib._sample_dirichlet(x),
    "gradient of gamma": lambda lib, x: lib.func.grad(lambda shapes: lib._standard_gamma(shapes).sum())(x),
    "Gamma": lambda lib, x: lib.distributions.Gamma(x, lib.ones(2)).rsample(),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_under_transforms_are_pytorchs(name: str, mode: str) -> None:
    def outcome(lib: Any) -> Any:
        lib.manual_seed(3)
        try:
            with lib.no_grad():
                return lib.vmap(lambda x: DRAWS[name](lib, x), randomness=mode)(lib.full((3, 2), 1.5)).numpy()
        except RuntimeError as error:
            return str(error).partition(".")[0][:20]

    theirs = outcome(torch)
    with opwright.as_torch() as lib:
        importlib.import_module("torch.distributions")
        ours = outcome(lib)
    if isinstance(theirs, str):
        assert isinstance(ours, str)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_draws_of_integers_are_refused() -> None:
    with opwright.as_torch() as lib:
        for draw in (lib._standard_gamma, lib._sample_dirichlet):
            with pytest.raises(opwright.DispatchError, match="not implemented for int64"):
                draw(lib.ones(2, dtype=lib.int64))
        assert lib._standard_gamma(lib.ones(2, device="meta")).device.type == "meta"
        tangent = lib.func.jvp(lib._standard_gamma, (lib.ones(2),), (lib.ones(2),))[1]
        assert bool((tangent > 0).all())
