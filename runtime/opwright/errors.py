"""Errors that a caller can make, one class each. Errors of schema files are the generator's `SchemaError`."""

from __future__ import annotations

from opwright_core.errors import (
    ArgumentError,
    AutogradError,
    ContractError,
    DispatchError,
    LibraryMissingError,
    RegistrationError,
)

__all__ = [
    "ArgumentError",
    "AutogradError",
    "ContractError",
    "DataDependentOutputError",
    "DispatchError",
    "DynamicOutputShapeError",
    "FakeKernelError",
    "GradcheckError",
    "GuardOnDataDependentError",
    "LibraryMissingError",
    "LinAlgError",
    "OpCheckError",
    "RegistrationError",
    "SchemaInferenceError",
]


class SchemaInferenceError(ValueError):
    """A function whose annotations say no schema. The message shows the parameter, and what would be right."""


class GradcheckError(RuntimeError):
    """`gradcheck` found a gradient that is wrong: of which output and input, where, and what the cause may be."""


class OpCheckError(Exception):
    """`opcheck` found an operator wrong; its cause is the test's own error."""


class FakeKernelError(RuntimeError):
    """A call on tensors without data that cannot be answered: real ones among them, other modes, a wrong result."""


class DataDependentOutputError(FakeKernelError):
    """A question for the data of a tensor that has none."""


class DynamicOutputShapeError(FakeKernelError):
    """A result whose shape depends on data that is not there."""


class GuardOnDataDependentError(RuntimeError):
    """A branch on a symbolic number whose value only data tells. The message says what is known, and what to do."""


class LinAlgError(RuntimeError):
    """A matrix that has no inverse or decomposition of the kind asked for, or an algorithm that did not converge."""
