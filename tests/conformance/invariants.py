"""What decompositions have in common that are unique only up to signs, phases or order: compared in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
Parts = Sequence[Array]


def _adjoint(array: Array) -> Array:
    return array.conj().swapaxes(-1, -2)


def _svd(parts: Parts) -> list[Array]:
    u, s, vh = parts
    if not u.size and not vh.size:
        return [s]
    k = s.shape[-1]
    return [s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], _adjoint(u) @ u, vh @ _adjoint(vh)]


def _svd_with_v(parts: Parts) -> list[Array]:
    u, s, v = parts
    return _svd((u, s, _adjoint(v))) if u.any() else list(parts)


def _qr(parts: Parts) -> list[Array]:
    q, r = parts
    if q.ndim < r.ndim or not q.size:  # mode "r"
        return [_adjoint(r) @ r, np.tril(r, -1)]
    return [q @ r, _adjoint(q) @ q, np.tril(r, -1)]


def _eigh(parts: Parts) -> list[Array]:
    values, vectors = parts
    if vectors.ndim < 2:
        return [values]
    return [values, (vectors * values[..., None, :]) @ _adjoint(vectors), _adjoint(vectors) @ vectors]


def _in_order(values: Array) -> Array:
    flat = values.reshape(-1, values.shape[-1]) if values.size else values
    return np.array([sorted(row, key=lambda z: (round(z.real, 3), round(z.imag, 3))) for row in flat])


def _eig(parts: Parts) -> list[Array]:
    values, vectors = parts
    if not values.size:
        return [values]
    return [
        _in_order(values),
        (vectors * values[..., None, :]) @ np.linalg.inv(vectors),
        np.linalg.norm(vectors, axis=-2),
    ]


INVARIANTS: dict[str, Callable[[Parts], list[Array]]] = {
    **dict.fromkeys(("_linalg_svd", "linalg_svd"), _svd),
    "svd": _svd_with_v,
    **dict.fromkeys(("linalg_qr", "qr"), _qr),
    **dict.fromkeys(("_linalg_eigh", "linalg_eigh"), _eigh),
    **dict.fromkeys(("linalg_eigvalsh", "linalg_svdvals"), list),
    "linalg_eig": _eig,
    **dict.fromkeys(("linalg_eigvals", "_linalg_eigvals"), lambda parts: [_in_order(parts[0])]),
}
