"""The built site: links, what it loads, its search in a browser; after `make site`, with OPWRIGHT_SITE=build/site."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from browsers import browser, command

ROOT = Path(__file__).parents[2]
SITE = ROOT / os.environ.get("OPWRIGHT_SITE", "")
pytestmark = pytest.mark.skipif(SITE == ROOT, reason="needs the site: `make site`, then OPWRIGHT_SITE=build/site")
OPERATORS = "reference/operators"
LINK = re.compile(r'<(?:a|link|script|img)\b[^>]*?\s(?:href|src)="([^"]+)"')


@functools.cache
def pages() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in SITE.rglob("*.html") if path.name != "404.html"}


def test_every_link_has_its_page_and_its_anchor() -> None:
    anchors = {path: set(map(unescape, re.findall(r'\sid="?([^"\s>]+)', text))) for path, text in pages().items()}
    wrong = []
    for path, text in pages().items():
        for link in set(LINK.findall(text)):
            if re.match(r"\w+:|//", link):
                continue
            name, _, anchor = unquote(unescape(link)).partition("#")
            target = Path(os.path.normpath(path.parent / name)) if name else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor not in ("", "__") and anchor not in anchors.get(target, ())):
                wrong.append(f"{path.relative_to(SITE)}: {link}")
    assert len(pages()) > 100 and wrong == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    loading = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\s(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
    assert {found for text in pages().values() for found in loading.findall(text)} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in SITE.rglob("*.css"))
    assert re.findall(r"@import|url\([\"']?(?:https?:)?//[^)]*\)", styles) == []


def test_formulas_and_drawings_are_in_the_pages() -> None:
    first = (SITE / "index.html").read_text(encoding="utf-8")
    assert first.count('<svg xmlns="http://www.w3.org/2000/svg" class="drawing"') == 1
    assert "--ink:" not in first  # colours are the page's, which a reader may choose otherwise than the system's
    assert any("<math" in text for path, text in pages().items() if path.is_relative_to(SITE / OPERATORS))


def test_pages_of_operators_tell_of_the_last_run_of_the_gate() -> None:
    """What the report says is what stands there; pages of operators that it does not name say how it would."""
    kept = ROOT / ".opwright_cache" / "gate.json"
    verdicts = json.loads(kept.read_text(encoding="utf-8"))["verdicts"] if kept.exists() else []
    asked = {each["operator"].partition("::")[2] for each in verdicts if each["operator"].startswith("aten::")}
    shown: set[str] = set()
    for path, text in pages().items():
        if path.is_relative_to(SITE / OPERATORS) and path.name.startswith("aten."):
            columns = set(re.findall(r"<th><code>([^<]+)</code>, CPU</th>", text))
            assert bool(columns) != (f"<code>opwright gate {path.stem.replace('.', '::', 1)}" in text), path
            shown |= columns
    assert shown == asked
    vmap = [each for each in verdicts if each["operator"] == "aten::sin" and each["property"] == "batches-like-a-loop"]
    row = re.search(
        r"<td>(?:[^<]*; )?vmap gives what a loop gives(?:; [^<]*)?</td>\s*<td>(.*?)</td>",
        pages()[SITE / OPERATORS / "aten.sin.html"],
    )
    assert [row and row[1].partition(":")[0]] == [each["verdict"] for each in vmap] or not vmap


# -- search


def wanted() -> Iterator[tuple[str, str]]:
    """Yield words to search for with a place that each must find: an operator of each schema file, words of pages."""
    yield "softmax", f"{OPERATORS}/aten.softmax.html"
    yield "threadpoolctl", "threads.html"
    yield "opwright.trace_calls", "reference/python/opwright.html"
    for path in sorted((ROOT / "schemas").glob("*.yaml")):
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        funcs = [entry["func"] for entry in entries if isinstance(entry, dict) and "func" in entry]
        if funcs:
            name = re.split(r"_?[.(]", funcs[len(funcs) // 2])[0]
            yield name, f"{OPERATORS}/aten.{name}.html"


# What the page asks of the site in its frame, word by word as a reader would, and tells the server.
ASKING = """<!doctype html><iframe src="index.html" width="1300" height="900"></iframe><script>
const words = WANTED;
const wait = (time) => new Promise((done) => setTimeout(done, time));
addEventListener("load", async () => {
  const inside = document.querySelector("iframe").contentDocument, found = {};
  const query = inside.querySelector("[data-md-component=search-query]");
  for (const [word, place] of words) {
    query.focus();
    query.value = word;
    query.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
    for (const end = Date.now() + (word === words[0][0] ? 30000 : 2000); Date.now() < end; ) {
      found[word] = [...inside.querySelectorAll(".md-search-result__list a")].map((link) => link.pathname.slice(1));
      if (found[word].includes(place)) break;
      await wait(50);
    }
  }
  await fetch("said", {method: "POST", body: JSON.stringify(found)});
});
</script>"""


class _Asking(http.server.SimpleHTTPRequestHandler):
    """Serves the site, with the page that asks; keeps what that says."""

    said: dict[str, Any]
    is_done: threading.Event

    def do_GET(self) -> None:
        if self.path != "/asking.html":
            return super().do_GET()
        text = ASKING.replace("WANTED;", f"{json.dumps(list(wanted()))};").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text)
        return None

    def do_POST(self) -> None:
        type(self).said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.is_done.set()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_search_finds_operators_and_words(tmp_path: Path) -> None:
    _Asking.is_done = threading.Event()
    found = browser()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Asking, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/asking.html"
        asked = [*command(found, tmp_path), "--remote-debugging-port=0", address]
        with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            is_done = _Asking.is_done.wait(100)
            process.terminate()
        server.shutdown()
    assert is_done
    assert {word: _Asking.said[word][:5] for word, place in wanted() if place not in _Asking.said[word]} == {}
