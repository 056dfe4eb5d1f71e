"""The gathering of what readers find: definitions, the kernels of each, and holes, joined by the operators' names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opwright_codegen.errors import SchemaError, shorten
from opwright_codegen.importing.found import Findings, FoundOperator, Hole
from opwright_codegen.importing.known import known_schema
from opwright_codegen.records import dataclass, field
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.schema.names import DISPATCH_KEYS, PYTORCHS, default_kernel_name
from opwright_codegen.source import Source
from opwright_codegen.sources.cpp_signatures import Callee, Signatures

__all__ = ["Gathered"]

_WORD = r"[A-Za-z_][A-Za-z0-9_]*+"
_KERNEL = re.compile(rf"(?!(?:None|True|False)\Z){_WORD}(?:::{_WORD}){{0,3}}")
_OLD_KEYS = {"CatchAll": "CompositeImplicitAutograd"}


@dataclass(slots=True)
class _Definition:
    schema: FunctionSchema
    text: str
    where: str
    tags: tuple[str, ...]
    dispatch: dict[str, str] = field(default_factory=dict)


class Gathered:
    """Operators and holes, in the order in which they were found. A kernel may be found before its operator.

    `signatures` are the C++ functions whose types are schemas of operators that are registered without one. The names
    in `callees` are the functions that they must know: a first reading, without signatures, collects them.
    """

    def __init__(self, signatures: Signatures | None = None) -> None:
        self.callees: set[str] = set()
        self._signatures = signatures
        self._suggested: dict[
            str, Callee | str
        ] = {}  # signatures of kernels, by the operator, and schemas without names
        self._defined: dict[str, _Definition] = {}
        self._kernels: list[tuple[str, str, str, str]] = []
        self._holes: list[Hole] = []
        self._explained: set[str] = set()  # what has no schema, which is said already

    def __len__(self) -> int:
        return len(self._defined) + len(self._kernels) + len(self._holes)

    def hole(
        self, where: str, operator: str | None, problem: str, hint: str | None = None, kind: str | None = None
    ) -> None:
        """Add a hole. Where it is about an operator without a definition, its kernels make no further one."""
        if operator is not None:
            self._explained.add(operator)
            operator = shorten(" ".join(operator.split()))
        self._holes.append(Hole(where, operator, problem, hint, kind))

    def define(self, text: str, namespace: str | None, where: str, tags: tuple[str, ...] = ()) -> str | None:
        """Add an operator by the text of its schema, in `namespace` where it names none; its name.

        What is no schema, or contradicts an earlier one, is a hole.
        """
        text = text.strip()
        name = text.partition("(")[0].strip()
        if "::" not in name and namespace is not None:
            text, name = f"{namespace}::{text}", f"{namespace}::{name}"
        own = name.rpartition("::")[0]
        if not own or namespace not in (None, own):
            problem = f"the library is that of the namespace {namespace!r}" if own else "its namespace is not said"
            self.hole(where, name, problem, "write one before the name that is that of the library: my_ops::name(…)")
            return None
        try:
            schema = FunctionSchema.parse(text)
        except SchemaError as error:
            self.hole(where, name, error.message, error.hint, "its schema cannot be read")
            return None
        if " ".join(text.split()) != text:
            text = str(schema)  # lines of a source are none of a schema file
        name = str(schema.name)
        first = self._defined.setdefault(name, _Definition(schema, text, where, tags))
        if str(first.schema) != str(schema):
            hint = "the first is taken: leave one, or give one of them another overload name"
            problem = f"its schema differs from that of {first.where}"
            self.hole(where, name, problem, hint, "its schema differs from an earlier one")
        return name

    def define_inferred(self, name: str, callee: Callee | None, where: str, tags: tuple[str, ...] = ()) -> str | None:
        """Add an operator by the signature of its C++ function; its name, or None and a hole."""
        schema, problem = self._inferred(callee)
        if schema is not None:
            return self.define(name + schema, None, where, tags)
        hint = "write it; opwright import torch NAMESPACE --load MODULE reads what is loaded"
        kind = "its schema cannot be inferred from C++"
        self.hole(where, name, f"{kind}: {problem}", hint, kind)
        return None

    def is_declared_in(self, source: Source) -> bool:
        """Whether a source declares functions whose types are schemas."""
        return self._signatures is not None and source.path in self._signatures.paths

    def suggest(self, name: str, signature: Callee | str | None) -> None:
        """Note the signature of a kernel, or its schema without a name: the operator's own where no other is found."""
        if signature is not None:
            self._suggested.setdefault(name, signature)
            if isinstance(signature, Callee):
                self.callees.update(signature.path[-1:])

    def _inferred(self, signature: Callee | str | None) -> tuple[str | None, str]:
        """Return a schema without a name, or the problem why there is none."""
        if signature is None or isinstance(signature, str):
            return signature, "its function is given as an expression"
        self.callees.update(signature.path[-1:])
        return (None, "") if self._signatures is None else self._signatures.schema(signature)

    def _define_suggested(self, name: str, where: str) -> bool:
        """Add an operator by a signature of its kernels. False, and perhaps a hole, where none can be a schema."""
        if name not in self._suggested or name in self._explained or name.startswith(f"{PYTORCHS}::"):
            return False
        schema, problem = self._inferred(self._suggested[name])
        if schema is not None:
            return self.define(name + schema, None, where) is not None
        kind = "no schema of it is in the files or known here"
        self.hole(where, name, f"{kind}: {problem}", "write it, as the project that defines the operator has it", kind)
        return False

    def define_known(self, name: str, where: str) -> bool:
        """Add an operator of PyTorch by its name alone. False, and a hole, for one whose schema is not known here."""
        if name in self._defined:
            return True
        schema = known_schema(name)
        if schema is not None:
            self._defined[name] = _Definition(schema, str(schema), where, ())
        elif name not in self._explained:
            hint = "write it, as PyTorch's native_functions.yaml or the project that defines the operator has it"
            self.hole(where, name, "no schema of it is in the files or known here", hint)
        return schema is not None

    def is_defined(self, name: str) -> bool:
        """Whether an operator of this qualified name was found."""
        return name in self._defined

    def kernel_name(self, name: str) -> str:
        """Return what torchgen calls the kernel of an operator that is defined."""
        return default_kernel_name(self._defined[name].schema)

    def implement(self, name: str, key: str, kernel: str, where: str) -> None:
        """Add the kernel of an operator, which may be defined later. A key that there is not is a hole."""
        key = _OLD_KEYS.get(key, key)
        if key not in DISPATCH_KEYS:
            problem = f"{shorten(key)!r} is no dispatch key: the kernel of {shorten(name)} is left out"
            self.hole(where, None, problem, kind="no such dispatch key")
        elif not _KERNEL.fullmatch(kernel):
            problem = f"its kernel for {key} is no name that a schema file takes: {shorten(kernel)!r}"
            hint = "name the kernel in the schema file"
            self.hole(where, name, problem, hint, "its kernel is no name that a schema file takes")
        else:
            self._kernels.append((name, key, kernel, where))

    def implement_all(self, name: str, kernels: Mapping[str, str], where: str) -> None:
        """Add kernels of an operator, by their keys."""
        for key, kernel in kernels.items():
            self.implement(name, key, kernel, where)

    def findings(self) -> Findings:
        """Return all that was found. Of two kernels for one key the first is taken."""
        for name, key, kernel, where in self._kernels:
            if name in self._defined or self._define_suggested(name, where) or self.define_known(name, where):
                self._defined[name].dispatch.setdefault(key, kernel)
        self._kernels.clear()
        for name, each in self._defined.items():
            self._leave_out_default(name, each)
        found = [FoundOperator(each.text, each.where, each.dispatch, each.tags) for each in self._defined.values()]
        return Findings(tuple(found), tuple(self._holes))

    def _leave_out_default(self, name: str, defined: _Definition) -> None:
        """Drop a composite kernel that is the only one: an entry without `dispatch` has it, by the operator's name."""
        kernel = defined.dispatch.get("CompositeImplicitAutograd", "")
        if len(defined.dispatch) != 1 or not kernel.isidentifier() or "_symint" in kernel:
            return
        defined.dispatch.clear()
        expected = default_kernel_name(defined.schema)
        if kernel != expected:
            problem = (
                f"its kernel is {shorten(kernel)!r}, where a schema file has {expected!r} of what it decomposes to"
            )
            self.hole(defined.where, name, problem, "rename the kernel", "its only kernel has another name")
