"""What a schema says of its operator: kind, views, variants; the rules of declarations; compatibility."""

from __future__ import annotations

import pytest

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.compat import incompatibilities
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.schema.rules import check_types, schema_problems

parse = FunctionSchema.parse


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add(Tensor self, Tensor other) -> Tensor", "functional"),
        ("t(Tensor(a) self) -> Tensor(a)", "functional"),
        ("add_(Tensor(a!) self, Tensor other) -> Tensor(a!)", "inplace"),
        ("__iadd__(Tensor(a!) self, Tensor other) -> Tensor(a!)", "inplace"),
        ("ns::twice_(Tensor(a!) x) -> Tensor(a!)", "inplace"),
        ("_foreach_neg_(Tensor(a!)[] self) -> ()", "inplace"),
        ("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "out"),
        ("_foreach_neg.out(Tensor[] self, *, Tensor(a!)[] out) -> ()", "out"),
        ("f(Tensor self, Tensor(b!) s) -> Tensor", "mutable"),
        ("set_data(Tensor(a!) self, Tensor new) -> ()", "mutable"),
        ("f(Tensor[](a!) x) -> ()", "mutable"),
        ("recv_(Tensor[] tensors) -> Tensor[]", "functional"),
    ],
)
def test_kind(text: str, kind: str) -> None:
    assert parse(text).kind is SchemaKind(kind)


@pytest.mark.parametrize(
    ("text", "is_view", "is_functional"),
    [
        ("add(Tensor self, Tensor other) -> Tensor", False, True),
        ("size(Tensor(a) self) -> int", False, True),
        ("t(Tensor(a) self) -> Tensor(a)", True, False),
        ("split(Tensor(a -> *) self) -> Tensor(a)[]", True, False),
        ("add_(Tensor(a!) self, Tensor other) -> Tensor(a!)", False, False),
        ("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", False, False),
        ("print(str s) -> ()", False, False),
    ],
)
def test_views_and_functional_schemas(text: str, is_view: bool, is_functional: bool) -> None:
    assert (parse(text).is_view, parse(text).is_functional) == (is_view, is_functional)


def test_variants_share_a_signature() -> None:
    variants = [
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    ]
    signatures = {parse(text).signature() for text in variants}
    assert [str(s) for s in signatures] == ["add(Tensor self, Tensor other, *, Scalar alpha) -> Tensor"]
    kept = parse(variants[0]).signature(keep_defaults=True)
    assert str(kept) == "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def test_factories_share_a_signature_with_their_out_variant() -> None:
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    functional = parse(f"ns::ones(SymInt[] size, *, {options}) -> Tensor")
    out = parse("ns::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)")
    assert functional.signature() == out.signature()
    assert str(out.signature()) == "ns::ones(SymInt[] size) -> Tensor"


def test_the_functional_variant_of_a_mutable_operator() -> None:
    mutable = parse("f.x(Tensor self, Tensor(b!) s, *, int n=1) -> Tensor y")
    assert str(mutable.functional_signature()) == (
        "f_functional.x(Tensor self, Tensor s, *, int n=1) -> (Tensor y, Tensor s_out)"
    )
    assert str(mutable.signature()) == "f(Tensor self, Tensor s, *, int n) -> (Tensor, Tensor)"
    assert parse("f_functional(Tensor self, Tensor s, *, int n) -> (Tensor, Tensor)").signature() == mutable.signature()


def test_written_arguments_that_are_not_returned_are_results() -> None:
    assert str(parse("f_(Tensor(a!) self, Tensor(b!) s) -> Tensor(a!)").signature()) == (
        "f(Tensor self, Tensor s) -> (Tensor, Tensor)"
    )
    assert str(parse("f.out(Tensor[] self, *, Tensor(a!)[] out) -> ()").signature()) == "f(Tensor[] self) -> Tensor[]"


