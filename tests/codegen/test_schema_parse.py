"""What schema text means: types, annotations, defaults, names, returns."""

from __future__ import annotations

import math

import pytest

from opwright_codegen.schema.model import Default, EnumName, FunctionSchema, OperatorName
from opwright_codegen.schema.types import Annotation, BaseType, ClassType, GenericType, ListType, OptionalType, Type

parse = FunctionSchema.parse
INT, TENSOR, T = BaseType("int"), BaseType("Tensor"), BaseType("t")


def test_ragged_spacing_prints_canonically() -> None:
    assert str(parse("f( Tensor   x ,int y )->Tensor")) == "f(Tensor x, int y) -> Tensor"
    assert str(parse("\n f (Tensor( a ! ) x,int [ 2 ] ? y=[ 1,2 ],*,str s= 'a' )->(Tensor (a!) , int n)")) == (
        "f(Tensor(a!) x, int[2]? y=[1, 2], *, str s='a') -> (Tensor(a!), int n)"
    )


def test_the_parts_of_a_schema() -> None:
    schema = parse("a::b::f.over(Tensor(a!) self, int n=1, *, Scalar? s=None, ...) -> (Tensor(a!) out, int)")
    assert schema.name == OperatorName("a::b", "f", "over")
    assert schema.namespace == "a::b"
    assert [a.name for a in schema.positional] == ["self", "n"]
    assert [a.name for a in schema.kwarg_only] == ["s"]
    assert schema.arguments[0].annotation == Annotation(("a",), True)
    assert schema.arguments[1].default == Default(1)
    assert schema.arguments[2].type == OptionalType(BaseType("Scalar"))
    assert [(r.name, r.type) for r in schema.returns] == [("out", TENSOR), (None, INT)]
    assert schema.is_vararg
    assert not schema.is_varret


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("Tensor", TENSOR),
        ("int?", OptionalType(INT)),
        ("int[]", ListType(INT)),
        ("int[0]", ListType(INT, 0)),
        ("int[2]?", OptionalType(ListType(INT, 2))),
        ("Tensor?[]", ListType(OptionalType(TENSOR))),
        ("int[2][]", ListType(ListType(INT, 2))),
        ("Dict(str, t[])[]", ListType(GenericType("Dict", (BaseType("str"), ListType(T))))),
        ("(int, t)[]?", OptionalType(ListType(GenericType("Tuple", (INT, T))))),
        ("()", GenericType("Tuple", ())),
        ("Future(RRef(Await(t)))", GenericType("Future", (GenericType("RRef", (GenericType("Await", (T,)),)),))),
        ("Union(int, Tensor)", GenericType("Union", (INT, TENSOR))),
        ("__torch__.torch.classes.ns.Name[]?", OptionalType(ListType(ClassType("__torch__.torch.classes.ns.Name")))),
    ],
)
def test_types(text: str, type: Type) -> None:
    schema = parse(f"f({text} x) -> ({text})")
    assert schema.arguments[0].type == type
    assert schema.returns[0].type == type
    assert str(type) == text
    assert str(schema) == f"f({text} x) -> {f'({text})' if text.startswith('(') else text}"


def test_other_spellings_of_types() -> None:
    assert str(parse("f(int?? x, Tuple(int, str) y) -> None")) == "f(int? x, (int, str) y) -> NoneType"
    assert parse("f(__torch__.torch.classes.ns.Name x) -> ()").arguments[0].type.base().class_name == "ns.Name"  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="optional already"):
        OptionalType(OptionalType(INT))


@pytest.mark.parametrize(
    ("text", "before", "write", "after"),
    [
        ("(a)", {"a"}, False, set()),
        ("(a!)", {"a"}, True, set()),
        ("(a -> *)", {"a"}, False, {"*"}),
        ("(a! -> *)", {"a"}, True, {"*"}),
        ("(a|b)", {"a", "b"}, False, set()),
        ("(a! -> a|b)", {"a"}, True, {"a", "b"}),
        ("(a!->b)", {"a"}, True, {"b"}),
        ("(*)", {"*"}, False, set()),
    ],
)
def test_alias_annotations(text: str, before: set[str], write: bool, after: set[str]) -> None:
    argument = parse(f"f(Tensor{text} x) -> ()").arguments[0]
    assert argument.annotation is not None
    assert set(argument.annotation.before) == before
    assert argument.annotation.write is argument.is_write is write
    assert set(argument.annotation.after) == after


