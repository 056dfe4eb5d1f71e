"""ExecuTorch's lists: operators by name or schema, and the kernels of each."""

from __future__ import annotations

from opwright_codegen.documents.yaml_reader import MappingNode, SequenceNode, describe
from opwright_codegen.errors import shorten
from opwright_codegen.importing.shared_parts import Entries, Item, dispatch_of, scalar, words

__all__ = ["read_executorch"]


def read_executorch(document: SequenceNode, entries: Entries) -> None:
    """Add the operators of a list, with their kernels for all dtypes as those for the CPU."""
    for entry in document.items:
        values = {name: value for name, (_, value) in entry.pairs.items()} if isinstance(entry, MappingNode) else {}
        text = scalar(values.get("func")) or scalar(values.get("op"))
        if text is None:
            entries.hole(entry, None, f"an entry has 'op' or 'func': this is {describe(entry)} without")
            continue
        name = entries.add(Item(entry, text), tags=tuple(words(values.get("tags"))))
        if name is None:
            continue
        entries.gathered.implement_all(name, dispatch_of(values.get("dispatch")), entries.where(entry))
        kernels = values.get("kernels")
        for item in kernels.items if isinstance(kernels, SequenceNode) else ():
            pairs = item.pairs if isinstance(item, MappingNode) else {}
            kernel = scalar(pairs["kernel_name"][1]) if "kernel_name" in pairs else None
            if kernel is None:
                entries.hole(item, name, f"a kernel has 'kernel_name': this is {describe(item)} without")
            elif "arg_meta" in pairs and describe(pairs["arg_meta"][1]) != "nothing":
                problem = (
                    f"the kernel {shorten(kernel)!r} is for some dtypes or orders of dimensions alone: it is left out"
                )
                entries.hole(item, name, problem, "a kernel for some dtypes or orders of dimensions alone is left out")
            else:
                entries.gathered.implement(name, "CPU", kernel, entries.where(item))
