"""Hypothesis strategies for schemas and their parts, as the model can hold them."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from opwright_codegen.schema.model import Argument, Default, EnumName, FunctionSchema, OperatorName, Return
from opwright_codegen.schema.types import (
    FRESH,
    Annotation,
    BaseType,
    ClassType,
    GenericType,
    ListType,
    OptionalType,
    Type,
)

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
base_names = st.sampled_from(
    [
        *("Tensor", "int", "float", "bool", "str", "complex", "Scalar", "SymInt", "ScalarType"),
        *("Layout", "Device", "MemoryFormat", "Generator", "Any", "t"),
    ]
)
_generic = {"Dict": 2, "Future": 1, "Await": 1, "RRef": 1}


def _extend(elems: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.one_of(
        elems.filter(lambda elem: not isinstance(elem, OptionalType)).map(OptionalType),
        st.builds(ListType, elems, st.none() | st.integers(0, 9)),
        st.lists(elems, max_size=3).map(lambda args: GenericType("Tuple", tuple(args))),
        st.sampled_from(sorted(_generic)).flatmap(
            lambda name: st.tuples(*[elems] * _generic[name]).map(lambda args: GenericType(name, args))
        ),
    )


types: st.SearchStrategy[Type] = st.recursive(
    base_names.map(BaseType) | names.map(lambda name: ClassType(f"__torch__.torch.classes.ns.{name}")),
    _extend,
    max_leaves=4,
)


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    """Every annotation that is one: a set of several is not written to, and stands on one side of the arrow only."""
    letters = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True)
    before = tuple(draw(letters | st.just(["*"])))
    write = len(before) == 1 and draw(st.booleans())
    after = draw(st.just([]) | st.just(["*"]) | letters)
    return Annotation(before, write, tuple(after if len(before) == 1 else after[:1]))


_texts = st.text(st.characters(codec=None, categories=None), max_size=6)  # lone surrogates too
_floats = st.floats(width=64).map(lambda x: math.nan if math.isnan(x) else x)
_complexes = st.builds(complex, _floats, _floats)
_ints = st.integers(-(2**63), 2**63 - 1)
_enums = names.filter(lambda name: name not in ("None", "True", "False", "inf", "nan")).map(EnumName)
_values: dict[str, st.SearchStrategy[Any]] = {
    "int": _ints | _enums,
    "SymInt": _ints,
    "float": _floats,
    "complex": _complexes,
    "bool": st.booleans(),
    "str": _texts,
    "Device": _texts,
    "Scalar": _ints | _floats | _complexes | st.booleans(),
    "ScalarType": _enums,
    "Layout": _enums,
    "MemoryFormat": _enums,
}


def values(type: Type) -> st.SearchStrategy[Any]:
    """The values that a default of this type can have."""
    match type:
        case OptionalType(elem):
            return st.none() | values(elem)
        case ListType(elem, size):
            count = {"max_size": 3} if size is None else {"min_size": size, "max_size": size}
            return st.lists(values(elem), **count).map(tuple)
        case BaseType(name) if name in _values:
            return _values[name]
        case _:
            return st.none()


def _fresh(base: Type) -> st.SearchStrategy[Annotation]:
    """A written set without a name, where the type may have one."""
    return st.nothing() if isinstance(base, GenericType) and base.name not in ("Dict", "Union") else st.just(FRESH)


@st.composite
def _annotated(draw: st.DrawFn) -> tuple[Type, Annotation | None, tuple[Annotation | None, ...]]:
    type = draw(types)
    annotation = draw(st.none() | annotations() | _fresh(type.base()))
    depth, inner = 0, type
    while isinstance(inner, OptionalType | ListType):
        depth += isinstance(inner, ListType)
        inner = inner.elem
    lists = tuple(draw(st.none() | annotations() | st.just(FRESH)) for _ in range(depth)) if draw(st.booleans()) else ()
    return type, annotation, lists if any(lists) else ()


@st.composite
def arguments(draw: st.DrawFn, name: str | None = None, kwarg_only: bool = False) -> Argument:
    type, annotation, lists = draw(_annotated())
    default = draw(st.none() | values(type).map(Default))
    return Argument(name or draw(names), type, default, annotation, kwarg_only, lists)


@st.composite
def returns(draw: st.DrawFn) -> Return:
    type, annotation, lists = draw(_annotated())
    return Return(draw(st.none() | names), type, annotation, lists)


@st.composite
def operator_names(draw: st.DrawFn) -> OperatorName:
    namespace = "::".join(draw(st.lists(names, max_size=2)))
    return OperatorName(namespace, draw(names), draw(st.just("") | names))


@st.composite
def schemas(draw: st.DrawFn) -> FunctionSchema:
    """Any schema that the syntax can express, whether or not it makes sense for an operator."""
    kwarg_only = [False] * draw(st.integers(0, 3)) + [True] * draw(st.integers(0, 3))
    return FunctionSchema(
        draw(operator_names()),
        tuple(draw(arguments(kwarg_only=flag)) for flag in kwarg_only),
        tuple(draw(st.lists(returns(), max_size=3))),
        draw(st.booleans()),
        draw(st.booleans()),
    )