def test_annotations_of_elements_and_of_lists() -> None:
    text = "f(Tensor(a!)[] x, Tensor(a)[](b!) y, Tensor[](b!)? z, Tensor(c!)?[] w) -> Tensor(a)[](b)"
    schema = parse(text)
    assert str(schema) == text
    a, b = Annotation(("a",)), Annotation(("b",), True)
    x, y, z, w = schema.arguments
    assert (x.annotation, x.list_annotations) == (Annotation(("a",), True), ())
    assert (y.annotation, y.list_annotations, y.is_write) == (a, (b,), True)
    assert (z.annotation, z.list_annotations, z.is_write) == (None, (b,), True)
    assert w.annotation == Annotation(("c",), True)
    assert schema.returns[0].annotations == (a, Annotation(("b",)))
    assert parse("f(Tensor?(c!)[] w) -> ()").arguments[0] == w, "as PyTorch prints it"


@pytest.mark.parametrize(
    "type",
    [
        *("Tensor!", "Tensor!?", "int!?", "Tensor![]", "Tensor[]!", "Tensor[]!?", "Tensor!?[]", "Tensor![]![]"),
        *("int[2]!?", "Dict(str, Tensor)!", "(int, Tensor)[]!", "Tensor(a!)[]!", "t!"),
        "__torch__.torch.classes.ns.Name!",
    ],
)
def test_sets_that_are_written_and_have_no_name(type: str) -> None:
    schema = parse(f"f({type} x, {type} y) -> ({type}, int)")
    assert str(schema) == f"f({type} x, {type} y) -> ({type}, int)"
    again = parse(str(schema))
    assert (again, hash(again)) == (schema, hash(schema))
    x, y = schema.arguments
    assert (x.is_write, y.is_write, schema.returns[0].is_write) == (True, True, True)
    assert len(
        {annotation for part in (x, y, *schema.returns) for annotation in part.annotations if annotation.is_fresh}
    ) == (3 * type.replace("a!", "").count("!"))


def test_a_set_without_a_name_is_no_other() -> None:
    schema = parse("f(Tensor !x, Tensor !? y, *, Tensor(a!) z) -> Tensor")
    assert [a.name for a in schema.mutated_arguments] == ["x", "y", "z"]
    assert schema.arguments[0].annotation == Annotation(("$0",), True)
    assert schema.arguments[1].annotation == Annotation(("$1",), True)
    assert str(schema.functional_signature()) == (
        "f_functional(Tensor x, Tensor? y, *, Tensor z) -> (Tensor, Tensor z_out, Tensor x_out, Tensor? y_out)"
    )
    assert (
        str(parse("f(Tensor! x, int! n) -> ()").functional_signature())
        == "f_functional(Tensor x, int n) -> Tensor x_out"
    )
    assert parse("f(Tensor! x, Tensor! y) -> ()") == parse("f(Tensor !x, Tensor ! y) -> ()")
    assert parse("f(Tensor! x) -> ()") != parse("f(Tensor(a!) x) -> ()")


def test_sets_without_a_name_are_counted_in_each_schema() -> None:
    """Whatever parts it is made of: sets that were those of another schema's are counted anew."""
    schema = parse("f(Tensor! x, Tensor! y) -> ()")
    last = FunctionSchema(schema.name, schema.arguments[1:], ())
    assert last == parse("f(Tensor! y) -> ()")


@pytest.mark.parametrize("annotation", [(("$0",), False, ()), (("$0",), True, ("a",)), (("$0", "a"), True, ())])
def test_sets_without_a_name_are_written_and_alone(annotation: tuple[tuple[str, ...], bool, tuple[str, ...]]) -> None:
    with pytest.raises(ValueError):
        Annotation(*annotation)


