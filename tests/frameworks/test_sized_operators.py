"""Results of new sizes in PyTorch, JAX and Dask: `sized`, and `gufunc` with sizes by formulas."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import seeds

from opwright_codegen.cli import main

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
jax = pytest.importorskip("jax", reason="JAX is in the environment of the oracle: make test ORACLE=1")
da = pytest.importorskip("dask.array", reason="Dask is in the environment of the oracle: make test ORACLE=1")

SCHEMAS = """
- func: sized::spmv(Tensor indptr, Tensor indices, Tensor values, Tensor x) -> Tensor
  meta: sized([indptr.shape[0] - 1], values, x)
  dispatch: {CPU: spmv}
- func: sized::pairs(Tensor x) -> Tensor
  meta: gufunc("(n,d)->(p)", x, p=n*(n-1)//2)
  dispatch: {CPU: pairs}
- func: sized::edges(Tensor x) -> Tensor
  meta: gufunc("(n)->(n+1)", x)
  dispatch: {CPU: 'xp.concatenate([x, x[..., -1:]], -1)'}
- func: sized::rows(Tensor x, int k) -> Tensor
  meta: gufunc("(n,d)->(k,d)", x, k=k)
  dispatch: {CPU: 'x[..., :1, :] + xp.zeros((k, 1), x.dtype)'}
- func: sized::product(Tensor x, Tensor y) -> Tensor
  meta: gufunc("(m?,n),(n,p?)->(m?,p?)", x, y)
  dispatch: {CPU: 'xp.matmul(x, y)'}
- func: sized::weighted(Tensor x, Tensor w) -> Tensor
  meta: gufunc("(n),(n|1)->()", x, w)
  dispatch: {CPU: '(x * w).sum(-1)'}
"""
KERNELS = """
import numpy as np
def spmv(indptr, indices, values, x):
    made = np.zeros(len(indptr) - 1, values.dtype)
    np.add.at(made, np.repeat(np.arange(len(made)), np.diff(indptr)), values * x[indices])
    return made
def pairs(x):
    i, j = np.triu_indices(x.shape[-2], 1)
    return np.sqrt(((x[..., i, :] - x[..., j, :]) ** 2).sum(-1))
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
output = "sized_ops"
bindings = ["dask", "jax", "torch"]
kernels = ["sized_kernels"]
"""


def floats(*shape: int) -> Any:
    return seeds.numpy_generator(0).random(shape, dtype=np.float32)


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "spmv": (np.array([0, 2, 2, 3]), np.array([0, 2, 1]), floats(3), floats(3)),
    "pairs": (floats(5, 4, 3),),
    "edges": (floats(6, 3),),
    "rows": (floats(5, 2, 3), 4),
    "product": (floats(5, 2, 3), floats(3)),
    "weighted": (floats(6, 3), floats(6, 1)),
}


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("sized")
    for name, text in (("ops.yaml", SCHEMAS), ("sized_kernels.py", KERNELS), ("pyproject.toml", SETTINGS)):
        (folder / name).write_text(text)
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    import sized_ops.ops  # type: ignore[import-not-found]
    import sized_ops_torch  # type: ignore[import-not-found]  # noqa: F401

    yield sized_ops.ops
    sys.path.remove(str(folder))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_pytorch_compiles_them(name: str, ops: Any) -> None:
    args = [torch.from_numpy(each) if isinstance(each, np.ndarray) else each for each in ARGUMENTS[name]]
    made = torch.compile(getattr(torch.ops.sized, name), backend="eager", fullgraph=True)(*args)
    np.testing.assert_allclose(made.numpy(), getattr(ops, name)(*ARGUMENTS[name]), rtol=1e-6)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_jax_compiles_them(name: str, ops: Any) -> None:
    import sized_ops_jax

    args = ARGUMENTS[name]
    fixed = tuple(place for place, each in enumerate(args) if isinstance(each, int))
    made = jax.jit(getattr(sized_ops_jax, name), static_argnums=fixed)(*args)
    np.testing.assert_allclose(np.asarray(made), getattr(ops, name)(*args), rtol=1e-6)


@pytest.mark.parametrize("name", ["pairs", "edges", "rows", "weighted"])
def test_dask_keeps_the_blocks_of_batches(name: str, ops: Any) -> None:
    import sized_ops_dask

    args = [da.from_array(each, chunks=2) if isinstance(each, np.ndarray) else each for each in ARGUMENTS[name]]
    lazy = getattr(sized_ops_dask, name)(*args)
    made = lazy.compute()
    assert lazy.shape == made.shape and lazy.numblocks[0] == 3
    np.testing.assert_allclose(made, getattr(ops, name)(*ARGUMENTS[name]), rtol=1e-6)


def test_dask_is_not_given_what_may_have_no_such_dimension(ops: Any) -> None:
    import sized_ops_dask

    assert not hasattr(sized_ops_dask, "product") and not hasattr(sized_ops_dask, "spmv")


@pytest.mark.filterwarnings("ignore:vmap. there is no batching rule")
@pytest.mark.parametrize("name, dims", [("pairs", (0,)), ("edges", (0,)), ("product", (0, None))])
def test_batches(name: str, dims: tuple[int | None, ...], ops: Any) -> None:
    import sized_ops_jax

    args = ARGUMENTS[name]
    wanted = getattr(ops, name)(*args)
    of_torch = torch.vmap(getattr(torch.ops.sized, name), in_dims=dims)(*map(torch.from_numpy, args))
    np.testing.assert_allclose(of_torch.numpy(), wanted, rtol=1e-6)
    of_jax = jax.vmap(getattr(sized_ops_jax, name), in_axes=dims)(*args)
    np.testing.assert_allclose(np.asarray(of_jax), wanted, rtol=1e-6)
