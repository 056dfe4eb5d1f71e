"""Schema files to operators: every key, and every way in which a file can fail to be one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright_codegen.documents.files import MAX_BYTES
from opwright_codegen.documents.yaml_reader import MappingNode, read_entries
from opwright_codegen.errors import MAX_ERRORS, Errors, SchemaErrors
from opwright_codegen.read import values
from opwright_codegen.read.entry_keys import KEYS
from opwright_codegen.read.files import read, read_text
from opwright_codegen.read.model import Kernel, Operator, OperatorSet, UfuncLoop
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.source import Source

SIMPLE = "- func: f(Tensor self) -> Tensor\n"


def only(text: str) -> Operator:
    (operator,) = read_text(text).operators.values()
    return operator


def fails(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(SchemaErrors) as caught:
        read_text(text)
    spans = [(error.code, error.span) for error in caught.value.errors]
    return [(code, span.line, span.column) for code, span in spans if span is not None]


def kernels(operator: Operator) -> dict[str, str]:
    return {key: kernel.text for key, kernel in operator.dispatch}


class TestKeys:
    def test_an_entry_of_func_alone(self) -> None:
        operator = only(SIMPLE)
        assert operator.name == "aten::f"
        assert operator.kind is SchemaKind.FUNCTIONAL
        assert operator.variants == ("function",)
        assert kernels(operator) == {"CompositeImplicitAutograd": "f"}
        assert operator.tags == {"pt2_compliant_tag"}
        assert not operator.generated

    def test_the_default_kernel_of_an_out_variant_is_named_after_it(self) -> None:
        operator = only("- func: f.x(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n")
        assert kernels(operator) == {"CompositeImplicitAutograd": "f_out"}
        assert operator.tags == {"pt2_compliant_tag", "out"}

    def test_namespaces(self) -> None:
        operator = only("- func: mine::f.x(Tensor self) -> Tensor\n")
        assert (operator.name, operator.namespace, operator.tags) == ("mine::f.x", "mine", frozenset())

    def test_every_key(self) -> None:
        operators = read_text("""
- func: f(Tensor self, int dim=0) -> Tensor
  structured_delegate: f.out
  variants: method, function
  cpp_no_default_args: [dim]
  dispatch:
    SparseCPU: sparse_f
