"""The variants that `autogen` makes, torchgen's way and ours."""

from __future__ import annotations

import pytest

from opwright_codegen.read.files import read_text
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.schema.model import SchemaKind


def made(text: str) -> dict[str, Operator]:
    return {name: operator for name, operator in read_text(text).operators.items() if operator.generated}


def entry(func: str, autogen: str, *more: str) -> str:
    lines = ["dispatch:", "  CPU: a_kernel", f"autogen: {autogen}", *more]
    return f"- func: {func}\n" + "".join(f"  {line}\n" for line in lines)


# An entry's schema and autogen, and the schemas that torchgen makes of them.
COMPOSITE = {
    "mine::f(Tensor self, int n=1) -> Tensor": (
        "f.out",
        ["f.out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)"],
    ),
    "mine::f.Scalar(Tensor self) -> Tensor": (
        "f.Scalar_out",
        ["f.Scalar_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"],
    ),
    "mine::two(Tensor self) -> (Tensor values, Tensor indices)": (
        "two.out",
        ["two.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"],
    ),
    "mine::split(Tensor self) -> Tensor[]": ("split.out", ["split.out(Tensor self, *, Tensor(a!)[] out) -> ()"]),
    "mine::mixed(Tensor self) -> (Tensor, Tensor[])": (
        "mixed.out",
        ["mixed.out(Tensor self, *, Tensor(a!) out0, Tensor(b!)[] out1) -> ()"],
    ),
    "mine::made(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor": (
        "made.out",
        ["made.out(int n, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)"],
    ),
    "mine::f_(Tensor(a!) self, Tensor other) -> Tensor(a!)": (
        "f, f.out",
        ["f.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", "f(Tensor self, Tensor other) -> Tensor"],
    ),
    "mine::f_.x(Tensor(a!) self) -> Tensor(a!)": (
        "f.x, f.x_out",
        ["f.x_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "f.x(Tensor self) -> Tensor"],
    ),
    "mine::each_(Tensor(a!)[] self) -> ()": (
        "each, each.out",
        ["each.out(Tensor[] self, *, Tensor(a!)[] out) -> ()", "each(Tensor[] self) -> Tensor[] self_out"],
    ),
    "mine::norm(Tensor self, Tensor(a!) mean, Tensor(b!) var) -> Tensor output": (
        "norm_functional, norm.out",
        [
            "norm.out(Tensor self, Tensor(a!) mean, Tensor(b!) var, *, Tensor(c!) out) -> Tensor(c!)",
            "norm_functional(Tensor self, Tensor mean, Tensor var) -> (Tensor output, Tensor mean_out, Tensor var_out)",
        ],
    ),
    "mine::__iand__(Tensor(a!) self, Tensor other) -> Tensor(a!)": (
        "__and__, __and__.out",
        [
            "__and__.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
            "__and__(Tensor self, Tensor other) -> Tensor",
        ],
    ),
}


@pytest.mark.parametrize("func", COMPOSITE)
def test_schemas_without_meta(func: str) -> None:
    autogen, expected = COMPOSITE[func]
    operators = made(entry(func, autogen))
    assert [str(operator.schema) for operator in operators.values()] == [f"mine::{schema}" for schema in expected]


def test_a_composite_variant() -> None:
    text = entry("f(Tensor self, SymInt n) -> Tensor", "f.out", "variants: method", "tags: [core, view_copy]")
    (operator,) = made(text).values()
    assert [(key, str(kernel)) for key, kernel in operator.dispatch] == [("CompositeExplicitAutograd", "f_out_symint")]
    assert operator.tags == {"generated", "out", "view_copy", "pt2_compliant_tag"}
    assert operator.variants == ("function",)
    assert (operator.device_check, operator.device_guard, operator.base_name) == ("NoCheck", False, None)
    assert operator.location.line == 1


def test_variants_that_are_there_are_not_made() -> None:
    text = entry("f_(Tensor(a!) self) -> Tensor(a!)", "f.out") + "- func: f.x(Tensor self) -> Tensor\n"
    assert list(made(text)) == ["aten::f.out"]


def test_defaults_do_not_part_variants() -> None:
    """As with bernoulli.p and bernoulli_.float in ATen, which have p and p=0.5."""
    text = (
        entry("f_(Tensor(a!) self, float p=0.5) -> Tensor(a!)", "f.out")
        + "- func: f.p(Tensor self, float p) -> Tensor\n"
    )
    assert list(made(text)) == ["aten::f.out"]


@pytest.mark.parametrize(
    "text",
    [
        "- func: f(Tensor self) -> Tensor\n  autogen: f.out\n",
        "- func: f(Tensor(a) self) -> Tensor(a)\n  dispatch:\n    CPU: f\n  autogen: f.out\n",
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f\n  manual_cpp_binding: True\n  autogen: f.out\n",
    ],
    ids=["implicit", "view", "manual"],
)
def test_torchgen_makes_nothing_of(text: str) -> None:
    assert made(text) == {}


def test_implicit_operators_of_the_core_have_variants() -> None:
    assert list(made("- func: f(Tensor self) -> Tensor\n  tags: core\n  autogen: f.out\n")) == ["aten::f.out"]


# -- entries with `meta`

ADD = """
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  python_module: math
  tags: [core, pointwise]
  dispatch:
    CPU, CUDA: xp.add(self, other)
    SparseCPU: sparse_add
  meta: pointwise(self, other)
  doc: Add the tensors.
  autogen: add_.Tensor, add.out
""".replace("  python_module: math\n", "")


def test_variants_share_what_their_functional_has() -> None:
    functional = read_text(ADD).operators["aten::add.Tensor"]
    inplace, out = made(ADD)["aten::add_.Tensor"], made(ADD)["aten::add.out"]
    for operator in (inplace, out):
        assert operator.base_name == functional.name
        assert operator.dispatch == functional.dispatch
        written = " The result is written to `self`, which is returned."
        assert operator.doc == "Add the tensors." + (written if operator.kind is SchemaKind.INPLACE else "")
        assert operator.meta is None
    assert str(inplace.schema) == "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    assert (
        str(out.schema) == "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    )
    assert (inplace.variants, out.variants) == (("function", "method"), ("function",))
    assert inplace.tags == {"generated", "inplace", "pt2_compliant_tag"}
    assert out.tags == {"generated", "out", "pt2_compliant_tag"}


def test_they_are_one_group() -> None:
    (group,) = read_text(ADD).groups
    assert [member.kind for member in group.members] == [SchemaKind.FUNCTIONAL, SchemaKind.INPLACE, SchemaKind.OUT]


@pytest.mark.parametrize(
    "name, out",
    [
        ("f", "f.out"),
        ("f.X", "f.X_out"),
        ("f.X", "f.out"),
        ("sum.dim_IntList", "sum.dim_IntList_out"),
        ("sum.dim_IntList", "sum.IntList_out"),
        ("sum.dim_IntList", "sum.out"),
        ("__and__.Tensor", "__and__.out"),
        ("bernoulli.p", "bernoulli.float_out"),
    ],
)
def test_names_of_out_variants(name: str, out: str) -> None:
    text = entry(f"mine::{name}(Tensor self, float p) -> Tensor", out, "meta: pointwise(self)")
    assert list(made(text)) == [f"mine::{out}"]


@pytest.mark.parametrize(
    "schema, inplace",
    [
        ("f(Tensor self)", "f_"),
        ("f.X(Tensor self)", "f_.X"),
        ("f.X(Tensor self)", "f_"),
        ("pow.Tensor_Scalar(Tensor self, Scalar exponent)", "pow_.Scalar"),
        ("transpose.int(Tensor self, int dim0, int dim1)", "transpose_"),
        ("floor_divide(Tensor self, Tensor other)", "floor_divide_.Tensor"),
        ("bernoulli.p(Tensor self, float p)", "bernoulli_.float"),
    ],
)
def test_names_of_inplace_variants(schema: str, inplace: str) -> None:
    text = entry(f"mine::{schema} -> Tensor", inplace, "meta: pointwise(self)")
    assert list(made(text)) == [f"mine::{inplace}"]


def test_inplace_variants() -> None:
    text = entry("mine::__and__.x(Tensor self) -> Tensor", "__iand__.x", "meta: pointwise(self)")
    text += entry("mine::each(Tensor[] self, Scalar n) -> Tensor[]", "each_", "meta: mypkg.fakes:each")
    text += entry("mine::where.self(Tensor condition, Tensor self) -> Tensor", "where_.self", "meta: pointwise(self)")
    assert [str(operator.schema) for operator in made(text).values()] == [
        "mine::__iand__.x(Tensor(a!) self) -> Tensor(a!)",
        "mine::each_(Tensor(a!)[] self, Scalar n) -> ()",
        "mine::where_.self(Tensor condition, Tensor(a!) self) -> Tensor(a!)",
    ]


# -- structured groups

STRUCTURED = """
- func: f(Tensor self) -> Tensor
  structured_delegate: f.out
  dispatch:
    SparseCPU: sparse_f
- func: f_(Tensor(a!) self) -> Tensor(a!)
  structured_delegate: f.out
- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: f_kernel
    SparseCPU: sparse_f_out
    PrivateUse1: f_private
"""


def kernels(operators: OperatorSet, name: str) -> dict[str, str]:
    return {key: str(kernel) for key, kernel in operators.operators[name].dispatch}


def test_delegating_operators_have_the_structured_kernels() -> None:
    operators = read_text(STRUCTURED)
    assert kernels(operators, "aten::f") == {"SparseCPU": "sparse_f", "CPU": "f_kernel", "CUDA": "f_kernel"}
    assert kernels(operators, "aten::f_") == {"CPU": "f_kernel", "CUDA": "f_kernel"}
    assert operators.operators["aten::f_"].base_name == "aten::f.out"
    assert operators.operators["aten::f.out"].base_name is None


def test_with_meta_every_kernel_serves_the_group() -> None:
    operators = read_text(STRUCTURED + "  meta: pointwise(self)\n")
    everything = {"CPU": "f_kernel", "CUDA": "f_kernel", "SparseCPU": "sparse_f_out", "PrivateUse1": "f_private"}
    assert kernels(operators, "aten::f_") == everything
    assert kernels(operators, "aten::f") == {**everything, "SparseCPU": "sparse_f"}


def test_groups_hold_the_operators_of_the_set() -> None:
    operators = read_text(STRUCTURED + ADD)
    for group in operators.groups:
        for member in group.members:
            assert operators.operators[member.name] is member
