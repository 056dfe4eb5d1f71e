"""The table [tool.opwright] of pyproject.toml: the schemas, kernels and rules there are, and where output goes."""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from opwright_codegen.declared.binding_folders import own_bindings
from opwright_codegen.errors import Errors, SchemaError, SchemaErrors, nearest, shorten
from opwright_codegen.promises.breakages import CATEGORIES
from opwright_codegen.records import dataclass, field
from opwright_codegen.source import Source, Span

__all__ = ["Config", "find_config", "is_name", "matching_files", "placed_in", "read_config"]


@dataclass(frozen=True, slots=True)
class BreakingSettings:
    """The table [tool.opwright.breaking]: the categories that `opwright breaking` compares, none for those that
    declarations show, and the state that it compares with, where that is not the last tag."""

    categories: tuple[str, ...] = ()
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a project. Paths are joined to `root`, pyproject.toml's folder, or else the working directory.

    `output` is one folder, or one for each namespace. `namespace` is that of operators which are declared without one:
    None forbids it. Kernel names that no module
    has are errors unless `strict_kernels` is False. `gradients` are the modules of the backward functions that the
    formulas of `derivatives` may call, `uses` the packages whose operators formulas may call beside their own. `native`
    are C files and folders of them, by namespace; with `native_required` no wheel is built without them. `bindings` are
    the frameworks that operators are given to, `targets` are targets of other distributions. Kernels are `trusted` if
    results are as declared, and errors of their functions say what is wrong: neither is looked at. `breaking` is about
    the command of that name.
    """

    root: Path
    path: Path | None = None
    schemas: tuple[Path, ...] = ()
    tags: Path | None = None
    output: Path | dict[str, Path] | None = None
    kernels: tuple[str, ...] = ("opwright_kernels",)
    rules: tuple[str, ...] = ("opwright.rules",)
    strict_kernels: bool = True
    derivatives: Path | None = None
    gradients: tuple[str, ...] = ("opwright_kernels.gradients",)
    native: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    native_required: bool = False
    uses: tuple[str, ...] = ("opwright_aten",)
    bindings: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    namespace: str | None = None
    trusted: bool = False
    breaking: BreakingSettings = BreakingSettings()


def find_config(start: Path) -> Config:
    """Return the configuration of the nearest folder, from `start` up, whose pyproject.toml has [tool.opwright]."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file() and "tool.opwright" in path.read_text(encoding="utf-8", errors="replace"):
            found = read_config(path)
            if found is not None:
                return found
    return Config(start)


