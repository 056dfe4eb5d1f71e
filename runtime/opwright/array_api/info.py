"""Answers of the namespace to questions about itself."""

from __future__ import annotations

import opwright
from opwright.array_api.promotion import DTYPES, KINDS
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import DType, get_default_dtype, to_complex

__all__ = ["Info"]


class Info:
    """The results of `__array_namespace_info__()`."""

    __slots__ = ()

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return what arrays can do: be indexed by booleans, have shapes that depend on data, have 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device of arrays that are made without one."""
        return Device("cpu")

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """Return the dtypes of arrays that are made without one, by kind; they are the same on every device."""
        default = get_default_dtype()
        return {
            "real floating": default,
            "complex floating": to_complex(default),
            "integral": opwright.int64,
            "indexing": opwright.int64,
        }

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes by name: all, those of a kind, or of several. Raises ValueError for a kind that
        there is not."""
        if kind is None:
            return dict(DTYPES)
        kinds = (kind,) if isinstance(kind, str) else kind
        for each in kinds:
            if each not in KINDS:
                raise ValueError(f"dtypes: expected kinds of these: {', '.join(KINDS)}; but got {each!r}")
        return {name: dtype for name, dtype in DTYPES.items() if any(name in KINDS[each] for each in kinds)}

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that there are here."""
        from opwright import cuda

        return (Device("cpu"), *(Device("cuda", index) for index in range(cuda.device_count())))
