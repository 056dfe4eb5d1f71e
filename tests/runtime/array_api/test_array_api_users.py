"""Libraries that take arrays of any namespace, given Tensors: array-api-compat, SciPy, scikit-learn."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import seeds

import opwright

pytest.importorskip("array_api_compat", reason="in the environment of the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle
ROOT = Path(__file__).parents[3]


def test_array_api_compat_knows_a_tensor() -> None:
    import array_api_compat

    x = opwright.ones(2, 3)
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.array_namespace(x, 2.0) is opwright.array_api
    assert array_api_compat.device(x) == opwright.device("cpu")
    assert array_api_compat.to_device(x, "cpu") is x
    assert array_api_compat.size(x) == 6
    assert array_api_compat.is_writeable_array(x)
    assert not array_api_compat.is_lazy_array(x)


def run(program: str) -> None:
    """Run a program where SciPy dispatches by namespace, which it decides when it is imported."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", textwrap.dedent(program), str(seeds.seed(0))]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_scipy() -> None:
    run("""
        import sys
        import numpy as np
        import opwright
        from scipy import fft, signal, special, stats

        held = np.random.default_rng(int(sys.argv[1])).normal(size=(50, 2))
        x, v = opwright.tensor(held), opwright.tensor(held[:, 0])
        for function in (
            lambda x, v: signal.hilbert(v), lambda x, v: signal.fftconvolve(v, v), lambda x, v: signal.correlate(v, v),
            lambda x, v: signal.detrend(v), lambda x, v: signal.resample(v, 25), lambda x, v: stats.zscore(x),
            lambda x, v: stats.skew(x), lambda x, v: stats.ttest_ind(v, v + 1).pvalue, lambda x, v: stats.rankdata(v),
            lambda x, v: stats.pearsonr(v, x[:, 1]).statistic, lambda x, v: fft.dct(v), lambda x, v: fft.rfftn(x),
            lambda x, v: special.logsumexp(x, axis=0), lambda x, v: special.ndtr(x),
        ):
            found = function(x, v)
            assert isinstance(found, opwright.Tensor)
            np.testing.assert_allclose(found.numpy(), function(held, held[:, 0]), rtol=1e-9, atol=1e-12)
    """)


def test_scikit_learn() -> None:
    run("""
        import sys
        import numpy as np
        import opwright
        import sklearn
        from sklearn.decomposition import PCA
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import StandardScaler

        held = np.random.default_rng(int(sys.argv[1])).normal(size=(50, 3))
        target = held @ np.array([1.0, 2.0, 3.0]) + 0.5
        classes = (target > 0).astype(np.int64)
        x, y, c = opwright.tensor(held), opwright.tensor(target), opwright.tensor(classes)
        for function in (
            lambda x, y, c: Ridge(solver="svd").fit(x, y).predict(x), lambda x, y, c: StandardScaler().fit_transform(x),
            lambda x, y, c: PCA(2, svd_solver="full").fit_transform(x),
            lambda x, y, c: LinearDiscriminantAnalysis().fit(x, c).predict(x),
        ):
            with sklearn.config_context(array_api_dispatch=True):
                found = function(x, y, c)
            assert isinstance(found, opwright.Tensor)
            np.testing.assert_allclose(found.numpy(), function(held, target, classes), rtol=1e-9, atol=1e-12)
    """)


def test_gradients_go_through_scipy() -> None:
    """What SciPy computes by the namespace's functions alone is recorded."""
    run("""
        import sys
        import numpy as np
        import opwright
        from scipy import stats

        x = opwright.tensor([1.0, 2.0, 4.0], dtype=opwright.float64, requires_grad=True)
        stats.moment(x, 3).backward()
        step = 1e-6
        moved = [stats.moment(np.array([1.0, 2.0, 4.0]) + step * np.eye(3)[place], 3) for place in range(3)]
        expected = (np.array(moved) - stats.moment(np.array([1.0, 2.0, 4.0]), 3)) / step
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-4)
    """)


def test_the_page_counts_the_failures_that_are_listed() -> None:
    """What `make array-api` expects to fail, the table of docs/array-api.md gives reasons for."""
    listed = [line for line in (ROOT / "tests" / "array_api_failures.txt").read_text().splitlines() if "::" in line]
    page = (ROOT / "docs" / "array-api.md").read_text(encoding="utf-8")
    ran, passed = (int(each.replace(",", "")) for each in re.findall(r"Of (\S+) tests that run, (\S+) pass", page)[0])
    counts = [int(each) for each in re.findall(r"^\| .*\((\d+)\) \|", page, re.MULTILINE)]
    assert len(listed) == len(set(listed)) == sum(counts) == ran - passed
