"""The block of `CustomOpDef.set_kernel_enabled`."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from opwright_core.dispatch.registry.tables import registry

if TYPE_CHECKING:
    from opwright.library.custom_ops.definition import CustomOpDef

__all__ = ["KernelSwitch"]


class KernelSwitch:
    """A block of `set_kernel_enabled`."""

    def __init__(self, definition: CustomOpDef[..., Any], device_type: str, enabled: bool) -> None:
        self._definition, self._device_type, self._enabled = definition, device_type, enabled
        self._before = 0

    def __enter__(self) -> None:
        definition = self._definition
        definition._warn_of_no_change(self._device_type, self._enabled)
        before = None
        try:  # (Note [Interrupted blocks]: under the lock none comes)
            with registry.lock:
                before = self._before = definition._disabled.get(self._device_type, 0)
                definition._set_disabled(self._device_type, 0 if self._enabled else before + 1)
        except BaseException:
            if before is not None:
                self._put_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._put_back()
        except BaseException:
            self._put_back()
            raise

    def _put_back(self) -> None:
        with registry.lock:
            self._definition._set_disabled(self._device_type, self._before)
