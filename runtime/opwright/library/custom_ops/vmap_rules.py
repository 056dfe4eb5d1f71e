"""The rules that `register_vmap` keeps, by the names that they had here before `opwright.batching.tables` had them."""

from __future__ import annotations

from functools import partial
from typing import Final

from opwright.batching.tables import REGISTERED, VmapRule
from opwright.registering.rules import put_rule

__all__ = ["VmapRule", "add", "find"]

add: Final = partial(put_rule, REGISTERED)
find: Final = REGISTERED.find
