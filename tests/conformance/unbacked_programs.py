"""Programs on sizes that only data tells: `u` is a mask's choice, of u0 rows of four, `p` positions (u1, 2), `k` a
count of elements as a number. `m` is opwright or torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[..., Any]


def inputs(m: Any) -> dict[str, Any]:
    """What programs are given besides the module, as tensors with data."""
    rows = [[1.0, -2.0, 3.0, 0.5], [-1.0, 2.0, -3.0, 4.0], [0.0, 1.0, 0.0, 2.0], [5.0, 5.0, -5.0, 1.0], [-1.0] * 4]
    return {
        "x": m.tensor(rows),
        "mask": m.tensor([True, False, True, True, False]),
        "w": m.ones(3, 4),
        "b": m.ones(3),
        "e": m.tensor([[2, 0, 1], [0, 1, 0], [1, 1, 2], [2, 2, 0], [0, 0, 1]]),
    }


def positions(m: Any, x: Any, **_: Any) -> Any:
    return m.nonzero(x > 0)


def chosen(m: Any, x: Any, mask: Any, **_: Any) -> Any:
    return x[mask]


def flat(m: Any, x: Any, **_: Any) -> Any:
    return x[x > 0]


def on(start: Callable[..., Any], then: Callable[..., Any]) -> Program:
    """A program that goes on from a result of unbacked size, and returns it too: its shape says what the size is."""

    def program(m: Any, **given: Any) -> Any:
        first = start(m, **given)
        return first, then(m, first, **given)

    return program


# Those that run. `u` is (u0, 4), `f` (u0,), `p` (u0, 2).
ROWS: dict[str, Callable[..., Any]] = {
    "add": lambda m, u, **_: u + 1,
    "add itself": lambda m, u, **_: u + u * 2,
    "add a row": lambda m, u, x, **_: u + x[0],
    "add a column": lambda m, u, **_: u + u[:, :1],
    "add a new dim": lambda m, u, x, **_: u.unsqueeze(1) + x,
    "add outer": lambda m, u, **_: u.unsqueeze(0) * u.unsqueeze(1),
    "add a known number of rows": lambda m, u, **_: u + m.ones(3, 4),
    "compare": lambda m, u, **_: u > 0,
    "where": lambda m, u, **_: m.where(u > 0, u, -u),
    "clamp": lambda m, u, **_: u.clamp(min=0),
    "relu": lambda m, u, **_: m.relu(u),
    "gelu": lambda m, u, **_: m.nn.functional.gelu(u),
    "to": lambda m, u, **_: u.to(m.float64),
    "in place": lambda m, u, **_: u.add_(1),
    "copy": lambda m, u, **_: m.empty_like(u).copy_(u),
    "clone": lambda m, u, **_: u.clone(),
    "contiguous": lambda m, u, **_: u.t().contiguous(),
    "zeros_like": lambda m, u, **_: m.zeros_like(u),
    "zeros of its shape": lambda m, u, **_: m.zeros(u.shape),
    "new_zeros": lambda m, u, **_: u.new_zeros(u.shape[0], 7),
    "full": lambda m, u, **_: m.full((2, u.shape[0]), 1.5),
    "arange": lambda m, u, **_: m.arange(u.shape[0]),
    "arange of a float": lambda m, u, **_: m.arange(0, u.shape[0], 1, dtype=m.float32),
    "arange by 2": lambda m, u, **_: m.arange(1, u.shape[0] * 2 + 1, 2),
    "eye": lambda m, u, **_: m.eye(u.shape[0]),
    "rand_like": lambda m, u, **_: m.rand_like(u),
    "sum": lambda m, u, **_: u.sum(),
    "sum of columns": lambda m, u, **_: u.sum(0),
    "sum of rows": lambda m, u, **_: u.sum(-1, keepdim=True),
    "mean": lambda m, u, **_: u.mean(dim=1),
    "mean of all": lambda m, u, **_: u.mean(),
    "var": lambda m, u, **_: u.var(dim=1),
    "std of all": lambda m, u, **_: u.std(),
    "amax": lambda m, u, **_: u.amax(1),
    "max of rows": lambda m, u, **_: u.max(1),
    "max of columns": lambda m, u, **_: u.max(0),
    "max": lambda m, u, **_: u.max(),
    "argmax": lambda m, u, **_: u.argmax(-1),
    "any": lambda m, u, **_: (u > 0).any(),
    "all": lambda m, u, **_: (u > 0).all(1),
    "norm": lambda m, u, **_: m.linalg.vector_norm(u, dim=-1),
    "cumsum": lambda m, u, **_: u.cumsum(0),
    "logsumexp": lambda m, u, **_: u.logsumexp(1),
    "softmax": lambda m, u, **_: m.softmax(u, -1),
    "softmax of columns": lambda m, u, **_: m.softmax(u, 0),
    "log_softmax": lambda m, u, **_: m.nn.functional.log_softmax(u, 1),
    "sort": lambda m, u, **_: u.sort(0),
    "argsort": lambda m, u, **_: u.argsort(1),
    "topk": lambda m, u, **_: u.topk(2),
    "cat": lambda m, u, **_: m.cat([u, u]),
    "cat with known": lambda m, u, x, **_: m.cat([x, u]),
    "cat columns": lambda m, u, **_: m.cat([u, u * 2], 1),
    "cat three": lambda m, u, x, mask, **_: [rest := x[~mask], m.cat([u, x, rest])],
    "stack": lambda m, u, **_: m.stack([u, u]),
    "stack last": lambda m, u, **_: m.stack([u, u], -1),
    "matmul": lambda m, u, w, **_: u @ w.t(),
    "mm": lambda m, u, w, **_: m.mm(w, u.t()),
    "gram": lambda m, u, **_: u @ u.t(),
    "gram of columns": lambda m, u, **_: u.t() @ u,
    "mv": lambda m, u, **_: u @ m.ones(4),
    "bmm": lambda m, u, **_: m.bmm(u.unsqueeze(1), u.unsqueeze(2)),
    "batched matmul": lambda m, u, w, **_: u.view(-1, 2, 2) @ m.ones(2, 5),
    "addmm": lambda m, u, w, b, **_: m.addmm(b, u, w.t()),
    "linear": lambda m, u, w, b, **_: m.nn.functional.linear(u, w, b),
    "linear of 3-d": lambda m, u, w, b, **_: m.nn.functional.linear(u.unsqueeze(0), w, b),
    "einsum": lambda m, u, w, **_: m.einsum("ij,kj->ik", u, w),
    "view -1": lambda m, u, **_: u.view(-1),
    "view cut": lambda m, u, **_: u.view(-1, 2),
    "view its shape": lambda m, u, **_: u.view(u.shape[0], 2, 2),
    "view to one": lambda m, u, **_: u.view(u.shape[0] * 4),
    "reshape": lambda m, u, **_: u.reshape(2, -1, 2),
    "reshape its shape": lambda m, u, **_: u.reshape(u.shape),
    "reshape transposed": lambda m, u, **_: u.t().reshape(-1),
    "flatten": lambda m, u, **_: u.flatten(),
    "unflatten": lambda m, u, **_: u.unflatten(1, (2, 2)),
    "permute": lambda m, u, **_: u.unsqueeze(1).permute(2, 0, 1),
    "transpose": lambda m, u, **_: u.transpose(0, 1) + 1,
    "unsqueeze": lambda m, u, **_: u.unsqueeze(-1),
    "squeeze a dim": lambda m, u, **_: u.unsqueeze(1).squeeze(1),
    "expand": lambda m, u, **_: u.unsqueeze(0).expand(3, -1, -1),
    "expand by it": lambda m, u, x, **_: x[:1].expand(u.shape[0], 4),
    "expand by it in front": lambda m, u, b, **_: b.expand(u.shape[0], 3),
    "expand to itself": lambda m, u, **_: u.expand(u.shape[0], 4),
    "expand_as": lambda m, u, x, **_: x[0].expand_as(u),
    "repeat": lambda m, u, **_: u.repeat(2, 1),
    "tile": lambda m, u, **_: m.tile(u, (1, 2)),
    "select a column": lambda m, u, **_: u[:, 1],
    "last column": lambda m, u, **_: u[..., -1],
    "slice columns": lambda m, u, **_: u[:, 1:3],
    "slice by step": lambda m, u, **_: u[:, ::2],
    "slice to its size": lambda m, u, **_: u[: u.shape[0]],
    "slice known by its size": lambda m, u, x, **_: x[: u.shape[0]],
    "slice from its size": lambda m, u, x, **_: x[u.shape[0] :],
    "slice rows": lambda m, u, **_: u[:2],
    "slice but one": lambda m, u, **_: u[1:],
    "slice last": lambda m, u, **_: u[-2:],
    "slice but last": lambda m, u, **_: u[:-1],
    "narrow": lambda m, u, **_: u.narrow(1, 1, 2),
    "split columns": lambda m, u, **_: u.split(2, 1),
    "chunk columns": lambda m, u, **_: u.chunk(2, -1),
    "unbind columns": lambda m, u, **_: u.unbind(1),
    "diagonal": lambda m, u, **_: m.diagonal(u),
    "tril": lambda m, u, **_: u.tril(),
    "flip": lambda m, u, **_: u.flip(0),
    "roll": lambda m, u, **_: u.roll(1, 0),
    "index_select": lambda m, u, **_: u.index_select(1, m.tensor([0, 2])),
    "index columns": lambda m, u, **_: u[:, m.tensor([0, 1, 1])],
    "index by arange": lambda m, u, **_: u[m.arange(u.shape[0])],
    "mask of it": lambda m, u, **_: u[u > 0],
    "masked_fill": lambda m, u, **_: u.masked_fill(u > 0, 0.0),
    "gather": lambda m, u, **_: u.gather(1, m.zeros(u.shape[0], 1, dtype=m.int64)),
    "scatter": lambda m, u, **_: u.scatter(1, m.zeros(u.shape[0], 1, dtype=m.int64), 1.0),
    "index_add": lambda m, u, x, **_: x.index_add(0, m.zeros(u.shape[0], dtype=m.int64), u),
    "pad": lambda m, u, **_: m.nn.functional.pad(u, (1, 1)),
    "layer_norm": lambda m, u, **_: m.nn.functional.layer_norm(u, (4,)),
    "layer_norm with weight": lambda m, u, x, **_: m.nn.functional.layer_norm(u, (4,), x[0], x[1]),
    "dropout": lambda m, u, **_: m.nn.functional.dropout(u, 0.5, True),
    "mse_loss": lambda m, u, **_: m.nn.functional.mse_loss(u, u),
    "cross_entropy": lambda m, u, **_: m.nn.functional.cross_entropy(u, m.zeros(u.shape[0], dtype=m.int64)),
    "cdist": lambda m, u, x, **_: m.cdist(u, x),
    "cosine_similarity": lambda m, u, **_: m.nn.functional.cosine_similarity(u, u),
    "attention": lambda m, u, **_: m.nn.functional.scaled_dot_product_attention(
        u.view(1, 1, -1, 4), u.view(1, 1, -1, 4), u.view(1, 1, -1, 4)
    ),
    "numel": lambda m, u, **_: m.zeros(u.numel()),
    "len of a sum of sizes": lambda m, u, x, **_: m.zeros(u.shape[0] + x.shape[0], 2),
    "repeat_interleave": lambda m, u, **_: u.repeat_interleave(2, 0),
    "two masks": lambda m, u, x, **_: u.unsqueeze(1) + x[x[:, 0] > 0],
}
FLAT: dict[str, Callable[..., Any]] = {
    "mul": lambda m, f, **_: f * f + 2,
    "unsqueeze and broadcast": lambda m, f, **_: f.unsqueeze(1) - f.unsqueeze(0),
    "sum": lambda m, f, **_: f.sum(0),
    "dot": lambda m, f, **_: m.dot(f, f),
    "outer": lambda m, f, b, **_: m.outer(f, b),
    "cat": lambda m, f, b, **_: m.cat([b, f]),
    "softmax": lambda m, f, **_: f.softmax(0),
    "view": lambda m, f, **_: f.view(-1, 1),
    "view 3-d": lambda m, f, **_: f.view(1, -1, 1),
    "expand": lambda m, f, **_: f.expand(2, -1),
    "diag": lambda m, f, **_: m.diag(f),
    "nonzero again": lambda m, f, **_: m.nonzero(f),
    "cumsum": lambda m, f, **_: f.cumsum(0),
    "flip": lambda m, f, **_: f.flip(0),
    "sort": lambda m, f, **_: f.sort()[0],
    "logical": lambda m, f, **_: m.logical_and(f > 0, f < 2),
}
POSITIONS: dict[str, Callable[..., Any]] = {
    "itself": lambda m, p, **_: p,
    "sum": lambda m, p, **_: p.sum(1),
    "column": lambda m, p, **_: p[:, 0],
    "unbind": lambda m, p, **_: p.unbind(1),
    "transposed": lambda m, p, **_: p.t(),
    "contiguous": lambda m, p, **_: p.contiguous(),
    "clone": lambda m, p, **_: p.clone(),
    "add": lambda m, p, **_: p + 1,
    "float": lambda m, p, **_: p.float(),
    "gather by it": lambda m, p, x, **_: x[p[:, 0], p[:, 1]],
    "rows by it": lambda m, p, x, **_: x[p[:, 0]],
    "index_select by it": lambda m, p, x, **_: x.index_select(0, p[:, 0]),
    "take": lambda m, p, x, **_: m.take(x, p),
    "embedding": lambda m, p, w, **_: m.nn.functional.embedding(p % 3, w),
    "one-dim embedding": lambda m, p, w, **_: m.nn.functional.embedding(p[:, 0] % 3, w),
    "view": lambda m, p, **_: p.contiguous().view(-1),
    "reshape": lambda m, p, **_: p.reshape(-1),
    "cat": lambda m, p, **_: m.cat([p, p], 1),
    "stack": lambda m, p, **_: m.stack([p[:, 0], p[:, 1]]),
    "zeros": lambda m, p, **_: m.zeros(p.shape[0], p.shape[0]),
}

PROGRAMS: dict[str, Program] = {
    **{f"rows: {name}": on(chosen, then) for name, then in ROWS.items()},
    **{f"flat: {name}": on(flat, then) for name, then in FLAT.items()},
    **{f"positions: {name}": on(positions, then) for name, then in POSITIONS.items()},
    "where": lambda m, x, **_: m.where(x > 0),
    "argwhere": lambda m, x, **_: m.argwhere(x),
    "masked_select": lambda m, x, **_: m.masked_select(x, x > 0) * 2,
    "unique": lambda m, e, **_: m.unique(e),
    "item as a size": lambda m, e, **_: m.zeros(e.max().item()),
    "item as sizes": lambda m, e, **_: m.ones(e[0, 0].item(), e[2, 2].item()) + 1,
    "item in arithmetic": lambda m, x, e, **_: x * e[0, 0].item(),
    "float item in arithmetic": lambda m, x, **_: x + x[0, 0].item(),
    "item as arange's end": lambda m, e, **_: m.arange(e.sum().item()),
    "item as an index": lambda m, x, e, **_: [n := e[0, 0].item(), x[n]],
    "item as a slice's end": lambda m, x, e, **_: [n := e[0, 0].item(), x[:n]],
    "item expands": lambda m, b, e, **_: b.expand(e[0, 0].item(), 3),
    "branch on an item": lambda m, x, e, **_: x if e[0, 0].item() > 3 else -x,
    "branch on a size": lambda m, x, **_: x[x > 0] if m.nonzero(x).shape[0] > 3 else x,
    "int of a size": lambda m, x, **_: int(m.nonzero(x).shape[0]),
    "range of a size": lambda m, x, mask, **_: list(range(x[mask].shape[0])),
    "unbind rows": lambda m, x, mask, **_: x[mask].unbind(0),
    "split rows": lambda m, x, mask, **_: x[mask].split(2),
    "squeeze all": lambda m, x, mask, **_: x[mask].squeeze(),
    "squeeze the unknown": lambda m, x, mask, **_: x[mask].squeeze(0),
    "if the tensor": lambda m, x, **_: 1 if (x > 0).any() else 2,
    "checked then branch": lambda m, x, mask, **_: _checked(m, x[mask]),
    "checked equal": lambda m, x, mask, **_: _checked_equal(m, x[mask], x[x[:, 3] > 0.6]),
}


def _checked(m: Any, u: Any) -> Any:
    (m.check if hasattr(m, "check") else m._check)(u.shape[0] >= 2)
    return u * 2 if u.shape[0] > 1 else u


def _checked_equal(m: Any, a: Any, b: Any) -> Any:
    (m.check if hasattr(m, "check") else m._check)(a.shape[0] == b.shape[0])
    return m.cat([a, b], 1) if a.shape[0] == b.shape[0] else a
