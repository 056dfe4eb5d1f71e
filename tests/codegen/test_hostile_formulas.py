"""Formulas that would do harm are refused; what is accepted of thousands does none when it is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import seeds
import sweeps
from hostile_formulas import OPERATORS, SCHEMA, accepted

from opwright_codegen.formula.resolve import Scope

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "text",
    [
        "xp.f2py.os.system('true')", "xp.load(text, allow_pickle=True)", "xp.save(text, self)", "xp.memmap(text)",
        "xp.fromfile(text)", "self.tofile(text)", "self.dump(text)", "self.ctypes", "self.data", "self.base",
        "self.__class__", "self.astype.__self__", "xp.lib.stride_tricks.as_strided(self, (9,))", "xp.empty(9)",
        "xp.ndarray((9,), buffer=self)", "xp.vectorize(abs)", "xp.frompyfunc(abs, 1, 1)",
        "xp.apply_along_axis(max, 0, self)",
        "xp.pad(self, 1, mode=abs)", "xp.fromfunction(abs, (2,))", "max(self, key=abs)", "xp", "xp.sum", "self.sum",
        "text.format(self)", "'%d' % n", "'a' * n", "9**9**9", "1 << 9999", "(xp.sum if n else xp.prod)(self)",
        "self[0](1)",
        "xp.random.seed(0)", "xp.testing.measure('1')", "self.setflags(write=True)", "self.resize(99)", "self.flat",
    ],
)  # fmt: skip
def test_what_would_reach_further_is_refused(text: str) -> None:
    for scope in (Scope.for_kernel(SCHEMA), Scope.for_composite(SCHEMA, OPERATORS), Scope.for_meta(SCHEMA, ())):
        assert accepted(text, scope) is None


def test_what_computes_is_accepted() -> None:
    scope = Scope.for_kernel(SCHEMA)
    for text in ("xp.hypot(self, other)", "self.astype(xp.float32).sum(0)", "xp.linalg.norm(self, axis=n)"):
        assert accepted(text, scope) is not None


@pytest.mark.once  # texts in, messages out
@pytest.mark.skipif(os.name == "nt", reason="no limits of memory and no alarms there")
def test_what_is_accepted_of_hostile_formulas_does_no_harm() -> None:
    count = 1500 if sweeps.is_exhaustive else 600
    command = [sys.executable, HERE / "hostile_formulas.py", str(count), str(seeds.seed(3))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{count} formulas, "), done.stdout
