"""Every schema of PyTorch reads, prints back as it is, and means what PyTorch's two parsers say it means."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import seeds
import yaml
from compatible_pairs import compared, mutated, parsed
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.compat import forward_incompatibilities, incompatibilities
from opwright_codegen.schema.model import Argument, FunctionSchema, SchemaKind
from opwright_codegen.schema.rules import check_types, schema_problems
from opwright_codegen.schema.types import (
    Annotation,
    BaseType,
    ClassType,
    GenericType,
    ListType,
    OptionalType,
    Type,
    annotated,
)

torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
model: Any = pytest.importorskip("torchgen.model", reason="torchgen comes with PyTorch")
pytestmark = pytest.mark.oracle


@cache
def native() -> list[str]:
    spec = find_spec("torchgen")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "packaged/ATen/native/native_functions.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [entry["func"] for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=loader)]


# Read as the module is, before any test runs: PyTorch's list holds freed memory once some operators were removed.
REGISTERED: list[Any] = list(torch._C._jit_get_all_schemas())


def _spaced(text: str) -> str:
    """Whitespace normalised: native_functions.yaml writes lists `[0,1]`, where the runtime and we print `[0, 1]`."""
    return re.sub(r",(?! )(?=[^\"']*\])", ", ", text)


def test_native_functions_print_back() -> None:
    for text in native():
        assert str(FunctionSchema.parse(text)) == _spaced(text)


def test_registered_schemas_print_back() -> None:
    """Identically, defaults and the order of alias sets included.

    PyTorch itself changes eight of them when it reads what it printed (`Tensor(b|a)` comes back as `Tensor(a|b)`):
    there, sets are equal whatever their order, and the order written is kept.
    """
    assert len(REGISTERED) > len(native())
    for schema in REGISTERED:
        ours = FunctionSchema.parse(str(schema))
        assert str(ours) == str(schema)
        assert FunctionSchema.parse(str(ours)) == ours
        check_types(ours, type_variables=True)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('f(Device d="cuda:0") -> ()', 'f(Device d="cuda:0") -> ()'),
        ("f(complex c=1j) -> ()", "f(complex c=0.+1.j) -> ()"),
        ("f(Tensor(a!)?[] x) -> ()", "f(Tensor(a!)?[] x) -> ()"),
    ],
)
def test_what_pytorch_prints_and_cannot_read(text: str, printed: str) -> None:
    theirs = str(torch._C.parse_schema(text))
    with pytest.raises((RuntimeError, ValueError)):
        torch._C.parse_schema(theirs)
    ours = FunctionSchema.parse(theirs)
    assert str(ours) == printed
    assert ours == FunctionSchema.parse(text)


def _annotation(theirs: Any) -> Annotation | None:
    if theirs is None:
        return None
    return Annotation(tuple(theirs.alias_set), theirs.is_write, tuple(theirs.alias_set_after))


def test_torchgen_agrees_on_arguments_and_returns() -> None:
    for text in native():
        ours, theirs = FunctionSchema.parse(text), model.FunctionSchema.parse(text)
        arguments = theirs.arguments
        order = [*arguments.flat_positional, *arguments.flat_kwarg_only, *arguments.out]
        kwarg_only = [False] * len(arguments.flat_positional)
        kwarg_only += [True] * (len(arguments.flat_kwarg_only) + len(arguments.out))
        assert [a.name for a in ours.out_arguments] == [a.name for a in arguments.out]
        assert [a.kwarg_only for a in ours.arguments] == kwarg_only
        for mine, other in zip(ours.arguments, order, strict=True):
            assert (mine.name, str(mine.type), mine.annotation) == (
                other.name,
                str(other.type),
                _annotation(other.annotation),
            )
            assert mine.is_write == other.is_write
            assert (mine.default and mine.default.text) == (other.default and _spaced(other.default))
            assert mine.type.is_tensor_like == other.type.is_tensor_like()
        for result, other in zip(ours.returns, theirs.returns, strict=True):
            assert (result.name, str(result.type), result.annotation) == (
                other.name,
                str(other.type),
                _annotation(other.annotation),
            )


def test_torchgen_agrees_on_names() -> None:
    for text in native():
        ours, theirs = FunctionSchema.parse(text).name, model.FunctionSchema.parse(text).name
        assert str(ours) == str(theirs)
        assert ours.overload == theirs.overload_name
        assert ours.inplace == theirs.name.inplace
        assert (ours.dunder is not None) == theirs.name.dunder_method
        assert str(ours.functional().base) == str(theirs.remove_inplace().name) or theirs.name.functional_overload


def test_torchgen_agrees_on_kinds() -> None:
    """Except that it calls functional what writes to an argument called self under a name that is not in-place."""
    only_self = set()
    for text in native():
        ours, theirs = FunctionSchema.parse(text), model.FunctionSchema.parse(text)
        if ours.kind.value != theirs.kind().name:
            assert (ours.kind, theirs.kind().name) == (SchemaKind.MUTABLE, "functional")
            assert [a.name for a in ours.mutated_arguments] == ["self"]
            only_self.add(str(ours.name))
    assert only_self == {"set_data", "retain_grad", "record_stream"}


def test_torchgen_agrees_on_signatures() -> None:
    """The same operators have the same signature; ours leaves out defaults, of which variants sometimes differ."""
    groups: dict[Any, set[str]] = {}
    theirs: dict[Any, set[str]] = {}
    for text in native():
        other = model.FunctionSchema.parse(text)
        groups.setdefault(FunctionSchema.parse(text).signature(keep_defaults=True), set()).add(str(other.name))
        # bernoulli.p gets a default there, which its text does not have.
        key = str(other.signature()).replace("float p=0.5", "float p") if "bernoulli" in text else other.signature()
        theirs.setdefault(key, set()).add(str(other.name))
    wanted = {frozenset(names) for names in theirs.values()}
    assert {frozenset(n) for n in groups.values() if not any("bernoulli" in name for name in n)} == {
        names for names in wanted if not any("bernoulli" in name for name in names)
    }


def test_declarations_of_pytorch_follow_the_rules() -> None:
    assert [str(p) for text in native() for p in schema_problems(FunctionSchema.parse(text))] == []


_RUNTIME_NAMES = {"Scalar": "number", "SymInt": "int", "SymBool": "bool", "ScalarType": "int", "Layout": "int"}
_RUNTIME_NAMES |= {"MemoryFormat": "int", "DeviceIndex": "int", "ConstQuantizerPtr": "int", "number": "number"}


def _runtime(type: Type) -> str:
    """The type as `str(torch._C.Type)` says it."""
    match type:
        case OptionalType(elem):
            return f"Optional[{_runtime(elem)}]"
        case ListType(elem):
            return f"List[{_runtime(elem)}]"
        case GenericType(name, args):
            return f"{name}[{', '.join(map(_runtime, args))}]"
        case BaseType(name):
            return _RUNTIME_NAMES.get(name, name)
        case ClassType(path):
            return path


def test_the_runtime_agrees() -> None:
    for theirs in REGISTERED:
        ours = FunctionSchema.parse(str(theirs))
        assert f"{ours.name.namespace}::{ours.name.base}" == theirs.name
        assert ours.name.overload == theirs.overload_name
        assert bool(ours.mutated_arguments) == theirs.is_mutable
        for mine, other in zip(ours.arguments, theirs.arguments, strict=True):
            assert (mine.name, mine.kwarg_only) == (other.name, other.kwarg_only)
            assert _runtime(mine.type) == str(other.type)
            assert (mine.default is not None) == other.has_default_value()
            if mine.default is not None:
                assert _plain(mine.default.value) == other.default_value
            assert (mine.is_write) == (other.alias_info is not None and other.alias_info.is_write)
        for result, other in zip(ours.returns, theirs.returns, strict=True):
            assert (result.name or "") == (other.name or "")


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


DEFAULTS = [
    *("int x=-1", "int x=9223372036854775807", "float x=1", "float x=-1.5e-3", "float x=1e-05", "float x=.5"),
    *("float x=1.", "float x=5E3", "int[2] d=1", "int[2] d=[0,1]", "int[] d=[]", "int[]? d=None", "float[] d=[1,2.5]"),
    *("bool[3] x=[True,False,True]", 'str s="a,b)c"', "str s='it'", r'str s="a\nb"', r'str s="a\"b"', "str s='a\"b'"),
    *(r"str s='\''", r'str s="\t\\"', "SymInt[2] s=1", "SymInt[2]? s=None", "complex c=1j", "Scalar s=1"),
    *("Scalar s=1.5", "Scalar s=True", "Tensor? t=None", "bool b=False", "str? s=None"),
]


@pytest.mark.parametrize("argument", DEFAULTS)
def test_the_runtime_agrees_on_the_value_of_a_default(argument: str) -> None:
    theirs = torch._C.parse_schema(f"f({argument}) -> ()").arguments[0]
    default = FunctionSchema.parse(f"f({argument}) -> ()").arguments[0].default
    assert default is not None
    assert repr(_plain(default.value)) == repr(theirs.default_value)


@pytest.mark.parametrize(
    "text",
    [
        "f( Tensor   x ,int y )->Tensor",
        "f(Tensor (a!) x, Tensor( b )[] y, Tensor [] z, int [ 2 ]? w)->(Tensor (a!),int)",
        "f(Tensor(a!->b) x) -> (Tensor)",
        "f(int?? x) -> None",
        "f(int x, *) -> (Tensor y)",
        "f(*, int x, ...) -> ...",
    ],
)
def test_the_runtime_prints_ragged_text_the_same(text: str) -> None:
    assert str(FunctionSchema.parse(text)) == str(torch._C.parse_schema(text))


_OLD = "f(Tensor(a) self, int n, float x=1.0, *, Tensor? w=None, int[2] k=1) -> (Tensor(a), Tensor? y)"
_OLD_OUT = "f.out(Tensor self, int n, *, int k=1, Tensor(a!) out) -> Tensor(a!)"
REPLACEMENTS = [
    (_OLD, new)
    for new in [
        _OLD,
        _OLD.replace("int n", "int? n"),
        _OLD.replace("int n", "Scalar n"),
        _OLD.replace("int n", "SymInt n"),
        _OLD.replace("int n", "float n"),
        _OLD.replace("int n", "int m"),
        _OLD.replace("int n", "int n=1"),
        _OLD.replace("int n, ", ""),
        _OLD.replace("x=1.0", "x"),
        _OLD.replace("x=1.0", "x=2.0"),
        _OLD.replace("x=1.0, *", "x=1.0, int z=3, *"),
        _OLD.replace("k=1)", "k=1, int z=3)"),
        _OLD.replace("k=1)", "k=1, int z)"),
        _OLD.replace("int[2] k", "int[3] k"),
        _OLD.replace("*, Tensor? w=None", "Tensor? w=None, *"),
        _OLD.replace("*, Tensor? w=None, int[2] k=1", "*, int[2] k=1, Tensor? w=None"),
        _OLD.replace("float x=1.0, *, ", "*, float x=1.0, "),
        _OLD.replace("Tensor? w", "Tensor w"),
        _OLD.replace("Tensor? y", "Tensor y"),
        _OLD.replace("Tensor? y", "Tensor? z"),
        _OLD.replace("Tensor? y", "Tensor[] y"),
        _OLD.replace(", Tensor? y", ""),
        _OLD.replace("Tensor(a) self", "Tensor self"),
        _OLD.replace("f(", "f.g("),
    ]
] + [
    (_OLD_OUT, new)
    for new in [
        _OLD_OUT,
        _OLD_OUT.replace("k=1", "k=1, int z=2"),
        _OLD_OUT.replace("k=1", "k=1, int z"),
        _OLD_OUT.replace("int k=1, Tensor(a!) out", "Tensor(a!) out"),
        _OLD_OUT.replace("Tensor(a!) out", "Tensor(a!) o"),
        _OLD_OUT.replace("Tensor(a!) out) -> Tensor(a!)", "Tensor(a!) out, Tensor(b!) p) -> (Tensor(a!), Tensor(b!))"),
    ]
]
REPLACEMENTS += [
    ("f(int x=Mean) -> ()", "f(int x=1) -> ()"),
    ("f(int x=2) -> ()", "f(int x=Mean) -> ()"),
    ("f(bool x) -> ()", "f(Scalar x) -> ()"),
    ("f(bool? x=None) -> ()", "f(Scalar? x=None) -> ()"),
    ("f(int x) -> ()", "f(int x, ...) -> ()"),
    ("f(int x) -> int", "f(int x) -> ..."),
    ("f((int, float) x, int[] y) -> ()", "f((int, Scalar) x, Scalar[] y) -> ()"),
    ("f((int, float) x, int[] y) -> ()", "f((int, Scalar) x, int[]? y) -> ()"),
]


@pytest.mark.parametrize(("old", "new"), REPLACEMENTS)
def test_the_runtime_agrees_on_compatibility(old: str, new: str) -> None:
    theirs = torch._C.parse_schema(new).is_backward_compatible_with(torch._C.parse_schema(old))
    reasons = incompatibilities(FunctionSchema.parse(new), FunctionSchema.parse(old))
    assert (reasons == []) == theirs, reasons


_ARGUMENTS = (
    "Tensor x",
    "Tensor? x",
    "Tensor(a) x",
    "int n",
    "SymInt n",
    "Scalar n",
    "int? n",
    "float n",
    "int m",
    "int[] k",
    "int[2] k",
)
_DEFAULTS = {"n": ("", "=1", "=2"), "m": ("", "=1"), "k": ("", "=[1, 2]", "=1"), "x": ("",)}
_OUTS = ("Tensor(a!) out", "Tensor(b!) out", "Tensor(a!) o")


def _random_schema(rng: random.Random) -> str:
    """A schema of few names and types, so that two of them often differ in one place alone."""
    arguments, names = [], set()
    for text in rng.sample(_ARGUMENTS, rng.randint(1, 3)):
        if (name := text.split()[-1]) not in names:
            names.add(name)
            arguments.append(text + rng.choice(_DEFAULTS[name]))
    arguments.sort(key=lambda text: "=" in text)
    outs = rng.sample(_OUTS, rng.choice((0, 0, 0, 1, 2)))
    if rng.random() < 0.3 or outs:
        arguments.insert(len(arguments) if outs else rng.randint(0, len(arguments)), "*")
    arguments += [out for i, out in enumerate(outs) if i == 0 or out.split()[1] != outs[0].split()[1]]
    if arguments[-1] == "*":
        arguments.pop()
    if rng.random() < 0.05:
        arguments = [*[text for text in arguments if "=" not in text and text != "*"], "..."]
    returns = rng.choice(("Tensor", "Tensor", "Tensor", "Tensor?", "Tensor y", "(Tensor, int)"))
    return f"f{rng.choice(('', '', '', '.g'))}({', '.join(arguments)}) -> {returns}"


def _varied(schema: str, rng: random.Random) -> str:
    """The schema with one piece in the place of another."""
    pieces = (*_ARGUMENTS, *_OUTS, "=1", "=2", "", "*, ", ", ", ", int z=1", ", int z", ", int[2] z=[1, 2]")
    old, new = rng.choice([piece for piece in pieces if piece in schema]), rng.choice(pieces)
    return schema.replace(old, new, 1)


def _parsed(text: str) -> tuple[Any, FunctionSchema] | None:
    try:
        return torch._C.parse_schema(text), FunctionSchema.parse(text)
    except (RuntimeError, SchemaError):
        return None


def test_the_runtime_agrees_on_compatibility_of_random_schemas() -> None:
    """Backward and forward, for pairs that differ in one piece and for unrelated ones. PyTorch does not look at out
    arguments that the old schema lacks, though no call written for it passes them: there, only we are asked. It reads
    beyond the shorter of two lists where one schema lost arguments before its out: that is a break.
    """
    rng = seeds.generator(7)
    seen: set[tuple[bool, bool]] = set()
    compared = 0
    while compared < 3000:
        text = _random_schema(rng)
        other = _varied(text, rng) if rng.random() < 0.9 else _random_schema(rng)
        old, new = _parsed(text), _parsed(other)
        if old is None or new is None:
            continue
        backward = _within(lambda old=old, new=new: new[0].is_backward_compatible_with(old[0]))
        forward = _within(lambda old=old, new=new: new[0].check_forward_compatible_with(old[0])[0])
        has_more_outs = len(new[1].out_arguments) > len(old[1].out_arguments)
        reasons = incompatibilities(new[1], old[1])
        assert (reasons == []) == (backward and not has_more_outs), (text, other, reasons)
        reasons = forward_incompatibilities(new[1], old[1])
        assert (reasons == []) == forward, (text, other, reasons)
        seen.add((backward, forward))
        compared += 1
    assert len(seen) == 4


def _within(ask: Callable[[], bool]) -> bool:
    """Return PyTorch's answer; False where it reads beyond a list of arguments."""
    try:
        return ask()
    except IndexError:
        return False


