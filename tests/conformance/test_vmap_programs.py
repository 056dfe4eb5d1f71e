"""Programs under `vmap` give what they give in PyTorch, or fail with an error of the same kind."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check  # noqa: E402
from vmap_programs import PROGRAMS  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    rows = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]
    check(lambda library: program(library, library.tensor(rows), library.tensor([1.0, 2.0, 3.0])))