def test_alias_sets_are_sets_that_print_in_their_order() -> None:
    assert parse("f(Tensor(a|b) x) -> ()") == parse("f(Tensor(b|a) x) -> ()")
    assert hash(parse("f(Tensor(a|b) x) -> ()")) == hash(parse("f(Tensor(b|a) x) -> ()"))
    assert str(parse("f(Tensor(b|a) x) -> ()")) == "f(Tensor(b|a) x) -> ()"


@pytest.mark.parametrize("text", ["", "!", "*", "a->*", "a! ->", "a |b", "A", "ab", "a!!", "a! -> *|b"])
def test_what_is_no_annotation(text: str) -> None:
    with pytest.raises(ValueError, match="unrecognized alias annotation"):
        Annotation.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a|b!", "alias set larger than 1 is not mutable"), ("a|b -> c|d", "cannot both be larger than 1")],
)
def test_annotations_of_several_sets(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Annotation.parse(text)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("int x=-1", -1),
        ("int x=9223372036854775807", 2**63 - 1),
        ("int x=-9223372036854775808", -(2**63)),
        ("int x=Mean", EnumName("Mean")),
        ("float x=1", 1.0),
        ("float x=1.", 1.0),
        ("float x=.5", 0.5),
        ("float x=-1.5e-3", -0.0015),
        ("float x=1e-05", 1e-05),
        ("float x=10000000000000000000000", 1e22),
        ("float x=inf", math.inf),
        ("float x=-inf", -math.inf),
        ("float x=nan", math.nan),
        ("Scalar x=1", 1),
        ("Scalar x=1.0", 1.0),
        ("Scalar x=True", True),
        ("Scalar x=2j", 2j),
        ("complex c=2", 2 + 0j),
        ("complex c=1+2j", 1 + 2j),
        ("complex c=-1.5e3-infj", complex(-1500, -math.inf)),
        ("complex c=0.+1.j", 1j),
        ("bool x=False", False),
        ("bool[3] x=[True,False,True]", (True, False, True)),
        ("int[2] d=[0,1]", (0, 1)),
        ("int[2] d=1", (1, 1)),
        ("SymInt[2]? s=1", (1, 1)),
        ("SymInt[2]? s=None", None),
        ("int[] d=[]", ()),
        ("int[]? d=None", None),
        ("float[] d=[1, 2.5]", (1.0, 2.5)),
        ("int[][] d=[[1], []]", ((1,), ())),
        ('str[] s=["a,b", "]"]', ("a,b", "]")),
        ('str s="a,b)c"', "a,b)c"),
        ("str s='it'", "it"),
        ("str s='a\"b'", 'a"b'),
        (r'str s="\"\'\\\n\t\r\f\v\a\b\x41\u00e9\U0001f600\101\0"', "\"'\\\n\t\r\f\v\a\bAé😀A\0"),
        ("str s=''", ""),
        ('Device d="cuda:0"', "cuda:0"),
        ("Device d=cuda:0", "cuda:0"),
        ("Device d=cpu", "cpu"),
        ("Device? d=None", None),
        ("ScalarType t=long", EnumName("long")),
        ("MemoryFormat? m=contiguous_format", EnumName("contiguous_format")),
        ("Layout l=0", 0),
    ],
)
def test_defaults(argument: str, value: object) -> None:
    default = parse(f"f({argument}) -> ()").arguments[0].default
    assert default is not None
    assert repr(default.value) == repr(value)
    assert default == Default(value), "whatever its spelling"  # type: ignore[arg-type]
    assert parse(str(parse(f"f({argument}) -> ()"))).arguments[0].default == default


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("float x=1", "float x=1.0"),
        ("str s='a'", 'str s="a"'),
        ('str s="\\x41"', 'str s="A"'),
        ("int[2] d=1", "int[2] d=[1, 1]"),
        ("float x=nan", "float x=nan"),
        ("Device d=cpu", "Device d='cpu'"),
    ],
)
def test_defaults_that_mean_the_same(one: str, other: str) -> None:
    assert parse(f"f({one}) -> ()") == parse(f"f({other}) -> ()")
    assert hash(parse(f"f({one}) -> ()")) == hash(parse(f"f({other}) -> ()"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Scalar x=1", "Scalar x=1.0"),
        ("Scalar x=1", "Scalar x=True"),
        ("float x=0.0", "float x=-0.0"),
        ("int x=1", "int x"),
        ("Scalar x=nan", "Scalar x=0"),
        ("int x", "*, int x"),
        ("Tensor(a) x", "Tensor(b) x"),
        ("Tensor(a) x", "Tensor(a!) x"),
        ("int[2] x", "int[3] x"),
    ],
)
def test_schemas_that_differ(one: str, other: str) -> None:
    assert parse(f"f({one}) -> ()") != parse(f"f({other}) -> ()")
    assert hash(parse(f"f({one}) -> ()")) != hash(parse(f"f({other}) -> ()"))


