"""Views for templates: a page for each packet, with all overloads and variants, and the index."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from opwright_codegen.reference.declared import Declared, of_package
from opwright_codegen.reference.differences import Difference, differences_of
from opwright_codegen.reference.gate_tables import GateTable, dtypes_text, gate_table
from opwright_codegen.reference.markdown import cell, code, first_sentence, prose
from opwright_codegen.reference.mathematics import Notation
from opwright_codegen.reference.told import Facts

__all__ = ["Page", "Section", "Wishes", "pages_of", "sections_of"]


@dataclass(frozen=True)
class Wishes:
    """The options of all pages: notation of formulas, address of sources, report of the gate, differences from other
    libraries."""

    notation: Notation = "latex"
    source: str = ""
    gate: bool = True
    differences: Sequence[Difference] = ()


@dataclass(frozen=True)
class Overload:
    """One overload of a page, with its variants: all texts are Markdown."""

    title: str
    schemas: tuple[str, ...]
    doc: str
    facts: tuple[tuple[str, str], ...]
    gradients: tuple[str, ...]
    tangents: tuple[str, ...]
    example: str
    table: tuple[tuple[str, str, str], ...]
    gate: GateTable
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page: the operators of one name, written `file`.

    `differs` has lines by library. `run` is the shown run of the gate, `unasked` the operators without a run.
    """

    file: str
    title: str
    summary: str
    doc: str
    signature: str
    where: str
    backends: str
    gradient: str
    overloads: tuple[Overload, ...]
    run: str
    unasked: str
    differs: Mapping[str, Sequence[str]]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all operators, without their namespace."""
        return tuple(_plain(schema.partition("(")[0]) for each in self.overloads for schema in each.schemas)


@dataclass(frozen=True)
class Section:
    """A section of the index: the operators of one schema file."""

    title: str
    pages: tuple[Page, ...]


def pages_of(
    facts: Mapping[str, Facts], declared: Mapping[str, Declared], known: Sequence[Mapping[str, str]], wishes: Wishes
) -> Iterator[Page]:
    """Yield a page for each packet. The page of an operator also has its in-place and `out=` variants."""
    packets: dict[str, dict[str, list[Facts]]] = {}
    known_packets = {name.partition(".")[0] for name in facts}
    for name, each in facts.items():
        functional = each.get("functional", name)
        packets.setdefault(_packet(functional, known_packets), {}).setdefault(functional, []).append(each)
    taken: set[str] = set()
    for packet, overloads in sorted(packets.items(), key=lambda each: _order(each[0])):
        file = packet.replace("::", ".")
        while file.lower() in taken:  # where letters of both cases are the same to the system
            file += "-"
        taken.add(file.lower())
        yield _page(packet, f"{file}.md", overloads, declared, known, wishes)


def sections_of(pages: Sequence[Page]) -> list[Section]:
    """Return pages by the schema file that declares the first operator of each."""
    found: dict[str, list[Page]] = {}
    for page in pages:
        found.setdefault(page.where, []).append(page)
    return [
        Section(PurePosixPath(where).stem.replace("_", " ").capitalize() or "Other", tuple(own))
        for where, own in sorted(found.items())
    ]


def _order(packet: str) -> tuple[str, bool, str]:
    """Return the sort key of packets. Private packets come last."""
    namespace, _, name = packet.partition("::")
    return namespace, name.startswith("_"), name


def _plain(name: str) -> str:
    return name.partition("::")[2]


def _packet(functional: str, known: Collection[str]) -> str:
    """Return the packet of an operator: `aten::fill` for `aten::fill_.Scalar`, if it exists."""
    packet = functional.partition(".")[0]
    short = packet.removesuffix("_")
    return short if short in known and not packet.endswith("__") else packet


def _page(
    packet: str, file: str, overloads: Mapping[str, list[Facts]], declared: Mapping[str, Declared],
    known: Sequence[Mapping[str, str]], wishes: Wishes,
) -> Page:  # fmt: skip
    heads = [next((each for each in own if each["name"] == name), own[0]) for name, own in overloads.items()]
    docs = list(dict.fromkeys(each.get("doc", "") for each in heads))
    found = tuple(
        _overload(head, own, declared, known, wishes, len(docs) > 1)
        for head, own in zip(heads, overloads.values(), strict=True)
    )
    first, plain = heads[0], packet.partition("::")[2]
    gradients = {_gradient(each, declared.get(each["name"])) for each in heads}
    return Page(
        file=file,
        title=plain,
        summary=cell(prose(first_sentence(first.get("doc", "")))),
        doc=prose(docs[0]) if len(docs) == 1 else "",
        signature=f"{plain}{first.get('packet', '(…)')}",
        where=first.get("where", "").rpartition(":")[0],
        backends=_backends(first),
        gradient=next((word for word in ("formula", "of its parts") if word in gradients), ""),
        overloads=found,
        run=prose(next((each["run"] for own in overloads.values() for each in own if each.get("run")), "")),
        differs=differences_of(
            [_plain(each["name"]) for own in overloads.values() for each in own], wishes.differences
        ),
        unasked=packet if wishes.gate and not any(each.gate.rows for each in found) else "",
    )


def _backends(facts: Facts) -> str:
    named = ", ".join(facts.get("backends", ()))
    return named or ("all, over other operators" if facts.get("composite") else "none yet")


def _gradient(facts: Facts, declared: Declared | None) -> str:
    if (declared is not None and declared.gradients) or facts.get("formulas"):
        return "formula"
    return "of its parts" if facts.get("composite") and not facts.get("backends") else "none"


def _overload(
    head: Facts, own: Sequence[Facts], declared: Mapping[str, Declared], known: Sequence[Mapping[str, str]],
    wishes: Wishes, has_docs: bool,
) -> Overload:  # fmt: skip
    said = declared.get(head["name"]) or Declared()
    names = {each["name"] for each in own}
    return Overload(
        title=head["name"].partition("::")[2],
        schemas=tuple(each["schema"] for each in (head, *(each for each in own if each is not head))),
        doc=prose(head.get("doc", "")) if has_docs else "",
        facts=tuple((word, cell(text)) for word, text in _facts(head, said, wishes) if text),
        gradients=said.gradients or of_package(head["name"], head.get("formulas", {}), wishes.notation),
        tangents=said.tangents,
        example=_example(head),
        table=tuple(
            (", ".join(keys), rule, _linked(where, wishes)) for keys, rule, where in head.get("table", ())
        ),
        gate=gate_table(own, known),
        findings=tuple(_known(each) for each in known if each["operator"] in names),
    )  # fmt: skip


def _known(finding: Mapping[str, str]) -> str:
    return f"{code([finding['operator']])}, {finding['property']}: {prose(finding['reason'])}"


def _facts(head: Facts, said: Declared, wishes: Wishes) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table of an overload."""
    yield "dtypes", dtypes_text(head.get("dtypes", ()))
    yield "backends", _backends(head)
    gradient = {"formula": "by a formula", "of its parts": "those of the operators that it calls", "none": "none"}
    without = f"; none of {code(said.without)}" if said.without else ""
    yield "gradients", gradient[_gradient(head, said)] + without
    is_composite = head.get("composite") and not head.get("backends")
    otherwise = "of the operators that it calls" if is_composite else "none"
    yield "tangents", "by a formula" if head.get("tangent") else otherwise
    yield "vmap", "by a rule" if head.get("batch") else (otherwise if is_composite else "sample by sample")
    rule, reason = head.get("rule", ""), head.get("reason", "")
    yield "dimensions", f"`{rule}`" + (f" ({reason})" if reason else "") if rule else reason
    text, cost = head.get("cost_text", ""), head.get("cost", "")
    yield "cost", "; of the example's arrays ".join(filter(None, (f"`{text}`" if text else "", cost)))
    yield from said.facts
    yield "values as", code([head.get("reference", "")])
    yield "tags", ", ".join(head.get("tags", ()))
    for keys, kernel in said.kernels:
        yield f"kernel ({keys})", code([kernel])
    for key, kernel, place in head.get("kernels", ()):
        if not said.kernels or place:
            yield f"source ({key})", f"{code([] if said.kernels else [kernel])} {_linked(place, wishes)}".strip()
    yield "declared", _linked(head.get("where", ""), wishes)


def _linked(place: str, wishes: Wishes) -> str:
    """Return a place in a file, as a link if the address of sources is known."""
    file, _, line = place.rpartition(":")
    if not wishes.source or not line.isdigit():
        return f"`{place}`" if place else ""
    return f"[`{place}`]({wishes.source.rstrip('/')}/{file}#L{line})"


def _example(head: Facts) -> str:
    """Return an executed call in the form of Python's prompt."""
    if not head.get("example"):
        return ""
    lines, output = head["example"]
    return "\n".join([*[f">>> {line}" for line in lines], *filter(None, [output])])
