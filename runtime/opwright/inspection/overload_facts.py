"""Facts that an operator tells of itself, under the names of PyTorch's OpOverload: importing this has it do so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from opwright.native_kernels.ufuncs import ufunc_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet, find_packet
from opwright_core.dispatch.call.plain_arrays import call_with_arrays
from opwright_core.dispatch.registry.entries import QualifiedName
from opwright_core.dispatch.registry.kernel_kinds import Registration, UserKernel, as_key
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey
from opwright_core.keysets import KeySet
from opwright_core.names.late_imports import import_late

if TYPE_CHECKING:
    from opwright.inspection.function_schema import SchemaView

__all__ = ["OverloadFacts", "QualifiedName", "names"]

Kernel = Callable[..., Any]


class OverloadFacts(Operator):
    """The facts that importing this installs on Operator: there is no instance."""

    __slots__ = ()

    @property
    def schema(self) -> Any:
        """Return the parsed schema, an `opwright_codegen.schema.model.FunctionSchema`; parsed anew at each use."""
        return import_late("opwright.inspection.schema").parse(self.name + self.declaration)

    @property
    def _schema(self) -> SchemaView:
        """Return the schema as PyTorch shows it."""
        try:
            found: SchemaView = object.__getattribute__(self, "_shown_schema")
        except AttributeError:
            view = import_late("opwright.inspection.function_schema").SchemaView
            found = self._shown_schema = view(self.schema, self.signature.defaults)
        return found

    @property
    def kwarg_only(self) -> int | None:
        """Return the position of the first argument that is keyword-only; None where none is."""
        return next((place for place, each in enumerate(self.arguments) if each.is_keyword_only), None)

    @property
    def is_view(self) -> bool:
        """Whether the schema says that results share memory with arguments, none of which is written to."""
        return self._schema._is_view_op()

    @property
    def siblings(self) -> dict[str, Operator]:
        """Return all overloads of the name, this one too, by overload name."""
        return registry.overloads[self.packet_name].operators

    @property
    def overloadpacket(self) -> Packet:
        """Return the packet of all overloads of the name."""
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
    def ufunc(self) -> np.ufunc:
        """Return NumPy's ufunc of the loops in C of an expression. Raises AttributeError for an operator without."""
        return ufunc_of(self)

    def cost(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a call costs, an `opwright.utils.flop_counter.Cost`; of arrays, shapes and dtypes are asked."""
        return import_late("opwright.cost.parts").cost(self, *args, **kwargs)

    def redispatch(self, keyset: KeySet | int, /, *args: Any, **kwargs: Any) -> Any:
        """Call with these keys, whatever the arguments and modes say; what only describes tensors is read off them."""
        bound = import_late("opwright_core.inputs.calls").with_tensors(self, self.signature.bind(args, kwargs))
        return call_with_arrays(self, bound, keyset.bits if isinstance(keyset, KeySet) else keyset)

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

    def py_impl(self, key: DispatchKey | str, /) -> Callable[[Kernel], Kernel]:
        """Decorate a function on Tensors: the kernel of `key` in blocks of `dispatch.enable_python_dispatcher()`.

        There it replaces whatever else is registered for the key, by the same rules; elsewhere it is not
        seen. Raises RegistrationError for an unknown key and for one that has such a kernel, TypeError for what cannot
        be called.
        """
        found = as_key(key)

        def register(function: Kernel) -> Kernel:
            if not callable(function):
                raise TypeError(f"a kernel must be callable, got {type(function).__name__} {function!r}")
            code = getattr(function, "__code__", None)
            where = "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
            registration = Registration(found, UserKernel(function), where)
            with registry.lock:
                known = self.py_kernels.setdefault(found, registration)
                if known is not registration:
                    raise RegistrationError(
                        f"{self.name} has a Python kernel for {known.key_name} already"
                        f"{', ' + known.where if known.where else ''}: py_impl does not replace it"
                    )
                self.forget_table()
            return function

        return register

    def has_kernel_for_dispatch_key(self, key: DispatchKey | str) -> bool:
        """Whether a kernel is registered for the key itself. Raises RegistrationError for an unknown key."""
        found = as_key(key)
        with registry.lock:
            return bool(self.registrations.get(found))

    def has_kernel_for_any_dispatch_key(self, keyset: KeySet) -> bool:
        """Whether a kernel is registered for one of these runtime keys itself."""
        with registry.lock:
            return any(self.registrations.get(key) for key in keyset)


names = frozenset([name for name in vars(OverloadFacts) if not name.startswith("__")])
for _name in names:
    setattr(Operator, _name, vars(OverloadFacts)[_name])
