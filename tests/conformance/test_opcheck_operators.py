"""Generated operators keep to their schemas: writes, shared memory, results without data, graphs of calls, on drawn
arguments."""

from __future__ import annotations

import pytest
from sweeps import count, spread

import opwright
from opwright.testing import opcheck_all, samples
from opwright_core.dispatch.registry.tables import registry

NAMES = sorted(name for name in registry.operators if name.startswith("aten::"))
REASONS = {
    "views declared without aliases, as in PyTorch": "_unsafe_view unsafe_chunk unsafe_split unsafe_split_with_sizes",
    "reads data that the fake has not, and has no tag that says so": "narrow one_hot tensor_split",
    "noise is written in training alone, of numbers below zero": "rrelu_with_noise rrelu_with_noise_",
    "writes nothing: its result is what the memory holds": (
        "empty empty_like empty_permuted empty_strided new_empty new_empty_strided"
    ),
    "writes nothing where no element lies on the other side of the diagonal": "tril_ triu_",
    "statistics are written and not declared to be, as in PyTorch": "batch_norm instance_norm",
    "resized to what data tells, which a symbolic out argument does not follow": (
        "masked_select _unique2 unique_dim unique_consecutive unique_dim_consecutive"
    ),
    "a Boolean alpha, which the fake refuses, as PyTorch does": "add add_ sub sub_ subtract subtract_ rsub",
}
KNOWN = {name for names in REASONS.values() for name in names.split()}


@pytest.mark.parametrize("letters", ["_", "ab", "c", "de", "fghij", "klm", "nopq", "r", "st", "uvwxyz"])
def test_operators_keep_to_their_schemas(letters: str) -> None:
    wrong = []
    for name in NAMES:
        operator = registry.operators[name]
        if operator.base[0] in letters and operator.base not in KNOWN:
            given = list(samples(operator, dtypes=[opwright.float32], situations=["contiguous"]))
            if given:
                given = spread(given, count(3, len(given)))
                tests = ("test_schema", "test_faketensor")
                wrong += opcheck_all(operator, test_utils=tests, given=given, raise_exception=False)
                traced = "test_aot_dispatch_dynamic"
                wrong += opcheck_all(operator, test_utils=traced, given=given[: count(2, 3)], raise_exception=False)
    assert [f"{failure.error}" for failure in wrong] == []
