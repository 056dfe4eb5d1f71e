"""Programs under `vmap`, the same text for both libraries: `(library, x, y)`, where x is two rows, and y one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any, Any, Any], Any]


def _set(lib: Any, a: Any, target: Any) -> Any:
    target[0] = a[1] * 2
    return target


def _set_places(lib: Any, a: Any) -> Any:
    b = a.clone()
    b[lib.tensor([0, 2])] = 7.0
    return b


def _write_view(lib: Any, a: Any) -> Any:
    b = a.clone()
    c = b.view(3, 1).transpose(0, 1)[0]
    c.mul_(2)
    c[1:].add_(a[0])
    return b


def _write_real(lib: Any, a: Any) -> Any:
    z = lib.complex(a, a)
    z.real.mul_(3)
    return z.real


def _drawn(lib: Any, x: Any, randomness: str, draw: Any, **options: Any) -> Any:
    """The shape of what is drawn, and whether it is the same for both samples."""
    lib.manual_seed(0)
    found = lib.vmap(draw, randomness=randomness, **options)(x)
    return found.shape[0], found.shape[1], bool((found[0] == found[1]).all())


PROGRAMS: dict[str, Program] = {
    "write to what is not batched": lambda t, x, y: t.vmap(lambda a: y.clone().add_(a))(x),
    "write to a part of it": lambda t, x, y: t.vmap(lambda a: t.zeros(3)[0:1].add_(a[0:1]))(x),
    "set a part of it": lambda t, x, y: t.vmap(lambda a: _set(t, a, t.zeros(3)))(x),
    "set a part of a copy": lambda t, x, y: t.vmap(lambda a: _set(t, a, a.clone()))(x),
    "set places": lambda t, x, y: t.vmap(lambda a: _set_places(t, a))(x),
    "write to views": lambda t, x, y: t.vmap(lambda a: _write_view(t, a))(x),
    "write to real parts": lambda t, x, y: t.vmap(lambda a: _write_real(t, a))(x),
    "write to new zeros": lambda t, x, y: t.vmap(lambda a: a.new_zeros(3).add_(a))(x),
    "write to zeros": lambda t, x, y: t.vmap(lambda a: t.zeros(3).add_(a))(x),
    "write to zeros like it": lambda t, x, y: t.vmap(lambda a: t.zeros_like(a).copy_(a))(x),
    "write floats to ints": lambda t, x, y: t.vmap(lambda a: a.int().add_(a))(x),
    "item": lambda t, x, y: t.vmap(lambda a: a.sum().item())(x),
    "bool": lambda t, x, y: t.vmap(lambda a: a if a.sum() > 0 else -a)(x),
    "tolist": lambda t, x, y: t.vmap(lambda a: t.tensor(a.tolist()))(x),
    "numpy": lambda t, x, y: t.vmap(lambda a: t.tensor(a.numpy()))(x),
    "nonzero": lambda t, x, y: t.vmap(lambda a: a.nonzero())(x),
    "unique": lambda t, x, y: t.vmap(lambda a: t.unique(a))(x),
    "equal": lambda t, x, y: t.vmap(lambda a: t.tensor(float(t.equal(a, a))))(x),
    "allclose": lambda t, x, y: t.vmap(lambda a: t.tensor(float(t.allclose(a, a))))(x),
    "a batched mask": lambda t, x, y: t.vmap(lambda a: a[a > 0])(x),
    "a mask for all": lambda t, x, y: t.vmap(lambda a: a[y > 0])(x),
    "masked_select": lambda t, x, y: t.vmap(lambda a: t.masked_select(a, a > 0))(x),
    "masked_fill_": lambda t, x, y: t.vmap(lambda a: a.clone().masked_fill_(a > 0, 0.0))(x),
    "out": lambda t, x, y: t.vmap(lambda a: t.sin(a, out=t.zeros(3)))(x),
    "random numbers": lambda t, x, y: t.vmap(lambda a: a + t.randn(3))(x),
    "dropout": lambda t, x, y: t.vmap(lambda a: t.nn.functional.dropout(a))(x),
    "different in place": lambda t, x, y: t.vmap(lambda a: y.clone().bernoulli_(), randomness="different")(x),
    "same of a batch": lambda t, x, y: t.vmap(lambda a: t.bernoulli(a.sigmoid()), randomness="same")(x),
    "numbers of each": lambda t, x, y: _drawn(t, x, "different", lambda a: t.rand_like(a)),
    "the same numbers": lambda t, x, y: _drawn(t, x, "same", lambda a: t.rand_like(a)),
    "the same new numbers": lambda t, x, y: _drawn(t, x, "same", lambda a: t.randn(3)),
    "new numbers of each": lambda t, x, y: _drawn(t, x, "different", lambda a: t.randn(3)),
    "written numbers of each": lambda t, x, y: _drawn(t, x, "different", lambda a: a.clone().normal_()),
    "the same written numbers": lambda t, x, y: _drawn(t, x, "same", lambda a: a.clone().normal_()),
    "orders of each": lambda t, x, y: t.vmap(lambda a: t.randperm(1), randomness="different")(x),
    "the same dropout": lambda t, x, y: _drawn(t, x * 0 + 1, "same", lambda a: t.nn.functional.dropout(a)),
    "rows of a distribution": lambda t, x, y: t.vmap(
        lambda a: t.multinomial(a.softmax(0), 1).shape[0] + a, randomness="different"
    )(x),
    "parts": lambda t, x, y: t.vmap(lambda a: tuple(t.split(a, 1)))(x),
    "a dimension too far": lambda t, x, y: t.vmap(lambda a: a.sum(1))(x),
    "one too far from the back": lambda t, x, y: t.vmap(lambda a: a.sum(-2))(x),
    "transpose of a vector": lambda t, x, y: t.vmap(lambda a: a.transpose(0, 1))(x),
    "mm of vectors": lambda t, x, y: t.vmap(lambda a: t.mm(a, a))(x),
    "matmul": lambda t, x, y: t.vmap(lambda a: t.matmul(a, y))(x),
    "sizes that do not fit": lambda t, x, y: t.vmap(lambda a: a + y[:2])(x),
    "view of another size": lambda t, x, y: t.vmap(lambda a: a.view(2, 2))(x),
    "expand to fewer": lambda t, x, y: t.vmap(lambda a: a.unsqueeze(0).expand(3))(x),
    "cat": lambda t, x, y: t.vmap(lambda a: t.cat([a, y]))(x),
    "stack": lambda t, x, y: t.vmap(lambda a: t.stack([a, y], -1))(x),
    "cat too far": lambda t, x, y: t.vmap(lambda a: t.cat([a, y], 1))(x),
    "doubles without dimensions": lambda t, x, y: t.vmap(lambda a: a.sum().double() + y)(x),
    "floats beside ints": lambda t, x, y: t.vmap(lambda a: a[0] + t.tensor([1, 2]))(x),
    "doubles beside ints": lambda t, x, y: t.vmap(lambda a: t.tensor([1, 2]) * a[0].double())(x),
    "where": lambda t, x, y: t.vmap(lambda a: t.where(a[0] > 0, a.double(), 1))(x),
    "an index for each": lambda t, x, y: t.vmap(lambda a, i: a[i])(x, t.tensor([0, 1])),
    "an index too far": lambda t, x, y: t.vmap(lambda a, i: a[i])(x, t.tensor([0, 7])),
    "take": lambda t, x, y: t.vmap(lambda a, i: a.take(i))(x, t.tensor([0, 1])),
    "gather": lambda t, x, y: t.vmap(lambda a, i: a.gather(0, i))(x, t.tensor([[0], [1]])),
    "names of results": lambda t, x, y: t.vmap(lambda a: a.max(0).values)(x),
    "sort": lambda t, x, y: t.vmap(lambda a: tuple(a.sort(descending=True)))(x),
    "topk": lambda t, x, y: t.vmap(lambda a: tuple(a.topk(2)))(x),
    "var and norm": lambda t, x, y: t.vmap(lambda a: a.var() + a.norm())(x),
    "einsum": lambda t, x, y: t.vmap(lambda a: t.einsum("i,j->ij", a, y))(x),
    "softmax and cumsum": lambda t, x, y: t.vmap(lambda a: t.softmax(a, -1).cumsum(0))(x),
    "no samples": lambda t, x, y: t.vmap(lambda a: a.sin() * 2)(x[:0]),
    "no samples for a loop": lambda t, x, y: t.vmap(lambda a: t.histc(a))(x[:0]),
    "back to front": lambda t, x, y: t.vmap(lambda a: a * 2, 1, 1)(x),
    "dtypes": lambda t, x, y: t.vmap(lambda a: a.to(t.float64).half())(x),
    "flip and roll": lambda t, x, y: t.vmap(lambda a: a.flip(0).roll(1))(x),
    "keywords are for all": lambda t, x, y: t.vmap(lambda a, y=None: a[:2] * y.sum())(x, y=t.arange(3.0)),
    "keywords beside dimensions": lambda t, x, y: t.vmap(lambda a, b, *, c: a + c["d"], (0, None))(x, 1, c={"d": y}),
    "keywords of chunks": lambda t, x, y: t.vmap(lambda a, y=None: a * y.sum(), chunk_size=1)(x, y=t.arange(3.0)),
    "keywords alone": lambda t, x, y: t.vmap(lambda a: a)(a=x),
    "the same numbers in chunks": lambda t, x, y: _drawn(t, x, "same", lambda a: t.rand_like(a), chunk_size=1),
    "other numbers in chunks": lambda t, x, y: _drawn(t, x, "different", lambda a: t.rand_like(a), chunk_size=1),
    "numbers after chunks": lambda t, x, y: (_drawn(t, x, "same", lambda a: t.rand(3), chunk_size=1), t.rand(2)),
    "a dimension in a tuple": lambda t, x, y: t.vmap(lambda a: a, out_dims=(1,))(x),
    "a dimension in a list": lambda t, x, y: t.vmap(lambda a: a, out_dims=[1])(x),
    "two dimensions for one": lambda t, x, y: t.vmap(lambda a: a, out_dims=(1, 0))(x),
    "a number for all": lambda t, x, y: t.vmap(lambda a: (a, 5, "five"), out_dims=(0, None, None))(x),
    "a number for each": lambda t, x, y: t.vmap(lambda a: (a, 5))(x),
    "a batch for all": lambda t, x, y: t.vmap(lambda a: (a, 5), out_dims=None)(x),
    "None among results": lambda t, x, y: t.vmap(lambda a: {"a": a, "b": None}, out_dims={"a": 0, "b": None})(x)["a"],
    "a number before a sample without dimensions": lambda t, x, y: t.vmap(
        lambda a: t.add(2.0, a) + t.mul(3, a) + t.sub(2.0, a)
    )(y),
    "dropout of what is not batched": lambda t, x, y: _drawn(
        t, x, "different", lambda a: t.nn.functional.dropout(t.ones(64))
    ),
    "the same dropout of what is not batched": lambda t, x, y: _drawn(
        t, x, "same", lambda a: t.nn.functional.dropout(t.ones(64))
    ),
    "channels dropped of what is not batched": lambda t, x, y: _drawn(
        t, x, "different", lambda a: t.nn.functional.dropout2d(t.ones(1, 64, 2, 2))
    ),
    "channels dropped in place": lambda t, x, y: t.vmap(
        lambda a: t.nn.functional.dropout(t.ones(3), inplace=True), randomness="different"
    )(x),
    "two levels": lambda t, x, y: t.vmap(t.vmap(lambda a: a.sin() * 2))(x),
    "another's batch": lambda t, x, y: t.vmap(lambda a: t.vmap(lambda b: a * b)(y))(x),
    "hand it out": lambda t, x, y: t.vmap(lambda a: t.vmap(lambda b: b, in_dims=None)(a))(x),
}
