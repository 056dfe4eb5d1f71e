"""A call of every functional operator that both libraries have, with the first of its samples that both take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import opwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "conformance"))

from declared import of_kind
from oracle import to_opwright, to_torch
from samples import NO_SAMPLES, samples_of
from sampling import Sample

from opwright_codegen.schema.model import SchemaKind

Call = Callable[[], object]


def operators() -> Iterator[tuple[str, Callable[[], Call], Callable[[], Call]]]:
    """The name of each operator, and what prepares its call in each library."""
    for name in of_kind(SchemaKind.FUNCTIONAL):
        if name in NO_SAMPLES:
            continue
        sample = _first(name)
        if sample is not None:
            yield name, _prepared(opwright, to_opwright, name, sample), _prepared(torch, to_torch, name, sample)


def _first(name: str) -> Sample | None:
    """The first sample of float32 arrays, and of places; else of whole arrays; else the first that both take."""
    ordered = sorted(samples_of(name), key=lambda sample: (not _is_plain(sample), not _is_common(sample)))
    return next((sample for sample in ordered if _is_taken(name, sample)), None)


def _is_taken(name: str, sample: Sample) -> bool:
    if not _is_plain(sample) and any(isinstance(each, np.ndarray) for each in sample.args):
        return False
    try:
        for library, convert in ((opwright, to_opwright), (torch, to_torch)):
            _prepared(library, convert, name, sample)()()
    except Exception:
        return False
    return True


def _is_plain(sample: Sample) -> bool:
    arrays = [each for each in sample.args if isinstance(each, np.ndarray)]
    return bool(arrays) and all(each.size and each.dtype.itemsize >= 4 and each.flags.c_contiguous for each in arrays)


def _is_common(sample: Sample) -> bool:
    dtypes = {str(each.dtype) for each in sample.args if isinstance(each, np.ndarray)}
    return "float32" in dtypes and dtypes <= {"float32", "int64"}


def _prepared(library: Any, convert: Callable[[Any], Any], name: str, sample: Sample) -> Callable[[], Call]:
    def prepare() -> Call:
        base, _, overload = name.partition(".")
        operator = getattr(getattr(library.ops.aten, base), overload or "default")
        args = [convert(each) for each in sample.args]
        kwargs = {key: convert(each) for key, each in sample.kwargs.items()}
        return lambda: operator(*args, **kwargs)

    return prepare
