"""The functions of `torch.linalg`: operators `linalg_*`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from opwright.errors import LinAlgError
from opwright.facade import missing_from as _missing_from
from opwright_aten.functions.linalg import *  # noqa: F403
from opwright_aten.functions.linalg import __all__ as _functions

__all__ = ["LinAlgError", *_functions]

if not _TYPE_CHECKING:  # type checkers know the names
    __getattr__ = _missing_from(__name__, __all__)
