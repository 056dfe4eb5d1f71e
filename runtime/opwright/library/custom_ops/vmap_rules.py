"""The rules that `register_vmap` keeps, by the names that they had here before `opwright.batching.tables` had them."""

from __future__ import annotations

from typing import Final

from opwright.batching.tables import REGISTERED, VmapRule

__all__ = ["VmapRule", "add", "find"]

add: Final = REGISTERED.put
find: Final = REGISTERED.find
