"""Every operator at corners against PyTorch: values, what records, gradients and tangents at negative, zero, equal, NaN
and infinite inputs.

A few draws of one sample of each operator here; `--slow` tries more of them, and every sample.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from declared import functional_of, of_kind
from sampling import Sample

from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from corners import PALETTES, cornered, is_expected, problems, samples_of  # noqa: E402
from known_corners import KNOWN_CORNERS, why_not_tried  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

NAMES = [
    name for name in of_kind(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE) if why_not_tried(functional_of(name)) is None
]
SEED = 10


def chosen(name: str, is_slow: bool) -> Iterator[tuple[Sample, str, int]]:
    """Samples, each with a palette and a seed."""
    found = samples_of(name)
    if "batch_norm" in name:  # of nothing PyTorch divides by zero, and ends
        found = [one for one in found if all(each.size for each in (one.args[0],))]
    if is_slow:
        yield from ((one, palette, seed) for one in found for palette in PALETTES for seed in range(3))
    elif found:
        first = SEED % len(found)
        yield from ((found[(first + step) % len(found)], palette, SEED) for step, palette in enumerate(PALETTES))


@pytest.mark.parametrize("name", NAMES)
def test_corners(name: str, request: pytest.FixtureRequest) -> None:
    found = []
    with np.errstate(all="ignore"):
        for one, palette, seed in chosen(name, request.config.getoption("--slow")):
            drawn = cornered(one, palette, seed)
            told = [problem for problem in problems(name, drawn) if not is_expected(name, drawn, problem)]
            found += [f"{name}{one}, {palette}, seed {seed}: {problem}" for problem in told]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:8]), pytrace=False)


def test_every_reason_is_of_an_operator() -> None:
    names = {functional_of(name) for name in of_kind(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE)}
    import re

    assert not [known for known in KNOWN_CORNERS if not any(re.fullmatch(known.operators, name) for name in names)]
