"""What the target `autocast` makes of a schema file: each policy in regions, and calls outside of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright import Tensor, bfloat16, float16, float32, float64
from opwright.fake import FakeTensorMode
from opwright_codegen.cli import main

SCHEMAS = """
- func: NS::seen(Tensor self, Tensor? other=None, *, ScalarType? dtype=None) -> Tensor
  dispatch:
    CompositeImplicitAutograd: "(self + 0 if other is None else self + other) if dtype is None else self.to(dtype)"
  autocast: POLICY

- func: NS::joined(Tensor[] tensors) -> Tensor
  dispatch:
    CompositeImplicitAutograd: tensors[0] + tensors[1]
  autocast: {CPU: promote}

- func: NS::length(Tensor self) -> Tensor
  dispatch:
    CompositeImplicitAutograd: self.abs()
  autocast: float32_dtype

- func: NS::length.dtype(Tensor self, *, ScalarType dtype) -> Tensor
  dispatch:
    CompositeImplicitAutograd: self.abs().to(dtype)

- func: NS::product(Tensor self) -> Tensor
  dispatch:
    CompositeImplicitAutograd: self @ self
  autocast: {CUDA: unchanged}
"""


@contextmanager
def operators(folder: Path, policy: str = "float32") -> Iterator[Any]:
    namespace = new_namespace()
    run = generate(folder, SCHEMAS.replace("POLICY", policy).replace("NS", namespace))
    with imported(run):
        yield getattr(opwright.ops, namespace)


def short() -> Tensor:
    return opwright.ones(2, 2, dtype=float16)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("lower_precision", [bfloat16, bfloat16, bfloat16, float64]),
        ("float32", [float32, float32, float32, float64]),
        ("float32_dtype", [float32, float32, float32, float64]),
        ("unchanged", [float16, float32, float32, float64]),
        ("{CPU: promote}", [None, float32, float32, float64]),
        ("{CUDA: float32}", [float16, float32, float32, float64]),
    ],
)
def test_a_policy(tmp_path: Path, policy: str, expected: list[Any]) -> None:
    with operators(tmp_path, policy) as ops:
        calls = [(short(),), (opwright.ones(2, 2),), (opwright.ones(2, 2), opwright.ones(2, 2)), (short().double(),)]
        assert [ops.seen(*args).dtype for args in calls] == [float16, float32, float32, float64]
        with opwright.autocast("cpu"):
            for args, dtype in zip(calls, expected, strict=True):
                if dtype is None:
                    with pytest.raises(
                        RuntimeError, match="::seen: a tensor of float16 is neither of the lower precision bfloat16"
                    ):
                        ops.seen(*args)
                else:
                    assert ops.seen(*args).dtype == dtype
            if policy == "float32_dtype":
                assert ops.seen(short(), dtype=float16).dtype == float16  # as the caller says
        assert ops.seen(short()).dtype == float16


def test_lists_overloads_and_what_is_called_inside(tmp_path: Path) -> None:
    with operators(tmp_path) as ops, opwright.autocast("cpu", float16):
        assert ops.joined([short(), short()]).dtype == float16
        assert ops.joined([short(), opwright.ones(2, 2)]).dtype == float32
        assert (ops.length(short()).dtype, ops.length(opwright.ones(2, dtype=opwright.int32)).dtype) == (
            float32,
            opwright.int32,
        )
        assert ops.product(opwright.ones(2, 2)).dtype == float16  # `@` is cast, since nothing stops it
    with operators(tmp_path) as ops, FakeTensorMode(), opwright.autocast("cuda"):
        assert ops.product(opwright.ones(2, 2, device="cuda")).dtype == float32


def test_a_banned_operator_says_what_to_do(tmp_path: Path) -> None:
    with operators(tmp_path, "'banned: use seen_with_logits'") as ops, opwright.autocast("cpu"):
        with pytest.raises(RuntimeError, match=r"::seen is unsafe under autocast: use seen_with_logits\. Or call it"):
            ops.seen(short())
        with opwright.autocast("cpu", enabled=False):
            assert ops.seen(short()).dtype == float16


def test_show_has_the_policy_and_the_line_of_one_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text(SCHEMAS.replace("POLICY", "{CUDA: lower_precision}").replace("NS", "shown"))
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "shown_ops"\n')
    assert main(["show", "seen"]) == 0
    shown = capsys.readouterr().out
    assert "  autocast  CUDA lower_precision\n" in shown
    assert 'seen = autocast_wrapper("shown::seen", CUDA="lower_precision")' in shown
    assert "product = " not in shown