def test_annotated_types_print_as_the_runtime_does() -> None:
    for text in [
        "Tensor(a!)[](b!)",
        "Tensor(a)[](b)",
        "Tensor[](b!)",
        "Tensor(a -> *)[]",
        "Tensor(a!)[]?",
        "Tensor(*)",
    ]:
        argument = FunctionSchema.parse(f"f({text} x) -> ()").arguments[0]
        assert annotated(argument.type, argument.annotation, argument.list_annotations) == text
        assert str(torch._C.parse_schema(f"f({text} x) -> ()")) == f"f({text} x) -> ()"


def _outermost(argument: Argument) -> set[str]:
    """The alias sets of an argument itself, not those of a list's elements, as PyTorch's `alias_info` shows them."""
    of_list = argument.list_annotations[-1] if argument.list_annotations else None
    own = argument.annotation if argument.type.list_type is None else of_list
    return set(own.before) if own else set()


def _same(text: str) -> bool:
    """Whether both parsers read a schema, and then alike; what we print of it, they read as they read the text."""
    try:
        theirs = torch._C.parse_schema(text)
    except RuntimeError:
        with pytest.raises(SchemaError):
            FunctionSchema.parse(text)
        return False
    ours = FunctionSchema.parse(text)
    assert torch._C.parse_schema(str(ours)) == theirs
    assert FunctionSchema.parse(str(ours)) == ours
    assert hash(FunctionSchema.parse(str(ours))) == hash(ours)
    for mine, other in zip(ours.arguments, theirs.arguments, strict=True):
        assert mine.is_write == bool(other.alias_info and other.alias_info.is_write)
        assert _outermost(mine) == (other.alias_info.before_set if other.alias_info else set())
    return True