RULES = [
    ("f(Tensor x, Tensor x) -> ()", "duplicate-argument", 20, "two arguments 'x'"),
    ("f() -> (Tensor y, Tensor y)", "duplicate-return", 19, "two results 'y'"),
    ("f(int a=1, int b) -> ()", "default-order", 16, "'b' has no default, but follows 'a'"),
    ("f.default() -> ()", "reserved-overload", 1, "'default' is not a legal overload name"),
    ("add_out(Tensor self) -> Tensor", "reserved-suffix", 1, "names that end in _out"),
    ("f.functional_x(Tensor(a!) x) -> ()", "reserved-overload", 1, "the schema is mutable"),
    ("f(int None) -> ()", "reserved-name", 7, "no argument can be called None"),
    ("f(Tensor x, int lambda=1) -> ()", "reserved-name", 17, "no argument can be called lambda, a word of Python's"),
    ("f(Tensor x, *, int? class) -> ()", "reserved-name", 21, "no argument can be called class"),
    ("f(asdf x) -> ()", "unknown-type", 3, "unknown type specifier 'asdf'"),
    ("f(int x) -> Tensr", "unknown-type", 13, "unknown type specifier 'Tensr'"),
    ("f(foo.Bar x) -> ()", "unknown-type", 3, "unknown type specifier 'foo.Bar'"),
    ("f(Dict(int) x) -> ()", "type-arguments", 3, "Dict takes 2 types, not 1"),
    ("f(int x=1.5) -> ()", "default-type", 9, "the default 1.5 of 'x' is not of type int"),
    ("f(int x=None) -> ()", "default-type", 9, "the default None of 'x' is not of type int"),
    ("f(int[] x=1) -> ()", "default-type", 11, "the default 1 of 'x' is not of type int[]"),
    ("f(bool x=1) -> ()", "default-type", 10, "the default 1 of 'x' is not of type bool"),
    ("f(Device x=cpu) -> ()", "default-type", 12, "the default of 'x' is a word, and a device is named by a text"),
    ("f(Device? x=cuda:0) -> ()", "default-type", 13, "the default of 'x' is a word"),
    ("f(Device[] x=[cpu]) -> ()", "default-type", 14, "the default of 'x' is a word"),
    ("f(int x=1, ...) -> ()", "vararg-default", 9, "arguments before '...' have no defaults"),
    ("add_(Tensor self) -> Tensor", "inplace-self", 1, "does not write to its self argument"),
    ("add_(Tensor(a!) self) -> ()", "inplace-returns", 1, "must return 'self' and nothing else"),
    ("add_(Tensor(a!) self) -> Tensor", "inplace-returns", 26, "must return 'self' and nothing else"),
    ("neg_(Tensor(a!)[] self) -> Tensor(a!)[]", "inplace-returns", 28, "on Tensor[] returns nothing"),
    ("f_(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(a!)", "inplace-out", 24, "has no out arguments"),
    ("f.out(*, Tensor(a!) out, int n) -> Tensor(a!)", "argument-after-out", 30, "'n', which is not written to"),
    ("f.out(*, Tensor(a!) out) -> ()", "out-returns", 1, "one result for each out argument, 1 in all, not 0"),
    ("f.out(*, Tensor(a!) out) -> Tensor", "out-returns", 29, "must be out argument 'out', Tensor(a!), not Tensor"),
    (
        "f.out(*, Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))",
        "out-returns",
        42,
        "result 0 must be out argument 'x', Tensor(a!), not Tensor(b!)",
    ),
    (
        "f.out(*, Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)",
        "out-returns",
        41,
        "each out argument, 2 in all, not 1",
    ),
    ("f.out(*, Tensor(a!)[] out) -> Tensor(a!)[]", "out-returns", 31, "of type Tensor[] returns nothing"),
    ("f(Tensor(a!) x) -> Tensor(a!)", "mutable-returned", 20, "'x' is written to and returned"),
    ("f_(Tensor(a!) self) -> (Tensor(a!), Tensor)", "mixed-returns", 37, "this one is new"),
    ("f(Tensor x) -> Tensor(c!)", "unknown-alias", 16, "result Tensor(c!) is no argument that is written to"),
]


@pytest.mark.parametrize(("text", "code", "column", "message"), RULES)
def test_rules(text: str, code: str, column: int, message: str) -> None:
    error = next(error for error in schema_problems(parse(text)) if error.code == code)
    assert error.span is not None
    assert (error.span.line, error.span.column) == (1, column)
    assert message in error.message
    assert str(error).startswith(f"<schema>:1:{column}: error: ")


