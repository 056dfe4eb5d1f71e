"""Whether operators keep to their contracts: `opcheck` with given arguments, `opcheck_all` with drawn ones."""

from opwright.testing.checking.running import opcheck

__all__ = ["opcheck"]
