"""The reference of the public Python names, as Markdown: `python docs/site/names.py FOLDER`.

A page for `opwright` and one for each of its modules that is a public name: each name with its signature and docstring.
The functions of ATen are not among those of `opwright`: the operator reference has them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any

import opwright
import opwright.nn.functional
from opwright_aten import ops


class _Written:
    """An annotation that is shown as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def modules() -> Iterator[tuple[str, ModuleType, list[str]]]:
    """Yield each module with its name and what it shows."""
    own = sorted(set(opwright.__all__) - set(ops.__all__))
    is_module = {name: inspect.ismodule(getattr(opwright, name)) for name in own}
    yield "opwright", opwright, [name for name in own if not is_module[name]]
    for name in (name for name in own if is_module[name]):
        module = getattr(opwright, name)
        yield f"opwright.{name}", module, sorted(getattr(module, "__all__", ()))
    layers = opwright.nn.functional
    yield layers.__name__, layers, [each for each in sorted(dir(layers)) if _is_function(getattr(layers, each))]


def _is_function(value: Any) -> bool:
    return callable(value) and getattr(value, "__module__", "").startswith("opwright")


def page(name: str, module: ModuleType, names: list[str]) -> str:
    """Return the page of a module: constants in a table, then functions and classes."""
    found = {each: getattr(module, each) for each in names}
    described = {each: value for each, value in found.items() if callable(value) and not isinstance(value, UnionType)}
    parts = [f"# {name}", "", text_of(inspect.getdoc(module) or "")]
    if values := {each: value for each, value in found.items() if each not in described}:
        parts += ["", "| name | is |", "| --- | --- |"]
        parts += [f"| `{name}.{each}` | {_shown(value)} |" for each, value in values.items()]
    for each, value in described.items():
        parts += ["", f"## {name}.{each}", "", *entry(each, value)]
    return "\n".join(parts) + "\n"


def _shown(value: Any) -> str:
    if inspect.ismodule(value):
        return text_of((inspect.getdoc(value) or "a module").partition("\n")[0])
    return "`" + re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("|", "&#124;").replace("\n", " ")[:100] + "`"


def entry(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of a function or class: signature, docstring, and the methods that have one."""
    if signature := signature_of(value):
        yield from ("```python", ("class " if inspect.isclass(value) else "") + name + signature, "```", "")
    yield text_of(_own_docstring(value))
    if not inspect.isclass(value):
        return
    methods = {each: method for each, method in vars(value).items() if not each.startswith("_")}
    lines = [
        f"- `{each}{signature_of(method)}`: {text_of(text.partition(chr(10) * 2)[0])}"
        for each, method in methods.items()
        if (text := _own_docstring(getattr(method, "__func__", method)))
    ]
    if len(lines) <= 60:  # the methods of a Tensor that are operators are in their reference
        yield from ("", *lines)


def _own_docstring(value: Any) -> str:
    text = getattr(value, "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def signature_of(value: Any) -> str:
    """Return a signature as it is written, or nothing where there is none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    written = [each.replace(annotation=_raw(each.annotation)) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=written, return_annotation=_raw(signature.return_annotation)))
    return re.sub(r" at 0x[0-9a-f]+", "", text).replace("`", "'")


def _raw(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def text_of(docstring: str) -> str:
    """Return a docstring as Markdown: what has a meaning there is text, outside of code."""
    lines = []
    for line in docstring.splitlines():
        parts = re.split(r"(`[^`]*`)", line)
        parts[::2] = [re.sub(r"([*_\[\]<>|#])", r"\\\1", part) for part in parts[::2]]
        lines.append(line if line.startswith("    ") else "".join(parts))
    return "\n".join(lines)


_INDEX = """# Python names

What `import opwright` gives, from the docstrings. The names are PyTorch's; the functions of ATen are in the
[reference of operators](../operators/index.md).

| module | holds |
| --- | --- |"""


def main(folder: Path) -> None:
    """Write the pages and an index of them."""
    folder.mkdir(parents=True, exist_ok=True)
    index = [_INDEX]
    for name, module, names in modules():
        (folder / f"{name}.md").write_text(page(name, module, names), encoding="utf-8")
        first = (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ")
        index.append(f"| [`{name}`]({name}.md) | {text_of(first)} |")
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
