"""The pages of the site: those of docs/ as they are, others of the repository that they lead to, and generated ones.

mkdocs calls the functions `on_…`. A page is read in the repository, too, so its links are those of the repository: here
each leads to the place that its target has on the site. A file that is no page is shown as one under `source/`, and a
folder is the README that it holds, or its files one below the other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = ROOT / "build" / "reference"  # made before, under `reference/` here
# Pages from elsewhere that have a place in the navigation. (`index.md` is the first page of the site.)
PLACES = {
    "README.md": "first-look.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "benchmarks/README.md": "figures.md",
    "docs/README.md": "index.md",
    "examples/README.md": "examples/index.md",
    "runtime/opwright_bindings/README.md": "bindings/index.md",
    **{f"examples/{path.name}/README.md": f"examples/{path.name}.md" for path in ROOT.glob("examples/*/")},
    **{
        path.relative_to(ROOT).as_posix(): f"bindings/{path.parent.name}.md"
        for path in ROOT.glob("runtime/opwright_bindings/*/README.md")
    },
}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".c": "c", ".h": "c", ".cu": "cuda", ".md": "markdown"}
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
SOURCE = re.compile(r"\bsource:/([^)#\"]+)#L(\d+)")  # what `opwright docs --source source:` writes
COLOURS = re.compile(r"^ *\.drawing \{ --ink.*?\}\n *@media.*?^    \}\n", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
COMMAND = re.compile(r"`opwright (explain|rules|schema keys)(?: ([a-z][\w-]*))?[^`\n]*`")
PRINTED = {"explain": "errors.md", "rules": "rules.md", "schema keys": "keys.md"}  # by commands, into GENERATED

_origins: dict[str, Path] = {}  # where each page of the site comes from, but for generated ones


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let folders of the navigation name their pages; anchors are those that repositories show."""
    config.nav = list(_expanded(config.nav))
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def _expanded(entries: list[Any]) -> Iterator[Any]:
    for entry in entries:
        if isinstance(entry, dict):
            ((title, inner),) = entry.items()
            yield {title: list(_expanded(inner)) if isinstance(inner, list) else inner}
        elif entry.endswith("/"):
            yield from _pages_of(entry)
        else:
            yield entry


def _pages_of(folder: str) -> list[str]:
    base = GENERATED.parent if folder.startswith("reference/") else DOCS
    names = {folder + path.name for path in (base / folder).glob("*.md")}
    names |= {place for name, place in PLACES.items() if place.startswith(folder) and (ROOT / name).exists()}
    return sorted(names, key=_order)