@pytest.mark.parametrize(
    "text",
    [
        "f(int a, *, int b=1, int c) -> ()",
        "f(Tensor x) -> (Tensor x, Tensor y)",
        "f.out(Tensor self, *, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))",
        "f.out(Tensor self, *, Tensor(a!) out, Tensor(b!) _scratch_w) -> Tensor(a!)",
        "f(Tensor self, Tensor(b!) s) -> Tensor",
        "f(int reduction=Mean, Tensor? t=None, ScalarType t2=long, int[2] k=1, float e=inf, complex c=1) -> ()",
        "f(int from, int match) -> ()",
        "f(Tensor[](b!) x) -> Tensor[]",
    ],
)
def test_what_the_rules_allow(text: str) -> None:
    assert schema_problems(parse(text)) == []


@pytest.mark.parametrize(
    ("type", "hint"),
    [
        ("int64_t", "write int, or SymInt for a size that may be symbolic"),
        ("double", "write float"),
        ("string", "write str"),
        ("tensor", "write Tensor"),
        ("Tensro", "did you mean Tensor?"),
        ("Optional", "an optional value is written TYPE?"),
        (
            "asdf",
            "the types are Tensor, int, float, bool, str, Scalar, ScalarType, Device, Generator and TYPE[], TYPE? of "
            "these",
        ),
    ],
)
def test_hints_for_unknown_types(type: str, hint: str | None) -> None:
    with pytest.raises(SchemaError) as caught:
        check_types(parse(f"f(int n, {type}[]? x) -> ()"))
    error = caught.value
    assert error.span is not None
    assert (error.code, error.span.column, error.hint) == ("unknown-type", 10, hint)


def test_type_variables_are_types_where_asked_for() -> None:
    schema = parse("f(t[] x, Dict(key, tVal) y) -> t")
    check_types(schema, type_variables=True)
    with pytest.raises(SchemaError, match="unknown type specifier 't'"):
        check_types(schema)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("f(int a) -> ()", "f(int a, int b=1) -> ()", None),
        ("f(*, int a) -> ()", "f(int a) -> ()", None),
        ("f(int a) -> ()", "f(int? a) -> ()", None),
        ("f(int a) -> ()", "f(int a=1) -> ()", None),
        ("f() -> Tensor?", "f() -> Tensor", None),
        ("f(int a) -> ()", "f(int b) -> ()", "argument 'a' is called 'b' now"),
        ("f(int a) -> ()", "f(str b) -> ()", "argument 'a' is gone"),
        ("f(int a=1) -> ()", "f(int a) -> ()", "argument 'a' has no default now, and had 1"),
        ("f(int a, int b) -> ()", "f(int a) -> ()", "argument 'b' is gone"),
        ("f(int a) -> ()", "f(int a, int b) -> ()", "new argument 'b' has no default"),
        ("f(*, int a, int b) -> ()", "f(*, int b, int a) -> ()", "argument 'a' is no longer at position 0"),
        ("f.x() -> ()", "f.y() -> ()", "the operator is called f.y instead of f.x"),
        ("f(int a) -> ()", "f(int a, ...) -> ()", "the number of arguments varies now"),
        ("f(int? a) -> ()", "f(int a) -> ()", "argument 'a' is of type int, which does not take every int?"),
        ("f(int a) -> ()", "f(*, int a) -> ()", "argument 'a' is keyword-only now"),
        ("f(int a=1) -> ()", "f(int a=2) -> ()", "argument 'a' has the default 2 instead of 1"),
        ("f(Tensor a) -> ()", "f(Tensor(a!) a) -> ()", "argument 'a' is annotated (a!) instead of as no alias"),
        ("f() -> Tensor", "f() -> Tensor?", "result 0 is of type Tensor?, which is not a Tensor"),
        ("f() -> Tensor", "f() -> ()", "there are 0 results instead of 1"),
    ],
)
def test_compatibility(old: str, new: str, reason: str | None) -> None:
    assert incompatibilities(parse(new), parse(old))[:1] == ([] if reason is None else [reason])