- func: f.out(Tensor self, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  precomputed:
  - dim -> int d, int n
  - bool whole
  ufunc_inner_loop:
    Generic: f (AllAndComplex, Half)
    ScalarOnly: f (Bool)
  dispatch:
    MPS: f_mps
- func: g(Tensor self) -> Tensor
  python_module: linalg
  category_override: dummy
  device_check: NoCheck
  device_guard: false
  manual_cpp_binding: TRUE
  tags: [core, pointwise]
  meta: pointwise(self)
  doc: "What it does.\\n\\n  And how.  "
- func: h(Tensor self) -> Tensor
  manual_kernel_registration: True
  use_const_ref_for_mutable_tensors: True
  tags: core
""").operators
        f, out, g, h = operators.values()
        assert f.structured_delegate == "f.out"
        assert f.variants == ("method", "function")
        assert f.cpp_no_default_args == ("dim",)
        assert out.structured and out.structured_inherits == "TensorIteratorBase"
        assert out.precomputed is not None
        assert [(name, list(map(str, made))) for name, made in out.precomputed.replace] == [("dim", ["int d", "int n"])]
        assert list(map(str, out.precomputed.add)) == ["bool whole"]
        everything = ("Byte", "Char", "Int", "Long", "Short", "Float", "Double", "ComplexFloat", "ComplexDouble")
        assert out.ufunc_inner_loop == (
            UfuncLoop("Generic", "f", (*everything, "Half")),
            UfuncLoop("ScalarOnly", "f", ("Bool",)),
        )
        assert kernels(out) == {"MPS": "f_mps", "CPU": "ufunc_f_CPU", "CUDA": "ufunc_f_CUDA"}
        assert (g.python_module, g.category_override, g.device_check) == ("linalg", "dummy", "NoCheck")
        assert (g.device_guard, g.manual_cpp_binding) == (False, True)
        assert g.tags == {"core", "pointwise", "pt2_compliant_tag"}
        assert (str(g.meta), g.doc) == ("pointwise(self)", "What it does.\n\nAnd how.")
        assert h.manual_kernel_registration and h.use_const_ref_for_mutable_tensors
        assert h.tags == {"core", "pt2_compliant_tag"}

    def test_dispatch_spreads_comma_lists_in_order(self) -> None:
        operator = only(SIMPLE + "  dispatch:\n    CUDA, CPU: xp.sin(self)\n    Meta: m\n")
        assert kernels(operator) == {"CUDA": "xp.sin(self)", "CPU": "xp.sin(self)", "Meta": "m"}
        assert list(kernels(operator)) == ["CUDA", "CPU", "Meta"]

    def test_an_empty_dispatch_has_no_kernel(self) -> None:
        assert only(SIMPLE + "  dispatch: {}\n").dispatch == ()

    @pytest.mark.parametrize("word", ["on", "no", "yes", "off", "12", "1e5", "2020-01-01", "0x10"])
    def test_texts_are_taken_as_written(self, word: str) -> None:
        operator = only(SIMPLE + f"  dispatch:\n    CPU: {word}\n")
        assert operator.kernel("CPU") == Kernel(word, operator.location)

    @pytest.mark.parametrize("word", ["yes", "no", "on", "off", "1", "y", "'True'", "tRUE", ""])
    def test_booleans_are_true_and_false(self, word: str) -> None:
        assert fails(SIMPLE + f"  manual_cpp_binding: {word}\n")[0][:2] == ("wrong-type", 2)

    def test_unicode_is_read(self) -> None:
        operator = only("# λ\n" + SIMPLE + "  meta: 'f(\"é𝒳\")'\n  dispatch:\n    CPU: g\n")
        assert str(operator.meta) == 'f("é𝒳")'
        kernel = operator.kernel("CPU")
        assert kernel is not None and kernel.span.text == "g"


class TestOperatorSet:
    def test_order_namespaces_and_groups(self) -> None:
        operators = read_text(
            "- func: b::f(Tensor self) -> Tensor\n- func: a::f(Tensor self) -> Tensor\n"
            "- func: b::f_(Tensor(a!) self) -> Tensor(a!)\n"
        )
        assert list(operators.operators) == ["b::f", "a::f", "b::f_"]
        assert operators.namespaces == ("b", "a")
        assert [[member.name for member in group.members] for group in operators.groups] == [
            ["b::f", "b::f_"],
            ["a::f"],
        ]

    def test_several_files_are_one_set(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text(SIMPLE)
        (tmp_path / "b.yaml").write_text("- func: f_(Tensor(a!) self) -> Tensor(a!)\n")
        operators = read([tmp_path / "a.yaml", str(tmp_path / "b.yaml")])
        assert list(operators.operators) == ["aten::f", "aten::f_"]
        assert len(operators.groups) == 1
        assert [Path(source.path).name for source in operators.sources] == ["a.yaml", "b.yaml"]

    def test_a_name_in_two_files_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text(SIMPLE)
        (tmp_path / "b.yaml").write_text("\n" + SIMPLE)
        with pytest.raises(SchemaErrors, match=r"b\.yaml:2:9: error: aten::f is declared twice \[duplicate-operator\]"):
            read([tmp_path / "a.yaml", tmp_path / "b.yaml"])

    def test_sets_compare_by_content(self) -> None:
        assert read_text(SIMPLE, "a.yaml") == read_text("\n" + SIMPLE, "b.yaml")
        assert read_text(SIMPLE) != read_text(SIMPLE + "  tags: core\n")


class TestTags:
    def read(self, tags: str, tmp_path: Path, text: str = SIMPLE) -> OperatorSet:
        (tmp_path / "ops.yaml").write_text(text)
        (tmp_path / "tags.yaml").write_text(tags)
        return read([tmp_path / "ops.yaml"], tmp_path / "tags.yaml")

    def test_tags_come_from_the_given_file(self, tmp_path: Path) -> None:
        text = SIMPLE + "  tags: mine\n"
        operators = self.read("- tag: mine\n  desc: made here\n", tmp_path, text)
        assert operators.operators["aten::f"].tags == {"mine"}

    def test_a_tag_needs_its_description(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaErrors, match=r"tags\.yaml:1:3: error: the tag has no 'desc' \[missing-key\]"):
            self.read("- tag: mine\n", tmp_path)

    def test_wrong_entries(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaErrors) as caught:
            self.read("- mine\n- tag: a\n  desc: ''\n- tag: b\n  decs: x\n- tag: a b\n  desc: x\n", tmp_path)
        found = [(error.code, error.span.line) for error in caught.value.errors if error.span is not None]
        assert found == [("wrong-type", 1), ("wrong-type", 3), ("unknown-key", 5), ("bad-name", 6)]


class TestFiles:
    def error(self, path: Path | str) -> str:
        with pytest.raises(SchemaErrors) as caught:
            read([path])
        (error,) = caught.value.errors
        return str(error)

    def test_missing(self, tmp_path: Path) -> None:
        path = tmp_path / "no.yaml"
        assert self.error(path) == f"error: cannot read {str(path)!r}: No such file or directory [unreadable-file]"

    def test_a_directory(self, tmp_path: Path) -> None:
        assert self.error(tmp_path) == f"error: cannot read {str(tmp_path)!r}: it is a directory [unreadable-file]"

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert "it is no ordinary file [unreadable-file]" in self.error(tmp_path / "pipe")

    def test_a_path_with_a_nul(self) -> None:
        assert "[unreadable-file]" in self.error("a\0b")

    def test_all_files_are_tried(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaErrors) as caught:
            read([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
        assert len(caught.value.errors) == 3

    def test_not_utf8(self, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_bytes("# é\n- func: ".encode() + b"\xe9\xff")
        error = self.error(tmp_path / "f.yaml")
        assert "f.yaml:2:9: error: byte 0xe9 is not UTF-8 [encoding]" in error

    def test_utf16(self, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_text(SIMPLE, encoding="utf-16")
        assert "f.yaml:1:1: error: byte 0xff is not UTF-8 [encoding]" in self.error(tmp_path / "f.yaml")

    def test_bom_and_crlf(self, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_bytes(
            b"\xef\xbb\xbf" + SIMPLE.encode().replace(b"\n", b"\r\n") + b"  tgas: core\r\n"
        )
        assert "f.yaml:2:3: error: unknown key 'tgas' [unknown-key]" in self.error(tmp_path / "f.yaml")

    def test_too_large(self, tmp_path: Path) -> None:
        with open(tmp_path / "f.yaml", "wb") as file:
            file.truncate(MAX_BYTES + 1)
        assert "is larger than 64 MB [large-file]" in self.error(tmp_path / "f.yaml")


class TestHostileText:
    def test_text_is_never_run(self, tmp_path: Path) -> None:
        made = tmp_path / "made"
        call = f"__import__('os').mkdir({str(made)!r})"
        text = f'- func: eval(Tensor self) -> Tensor\n  meta: "{call}"\n  dispatch:\n    CPU: "{call}"\n'
        assert list(read_text(text).operators) == ["aten::eval"]
        assert fails("- func: __import__(Tensor self) -> Tensor\n") == [("reserved-name", 1, 9)]
        assert fails(f'- func: !!python/object/apply:os.mkdir ["{made}"]\n')[0] == ("yaml-tag", 1, 9)
        assert not made.exists()

    @pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "- func: [", "[[{", "- ? - "])
    def test_deep_nesting(self, opening: str) -> None:
        assert fails(opening * 100_000)

    def test_aliases_do_not_grow(self) -> None:
        levels = "".join(f"  k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 10)}]\n" for i in range(1, 30))
        assert fails(f"- k0: &k0 x\n{levels}")[:3] == [
            ("yaml-anchor", 1, 7),
            ("yaml-anchor", 2, 7),
            ("yaml-alias", 2, 12),
        ]

    def test_fifty_megabytes_in_one_text(self) -> None:
        assert fails('- func: "' + "x" * 50_000_000 + '"\n')[0][1:] == (1, 10)

    def test_reading_stops_at_many_errors(self) -> None:
        assert len(fails("- x: 1\n" * 100_000)) <= MAX_ERRORS + 2
        assert len(fails(SIMPLE + "".join(f"  key{i}: 1\n" for i in range(100_000)))) <= MAX_ERRORS + 2
        assert len(fails(SIMPLE + "  tags: core\n" * 100_000)) <= MAX_ERRORS + 2
        assert len(fails("".join(f"- func: f{i}_out(Tensor self) -> Tensor\n" for i in range(200)))) <= MAX_ERRORS + 2

    def test_many_errors_of_one_cause_are_one_and_hide_no_other(self) -> None:
        entries = "".join(f"- func: f{i}(Tensor x) -> Tensor\n  dispach: {{CPU: x}}\n" for i in range(400))
        with pytest.raises(SchemaErrors) as caught:
            read_text(f"{entries}- func: last(Tensr x) -> Tensor\n")
        first, last = caught.value.errors
        assert str(first).startswith("<text>:2:3: error: unknown key 'dispach' (400 times, also in lines 4, 6, 8, ")
        assert (last.code, last.span.line if last.span else 0) == ("unknown-type", 801)
        assert caught.value.message == "401 errors"

    def test_errors_that_name_their_operators_are_of_one_cause(self) -> None:
        with pytest.raises(SchemaErrors) as caught:
            read_text("".join(f"- func: f{i}_out(Tensor self) -> Tensor\n" for i in range(200)))
        assert {len(each.repeats) for each in caught.value.errors} == {199}

    def test_a_few_errors_of_one_cause_are_shown_each_by_itself(self) -> None:
        assert len(fails("- x: 1\n" * 2)) == 4

    def test_newlines_and_quotes_in_every_field(self) -> None:
        nasty = '"a\\nb\'c\\"d"'
        any_text = (values.read_text, values.read_doc, values.read_dispatch)
        keys = [name for name, key in KEYS.items() if name == "kernel" or key.reader not in any_text]
        for key in keys:
            func = "" if key == "func" else "  func: f(Tensor self) -> Tensor\n"
            value = f"[{nasty}]" if key in ("precomputed", "cpp_no_default_args") else nasty
            (code, line, _), *_ = fails(f"- {key}: {value}\n{func}")
            assert line == 1, (key, code)


def test_keys_are_found_by_the_reader_alone() -> None:
    """The event layer gives plain texts: nothing is resolved to null, a number or a boolean."""
    errors = Errors()
    (node,) = read_entries(Source("x", "- {~: on, 1: 0x10, true: null}"), errors)
    assert isinstance(node, MappingNode)
    assert {key: getattr(value, "text", None) for key, (_, value) in node.pairs.items()} == {
        "~": "on",
        "1": "0x10",
        "true": "null",
    }
    assert not errors