_LAUNCHES = [  # how those write them who have a kernel on a GPU: outputs first, scratch memory, sizes, flags
    "paged_attention(Tensor! out, Tensor query, Tensor key_cache, Tensor value_cache, int heads, float scale) -> ()",
    "rms_norm(Tensor! result, Tensor input, Tensor weight, float epsilon) -> ()",
    "fused_add_norm(Tensor! input, Tensor! residual, Tensor weight, float epsilon) -> ()",
    "align_blocks(Tensor ids, int experts, Tensor !sorted_ids, Tensor !expert_ids, Tensor !count) -> ()",
    "quantize(Tensor! result, Tensor input, Tensor! scale, Tensor!? offset) -> ()",
    "gemm.int8(Tensor a, Tensor b, Tensor(out!) out, Tensor!? workspace=None, *, int!? splits=1) -> Tensor(out!)",
    'gather(Tensor[] parts, Tensor![] outs, int[]? sizes=None, str mode="nk") -> int',
    "rotate(Tensor positions, Tensor! query, Tensor!? key, int size, Tensor cache, bool is_neox=True) -> ()",
    "state_update(Tensor! state, Tensor x, Tensor?[] parts, ScalarType? dtype=None, Tensor!? out=None) -> Tensor",
    "all_reduce(int handle, Tensor input, Tensor! out, int buffer, int bytes) -> ()",
]


