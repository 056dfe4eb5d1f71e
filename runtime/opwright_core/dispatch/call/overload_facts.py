"""Facts that an operator tells of itself, under the names of PyTorch's OpOverload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright_core.dispatch.registry.entries import Entries
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey, KeySet
from opwright_core.names.late_imports import import_late

if TYPE_CHECKING:
    from opwright.inspection.function_schema import SchemaView
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.packets import Packet

__all__ = ["OverloadFacts", "QualifiedName"]


class QualifiedName(str):
    """The name of an operator, `aten::add.Tensor`: text that may also be called for itself, as PyTorch's is a method
    (`op.name()`)."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the name as a plain str."""
        return str(self)


class OverloadFacts(Entries):
    """The part of Operator that describes; Operator is the only class that derives from it."""

    __slots__ = ("_shown_schema",)

    if TYPE_CHECKING:
        namespace: str
        base: str
        overload: str
        declaration: str
        _shown_schema: SchemaView | None

    @property
    def schema(self) -> Any:
        """Return the parsed schema, an `opwright_codegen.schema.model.FunctionSchema`; parsed anew at each use."""
        return import_late("opwright.inspection.schema").parse(self.name + self.declaration)

    @property
    def _schema(self) -> SchemaView:
        """Return the schema as PyTorch shows it."""
        if self._shown_schema is None:
            view = import_late("opwright.inspection.function_schema").SchemaView
            self._shown_schema = view(self.schema, self.signature.defaults)
        return self._shown_schema

    @property
    def is_view(self) -> bool:
        """Whether the schema says that results share memory with arguments, none of which is written to."""
        return self._schema._is_view_op()

    @property
    def packet_name(self) -> str:
        """Return the qualified name without the overload's, `aten::add`."""
        return f"{self.namespace}::{self.base}"

    @property
    def siblings(self) -> dict[str, Operator]:
        """Return all overloads of the name, this one too, by overload name."""
        return registry.overloads[self.packet_name].operators

    @property
    def overloadpacket(self) -> Packet:
        """Return the packet of all overloads of the name."""
        from opwright_core.dispatch.call.packets import find_packet

        return find_packet(self.packet_name)

    _overloadpacket = overloadpacket

    @property
    def _name(self) -> str:
        return self.name

    @property
    def _namespace(self) -> str:
        return self.namespace

    @property
    def _opname(self) -> str:
        return self.base

    @property
    def _overloadname(self) -> str:
        return self.overload or "default"

    @property
    def __name__(self) -> str:
        return f"{self.base}.{self._overloadname}"

    def _can_decompose(self) -> bool:
        return self._decomposition() is not None

    def decompose(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator's CompositeImplicitAutograd kernel; return NotImplemented where it has none."""
        registration = self._decomposition()
        if registration is None:
            return NotImplemented
        handle = import_late("opwright.inspection.kernel_handles").KernelHandle
        return handle(self, DispatchKey.AutogradCPU, registration)(*args, **kwargs)

    def _decomposition(self) -> Any:
        with registry.lock:
            known = self.registrations.get(DispatchKey.CompositeImplicitAutograd)
            return known[-1] if known else None

    def has_kernel_for_any_dispatch_key(self, keyset: KeySet) -> bool:
        """Whether a kernel is registered for one of these runtime keys itself."""
        with registry.lock:
            return any(self.registrations.get(key) for key in keyset)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.base}.{self._overloadname}"