def _order(name: str) -> list[Any]:
    parts = re.split(r"(\d+)", re.sub(r"(README|index)\.md$", " ", name).removesuffix(".md"))
    return [int(part) if part.isdigit() else part for part in parts]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside of docs/, and whatever pages lead to."""
    _origins.clear()
    sources: set[Path] = set()
    for path in (path for path in GENERATED.rglob("*") if path.is_file()):
        place = f"reference/{path.relative_to(GENERATED).as_posix()}"
        files.append(File.generated(config, place, abs_src_path=str(path)))
        if path.suffix == ".md":
            sources |= {ROOT / link[1] for link in SOURCE.finditer(path.read_text(encoding="utf-8"))}
    for name in ("style.css", "favicon.svg"):
        files.append(File.generated(config, name, abs_src_path=str(DOCS / "site" / name)))
    for file in files.documentation_pages():
        if file.generated_by is None:
            _origins[file.src_uri] = DOCS / file.src_uri
    others = [ROOT / name for name in PLACES if not name.startswith("docs/")]
    waiting = [*_origins.values(), *sorted(sources), *(path for path in others if path.exists())]
    while waiting:
        path = waiting.pop()
        place = place_of(path)
        if not path.is_relative_to(DOCS) and files.get_file_from_path(place) is None:
            files.append(_added(path, place, config))
        if path.suffix == ".md":
            waiting += [each for each in _targets(path) if files.get_file_from_path(place_of(each)) is None]
    return files


def _added(path: Path, place: str, config: MkDocsConfig) -> File:
    if path.suffix == ".md":
        _origins[place] = path
    if path.suffix == ".md" or not place.endswith(".md"):
        return File.generated(config, place, abs_src_path=str(path))
    shown = sorted(each for each in path.rglob("*") if _is_source(each)) if path.is_dir() else [path]
    name = path.relative_to(ROOT).as_posix()
    parts = [f"---\nsearch:\n  exclude: true\n---\n# {name}\n"]
    for each in shown:
        if path.is_dir():
            parts.append(f"## {each.relative_to(path).as_posix()}\n")
        language = LANGUAGES.get(each.suffix, "text")
        parts.append(f'````{language} linenums="1"\n{each.read_text(encoding="utf-8").rstrip()}\n````\n')
    return File.generated(config, place, content="\n".join(parts))


def _is_source(path: Path) -> bool:
    return path.is_file() and (path.suffix in LANGUAGES or path.name == "Makefile")


def place_of(path: Path) -> str:
    """Return where a file or folder of the repository is on the site."""
    if path.is_dir() and (path / "README.md").exists():
        path = path / "README.md"
    name = path.relative_to(ROOT).as_posix()
    if name in PLACES:
        return PLACES[name]
    if path.is_relative_to(DOCS):
        return name.removeprefix("docs/")
    return f"source/{name}" if path.suffix in (".md", ".svg", ".png") else f"source/{name}.md"


def _targets(path: Path) -> Iterator[Path]:
    """Yield the files and folders that a page leads to, a README for its folder."""
    for text in _outside_of_code(path.read_text(encoding="utf-8")):
        for link in LINK.finditer(text):
            target = (path.parent / link[1]).resolve()
            readme = target / "README.md"
            if target.exists():  # mkdocs tells of the others
                yield readme if readme.exists() else target


def _outside_of_code(text: str) -> list[str]:
    return CODE.split(text)[::2]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write a page as Python's Markdown reads it, its links as they are on the site."""
    origin = _origins.get(page.file.src_uri)
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    markdown = re.sub(r"^( *```\w+) excerpt$", r"\1", markdown, flags=re.MULTILINE)
    parts = CODE.split(markdown)
    if origin is not None:
        parts[::2] = [LINK.sub(_rewriter(origin, page.file.src_uri), part) for part in parts[::2]]
        parts[1::2] = [_with_page(part, page.file.src_uri) for part in parts[1::2]]
    parts[1::2] = [part if "\n" in part else part.replace("\\|", "&#124;") for part in parts[1::2]]
    return "".join(parts)


def _with_page(code: str, place: str) -> str:
    """Return a command in a line of text as a link to the page that it prints, at the name that it is given."""
    found = COMMAND.fullmatch(code)
    if found is None:
        return code
    target = os.path.relpath(f"reference/{PRINTED[found[1]]}", os.path.dirname(place) or ".")
    return f"[{code}]({target}{'#' + found[2] if found[2] else ''})"


def _rewriter(origin: Path, place: str) -> Callable[[re.Match[str]], str]:
    def rewritten(link: re.Match[str]) -> str:
        target = place_of((origin.parent / link[1]).resolve())
        return f"]({os.path.relpath(target, os.path.dirname(place) or '.')}{link[2] or ''})"

    return rewritten


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put drawings into the page itself, where they have its colours; above an operator the way to the others, and at
    its places in files the ways there (mkdocs knows no anchors of lines)."""
    up = os.path.relpath(".", os.path.dirname(page.file.src_uri) or ".")
    html = SOURCE.sub(lambda link: f"{up}/{place_of(ROOT / link[1])[:-3]}.html#__codelineno-0-{link[2]}", html)
    if re.match(r"reference/operators/(?!index\.md)", page.file.src_uri):
        html = f'<p class="up"><a href="index.html">Operators</a></p>\n{html}'
    return re.sub(r'<img [^>]*src="[^"]*drawings/(\w+)\.svg"[^>]*>', lambda found: _drawing(found[1]), html)


def _drawing(name: str) -> str:
    """Return a drawing without colours of its own, which follow the system: a page's may be chosen otherwise."""
    return COLOURS.sub("", (DOCS / "drawings" / f"{name}.svg").read_text(encoding="utf-8"))
