"""What notebooks show: parsed, held against the text that `repr` and `print` give, and against hostile names."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from typing import Any

import opwright
from opwright.fx.printing import table

HOSTILE = "</pre><script>alert('1')</script>&amp;"


class Page(HTMLParser):
    """The cells of the tables and the texts of an HTML fragment; every element has to be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "iframe", "object", "style") and not any(
            name.startswith("on") for name, _ in attrs
        )
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_data(self, data: str) -> None:
        if self._open[-1] in ("th", "td"):
            self.rows[-1][-1] += data
        self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data


def shown(value: Any) -> Page:
    html = value._repr_html_()
    assert "color:" not in html.replace("currentColor", "")  # the page's own, dark or light
    return Page(html)


def test_tensors() -> None:
    page = shown(opwright.tensor([[1.0, -2.5], [3.0, 4.0]], requires_grad=True))
    assert page.rows == [["shape", "dtype", "device", "requires_grad"], ["[2, 2]", "float32", "cpu", "True"]]
    assert page.texts["pre"] == "[[ 1.0000, -2.5000],\n [ 3.0000,  4.0000]]"
    large = opwright.arange(10**4).reshape(100, 100)
    for tensor in (large, large.float(), large == 1, opwright.tensor(2 + 1j), opwright.empty(0, 3), opwright.ones(())):
        values = shown(tensor).texts["pre"]
        assert "".join(repr(tensor).split()).startswith(f"tensor({''.join(values.split())}") and len(values) < 3000
    recorded = shown(opwright.ones(2, requires_grad=True) * 2)
    assert dict(zip(*recorded.rows, strict=True))["grad_fn"] == "MulBackward0"


def test_tensors_without_data_and_in_transforms() -> None:
    meta = opwright.empty(2, 3, device="meta", dtype=opwright.int8)
    with opwright.fake.FakeTensorMode():
        fake = opwright.ones(4)
    for tensor in (meta, fake):
        assert shown(tensor).texts["pre"] == repr(tensor)
    assert shown(meta).rows[1] == ["[2, 3]", "int8", "meta", "False"]
    seen = []
    opwright.vmap(lambda row: (seen.append((shown(row), repr(row))), row)[1])(opwright.ones(3, 2))
    ((page, text),) = seen
    assert page.rows[1][0] == "[2]" and page.texts["pre"] == text


def test_a_subclass_with_a_text_of_its_own_keeps_it() -> None:
    class Named(opwright.Tensor):
        def __repr__(self) -> str:
            return "named"

    class Plain(opwright.Tensor):
        pass

    assert opwright.ones(2).as_subclass(Named)._repr_html_() is None
    assert shown(opwright.ones(2).as_subclass(Plain)).texts["pre"] == "[1., 1.]"


def test_graphs() -> None:
    module = opwright.fx.make_fx(lambda x: (x + 1).sum(0))(opwright.ones(2, 3))
    printed = [line.split() for line in table(module.graph).splitlines() if not line.startswith("-")]
    for page in (shown(module.graph), shown(module)):
        assert [row[:3] for row in page.rows] == [line[:3] for line in printed]
        assert [row[-1] for row in page.rows] == ["gives", "f32[2, 3]", "f32[2, 3]", "f32[3]", ""]


def test_large_and_hostile_graphs() -> None:
    graph = opwright.fx.Graph()
    x = graph.placeholder("x")
    for _ in range(300):
        x = graph.call_method(HOSTILE, (x, "'" + "x" * 500))
    graph.output(x)
    page = shown(graph)
    assert len(page.rows) == 201 and page.texts["p"] == "and 102 more"
    assert page.rows[2][2] == HOSTILE and len(page.rows[2][3]) == 120


def test_dispatch_tables() -> None:
    found = opwright.dispatch.table("aten::add.Tensor")
    page, printed = shown(found), io.StringIO()
    opwright.dispatch.dump("aten::add.Tensor", file=printed)
    first, *lines = printed.getvalue().splitlines()
    assert page.texts["code"] == first and page.rows[0] == ["key", "handled by", "rule"]
    assert [f"{key}: {handler} [{rule}]" for key, handler, rule in page.rows[1:]] == lines
    assert found == dict(found) and isinstance(found, dict)
