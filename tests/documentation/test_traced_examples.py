"""The documented example of `torch.library.register_fake` that is traced, as it is written; and what docs/tracing.md
shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import opwright

PAGE = (Path(__file__).parents[2] / "docs" / "tracing.md").read_text(encoding="utf-8")
EXAMPLE = """
import torch
import numpy as np
from torch import Tensor

# Example 2: an operator with data-dependent output shape
@torch.library.custom_op("mylib::custom_nonzero", mutates_args=())
def custom_nonzero(x: Tensor) -> Tensor:
    x_np = x.numpy(force=True)
    res = np.stack(np.nonzero(x_np), axis=1)
    return torch.tensor(res, device=x.device)

@torch.library.register_fake("mylib::custom_nonzero")
def _(x):
# Number of nonzero-elements is data-dependent.
# Since we cannot peek at the data in an fake impl,
# we use the ctx object to construct a new symint that
# represents the data-dependent size.
    ctx = torch.library.get_ctx()
    nnz = ctx.new_dynamic_size()
    shape = [nnz, x.dim()]
    result = x.new_empty(shape, dtype=torch.int64)
    return result

from torch.fx.experimental.proxy_tensor import make_fx

x = torch.tensor([0, 1, 2, 3, 4, 0])
trace = make_fx(torch.ops.mylib.custom_nonzero, tracing_mode="symbolic")(x)
trace.print_readable()

assert torch.allclose(trace(x), torch.ops.mylib.custom_nonzero(x))
"""


@pytest.fixture
def names(operators_are_dropped: None) -> Iterator[dict[str, object]]:
    """The names of a module. Its operators hold it, since their kernels see them, and so themselves."""
    names: dict[str, object] = {"__name__": "example"}
    with opwright.as_torch():
        yield names
    names.clear()


def test_the_traced_custom_nonzero_runs_as_written(
    names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(EXAMPLE, "example.py", "exec", dont_inherit=True), names)
    shown = capsys.readouterr().out
    assert 'custom_nonzero: "i64[u0, 1]" = opwright.ops.mylib.custom_nonzero.default(' in shown
    trace = names["trace"]
    assert callable(trace) and trace(opwright.tensor([7, 0, 7])).tolist() == [[0], [2]]


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```(python|)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    for number, (language, text) in enumerate(blocks):
        if language:
            exec(compile(text, "page.py", "exec"), names)
            shown = capsys.readouterr().out
            following = blocks[number + 1] if number + 1 < len(blocks) else ("python", "")
            if not following[0]:
                assert shown.strip() == following[1].strip()
