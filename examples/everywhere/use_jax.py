"""The six operators on JAX's arrays, compiled, beside the same ones on NumPy's: values, a gradient, batches at once."""

import everywhere_ops_jax as f
import jax
import jax.numpy as jnp
import numpy as np
from everywhere_ops import ops

random = np.random.default_rng(0)
x, rows, other = [random.normal(size=shape).astype(np.float32) for shape in ((4, 6), (3, 6), (5, 6))]
angles = random.uniform(size=(4, 7)).astype(np.float32)
CALLS = [
    ("soft_threshold", (x,), {"limit": 0.3}),
    ("haversine", tuple(angles), {}),
    ("squared_distances", (rows, other), {}),
    ("standardize", (x,), {}),
    ("peak", (x,), {"dim": 1}),
    ("moving_mean", (x,), {"radius": 1}),
]


def equal(one: object, two: object) -> str:
    return "equal" if np.allclose(one, two, rtol=1e-6, atol=1e-6) else "different"


for name, arrays, options in CALLS:
    compiled = jax.jit(getattr(f, name), static_argnames=tuple(options))
    print(f"{name}: {equal(compiled(*arrays, **options), getattr(ops, name)(*arrays, **options))}")


def loss(a: jax.Array, b: jax.Array) -> jax.Array:
    return f.squared_distances(f.standardize(a), f.moving_mean(b, 1)).mean()


step = 1e-2 * jnp.ones_like(other)
ahead, behind = loss(rows, other + step), loss(rows, other - step)
print("gradient:", equal((jax.jit(jax.grad(loss, 1))(rows, other) * step).sum(), (ahead - behind) / 2))
batches = np.stack([rows, x[:3]])
together = jax.vmap(loss, in_axes=(0, None))(batches, other)
print("two batches at once:", equal(together, [loss(each, other) for each in batches]))
