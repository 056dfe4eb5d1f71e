"""Contents of a library: its operators and kernels, and the namespace that it owns, to be taken back together."""

from __future__ import annotations

from typing import Final

from opwright.namespaces import forget
from opwright.registering.kernels import undefine
from opwright.registering.lost import lost_kernels, lost_operators
from opwright.registering.removing import Removable, remove_all
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.source_locations import Place, place_text

__all__ = ["Contents"]

_definers: Final[dict[str, Contents]] = {}  # of the DEF library of each namespace


class Contents:
    """The things that a library added; apart from it, so that they can be taken back when the library is garbage."""

    def __init__(self, ns: str, is_definer: bool, where: Place) -> None:
        registry.check_held()
        self.ns = ns
        self.is_definer = is_definer
        self.where = where
        self.operators: list[Operator] = []
        self.handles: list[Removable] = []
        self.is_destroyed = False

    def claim(self) -> None:
        """Take the namespace, if this is a DEF. Raises RegistrationError for one that is owned."""
        registry.check_held()
        if not self.is_definer:
            return
        known = _definers.get(self.ns)
        if known is not None and self.where.is_rerun_of(known.where):
            known.take_back()
            known = None
        earlier = place_text(registry.generated_namespaces.get(self.ns, "")) or (known and known.where)
        if earlier:
            raise RegistrationError(
                f"only one Library can be the DEF of namespace {self.ns}: the first was made at {earlier}, this one "
                f"at {self.where}; make it a FRAGMENT to add to it"
            )
        _definers[self.ns] = self

    def undo(self, made: Operator | None, known: Operator | None) -> None:
        """Take back the operator of a definition that was interrupted; not the one that was there before it."""
        registry.check_held()
        if made is not None and made is not known:
            undefine(made)
            if made in self.operators:
                self.operators.remove(made)

    def take_back(self) -> None:
        """Remove everything, newest first."""
        with registry.lock:
            self.is_destroyed = True
            remove_all(self.handles)
            while self.operators:
                operator = self.operators[-1]
                undefine(operator)
                operator.straight_stub = operator.renderer = None  # the stub holds the operator, which holds it
                forget(operator.namespace, operator.base)
                self.operators.pop()
            if self.is_definer and _definers.get(self.ns) is self:
                del _definers[self.ns]

    def collect(self) -> None:
        """Remove everything, for a library that nobody holds any more; errors about what is missing will say so."""
        with registry.lock:
            defined = list(self.operators)
            served = [handle.name for handle in self.handles if handle.name is not None]
            self.take_back()
            for operator in defined:
                lost_operators.note(self.where, operator.packet_name, operator.name)
            for name in served:
                if name in registry.operators:
                    lost_kernels.note(self.where, name)
