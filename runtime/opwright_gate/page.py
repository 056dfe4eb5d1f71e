"""The entries of the page on the gate, by `python -m opwright_gate.page`: each property, with an example and a mend."""

from __future__ import annotations

import sys

from opwright_gate.properties import PROPERTIES

__all__ = ["entries"]


def entries() -> str:
    """Return the entries of all properties, in Markdown."""
    parts, group = [], ""
    groups = list(dict.fromkeys(each.group for each in sorted(PROPERTIES, key=lambda each: each.group == "state")))
    for each in sorted(PROPERTIES, key=lambda each: groups.index(each.group)):
        if each.group != group:
            group = each.group
            parts.append(f"### {group.capitalize()}\n")
        parts.append(
            f"**`{each.name}`**: {_small(each.title)}. Finds: {_small(each.finds)}\n\n"
            f"```{_language(each.example)}\n{each.example}\n```\n\n{each.mend}\n"
        )
    return "\n".join(parts)


def _small(text: str) -> str:
    return text[0].lower() + text[1:] if not text.startswith("None") and not text.startswith("vmap") else text


def _language(example: str) -> str:
    return "c" if example.rstrip().endswith((";", "}")) or "; i" in example else "python excerpt"


if __name__ == "__main__":
    sys.stdout.write(entries())
