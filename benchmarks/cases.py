"""Calls for the measure of breadth: what users of both libraries write, on arrays of any size.

A case names a call, the call itself, of a library (`opwright` or `torch`) and tensors, and the arrays that these are
made of. `n` is 4 or 1,000: most arrays are n × n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = Callable[[int], list[Array]]
ALL = ("small", "large")
SMALL = ("small",)
_rng = np.random.default_rng(0)
_FOUR = np.ones(4, np.float32)


@dataclass(frozen=True)
class Case:
    """A call to measure, in the groups `small` and `large`."""

    name: str
    call: Callable[..., object]
    arrays: Arrays
    groups: tuple[str, ...] = ALL


def floats(*shape: int) -> Array:
    return _rng.random(shape, dtype=np.float32) + np.float32(0.1)


def ints(high: int, *shape: int) -> Array:
    return _rng.integers(0, high, shape)


def one(n: int) -> list[Array]:
    return [floats(n, n)]


def two(n: int) -> list[Array]:
    return [floats(n, n), floats(n, n)]


def three(n: int) -> list[Array]:
    return [floats(n, n), floats(n, n), floats(n, n)]


def matrices(n: int) -> list[Array]:
    return two(min(n, 256))


def indices(n: int) -> list[Array]:
    return [floats(n, n), ints(n, n)]


def definite(n: int) -> list[Array]:
    n = min(n, 200)
    a = floats(n, n)
    return [a @ a.T + np.eye(n, dtype=np.float32) * n]


def cases() -> Iterator[Case]:
    """Every case, in no order that matters."""
    for group in (
        pointwise,
        with_numbers,
        writing,
        reductions,
        views,
        moving,
        making,
        products,
        networks,
        images,
        solving,
    ):
        yield from group()


def _named(name: str, of: str = "", **options: Any) -> Callable[..., object]:
    """Return a call of a function by its name, in the library or a module of it."""

    def call(library: Any, *tensors: Any) -> object:
        for part in of.split(".") if of else ():
            library = getattr(library, part)
        return getattr(library, name)(*tensors, **options)

    return call


UNARY = (
    "neg abs exp log sqrt sin cos tan tanh sinh cosh asin atan floor ceil round trunc square reciprocal sign log2 "
    "log10 log1p exp2 expm1 isnan isfinite isinf logical_not rsqrt sigmoid relu erf erfc lgamma digamma frac "
    "nan_to_num sinc angle deg2rad"
)
ACTIVATIONS = "gelu silu softplus elu leaky_relu hardtanh hardsigmoid hardswish selu mish logsigmoid relu6"
BINARY = (
    "add sub mul div pow maximum minimum atan2 fmod remainder floor_divide hypot eq lt ge logical_and copysign fmax "
    "xlogy logaddexp"
)
WHOLE = "sum mean std prod max argmax norm count_nonzero median"
ALONG = "sum mean var max amax argmax logsumexp cumsum cumprod softmax log_softmax sort argsort"


def pointwise() -> Iterator[Case]:
    for name in UNARY.split():
        yield Case(name, _named(name), one)
    for name in ("erfinv", "logit"):
        yield Case(name, _named(name), lambda n: [floats(n, n) * np.float32(0.8)])
    for name in ACTIVATIONS.split():
        yield Case(f"F.{name}", _named(name, "nn.functional"), one)
    for name in BINARY.split():
        yield Case(name, _named(name), two)
    yield Case("add of a row", _named("add"), lambda n: [floats(n, n), floats(n)])
    yield Case("add float32, float64", _named("add"), lambda n: [floats(n, n), floats(n, n).astype(np.float64)])
    yield Case("add int64, float32", _named("add"), lambda n: [ints(9, n, n), floats(n, n)])
    yield Case("add int64", _named("add"), lambda n: [ints(9, n, n), ints(9, n, n)])
    yield Case("div int64", _named("div"), lambda n: [ints(9, n, n) + 1, ints(9, n, n) + 1])
    yield Case("bitwise_and", _named("bitwise_and"), lambda n: [ints(9, n, n), ints(9, n, n)])
    yield Case("add float16", _named("add"), lambda n: [floats(n, n).astype(np.float16) for _ in range(2)])
    yield Case("mul complex64", _named("mul"), lambda n: [floats(n, n).astype(np.complex64) for _ in range(2)])
    yield Case("add of columns", lambda L, x, y: L.add(x.t(), y), two)
    yield Case("where", _named("where"), lambda n: [floats(n, n) > 0.5, floats(n, n), floats(n, n)])
    yield Case("addcdiv", _named("addcdiv"), three)
    yield Case("addcmul", _named("addcmul", value=0.5), three)
    yield Case("allclose", _named("allclose"), lambda n: [floats(n, n)] * 2)
    yield Case("equal", _named("equal"), lambda n: [floats(n, n)] * 2)


def with_numbers() -> Iterator[Case]:
    yield Case("add a number", lambda L, x: L.add(x, 1.5), one)
    yield Case("mul by a number", lambda L, x: L.mul(x, 1.5), one)
    yield Case("1.0 - x", lambda L, x: 1.0 - x, one)
    yield Case("x ** 2", lambda L, x: x**2, one)
    yield Case("x ** 0.5", lambda L, x: x**0.5, one)
    yield Case("x ** 3", lambda L, x: x**3, one)
    yield Case("x > 0.5", lambda L, x: x > 0.5, one)
    yield Case("add, alpha=2", lambda L, x, y: L.add(x, y, alpha=2), two)
    yield Case("clamp", lambda L, x: L.clamp(x, 0.2, 0.8), one)
    yield Case("clamp, min", lambda L, x: L.clamp(x, min=0.2), one)
    yield Case("lerp", lambda L, x, y: L.lerp(x, y, 0.3), two)
    yield Case("masked_fill", lambda L, x, m: L.masked_fill(x, m, 0.0), lambda n: [floats(n, n), floats(n, n) > 0.5])


def writing() -> Iterator[Case]:
    zeros, ones = (
        (lambda n: [floats(n, n), np.zeros((n, n), np.float32)]),
        (lambda n: [floats(n, n), np.ones((n, n), np.float32)]),
    )
    yield Case("add_", lambda L, x, y: x.add_(y), zeros)
    yield Case("mul_", lambda L, x, y: x.mul_(y), ones)
    yield Case("zero_", lambda L, x: x.zero_(), one)
    yield Case("fill_", lambda L, x: x.fill_(1.0), one)
    yield Case("copy_", lambda L, x, y: x.copy_(y), two)
    yield Case("relu_", lambda L, x: x.relu_(), one)
    yield Case("sin_", lambda L, x: x.sin_(), one)
    yield Case("add, out=", lambda L, x, y, out: L.add(x, y, out=out), three)
    yield Case("addcmul_", lambda L, x, y, z: x.addcmul_(y, z, value=0.0), three)
    yield Case("x[0] = 1", lambda L, x: x.__setitem__(0, 1.0), one, SMALL)


def reductions() -> Iterator[Case]:
    for name in WHOLE.split():
        yield Case(name, _named(name), one)
    for name in ALONG.split():
        yield Case(f"{name}(-1)", lambda L, x, name=name: getattr(L, name)(x, -1), one)
    yield Case("sum(0)", lambda L, x: x.sum(0), one)
    yield Case("sum(-1, keepdim)", lambda L, x: x.sum(-1, keepdim=True), one)
    yield Case("max(0)", lambda L, x: x.max(0), one)
    yield Case("any", _named("any"), lambda n: [floats(n, n) > 5])
    yield Case("all", _named("all"), lambda n: [floats(n, n) < 5])
    yield Case("vector_norm(-1)", _named("vector_norm", "linalg", dim=-1), one)
    yield Case("topk", lambda L, x: x.topk(2, -1), one)
    yield Case("unique", _named("unique"), lambda n: [ints(50, n, n)])
    yield Case("bincount", _named("bincount"), lambda n: [ints(50, n * n)])


def views() -> Iterator[Case]:
    for name, call in (
        ("t()", lambda L, x: x.t()),
        ("transpose", lambda L, x: x.transpose(0, 1)),
        ("permute", lambda L, x: x.permute(1, 0)),
        ("view", lambda L, x: x.view(2, 8)),
        ("view(-1)", lambda L, x: x.view(-1)),
        ("reshape", lambda L, x: x.reshape(2, 8)),
        ("flatten", lambda L, x: x.flatten()),
        ("unsqueeze", lambda L, x: x.unsqueeze(0)),
        ("squeeze", lambda L, x: x.squeeze()),
        ("expand", lambda L, x: x.expand(3, 4, 4)),
        ("x[0]", lambda L, x: x[0]),
        ("x[:, 1]", lambda L, x: x[:, 1]),
        ("x[1:3]", lambda L, x: x[1:3]),
        ("x[0, 0].item()", lambda L, x: x[0, 0].item()),
        ("select", lambda L, x: x.select(0, 1)),
        ("narrow", lambda L, x: x.narrow(0, 0, 2)),
        ("chunk", lambda L, x: x.chunk(2)),
        ("split", lambda L, x: x.split(2)),
        ("unbind", lambda L, x: x.unbind()),
        ("diagonal", lambda L, x: x.diagonal()),
        ("detach", lambda L, x: x.detach()),
        ("x.shape[0]", lambda L, x: x.shape[0]),
        ("size(0)", lambda L, x: x.size(0)),
        ("x.dtype", lambda L, x: x.dtype),
        ("x.device", lambda L, x: x.device),
        ("is_contiguous", lambda L, x: x.is_contiguous()),
        ("numel", lambda L, x: x.numel()),
        ("tolist", lambda L, x: x.tolist()),
    ):
        yield Case(name, call, one, SMALL)


def moving() -> Iterator[Case]:
    mask = lambda n: [floats(n, n), floats(n, n) > 0.5]  # noqa: E731
    places = lambda n: [floats(n, n), ints(n, n, n)]  # noqa: E731
    yield Case("clone", lambda L, x: x.clone(), one)
    yield Case("t().contiguous()", lambda L, x: x.t().contiguous(), one)
    yield Case("cat", lambda L, x, y: L.cat([x, y]), two)
    yield Case("stack", lambda L, x, y: L.stack([x, y]), two)
    yield Case("to(float64)", lambda L, x: x.to(L.float64), one)
    yield Case("to(float32), as it is", lambda L, x: x.to(L.float32), one)
    yield Case("float() of int64", lambda L, x: x.float(), lambda n: [ints(9, n, n)])
    yield Case("flip", lambda L, x: x.flip(0), one)
    yield Case("roll", lambda L, x: x.roll(1, 0), one)
    yield Case("repeat", lambda L, x: x.repeat(2, 1), one)
    yield Case("tril", lambda L, x: x.tril(), one)
    yield Case("pad", lambda L, x: L.nn.functional.pad(x, (1, 1)), one)
    yield Case("gather", lambda L, x, i: x.gather(1, i), places)
    yield Case("scatter_add", lambda L, x, i, y: x.scatter_add(1, i, y), lambda n: [*places(n), floats(n, n)])
    yield Case("index_select", lambda L, x, i: x.index_select(0, i), indices)
    yield Case("x[index]", lambda L, x, i: x[i], indices)
    yield Case("index_add", lambda L, x, i, y: x.index_add(0, i, y), lambda n: [*indices(n), floats(n, n)])
    yield Case("masked_select", lambda L, x, m: L.masked_select(x, m), mask)
    yield Case("nonzero", lambda L, m: m.nonzero(), lambda n: [floats(n, n) > 0.5])
    yield Case("one_hot", lambda L, x: L.nn.functional.one_hot(x, 16), lambda n: [ints(16, n * n // 16 + 1)])
    yield Case("embedding", lambda L, i, w: L.nn.functional.embedding(i, w), lambda n: [ints(n, n), floats(n, n)])


def making() -> Iterator[Case]:
    for name in ("zeros", "ones", "rand", "randn"):
        yield Case(name, lambda L, x, name=name: getattr(L, name)(x.shape), one)
    yield Case("empty", lambda L, x: L.empty(x.shape), one, SMALL)
    yield Case("full", lambda L, x: L.full(x.shape, 2.0), one)
    yield Case("zeros_like", _named("zeros_like"), one)
    yield Case("ones_like", _named("ones_like"), one)
    yield Case("arange", lambda L, x: L.arange(x.numel()), one)
    yield Case("tensor([…])", lambda L, x: L.tensor([1.0, 2.0, 3.0, 4.0]), one, SMALL)
    yield Case("from_numpy", lambda L, x, a=_FOUR: L.from_numpy(a), one, SMALL)
    yield Case("dropout", lambda L, x: L.nn.functional.dropout(x, 0.5, True), one)


def products() -> Iterator[Case]:
    yield Case("x @ y", lambda L, x, y: x @ y, matrices)
    yield Case("mm", _named("mm"), matrices)
    yield Case("addmm", lambda L, x, y: L.addmm(y, x, y), matrices)
    yield Case("mv", lambda L, x, y: x @ y, lambda n: [floats(n, n), floats(n)])
    yield Case("dot", _named("dot"), lambda n: [floats(n * n), floats(n * n)])
    yield Case("bmm", _named("bmm"), lambda n: [floats(4, min(n, 128), min(n, 128)) for _ in range(2)])
    yield Case("outer", _named("outer"), lambda n: [floats(n), floats(n)])
    yield Case("einsum ij,jk->ik", lambda L, x, y: L.einsum("ij,jk->ik", x, y), matrices)
    yield Case("linear", _named("linear", "nn.functional"), lambda n: [*matrices(n), floats(min(n, 256))])
    yield Case("cdist", _named("cdist"), lambda n: [floats(min(n, 300), 8) for _ in range(2)])
    yield Case("cosine_similarity", lambda L, x, y: L.cosine_similarity(x, y, -1), two)


def networks() -> Iterator[Case]:
    rows = lambda n: [floats(n, n), floats(n), floats(n)]  # noqa: E731
    classes = lambda n: [floats(n, n), ints(n, n)]  # noqa: E731
    heads = lambda n: [floats(1, 1, 4, 4) if n == 4 else floats(2, 4, 256, 64) for _ in range(3)]  # noqa: E731
    yield Case("layer_norm", lambda L, x, w, b: L.nn.functional.layer_norm(x, x.shape[-1:], w, b), rows)
    yield Case("rms_norm", lambda L, x, w: L.nn.functional.rms_norm(x, x.shape[-1:], w), lambda n: rows(n)[:2])
    yield Case("batch_norm, eval", lambda L, x, m, v: L.nn.functional.batch_norm(x, m, v), rows)
    yield Case("batch_norm, training", lambda L, x, m, v: L.nn.functional.batch_norm(x, m, v, training=True), rows)
    yield Case("group_norm", lambda L, x: L.nn.functional.group_norm(x, 2), lambda n: [floats(2, 4, n // 2, n // 4)])
    yield Case("cross_entropy", _named("cross_entropy", "nn.functional"), classes)
    yield Case("nll_loss", _named("nll_loss", "nn.functional"), classes)
    for name in ("mse_loss", "binary_cross_entropy_with_logits", "smooth_l1_loss"):
        yield Case(name, _named(name, "nn.functional"), two)
    yield Case("scaled_dot_product_attention", _named("scaled_dot_product_attention", "nn.functional"), heads)


def images() -> Iterator[Case]:
    def picture(n: int, *large: int) -> list[Array]:
        return [floats(1, 1, 4, 4) if n == 4 else floats(*large)]

    def layer(small: tuple[int, ...], large: tuple[int, ...], kernel: tuple[int, ...], wide: tuple[int, ...]) -> Arrays:
        return lambda n: [floats(*small), floats(*kernel)] if n == 4 else [floats(*large), floats(*wide)]

    planes = layer((1, 2, 6, 6), (8, 16, 32, 32), (2, 2, 3, 3), (32, 16, 3, 3))
    deep = layer((1, 2, 6, 6), (8, 32, 56, 56), (2, 1, 3, 3), (32, 1, 3, 3))
    lines = layer((1, 2, 8), (8, 32, 1024), (2, 2, 3), (32, 32, 3))
    yield Case("conv2d", _named("conv2d", "nn.functional", padding=1), planes)
    yield Case("conv1d", _named("conv1d", "nn.functional"), lines)
    yield Case("conv2d, depthwise", lambda L, x, w: L.nn.functional.conv2d(x, w, padding=1, groups=x.shape[1]), deep)
    yield Case("max_pool2d", lambda L, x: L.nn.functional.max_pool2d(x, 2), lambda n: picture(n, 8, 32, 64, 64))
    yield Case("avg_pool2d", lambda L, x: L.nn.functional.avg_pool2d(x, 2), lambda n: picture(n, 8, 32, 64, 64))
    double = _named("interpolate", "nn.functional", scale_factor=2)
    yield Case("interpolate", double, lambda n: picture(n, 8, 16, 64, 64))


def solving() -> Iterator[Case]:
    for name in ("inv", "cholesky", "svd", "eigh", "det"):
        yield Case(f"linalg.{name}", _named(name, "linalg"), definite)
    yield Case("linalg.solve", _named("solve", "linalg"), lambda n: [*definite(n), floats(min(n, 200), 3)])