def read_config(path: Path) -> Config | None:
    """Return what [tool.opwright] of this file says; None where it has no such table. Raises SchemaErrors."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SchemaError("config-syntax", f"{path} is not UTF-8 text: {error.reason}") from None
    source = Source(str(path), text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError("config-syntax", _first_part(str(error)), _toml_position(str(error), source)) from None
    except ValueError as error:  # a number of more digits than Python reads
        message = f"{path} cannot be read: {_first_part(str(error)).partition(';')[0]}"
        raise SchemaError("config-syntax", message) from None
    except RecursionError:
        raise SchemaError("config-syntax", f"{path} nests too deep") from None
    tool = document.get("tool")
    table = tool.get("opwright") if isinstance(tool, dict) else None
    if table is None:
        return None
    return _Reader(source, path).config(table)


@contextmanager
def placed_in(config: Config) -> Iterator[None]:
    """Give errors without a place, which are about a text of the settings, the place of that text."""
    try:
        yield
    except SchemaError as error:
        if config.path is not None:
            settings = _texts_of(Source(str(config.path), config.path.read_text(encoding="utf-8", errors="replace")))
            for each in error.errors if isinstance(error, SchemaErrors) else (error,):
                each.span = each.span or _about(each.message, settings, config.root)
        raise


def _texts_of(source: Source) -> list[tuple[str, Span]]:
    """Return the texts in [tool.opwright] and the tables below it, each with its place."""
    found = []
    tables = re.compile(r"^[ \t]*\[tool\.opwright\b.*?(?=^[ \t]*\[(?!tool\.opwright\b)|\Z)", re.MULTILINE | re.DOTALL)
    for table in tables.finditer(source.text):
        for text in re.finditer(r"\"([^\"\\\n]+)\"|'([^'\n]+)'", table[0]):
            span = Span(source, table.start() + text.start(), table.start() + text.end())
            found.append((text[1] or text[2], span))
    return found


def _about(message: str, settings: Sequence[tuple[str, Span]], root: Path) -> Span | None:
    """Return the place of the longest setting that a message quotes: as it is written, as a path, or its last part."""
    quoted = {*re.findall(r"'([^']+)'", message)}
    named = [
        (text, span) for text, span in settings if not quoted.isdisjoint((text, str(root / text), Path(text).name))
    ]
    return max(named, key=lambda pair: len(pair[0]))[1] if named else None


class _Reader:
    def __init__(self, source: Source, path: Path) -> None:
        self._source = source
        self._path = path
        self._errors = Errors()

    def config(self, table: object) -> Config:
        root = self._path.parent
        readers: dict[str, Callable[[str, Any], Any]] = {
            "schemas": lambda key, value: self._files(key, value, root),
            "tags": lambda key, value: root / self._text(key, value),
            "namespace": self._namespace,
            "output": lambda key, value: self._output(key, value, root),
            "kernels": self._texts,
            "rules": self._texts,
            "strict_kernels": self._boolean,
            "derivatives": lambda key, value: root / self._text(key, value),
            "gradients": self._texts,
            "uses": self._modules,
            "native": lambda key, value: self._native(key, value, root),
            "native_required": self._boolean,
            "bindings": self._frameworks,
            "targets": self._texts,
            "trusted": self._boolean,
            "breaking": self._breaking,
        }
        found: dict[str, Any] = {}
        if not isinstance(table, dict):
            self._wrong("opwright", "a table")
            table = {}
        for key, value in table.items():
            if key not in readers:
                near = nearest(key, readers)
                hint = f"did you mean {near!r}?" if near else f"known: {', '.join(readers)}"
                message = f"[tool.opwright] has no {shorten(key)!r}"
                self._errors.add(SchemaError("unknown-setting", message, self._key_span(key), hint))
            else:
                found[key] = readers[key](key, value)
        self._errors.raise_if_any()
        if len(found.get("schemas", ())) > 1:  # which a pattern may have matched
            found["schemas"] = tuple(each for each in found["schemas"] if each != found.get("derivatives"))
        return Config(root, self._path, **found)

    def _files(self, key: str, value: object, root: Path) -> tuple[Path, ...]:
        """Return files by their names, and by patterns as `schemas/*.yaml`: what one matches in the order of names."""
        found: list[Path] = []
        for text in self._texts(key, value):
            matched = matching_files(root, text)
            if not matched:
                message = f"no file matches {shorten(text)!r} of {key!r}"
                hint = "** stands for folders at any depth, * for a part of a name"
                self._errors.add(SchemaError("wrong-setting", message, self._item_span(key, text), hint))
            found += matched
        return tuple(dict.fromkeys(found))

    def _output(self, key: str, value: object, root: Path) -> Path | dict[str, Path]:
        if isinstance(value, dict):
            return {namespace: root / self._text(namespace, folder) for namespace, folder in value.items()}
        return root / self._text(key, value, "a folder, or a table from namespaces to folders,")

    def _namespace(self, key: str, value: object) -> str:
        if not isinstance(value, str) or not is_name(value):
            self._wrong(key, "a name", 'as in: namespace = "mine"')
        return str(value)

    def _native(self, key: str, value: object, root: Path) -> dict[str, tuple[Path, ...]]:
        """Return C files by namespace; those of all have the name ""."""
        if not isinstance(value, dict):
            return {"": tuple(root / text for text in self._texts(key, value))}
        return {name: tuple(root / text for text in self._texts(key, found)) for name, found in value.items()}

    def _text(self, key: str, value: object, expected: str = "a text") -> str:
        if not _is_text(value):
            self._wrong(key, expected)
            return "."
        return str(value)

    def _texts(self, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(map(_is_text, value)):
            self._wrong(key, "a list of texts", f'write {shorten(key)} = ["…"]')
            return ()
        return tuple(value)

    def _modules(self, key: str, value: object) -> tuple[str, ...]:
        found = self._texts(key, value)
        for name in found:
            if not all(map(is_name, name.split("."))):
                self._wrong(
                    key, f"a package's name as Python imports it, not {shorten(name)!r},", "as in: opwright_aten"
                )
        return found

    def _frameworks(self, key: str, value: object) -> tuple[str, ...]:
        found = self._texts(key, value)
        for name in found:
            if name not in own_bindings():
                self._check_binding(key, name)
        return tuple(dict.fromkeys(found))

    def _check_binding(self, key: str, name: str) -> None:
        from opwright_codegen.targets.registry import binding_of

        try:
            binding_of(name, self._item_span(key, name))
        except SchemaError as error:
            self._errors.add(error)

    def _breaking(self, key: str, value: object) -> BreakingSettings:
        if not isinstance(value, dict):
            self._wrong(key, "a table", 'as in: breaking = {categories = ["CALL", "GRAPH"], against = "git:v1.0"}')
            return BreakingSettings()
        for name in value.keys() - {"categories", "against"}:
            message = f"[tool.opwright.breaking] has no {shorten(name)!r}"
            hint = "known: categories, against"
            self._errors.add(SchemaError("unknown-setting", message, self._key_span(name), hint))
        categories = self._texts("categories", value.get("categories", []))
        for name in categories:
            if name not in CATEGORIES:
                near = nearest(name, CATEGORIES)
                hint = f"did you mean {near!r}?" if near else f"known: {', '.join(CATEGORIES)}"
                message = f"there is no category {shorten(name)!r} of promises"
                self._errors.add(SchemaError("unknown-category", message, self._item_span("categories", name), hint))
        against = self._text("against", value["against"]) if "against" in value else None
        return BreakingSettings(categories, against)

    def _boolean(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            self._wrong(key, "true or false", f"write {key} = true, without quotes")
        return bool(value)

    def _wrong(self, key: str, expected: str, hint: str | None = None) -> None:
        message = f"{expected} is expected for {shorten(key)!r} of [tool.opwright]"
        self._errors.add(SchemaError("wrong-setting", message, self._key_span(key), hint))

    def _key_span(self, key: str) -> Span | None:
        """Return where the key stands, as far as a search of the table's lines tells: tomllib keeps no positions."""
        text = self._source.text
        header = re.search(r"^[ \t]*\[tool\.opwright\b", text, re.MULTILINE)
        start = header.start() if header else 0
        found = re.compile(rf"""(?:^|[{{,])[ \t]*["']?({re.escape(key)})["']?[ \t]*=""", re.MULTILINE).search(
            text, start
        )
        if found:
            return Span(self._source, found.start(1), found.end(1))
        return Span(self._source, header.start(), header.end()) if header else None

    def _item_span(self, key: str, item: str) -> Span | None:
        """Return where a text stands behind its key; the key where the text is written in another way."""
        span = self._key_span(key)
        start = span.start if span else 0
        found = re.compile(rf"""["']{re.escape(item)}["']""").search(self._source.text, start)
        return Span(self._source, found.start(), found.end()) if found else span


def matching_files(root: Path, text: str) -> list[Path]:
    """Return the file of a name; or those that a pattern matches, such as `schemas/*.yaml`, in the order of names."""
    if not has_magic(text) or (root / text).exists():
        return [root / text]
    return sorted(Path(path) for path in glob(str(Path(escape(str(root))) / text), recursive=True))


def _is_text(value: object) -> bool:
    """Whether a value can be a path or the name of a module: no system takes longer ones."""
    return isinstance(value, str) and 0 < len(value) <= 4096 and "\0" not in value


def is_name(value: str) -> bool:
    """Whether a text may be the name of a namespace, or a part of a package's."""
    return value.isidentifier() and not keyword.iskeyword(value)


def _first_part(message: str) -> str:
    return message.partition(" (at ")[0]


def _toml_position(message: str, source: Source) -> Span:
    found = re.search(r"\(at line (\d+), column (\d+)\)", message)
    starts = source.line_starts()
    if found is None:
        return Span(source, len(source.text), len(source.text))
    at = min(starts[min(int(found[1]), len(starts)) - 1] + int(found[2]) - 1, len(source.text))
    return Span(source, at, at + 1)
