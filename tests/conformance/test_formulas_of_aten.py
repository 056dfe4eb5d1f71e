"""The `meta` formulas of all schema files, given at run time to operators of the same declaration: the same results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from declared import operators
from faking import operator
from samples import samples_of
from sampling import Sample

import opwright
from opwright.fake import FakeTensorMode
from opwright.inspection.meta_formulas import FORMULAS
from opwright.library import Library, register_meta
from opwright_codegen.schema.model import SchemaKind

pytestmark = pytest.mark.filterwarnings("ignore")


def formulas() -> Iterator[tuple[str, str]]:
    """The operators that return new tensors by a formula."""
    for name, each in operators().items():
        is_new = all(r.type.is_tensor_like and not r.annotations for r in each.schema.returns)
        if each.meta is None or each.kind is not SchemaKind.FUNCTIONAL or not is_new or each.base_name:
            continue
        if each.meta.text != "view" and ":" not in each.meta.text.partition("(")[0]:
            yield name, each.meta.text


def fake(value: object) -> object:
    if isinstance(value, list):
        return [fake(each) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    return opwright.from_numpy(value).to("meta")


def facts(result: object) -> object:
    if isinstance(result, list | tuple):
        return [facts(each) for each in result]
    assert isinstance(result, opwright.Tensor)
    return tuple(result.shape), result.stride(), result.dtype, result.device


def outcome(function: object, one: Sample) -> object:
    assert callable(function)
    try:
        found = function(*map(fake, one.args), **{name: fake(value) for name, value in one.kwargs.items()})
    except Exception as error:
        return type(error), str(error).replace("formed::", "aten::")
    return facts(found)


def test_a_formula_of_aten_gives_the_same_fakes() -> None:
    library = Library("formed", "FRAGMENT")
    wrong, count = [], 0
    for name, text in formulas():
        library.define(f"{name}{operators()[name].schema.text[operators()[name].schema.text.index('(') :]}")
        register_meta(f"formed::{name}", text, lib=library)
        base, _, overload = name.partition(".")
        ours = getattr(getattr(opwright.ops.formed, base), overload or "default")
        for one in samples_of(name)[::5][:4]:
            count += 1
            with FakeTensorMode():
                found, expected = outcome(ours, one), outcome(operator(name), one)
            if found != expected:
                wrong.append(f"{name}{one}: {found}, not {expected}")
    assert not wrong, f"{len(wrong)} of {count}\n" + "\n".join(wrong[:20])
    assert count > 800
    library._destroy()
    assert FORMULAS.find("formed::add.Tensor") is None
