"""Tables of what the gate found: what was asked beside operator and backend, with verdicts and dtypes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opwright_codegen.reference.markdown import cell, code, prose
from opwright_codegen.reference.told import Facts

__all__ = ["GateTable", "dtypes_text", "gate_table"]

_KINDS: Final = (
    ("floating-point", ("float64", "float32", "float16", "bfloat16")), ("complex", ("complex128", "complex64")),
    ("integers", ("int64", "int32", "int16", "int8", "uint8")), ("bool", ("bool",)),
)  # fmt: skip


@dataclass(frozen=True)
class GateTable:
    """A table in Markdown: its columns, a row for what was asked and answered alike, and notes."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def dtypes_text(taken: Collection[str]) -> str:
    """Return dtypes in words, kinds of them where all of one are there."""
    parts: list[str] = []
    for word, own in _KINDS:
        parts += [word] if set(own) <= set(taken) else [each for each in own if each in taken]
    return ", ".join((*parts, *(each for each in taken if not any(each in own for _, own in _KINDS))))


def gate_table(own: Sequence[Facts], known: Sequence[Mapping[str, str]]) -> GateTable:
    """Return the table of an operator and its variants; an empty one where the gate told of none."""
    found = {
        (each["name"], answer["backend"], answer["row"]): answer for each in own for answer in each.get("gate", ())
    }
    columns = list(dict.fromkeys((name, backend) for name, backend, _ in found))
    excused = {(each["operator"], each["property"]) for each in known}
    rows = dict.fromkeys(each["row"] for each in sorted(found.values(), key=lambda each: int(each["place"])))
    by_cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        cells = tuple(_cell(name, found.get((name, backend, row)), excused) for name, backend in columns)
        by_cells.setdefault(cells, []).append(row)
    return GateTable(
        tuple(f"`{name.partition('::')[2]}`, {backend}" for name, backend in columns),
        tuple(("; ".join(of), *cells) for cells, of in by_cells.items()),
        tuple(_notes(found, excused)),
    )


def _cell(name: str, answer: Facts | None, excused: Collection[tuple[str, str]]) -> str:
    """Return verdicts and dtypes; how many of each where they are not the same."""
    if answer is None:
        return ""
    broken = [prop for prop, _ in answer["broken"] if (name, prop) not in excused]
    counts = {
        "held": answer["held"],
        "**broken**": len(broken),
        "known": len(answer["broken"]) - len(broken),
        "not decided": len(answer["undecided"]),
    }
    said = [(word, count) for word, count in counts.items() if count]
    dtypes = dtypes_text(answer["dtypes"])
    text = said[0][0] if len(said) == 1 else ", ".join(f"{count} {word}" for word, count in said)
    return cell(text + (f": {dtypes}" if dtypes else ""))


def _notes(found: Mapping[tuple[str, str, str], Facts], excused: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yield why something is broken or not decided, once for all operators of which the same is said."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for (name, _, _), answer in found.items():
        for word in ("broken", "undecided"):
            for prop, why in answer[word]:
                if (name, prop) not in excused:
                    said.setdefault((word, prop, why), []).append(name.partition("::")[2])
    for (word, prop, why), names in said.items():
        verdict = "**broken**" if word == "broken" else "not decided"
        yield f"{code(dict.fromkeys(names))}, {prop}: {verdict}: {prose(' '.join(why.split()))}"
