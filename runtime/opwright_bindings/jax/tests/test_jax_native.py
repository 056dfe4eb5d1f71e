"""C kernels and loops that XLA calls by itself: each convention, what they do not take, libraries that do not fit."""

from __future__ import annotations

import contextlib
import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeds
from copying import copy_example

from opwright_codegen.cli import main

jax = pytest.importorskip("jax", reason="JAX is not installed: the group of dependencies `jax`")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
EXAMPLE = Path(__file__).parents[4] / "examples" / "native"
SCHEMAS = """
- func: native_demo::bent(Tensor self, Tensor other, *, Scalar by=2) -> Tensor
  kernel: where(self < other, self * by, other)
  dtypes: int32, int64, float16, bfloat16, float32, float64

- func: native_demo::told(Tensor self, Scalar by, int[] a, bool[] b, str word, float? shift, bool twice) -> Tensor
  meta: like(self)
  dispatch: {CPU: native:told}
  convention: contiguous
  dtypes: int32, float32, complex64
"""
TOLD = """
#include <string.h>
#include "native_demo_kernels.h"
#define TOLD(NAME, T)                                                                                           \\
    int NAME(const T *self, int ndim, const int64_t *shape, T by, const int64_t *a, int64_t a_count,            \\
             const uint8_t *b, int64_t b_count, const char *word, const double *shift, int twice, T *out,       \\
             int out_ndim, const int64_t *out_shape)                                                            \\
    {                                                                                                           \\
        int64_t n = 1;                                                                                          \\
        T sum = shift ? (T)*shift : 0;                                                                          \\
        for (int d = 0; d < ndim; d++)                                                                          \\
            n *= shape[d];                                                                                      \\
        for (int64_t i = 0; i < a_count; i++)                                                                   \\
            sum += (T)(a[i] * (i < b_count ? b[i] : 0));                                                        \\
        for (int64_t i = 0; i < n; i++)                                                                         \\
            out[i] = (self[i] * by + sum + (T)strlen(word)) * (T)(twice ? 2 : 1);                               \\
        return out_ndim != ndim || (ndim && out_shape[0] != shape[0]);                                          \\
    }
TOLD(told_i32, int32_t)
TOLD(told_f32, float)
TOLD(told_c64, float _Complex)
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
derivatives = "derivatives.yaml"
output = "native_for_jax"
native = ["csrc"]
bindings = ["jax"]
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """The functions for JAX, and the operators themselves, built in a folder of their own."""
    folder = tmp_path_factory.mktemp("native") / "project"
    copy_example(EXAMPLE.name, folder)
    with (folder / "ops.yaml").open("a") as file:
        file.write(SCHEMAS)
    (folder / "csrc" / "told.c").write_text(TOLD)
    for path in (folder / "ops.yaml", folder / "derivatives.yaml", *(folder / "csrc").iterdir()):
        path.write_text(path.read_text().replace("native_demo", "native_for_jax"))
    (folder / "pyproject.toml").write_text(SETTINGS)
    with contextlib.chdir(folder):
        assert main(["build"]) == 0
    sys.path.insert(0, str(folder))
    with jax.enable_x64(True):
        yield importlib.import_module("native_for_jax_jax"), importlib.import_module("native_for_jax").ops
    sys.path.remove(str(folder))


def numbers(*shape: int, dtype: str = "float64") -> Any:
    return seeds.numpy_generator(0).uniform(0, 9, shape).astype(dtype)


def calls(call: Any, *arrays: Any) -> int:
    """How many calls of C the compiled program has."""
    return jax.jit(call).lower(*arrays).as_text().count("opwright_jax_")


CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], int]] = [
    ("axpy", (numbers(3, 4), numbers(4)), {"alpha": 2.5}, 1),
    ("axpy", (numbers(3, 4, dtype="float32"), numbers(4)), {}, 0),
    ("running_max", (numbers(3, 4, dtype="int64"),), {}, 1),
    ("running_max", (numbers(0, 4),), {}, 1),
    ("moments", (numbers(3, 4, dtype="float32"),), {}, 1),
    ("nll_rows", (numbers(3, 4), np.array([0, 2, 1])), {}, 1),
    ("nll_rows", (numbers(3, 4), np.array([0, 2, 1]), numbers(4)), {}, 1),
    ("scale", (numbers(3, 4), 2), {}, 0),  # made of a kernel that writes
    ("bent", (numbers(3, 1), numbers(4)), {"by": 0.5}, 0),  # which XLA computes itself
    ("bent", (numbers(3, 1, dtype="int32"), numbers(4, dtype="int32")), {"by": -3}, 1),
    ("bent", (numbers(3, 1, dtype="int32"), numbers(4, dtype="int32")), {"by": 2.5}, 0),
    ("bent", (numbers(3, 4, dtype="float16"), numbers(dtype="float16")), {}, 1),
    ("bent", (numbers(3, 4, dtype="uint8"), numbers(4, dtype="uint8")), {}, 0),
    (
        "told",
        (numbers(5, dtype="int32"), 3),
        {"a": [1, 2], "b": [True, False], "word": "né", "shift": None, "twice": False},
        1,
    ),
    ("told", (numbers(5, 2, dtype="float32"), 0.5, [], [], "", 0.25, False), {}, 1),
    ("told", (numbers(dtype="complex64"), 2j, [4], [True], "a", None, True), {}, 1),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "count"), CASES)
def test_values_and_who_computes_them(
    modules: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], count: int
) -> None:
    functions, ops = modules
    places = [place for place, each in enumerate(args) if isinstance(each, np.ndarray)]

    def call(*given: Any) -> Any:
        filled = list(args)
        for place, each in zip(places, given, strict=True):
            filled[place] = each
        return getattr(functions, name)(*filled, **kwargs)

    arrays = [args[place] for place in places]
    expected = getattr(ops, name)(*args, **kwargs)
    for found in (call(*arrays), jax.jit(call)(*arrays)):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(np.asarray(one), other)
    assert calls(call, *arrays) == count


def test_batches_of_what_broadcasts_are_one_call(modules: Any) -> None:
    functions, ops = modules
    a, b = numbers(3, 2, 5), numbers(5, 4)
    call = jax.vmap(jax.vmap(functions.axpy, in_axes=(0, None)), in_axes=(2, 0))
    assert calls(call, a, b[:, :, None]) == 1
    found = jax.jit(call)(a, b[:, :, None])
    np.testing.assert_array_equal(found[2, 1], ops.axpy(a[1, :, 2], b[2, :, None]))
    looped = jax.vmap(functions.running_max, in_axes=1)
    assert calls(looped, a) == 0
    np.testing.assert_array_equal(looped(a)[1], ops.running_max(a[:, 1]))


def test_derivatives_of_what_c_computes(modules: Any) -> None:
    functions, _ = modules
    x, y = numbers(3), numbers(3)
    grads = jax.jit(jax.grad(lambda x, y: (functions.axpy(x, y, alpha=3.0) ** 2).sum(), (0, 1)))(x, y)
    np.testing.assert_allclose(grads[0], 6 * (3 * x + y))
    np.testing.assert_allclose(grads[1], 2 * (3 * x + y))
    pushed = jax.jit(lambda x, y: jax.jvp(functions.axpy, (x, y), (y, x))[1])
    np.testing.assert_allclose(pushed(x, y), x + y)
    for derived in (jax.grad(lambda x, y: functions.axpy(x, y).sum(), (0, 1)), pushed):  # formulas that XLA computes
        assert "callback" not in jax.jit(derived).lower(x, y).as_text()
    rows = np.array([[1.0, 3.0, 2.0], [2.0, 0.0, 4.0]])
    gradient = jax.grad(lambda x: functions.running_max(x).sum())(rows)  # of what each maximum came from
    np.testing.assert_array_equal(gradient, [[1.0, 2.0, 0.0], [2.0, 0.0, 1.0]])
    for derivative in (jax.grad(lambda x: functions.scale(x, 2).sum()), jax.jacfwd(lambda x: functions.scale(x, 2))):
        with pytest.raises(NotImplementedError, match="scale has no derivative"):
            jax.eval_shape(derivative, x)


def test_what_c_refuses_is_worded(modules: Any) -> None:
    functions, _ = modules
    with pytest.raises((RuntimeError, ValueError), match="native_for_jax::nll_rows: a target is no class"):
        functions.nll_rows(numbers(3, 4), np.array([0, 9, 1]))


def test_a_library_that_does_not_fit_is_not_called(
    modules: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opwright_bindings.jax.runtime import native
    from opwright_bindings.jax.runtime.native import Library

    path = Path(modules[0].__file__).parent / "native_for_jax" / "native" / "_native_for_jax_jax.abi3.so"
    assert not modules[0].binding.library.problem
    assert "from other schemas" in Library(path, "another").problem
    assert "has not been built" in Library(tmp_path / "_native_for_jax_jax.abi3.so", "").problem
    digest = re.search(r'_jax_jax", "(\w+)"', Path(modules[0].__file__).read_text())
    assert digest is not None
    monkeypatch.setattr(native, "_interface", lambda: (0, 0))
    assert "and JAX has 0.0" in Library(path, digest[1]).problem
    (tmp_path / "_native_for_jax_jax.abi3.so").write_text("no library")
    assert "cannot be loaded" in Library(tmp_path / "_native_for_jax_jax.abi3.so", "").problem


def test_without_jaxlib_the_rest_is_built(
    modules: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from opwright_codegen.commands import build

    monkeypatch.setattr(build, "jax_headers", lambda: "")
    folder = Path(modules[0].__file__).parent
    with contextlib.chdir(folder):
        assert main(["build"]) == 0
    assert "what JAX calls of native_for_jax is not built: jaxlib is not installed" in capsys.readouterr().out
