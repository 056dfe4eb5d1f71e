"""The parts that a declared set consists of: their types, and what can be asked of them. Targets import these."""

from __future__ import annotations

from opwright_codegen.derivatives.derivative import (
    DEFAULT_KEY,
    Derivative,
    DerivativeSet,
    Differentiability,
    ForwardDerivative,
    ForwardKind,
    Saved,
)
from opwright_codegen.kernel_choices.bind import (
    BACKENDS,
    Binding,
    DeviceKernel,
    Elsewhere,
    FunctionalOf,
    Inline,
    Jitted,
    Looped,
    Named,
    Native,
    Torch,
    Unbound,
    VariantOf,
    backend_bindings,
    composite_bindings,
    result_formulas,
)
from opwright_codegen.kernel_choices.cuda import SUFFIXES, CudaKernel
from opwright_codegen.kernel_choices.family_calls import At, Family, Value
from opwright_codegen.kernel_choices.foreign_kernels import TritonLaunch
from opwright_codegen.kernel_choices.metas import Meta, Plans, ViewOf
from opwright_codegen.kernel_choices.shardings import Sharding
from opwright_codegen.kernel_choices.signatures import FunctionKernel, NativeArgument, NativeResult
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.read.autocast import DTYPE, dtype_overload, takes_dtype
from opwright_codegen.read.autogen import IMPLIED_TAGS
from opwright_codegen.read.docs import COPIES, IN_PLACE
from opwright_codegen.read.functions import OTHER_OPERATORS, REDUCTION, REDUCTION_FLAGS, TAKEN
from opwright_codegen.read.model import (
    RESIZING,
    Launch,
    OldForm,
    Operator,
    OperatorGroup,
    OperatorSet,
    PythonFunction,
)

__all__ = [
    "BACKENDS",
    "COPIES",
    "DEFAULT_KEY",
    "DTYPE",
    "IMPLIED_TAGS",
    "IN_PLACE",
    "OTHER_OPERATORS",
    "REDUCTION",
    "REDUCTION_FLAGS",
    "RESIZING",
    "SUFFIXES",
    "TAKEN",
    "At",
    "Binding",
    "CudaKernel",
    "Derivative",
    "DerivativeSet",
    "DeviceKernel",
    "Differentiability",
    "Elsewhere",
    "Family",
    "ForwardDerivative",
    "ForwardKind",
    "FunctionKernel",
    "FunctionalOf",
    "Inline",
    "Jitted",
    "KernelFunction",
    "KernelModules",
    "Launch",
    "Looped",
    "Meta",
    "Named",
    "Native",
    "NativeArgument",
    "NativeResult",
    "OldForm",
    "Operator",
    "OperatorGroup",
    "OperatorSet",
    "Plans",
    "PythonFunction",
    "Saved",
    "Sharding",
    "Torch",
    "TritonLaunch",
    "Unbound",
    "UsedPackage",
    "Value",
    "VariantOf",
    "ViewOf",
    "backend_bindings",
    "composite_bindings",
    "dtype_overload",
    "result_formulas",
    "takes_dtype",
]
