"""The tags of all operators are PyTorch's."""

from __future__ import annotations

import pytest

import opwright
from opwright_core.dispatch.registry.tables import registry

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

# Operators that PyTorch does not have, or whose tags are others on purpose, and why.
OTHERWISE = dict.fromkeys(
    ["aten::conj", "aten::mH", "aten::adjoint", "aten::matrix_H"], "they copy complex numbers; real ones are their own"
)


def test_tags() -> None:
    found, compared = [], 0
    for name, operator in list(registry.operators.items()):
        packet = getattr(torch.ops.aten, operator.base, None) if operator.namespace == "aten" else None
        if packet is None or (operator.overload or "default") not in packet.overloads():
            continue
        compared += 1
        ours = {str(tag) for tag in operator.tags}
        theirs = {str(tag).partition(".")[2] for tag in getattr(packet, operator.overload or "default").tags}
        if (ours != theirs) is not (name in OTHERWISE):
            found.append(f"{name}: {sorted(ours)}, not {sorted(theirs)}")
    assert compared > 1600
    assert not found, f"{len(found)}\n" + "\n".join(found)


def test_every_tag_has_pytorchs_name() -> None:
    assert {tag.name for tag in opwright.Tag} >= set(torch.Tag.__members__)
