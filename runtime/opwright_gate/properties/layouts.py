"""Layouts: values decide what a call gives, not where they lie."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from opwright.metadata.tags import Tag
from opwright_gate.cases import ROW_MAJOR, Array, Case
from opwright_gate.comparing import difference, shown_error
from opwright_gate.properties.property import CaseProperty, Problem
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject

__all__ = ["Layouts"]

_CAUSES = {
    "transposed": "order-assumed", "sliced": "strides-ignored", "backwards": "negative-strides",
    "offset 1": "offset-ignored", "offset 4": "offset-ignored", "misaligned": "alignment-assumed",
    "expanded": "expanded-refused", "read-only": "read-only-refused",
}  # fmt: skip


class Layouts(CaseProperty):
    """Layouts against the call on row-major copies."""

    name, title, group = "layouts-do-not-matter", "Layouts do not matter", "layouts"
    finds = "A call that gives other values, or raises, when its arguments lie otherwise in memory."
    example = "def kernel(x):\n    return np.frombuffer(x.data, x.dtype).reshape(x.shape) * 2  # C order assumed"
    mend = "Go by `x.strides`, or copy first: `np.ascontiguousarray(x)`."
    compares_values = True

    def applies(self, subject: Subject) -> bool | str:
        """Whether the operator's meaning is no layout."""
        is_of_layout = subject.means_a_layout or Tag.inplace_view in subject.operator.tags
        return "what it means is a layout" if is_of_layout else True

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls in each layout: all arrays so, then each alone."""
        for case in samples.some:
            for layout in subject.layouts:
                yield case.laid(layout, samples.written if layout in ("expanded", "read-only") else frozenset())
        for case in samples.more[:2]:
            for layout in [each for each in ("transposed", "sliced", "backwards") if each in subject.layouts]:
                yield case.laid(layout)
        first = samples.first
        positions = sorted({argument.position for argument in subject.operator.signature.tensors})
        for position in positions if first is not None and len(positions) > 1 else ():
            others = frozenset(positions) - {position}
            for layout in [each for each in ("transposed", "sliced", "backwards") if each in subject.layouts]:
                yield first.laid(layout, others)  # type: ignore[union-attr]

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return what is another, or what is raised."""
        wanted = subject.run(case.compact())
        if wanted.error is not None:
            return None
        found = subject.run(case)
        layout = next((each.layout for each in case.arrays if each.layout != ROW_MAJOR), ROW_MAJOR)
        cause = _CAUSES.get(layout, "layout-matters")
        if found.error is not None:
            if says_what_is_demanded(found.error, subject.operator.signature.names):
                return None
            if "view size is not compatible" in str(found.error) and _returns_views(subject):
                return None  # (what PyTorch's views demand)
            return Problem(cause, f"it raises with {layout} arguments: {shown_error(found.error)}")
        text = difference(found.outputs, wanted.outputs)
        if text is None or difference(subject.run(case.compact()).outputs, wanted.outputs) is not None:
            return None  # (not the same twice: that is said elsewhere)
        if difference(subject.run(case.compact().converted(_rounded)).outputs, wanted.outputs) is not None:
            return None  # (rounding decides: a determinant of nearly 0)
        cause = cause.replace("-refused", "-matters")
        what = ("result", "plain") if subject.operator.signature.returns else ("{arrays}", "copies")
        check = ("from {origin}.testing import assert_close", f"assert_close({', '.join(what)}, equal_nan=True)")
        before = ("copies = {copies}", "plain = {plain}")
        return Problem(cause, f"with {layout} arguments {text}", check, before)


def _rounded(value: Array, _: int) -> Array:
    """Return floating-point numbers one unit in the last place beside their own."""
    array = value.values
    if array.dtype.kind not in "fc":
        return value
    signs = np.resize(np.array([1, -1, -1]), array.shape)
    return Array(np.asarray(array * (1 + 2 * signs * np.finfo(array.dtype).eps)).astype(array.dtype))


def _returns_views(subject: Subject) -> bool:
    signature = subject.operator.signature
    return any(each is not None and each not in signature.written for each in signature.aliases)