def test_defaults_keep_their_spelling() -> None:
    """A float written as an integer, quotes of either kind: what was written is what is printed."""
    text = "f(float p=2, str s='it', float eps=1e-05, int[2] k=1, float q=0.3333333333333333, float r=1.) -> ()"
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1e-05, "1e-05"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (True, "True"),
        (None, "None"),
        ('a"\n\0é\ud800', '"a\\"\\n\\x00é\\ud800"'),
        ((1, (2.0, "x")), '[1, [2.0, "x"]]'),
        (EnumName("Mean"), "Mean"),
        (complex(0.0, -0.0), "0.0-0.0j"),
    ],
)
def test_values_spell_themselves(value: object, text: str) -> None:
    assert Default(value).text == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "names", "printed"),
    [
        ("()", [], "()"),
        ("(Tensor)", [None], "Tensor"),
        ("Tensor out", ["out"], "Tensor out"),
        ("(Tensor a, int b)", ["a", "b"], "(Tensor a, int b)"),
        ("...", [], "..."),
        ("(...)", [], "..."),
        ("(Tensor, ...)", [None], "(Tensor, ...)"),
        ("((Tensor, int))", [None], "((Tensor, int))"),
        ("((Tensor, int)[] a)", ["a"], "((Tensor, int)[] a)"),
    ],
)
def test_returns(text: str, names: list[str | None], printed: str) -> None:
    schema = parse(f"f() -> {text}")
    assert [r.name for r in schema.returns] == names
    assert schema.is_varret == ("..." in text)
    assert str(schema) == f"f() -> {printed}"


def test_the_keyword_only_mark() -> None:
    assert [a.kwarg_only for a in parse("f(int a, *, int b, int c) -> ()").arguments] == [False, True, True]
    assert str(parse("f(int a, *) -> ()")) == "f(int a) -> ()"
    assert str(parse("f(*) -> ()")) == "f() -> ()"


def test_names() -> None:
    assert parse("ns::f.out_1x() -> ()").name == OperatorName("ns", "f", "out_1x")
    assert parse("f() -> ()").name.shown_overload == "default"
    assert parse("f() -> ()").name.overload == ""
    assert str(OperatorName("a::b", "f", "g")) == "a::b::f.g"


@pytest.mark.parametrize(
    ("base", "inplace", "stem", "dunder"),
    [
        ("add", False, "add", None),
        ("add_", True, "add", None),
        ("__iadd__", True, "__add__", "iadd"),
        ("__ilshift__", True, "__lshift__", "ilshift"),
        ("__lshift__", False, "__lshift__", "lshift"),
        ("__add__", False, "__add__", "add"),
        ("__invert__", False, "__invert__", "invert"),
        ("__is__", False, "__is__", "is"),
        ("_softmax", False, "_softmax", None),
        ("_", False, "_", None),
        ("__", False, "__", None),
        ("f__", True, "f_", None),
    ],
)
def test_inplace_names(base: str, inplace: bool, stem: str, dunder: str | None) -> None:
    name = OperatorName("ns", base, "out")
    assert (name.inplace, name.stem, name.dunder) == (inplace, stem, dunder)
    assert name.functional() == OperatorName("ns", stem, "out")
