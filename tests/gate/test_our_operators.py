"""The gate over operators of ATen: nothing is found but what the baseline of this repository knows."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from sweeps import share

from opwright_codegen.commands.gate_baseline import read_baseline
from opwright_gate.properties import PROPERTIES
from opwright_gate.reports.baseline import KnownFinding, Standing
from opwright_gate.run import gate

pytestmark = pytest.mark.once  # each process chooses its core

EXAMPLES = Path(__file__).parent / "aten_examples.py"
ROOT = Path(__file__).parents[2]
# Of each kind of operator, and those about which the gate was wrong, or right, once.
OPERATORS = (
    "_adaptive_avg_pool3d_backward", "_fft_c2c", "_fft_c2r", "_linalg_det", "_linalg_svd",
    "_native_batch_norm_legit.no_stats", "_reshape_alias", "_safe_softmax", "_unsafe_view", "add.Tensor", "addmm",
    "as_strided", "batch_norm", "bernoulli_.Tensor", "bincount.out", "bucketize.Tensor", "cat", "convolution",
    "convolution_backward.out", "cumprod", "embedding", "empty_like.out", "gather", "index_put_",
    "linalg_cholesky_ex", "linalg_det.out", "lu_unpack", "max_pool2d_with_indices", "mul_.Tensor",
    "native_group_norm", "native_layer_norm_backward.out", "new_empty_strided", "nll_loss_forward", "one_hot",
    "prod.dim_int", "reflection_pad3d", "repeat_interleave.Tensor_out", "select_scatter.out", "sort",
    "std_mean.correction", "unsafe_split.Tensor", "upsample_bilinear2d.vec", "upsample_nearest2d_backward",
    "where.self",
)  # fmt: skip
# These take most of the time, and are asked of everything before a release: `opwright gate aten`.
_SLOW = ("keeps-nothing", "deterministic", "precision-of-dtypes", "sizes-do-not-matter", "without-memory")


def test_operators_of_ours_have_no_findings_but_known_ones() -> None:
    tried = share(OPERATORS, 16, "operators of ours")
    asked = [each.name for each in PROPERTIES if each.name not in _SLOW]
    targets = [f"aten::{name}" if "." in name else f"aten::{name}.default" for name in tried]
    report = gate(targets, properties=asked, jobs=2, modules=[str(EXAMPLES)])
    known = tuple(KnownFinding(**entry) for entry in read_baseline(ROOT / "gate-baseline.yaml"))
    standing = Standing(report, known, date.today().isoformat())
    assert [(each.operator, each.property, each.cause, each.why) for each in standing.findings] == []
    raised = ("check-raised", "gate-raised", "no-samples")
    assert [(each.operator, each.property, each.why) for each in report.verdicts if each.cause in raised] == []
    assert standing.counts["held"] > 10 * len(tried)
