"""Indexing."""
class Indexable:
    __slots__ = ()