@pytest.mark.parametrize("text", _LAUNCHES)
def test_schemas_of_launches(text: str) -> None:
    """PyTorch shows a set without a name as `($0! -> )`, which it cannot read."""
    assert _same(text)
    assert str(FunctionSchema.parse(text)) == re.sub(r"\(\$[0-9]+! -> \)", "!", str(torch._C.parse_schema(text)))


_BASES = ("Tensor", "int", "float", "str", "Scalar", "ScalarType", "Device", "Generator", "t", "Any", "SymInt")
_BASES_WITH_OTHERS = ("Dict(str, Tensor)", "Union(Tensor, int)", "(int, Tensor)", "Future(int)")
_MARKS = ("", "!", " !", "!!", "(a!)", "(b!)", "(a)", "(a! -> b)", "(*)")
_SUFFIXES = ("?", "[]", "[]!", " [] !", "[](b!)", "?!", "!?")


@st.composite
def _types(draw: st.DrawFn) -> str:
    """A type with marks of writing at every place, those that are none included."""
    base = draw(st.sampled_from(_BASES) | st.sampled_from(_BASES_WITH_OTHERS))
    # PyTorch reads no name behind a tuple and its like, where ours do; and `!` wherever they read a name.
    named = _MARKS if not base.startswith(("(", "Future")) else ("", "!", " !")
    return base + draw(st.sampled_from(named)) + "".join(draw(st.lists(st.sampled_from(_SUFFIXES), max_size=2)))


