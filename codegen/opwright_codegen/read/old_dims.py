"""The keys `batch`, `blocks`, `sharding` and `linear`, which `dims` has replaced: an entry with them as it says `dims`.

They are read as they were. `opwright fmt` writes `dims` in their place, and `opwright lint` names them (`old-dims`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from opwright_codegen.documents.nodes import read_scalar, text_span
from opwright_codegen.documents.yaml_reader import Node
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.dims import Dims, parse_dims
from opwright_codegen.source import Source, Text

__all__ = ["OLD_KEYS", "converted", "read_old_dims"]

OLD_KEYS: Final[tuple[str, ...]] = ("batch", "blocks", "sharding", "linear")
_PRODUCT: Final = re.compile(r"""product\((["'])([^"']*)\1""")


def converted(old: Mapping[str, str]) -> str:
    """Return the value of `dims` that says what these keys say, by name."""
    batch, blocks, sharding, linear = (_spaced(old.get(key, "")) for key in OLD_KEYS)
    is_family = "(" in batch
    rule, _, kinds = sharding.partition(";")
    words = [kinds.strip()] if kinds.strip() else []
    if linear:
        words.append(f"linear({linear})")
    if not sharding and not blocks and is_family:
        rule = batch
        words.append("batched")
    elif batch:
        words.append(_batched(batch, rule))
    if blocks and sharding:
        words.append(f"cut by {blocks}")
    elif blocks:
        rule = blocks
    return "; ".join(filter(None, (rule.strip(), ", ".join(words))))


def read_old_dims(nodes: Mapping[str, Node], source: Source) -> Dims:
    """Read these keys of an entry. Raises SchemaErrors."""
    scalars = {key: read_scalar(node, source) for key, node in nodes.items()}
    first = text_span(next(iter(scalars.values())), source)
    text = converted({key: scalar.text for key, scalar in scalars.items()})
    try:
        return parse_dims(Text(text, first))
    except SchemaError:
        message = f"{', '.join(map(repr, nodes))}: these keys are one now, which would say {text!r}"
        raise SchemaError("old-dims", message, first, "write 'dims', as docs/dims.md has it") from None


def _batched(batch: str, rule: str) -> str:
    """Return the words that say how batches are computed; the names of a rule say it if all operands have as many."""
    pairs = re.findall(r"\((\w+), (\d+)\)", batch)
    groups = [group.split() for group in rule.partition("->")[0].split(",")] if "->" in rule else []
    if batch.startswith("leading(") and len(pairs) == len(groups):
        cores = [sum(name != "..." for name in group) for group in groups]
        if any(cores) and cores == [int(core) for _, core in pairs] and "*" not in rule:
            return "batched"
    return f"batched by {batch}"


def _spaced(text: str) -> str:
    """Return a value on one line, with the signature of a product in the notation of `dims`."""
    return _PRODUCT.sub(lambda found: f'product("{_names(found[2])}"', " ".join(text.split()))


def _names(signature: str) -> str:
    """Return `(m,k),(k,n)->(m,n)` as `m k, k n -> m n`."""
    sides = [re.findall(r"\(([^()]*)\)", side) for side in signature.split("->")]
    return " -> ".join(", ".join(" ".join(group.split(",")).strip() or "()" for group in side) for side in sides)
