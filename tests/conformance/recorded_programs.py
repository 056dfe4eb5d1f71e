"""What random programmes with gradients are made of: calls, views, writes, hooks, backward passes of either library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Action = Callable[..., Any]  # of the library and of tensors

FUNCTIONAL: dict[str, Action] = {
    "tanh(x)": lambda t, x: x.tanh(),
    "sin(x)": lambda t, x: t.sin(x),
    "sigmoid(x)": lambda t, x: t.sigmoid(x),
    "relu(x)": lambda t, x: t.relu(x),
    "exp(-x²)": lambda t, x: t.exp(-(x * x)),
    "x.clone()": lambda t, x: x.clone(),
    "x * 0.5": lambda t, x: x * 0.5,
    "1 - x": lambda t, x: 1 - x,
    "x.sum()": lambda t, x: x.sum(),
    "x.sum(0)": lambda t, x: x.sum(0),
    "x.mean(-1, keepdim)": lambda t, x: x.mean(-1, keepdim=True),
    "x.amax()": lambda t, x: x.amax(),
    "softmax(x)": lambda t, x: t.softmax(x, 0),
    "cumsum(x)": lambda t, x: t.cumsum(x, 0),
    "x > 0": lambda t, x: x > 0,
    "x.contiguous()": lambda t, x: x.contiguous(),
    "x.conj()": lambda t, x: t.real(x.conj() * x).clone() if x.is_complex() else x.conj(),
    "x.abs()": lambda t, x: x.abs(),
    "x.flip(0)": lambda t, x: x.flip(0),
    "sort(x)": lambda t, x: t.sort(x, 0),
    "max(x, 0)": lambda t, x: t.max(x, 0),
    "std_mean(x)": lambda t, x: t.std_mean(x),
}
BINARY: dict[str, Action] = {
    "x + y": lambda t, x, y: x + y,
    "x - y": lambda t, x, y: x - y,
    "x * y": lambda t, x, y: x * y,
    "atan2(x, y² + 1)": lambda t, x, y: t.atan2(x, y * y + 1),
    "where(x > y, x, y)": lambda t, x, y: t.where(x > y, x, y),
    "maximum(x, y)": lambda t, x, y: t.maximum(x, y),
    "stack([x, y])": lambda t, x, y: t.stack([x, y])[0],
    "cat([x, y])": lambda t, x, y: t.cat([x.reshape(-1), y.reshape(-1)])[1:3],
    "rows of x @ rows of y": lambda t, x, y: x.reshape(-1, 3) @ y.reshape(-1, 3).mT,
    "addcmul(x, y, y)": lambda t, x, y: t.addcmul(x, y, y, value=0.5),
    "lerp(x, y, 0.3)": lambda t, x, y: t.lerp(x, y, 0.3),
}
CASTS: dict[str, Action] = {
    "x.double()": lambda t, x: x.double(),
    "x.float()": lambda t, x: x.float(),
    "x.half()": lambda t, x: x.half(),
    "x.long()": lambda t, x: (x.clamp(-9, 9) if not x.is_complex() else x.real).long(),
    "x.to(complex64)": lambda t, x: x.to(t.complex64),
    "x.to(complex128)": lambda t, x: x.to(t.complex128),
    "x.to(x.dtype)": lambda t, x: x.to(x.dtype),
    "x.to(double, copy)": lambda t, x: x.to(t.float64, copy=True),
    "x.type_as(x)": lambda t, x: x.type_as(x),
}
VIEWS: dict[str, Action] = {
    "x[0]": lambda t, x: x[0],
    "x[..., 1:]": lambda t, x: x[..., 1:],
    "x[:, :2]": lambda t, x: x[:, :2],
    "x.t()": lambda t, x: x.t(),
    "x.view(-1)": lambda t, x: x.view(-1),
    "x.reshape(-1)": lambda t, x: x.reshape(-1),
    "x.unsqueeze(0)": lambda t, x: x.unsqueeze(0),
    "x.squeeze()": lambda t, x: x.squeeze(),
    "x.expand": lambda t, x: x.expand(2, *x.shape),
    "x.diagonal()": lambda t, x: x.diagonal(),
    "x.detach()": lambda t, x: x.detach(),
    "x.view_as(x)": lambda t, x: x.view_as(x),
    "x.permute": lambda t, x: x.permute(*reversed(range(x.ndim))),
    "x.unbind()": lambda t, x: x.unbind(0),
    "x.split(2)": lambda t, x: x.split(2, -1),
    "x.chunk(2)": lambda t, x: x.chunk(2, 0),
    "x.T.narrow": lambda t, x: x.mT.narrow(0, 0, 1),
    "x.unfold": lambda t, x: x.unfold(-1, 2, 2),
    "x.data": lambda t, x: x.data,
    "x.data[0]": lambda t, x: x.data[0],
    "x.mT": lambda t, x: x.mT,
    "x.real": lambda t, x: x.real,
    "x.view_as_real()": lambda t, x: t.view_as_real(x),
    "x.view(dtype)": lambda t, x: x.view(x.dtype),
    "x.as_strided": lambda t, x: x.as_strided((2, 1), (1, 1)),
    "x.split([1, …])": lambda t, x: x.split([1, x.shape[-1] - 1], -1),
    "x.tensor_split(2)": lambda t, x: x.tensor_split(2),
    "x.unsafe_split(2)": lambda t, x: x.unsafe_split(2, -1),
    "x.unsafe_chunk(2)": lambda t, x: x.unsafe_chunk(2, -1),
    "x.unsafe_split([1, …])": lambda t, x: x.unsafe_split_with_sizes([1, x.shape[-1] - 1], -1),
}
WRITES: dict[str, Action] = {
    "x.mul_(0.5)": lambda t, x: x.mul_(0.5),
    "x.add_(1)": lambda t, x: x.add_(1),
    "x.tanh_()": lambda t, x: x.tanh_(),
    "x.zero_()": lambda t, x: x.zero_(),
    "x.fill_(0.3)": lambda t, x: x.fill_(0.3),
    "x.sin_()": lambda t, x: x.sin_(),
    "x.clamp_": lambda t, x: x.clamp_(-0.5, 0.5),
    "x[0] = 1": lambda t, x: x.__setitem__(0, 1.0),
    "relu_(x)": lambda t, x: t.relu_(x),
    "x.lt_(0)": lambda t, x: x.lt_(0),
    "x[1:] = x[:-1]": lambda t, x: x.__setitem__(slice(1, None), x[:-1]),
    "x[..., :1].copy_(x[..., 1:])": lambda t, x: x[..., :1].copy_(x[..., 1:2]),
    "x.copy_(x.mT)": lambda t, x: x.copy_(x.mT),
    "x.add_(x.mT)": lambda t, x: x.add_(x.mT),
    "sin(x[:-1], out=x[1:])": lambda t, x: t.sin(x[:-1], out=x[1:]),
    "add(x, x.mT, out=x)": lambda t, x: t.add(x, x.mT, out=x),
    "cumsum(x, out=x)": lambda t, x: t.cumsum(x, 0, out=x),
    "index_select(x, out=x)": lambda t, x: t.index_select(x, 0, t.tensor([0] * x.shape[0]), out=x),
}
# Which change no element, but what a tensor is: how it lies in its memory, whether its gradient is wanted, its hooks.
INPLACE_VIEWS: dict[str, Action] = {
    "x.t_()": lambda t, x: x.t_(),
    "x.transpose_(0, -1)": lambda t, x: x.transpose_(0, -1),
    "x.swapaxes_(0, 1)": lambda t, x: x.swapaxes_(0, 1),
    "x.swapdims_(-1, 0)": lambda t, x: x.swapdims_(-1, 0),
    "x.squeeze_()": lambda t, x: x.squeeze_(),
    "x.squeeze_(0)": lambda t, x: x.squeeze_(0),
    "x.unsqueeze_(0)": lambda t, x: x.unsqueeze_(0),
    "x.as_strided_(mT)": lambda t, x: x.as_strided_(x.mT.shape, x.mT.stride()),
    "x.as_strided_(x[..., 1:])": lambda t, x: x.as_strided_(
        x[..., 1:].shape, x[..., 1:].stride(), x[..., 1:].storage_offset()
    ),
    "x.detach_()": lambda t, x: x.detach_(),
}
STATES: dict[str, Action] = {
    "x.requires_grad_()": lambda t, x: x.requires_grad_(),
    "x.requires_grad_(False)": lambda t, x: x.requires_grad_(False),
    "x.requires_grad = not": lambda t, x: setattr(x, "requires_grad", not x.requires_grad),
    "x.retain_grad()": lambda t, x: x.retain_grad(),
    "x.data = x + 1": lambda t, x: setattr(x, "data", x.detach() + 1),
    "x.data = x.mT": lambda t, x: setattr(x, "data", x.detach().mT),
    "x.data = x[0]": lambda t, x: setattr(x, "data", x.detach()[0]),
}
WRITES_OF_TWO: dict[str, Action] = {
    "x.mul_(y)": lambda t, x, y: x.mul_(y),
    "x.add_(y)": lambda t, x, y: x.add_(y, alpha=0.5),
    "x.copy_(y)": lambda t, x, y: x.copy_(y),
    "x[..., 0] = y": lambda t, x, y: x.__setitem__((..., 0), y.sum()),
    "x[:1].add_(y)": lambda t, x, y: x[:1].add_(y),
    "x.masked_fill_": lambda t, x, y: x.masked_fill_(y > 0, 0.1),
    "x.addcmul_(y, y)": lambda t, x, y: x.addcmul_(y, y, value=0.1),
    "add(x, y, out=x)": lambda t, x, y: t.add(x, y, out=x),
    "mul(y, y, out=x)": lambda t, x, y: t.mul(y, y, out=x),
    "sin(y, out=x)": lambda t, x, y: t.sin(y, out=x),
    "x.data = y": lambda t, x, y: setattr(x, "data", y),
    "x.masked_scatter_(x > 0, y)": lambda t, x, y: x.masked_scatter_(x > 0, y),
    "x.index_copy_(y[:1])": lambda t, x, y: x.index_copy_(0, t.tensor([0]), y[:1]),
    "x.div_(y² + 1)": lambda t, x, y: x.div_(y * y + 1),
}
HEARD: dict[str, list[tuple[int, Any]]] = {"torch": [], "opwright": []}  # by hooks: which of them, and what gradient
_hooks = {"torch": 0, "opwright": 0}


def forget_hooks() -> None:
    """Begin a programme: no hook was registered."""
    for name in HEARD:
        HEARD[name] = []
        _hooks[name] = 0


def _hook(t: Any, seen: Callable[[Any], Any] = lambda grad: grad) -> Callable[[Any], Any]:
    """A hook that hears a gradient, and lets it be."""
    number = _hooks[t.__name__]
    heard = HEARD[t.__name__]
    _hooks[t.__name__] += 1

    def hook(given: Any) -> None:
        heard.append((number, seen(given).detach().clone()))

    return hook


def _doubling(t: Any) -> Callable[[Any], Any]:
    hear = _hook(t)

    def hook(grad: Any) -> Any:
        hear(grad)
        return grad * 2

    return hook


HOOKS: dict[str, Action] = {
    "x.register_hook(heard)": lambda t, x: x.register_hook(_hook(t)) and None,
    "x.register_hook(doubling)": lambda t, x: x.register_hook(_doubling(t)) and None,
    "x.register_post_accumulate_grad_hook": lambda t, x: (
        x.register_post_accumulate_grad_hook(_hook(t, lambda leaf: leaf.grad)) and None
    ),
    "hook, removed": lambda t, x: x.register_hook(_hook(t)).remove(),
}


def _total(x: Any) -> Any:
    return x.sum().real if x.is_complex() else x.sum()


def _backward(t: Any, x: Any, *leaves: Any) -> Any:
    _total(x).backward(retain_graph=True)
    return [each.grad for each in leaves]


def _forget(t: Any, x: Any, *leaves: Any) -> None:
    for each in leaves:
        each.grad = None


PASSES: dict[str, Action] = {
    "grad": lambda t, x, *leaves: t.autograd.grad(_total(x), leaves, allow_unused=True),
    "grad, retained": lambda t, x, *leaves: t.autograd.grad(_total(x), leaves, allow_unused=True, retain_graph=True),
    "grad, recorded": lambda t, x, *leaves: t.autograd.grad(
        _total(x * x), leaves, allow_unused=True, create_graph=True
    ),
    "backward": _backward,
    "forget": _forget,
}
# A table, how many variables its actions take (-1 for one and all leaves), and how often they are drawn.
KINDS: list[tuple[dict[str, Action], int, int]] = [
    (FUNCTIONAL, 1, 6), (BINARY, 2, 6), (CASTS, 1, 2), (VIEWS, 1, 9), (WRITES, 1, 5), (WRITES_OF_TWO, 2, 5),
    (INPLACE_VIEWS, 1, 4), (STATES, 1, 3), (HOOKS, 1, 1), (PASSES, -1, 4),
]  # fmt: skip
MODES: dict[str, Callable[[Any], Any]] = {
    "no_grad": lambda t: t.no_grad(),
    "enable_grad": lambda t: t.enable_grad(),
    "inference_mode": lambda t: t.inference_mode(),
    "set_grad_enabled(False)": lambda t: t.set_grad_enabled(False),
}