@st.composite
def _texts(draw: st.DrawFn) -> str:
    arguments = [f"{draw(_types())} {name}" for name in "xyz"[: draw(st.integers(1, 3))]]
    if draw(st.booleans()):
        arguments.insert(draw(st.integers(0, len(arguments) - 1)), "*")
    returns = draw(st.lists(_types(), max_size=2))
    return f"f({draw(st.sampled_from([', ', ',']).map(lambda comma: comma.join(arguments)))}) -> ({', '.join(returns)})"


@settings(max_examples=400, deadline=None)
@given(_texts())
def test_what_is_written_is_read_as_the_runtime_reads_it(text: str) -> None:
    _same(text)


def test_the_runtime_agrees_on_changed_schemas_of_its_own() -> None:
    """A sample of PyTorch's schemas, each changed in one place as people change them; `compatible_pairs.py FILE` does
    so for all schemas of a file."""
    known = sorted({str(schema) for schema in REGISTERED if str(schema).startswith("aten::")})
    answers = []
    for text in known:  # each is chosen and changed by its own text, whatever operators are defined
        if zlib.crc32(text.encode()) % 12 or re.search(r"\bt[A-Z]?\w*\b(?=[\[),])", text):
            continue  # (types like `t` are TorchScript's variables)
        changed = mutated(text, seeds.generator(text))
        old, new = parsed(text), None if changed is None else parsed(changed)
        if old is not None and new is not None:
            theirs, reasons, why = compared(old, new)
            assert why is not None or theirs == (not reasons), (text, changed, reasons)
            answers.append(theirs)
    assert len(answers) > 180
    assert 40 < sum(answers) < len(answers) - 40
