"""Interop."""
class Exchangeable:
    __slots__ = ()
