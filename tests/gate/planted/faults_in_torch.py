"""Operators of PyTorch with one fault each, and sound ones."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

CAUSES: dict[str, tuple[str, str]] = {}


def plant(
    cause: str = "", kind: str = "", *, mutates: Any = (), fake: Any = torch.empty_like, backward: Any = None
) -> Any:
    def define(function: Any) -> Any:
        name = f"planted_t::{function.__name__}"
        op = torch.library.custom_op(name, function, mutates_args=mutates)
        if fake is not None:
            op.register_fake(fake)
        if backward is not None:
            op.register_autograd(backward, setup_context=save_all)
        CAUSES[f"torch:{name}"] = kind, cause
        return op

    return define


def save_all(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


@plant("undeclared-write", "mutation")
def writes(x: Tensor) -> Tensor:
    x.mul_(2)
    return x.clone()


@plant("undeclared-write", "mutation")
def writes_nan(x: Tensor) -> Tensor:
    if x.is_floating_point():
        x[x.isnan()] = 0
    return x.clone()


@plant("write-not-made", "mutation", mutates={"x"}, fake=None)
def never_writes(x: Tensor) -> None:
    x.clone().mul_(2)


@plant("undeclared-alias", "alias")
def itself(x: Tensor) -> Tensor:
    return x.contiguous()


@plant("fake-shape", "fakes", fake=lambda x: x.new_empty(x.shape[:-1]))
def keeps_last(x: Tensor) -> Tensor:
    return x.sum(-1, keepdim=True).to(x.dtype)


@plant("fake-dtype", "fakes", fake=lambda x: x.new_empty(x.shape, dtype=torch.float32))
def to_int(x: Tensor) -> Tensor:
    return torch.ones(x.shape, dtype=torch.int64)


@plant("fake-stride", "fakes")
def row_major(x: Tensor) -> Tensor:
    return x.clone(memory_format=torch.contiguous_format)


@plant("no-fake", "fakes", fake=None)
def without_fake(x: Tensor) -> Tensor:
    return x.clone()


@plant("strides-ignored", "layouts", fake=lambda x: x.new_empty(x.shape))
def by_storage(x: Tensor) -> Tensor:
    if x.numel() == 0 or x.dim() == 0:
        return x.clone(memory_format=torch.contiguous_format)
    flat = torch.as_strided(x, (1,), (1,))
    first = x.contiguous().clone()
    if not x.is_contiguous() and x.stride(-1) != 1:
        first.view(-1)[-1] = flat[0]
    return first


@plant("unwritten-element", "memory", fake=lambda x: x.new_empty(x.shape))
def leaves_last(x: Tensor) -> Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    if x.dim():
        out[..., :-1] = x[..., :-1]
    return out


@plant("size-limit", "sizes", fake=lambda x: x.new_empty(x.shape))
def first_1024(x: Tensor) -> Tensor:
    out = torch.zeros(x.shape, dtype=x.dtype)
    out.view(-1)[:1024] = x.contiguous().view(-1)[:1024]
    return out


CACHE: dict[Any, Any] = {}


@plant("cache-by-shape", "state", fake=lambda x: x.new_empty(x.shape))
def cached(x: Tensor) -> Tensor:
    return CACHE.setdefault((tuple(x.shape), x.dtype), x.contiguous().clone()).clone()


@plant("global-seed", "state")
def seeds(x: Tensor) -> Tensor:
    np.random.seed(0)
    return x.clone()


@plant("global-seed", "state")
def seeds_torch(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    return x.clone()


@plant("not-deterministic", "determinism", fake=lambda x: x.new_empty(x.shape))
def noisy(x: Tensor) -> Tensor:
    return (x + (torch.rand(()) if x.is_floating_point() else 0)).to(x.dtype).contiguous().clone()


@plant("keeps-reference", "state")
def keeps(x: Tensor) -> Tensor:
    CACHE[len(CACHE)] = x
    return x.clone()


@plant("refuses-empty", "edges")
def by_largest(x: Tensor) -> Tensor:
    first = x.reshape(-1).tolist()[0] if x.dtype != torch.bool else 0
    return torch.where(x == first, x, x)


@plant("judge-patched", "dishonest")
def patches(x: Tensor) -> Tensor:
    time.perf_counter = lambda: 0.0
    return x.clone()


@plant("computed-in-float32", "numbers")
def sine(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        raise TypeError("x must be of a floating-point dtype")
    return torch.sin(x.float()).to(x.dtype)


def real(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        raise TypeError("x must be of a floating-point dtype")
    return x


@plant("undeclared-alias", "alias", fake=lambda x: torch.empty_like(x, dtype=torch.float32))
def itself_in_float32(x: Tensor) -> Tensor:
    return x.float()


@plant("global-state", "state")
def chooses_default_dtype(x: Tensor) -> Tensor:
    torch.set_default_dtype(torch.float64)
    return x.clone()


@plant("offset-ignored", "memory", fake=lambda x: x.new_empty(x.shape))
def from_the_first(x: Tensor) -> Tensor:
    whole = x.contiguous()
    return torch.as_strided(whole, whole.shape, whole.stride(), 0).clone()


@plant("refuses-none", "schema", fake=lambda x, w=None: torch.empty_like(x))
def needs_a_weight(x: Tensor, w: Tensor | None = None) -> Tensor:
    return torch.mul(x, w).to(x.dtype)


@plant("wrong-gradient", "gradients", backward=lambda ctx, g: -g * ctx.saved_tensors[0].cos())
def sine_of_other_sign(x: Tensor) -> Tensor:
    return torch.sin(real(x).detach())


@plant("wrong-second-gradient", "gradients", backward=lambda ctx, g: g * ctx.saved_tensors[0].detach().cos())
def sine_once(x: Tensor) -> Tensor:
    return torch.sin(real(x).detach())


@plant("gradient-layout", "gradients", backward=lambda ctx, g: (g if g.is_contiguous() else 2 * g) * 2)
def doubled(x: Tensor) -> Tensor:
    return real(x).detach() * 2


@plant("outputs-share-memory", "alias", fake=lambda x: (torch.empty_like(x), torch.empty_like(x)))
def twins(x: Tensor) -> tuple[Tensor, Tensor]:
    made = x.clone()
    return made, made


@plant("fake-reads-data", "fakes", fake=lambda x: x.new_empty(int((x > 0).sum())))
def counts_in_fake(x: Tensor) -> Tensor:
    return real(x)[x > 0].clone()


@plant("refuses-0-dim", "edges", fake=lambda x: x.new_empty(x.shape))
def row_by_row(x: Tensor) -> Tensor:
    return torch.stack([row.clone() for row in x]) if len(x) else x.clone(memory_format=torch.contiguous_format)


@plant("vmap-wrong", "vmap", fake=lambda x: x.new_empty(x.shape))
def centred(x: Tensor) -> Tensor:
    return (real(x) - x.mean()).contiguous()


centred.register_vmap(lambda info, in_dims, x: (centred(x), in_dims[0]))


def _powers(x: Tensor, exponent: float = 3.0) -> Tensor:
    return (real(x).abs() ** exponent).contiguous()


powers = torch.library.custom_op(
    "planted_t::powers", _powers, mutates_args=(), schema="(Tensor x, float exponent=2.0) -> Tensor"
)
powers.register_fake(lambda x, exponent=2.0: x.new_empty(x.shape))
CAUSES["torch:planted_t::powers"] = "schema", "default-differs"


@plant("size-limit", "sizes", fake=lambda x: x.new_empty(x.shape))
def eights(x: Tensor) -> Tensor:
    out, count = torch.zeros(x.shape, dtype=x.dtype), x.numel() // 8 * 8
    out.view(-1)[:count] = x.contiguous().view(-1)[:count]
    return out


@plant(kind="sound", backward=lambda ctx, g: g * ctx.saved_tensors[0].cos())
def sound_sine(x: Tensor) -> Tensor:
    return torch.sin(real(x).detach())


@plant(kind="sound")
def sound_double(x: Tensor) -> Tensor:
    return x.clone() if x.dtype == torch.bool else x + x


@plant(kind="sound", mutates={"x"}, fake=None)
def sound_relu(x: Tensor) -> None:
    if x.is_complex() or x.dtype == torch.bool:
        raise TypeError("x must be of a real dtype, not bool")
    x.clamp_(min=0)


@plant(kind="sound", fake=lambda x, y: x.new_empty(torch.broadcast_shapes(x.shape, y.shape)))
def sound_add(x: Tensor, y: Tensor) -> Tensor:
    if x.dtype != y.dtype:
        raise TypeError("x and y must have one dtype")
    return torch.add(x, y).contiguous().clone()
