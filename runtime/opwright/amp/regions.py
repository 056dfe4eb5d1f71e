"""Regions of autocast: the block, and decorator, `autocast`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opwright.amp.settings import SETTINGS, current, get_autocast_dtype, is_autocast_available, switch
from opwright.context_managers.blocks import ThreadBlock
from opwright.names.lazy_docstrings import wraps
from opwright_core.arrays.cuda_arrays import device_count
from opwright_core.arrays.dtypes import DType, as_dtype, bfloat16, float16
from opwright_core.keys import META
from opwright_core.state import MODES, active_modes

__all__ = ["autocast"]

Call = TypeVar("Call", bound=Callable[..., Any])
_SUPPORTED: Final = (bfloat16, float16)


class autocast(ThreadBlock):
    """A region, or a decorated function, in which operators on one device run in the dtype that suits each of them.

    Those that are safe and fast in a lower precision (`mm`, convolutions) cast their operands to `dtype`, which is
    bfloat16 on the CPU and float16 on CUDA unless another is given; those that need range (`exp`, sums, losses) cast
    them to float32; those of several tensors (`cat`) to the widest that they have. Float64 and integers stay. Casts are
    recorded. A cast of a float32 parameter is kept until the outermost region ends, unless `cache_enabled` is False.

    Regions nest; `enabled=False` switches autocast off within another. A region may be entered again, by several
    threads too, and holds for the thread that entered it. Warns, and does nothing, where there is no CUDA device or
    where the CPU does not cast to `dtype`. Raises ValueError for a device type that is no str, RuntimeError for one
    without autocast, TypeError for what is no dtype. Semantics: `torch.autocast`.
    """

    __slots__ = ("_cache_enabled", "_enabled", "device", "fast_dtype")
    _variables = (MODES, SETTINGS)
    device: str
    fast_dtype: DType

    if TYPE_CHECKING:

        def __enter__(self) -> autocast: ...

    def __init__(
        self, device_type: str, dtype: object = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        super().__init__()
        if not isinstance(device_type, str):
            raise ValueError(f"device_type is the name of a device, such as 'cpu'; got {device_type!r}")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"there is no autocast for the device type {device_type!r}")
        self.device = device_type.partition(":")[0]
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else as_dtype(dtype)
        self._cache_enabled = cache_enabled
        problem = _problem(self.device, self.fast_dtype) if enabled else None
        if problem is not None:
            warnings.warn(f"autocast({device_type!r}) does nothing: {problem}", stacklevel=2)
        self._enabled = bool(enabled) and problem is None

    def _switch_on(self) -> autocast:
        settings = current()
        keeps = settings.keeps_casts if self._cache_enabled is None else bool(self._cache_enabled)
        dtypes = {**settings.dtypes, self.device: self.fast_dtype}
        casts = {} if settings.casts is None else settings.casts
        SETTINGS.set(replace(settings, dtypes=dtypes, keeps_casts=keeps, casts=casts))
        switch(self.device, self._enabled)
        return self

    def __call__(self, function: Call) -> Call:
        """Return the function, run within the region. Raises TypeError for what cannot be called."""
        if not callable(function):
            raise TypeError(
                f"autocast decorates functions, and {type(function).__name__} cannot be called; as a block it is "
                "written: with opwright.autocast('cpu'): …"
            )

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"autocast({self.device!r}, dtype={self.fast_dtype}, enabled={self._enabled})"


def _problem(device_type: str, dtype: DType) -> str | None:
    """Return why a region cannot be, if so. Fake tensors claim devices that need not be there."""
    modes = active_modes()
    if device_type == "cuda" and not (modes is not None and modes.include & META) and not device_count():
        return "there is no CUDA device"
    if dtype not in _SUPPORTED:
        return f"it casts to {' or '.join(map(str, _SUPPORTED))}, not to {dtype}"
    return None
