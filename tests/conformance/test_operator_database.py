"""PyTorch's operator database: every operator that needs nothing which we leave out is there, and gives what PyTorch's
gives. A few samples of each entry; `operator_database.py` takes all."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytest.importorskip("expecttest", reason="PyTorch's operator database imports it: make test ORACLE=1")
from database_entries import KNOWN_ERRORS, LEFT_OUT, SLOW, why_left_out
from known_versions import RESULTS
from operator_database import agreement, dtypes_of, entries, errors_of, ours

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
PARTS = 12  # so that several workers share the entries, and none imports the database to know its tests


def test_what_is_left_out_is_not_there_and_all_else_is() -> None:
    there = {name: ours(entry) is not None for name, entry in entries().items()}
    assert [name for name, found in there.items() if not found and why_left_out(name) is None] == []
    assert [name for name, found in there.items() if found and why_left_out(name) is not None] == []
    assert all(any(why_left_out(name) == why for name in there) for why in LEFT_OUT.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_samples(part: int, request: pytest.FixtureRequest) -> None:
    few = None if request.config.getoption("--slow") else 1
    total, wrong = 0, []
    for name, entry in list(entries().items())[part::PARTS]:
        if ours(entry) is not None and why_left_out(name) is None and (few is None or name not in SLOW):
            for dtype in dtypes_of(entry):
                counts, found = agreement(entry, dtype, few=few)
                total += sum(counts[each] for each in ("agree", "known", "differ"))
                wrong += found
    if wrong:
        pytest.fail(f"{len(wrong)} of {total} samples differ\n" + "\n".join(wrong[:20]), pytrace=False)
    assert total > 25


def is_known(name: str, problem: str) -> bool:
    return KNOWN_ERRORS.covers(name, problem) or RESULTS.covers(name, problem)


def test_errors() -> None:
    """Wrong calls raise what PyTorch raises, or an error derived from it."""
    wrong, count = [], 0
    for name, entry in entries().items():
        if ours(entry) is not None and why_left_out(name) is None and entry.error_inputs_func is not None:
            count += 1
            wrong += [f"{name}({each}" for each in errors_of(entry) if not is_known(name, each)]
    if wrong:
        pytest.fail(f"{len(wrong)} errors differ\n" + "\n".join(wrong[:20]), pytrace=False)
    assert count > 100
