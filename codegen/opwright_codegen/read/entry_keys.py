"""The table of the keys of an entry: how each is read, laid out, checked by editors, changed by mutants, and described.

A new key is a record here, and a field of `Operator` with its use.
"""

from __future__ import annotations

from typing import Final

from opwright_codegen.documents.nodes import one_of
from opwright_codegen.read import key_formats as formats
from opwright_codegen.read import values
from opwright_codegen.read.autocast import read_autocast
from opwright_codegen.read.dims import read_dims
from opwright_codegen.read.functions import read_functions
from opwright_codegen.read.key_formats import Form, Key, Mutants
from opwright_codegen.read.launch import read_launch
from opwright_codegen.read.native import CONVENTIONS, read_convention, read_dtype_of, read_dtypes
from opwright_codegen.read.versions import read_deprecated, read_release, read_upgrades

__all__ = ["KEYS", "names_where"]

_KEYS: Final = (
    # In the order of `opwright fmt`: identity, variants, metadata, implementation.
    Key(
        "func",
        None,
        formats.text(pattern="^[^(]+\\([\\s\\S]*\\)\\s*->"),
        "The schema: namespace::name.overload(arguments) -> returns. The namespace is the project's own; without "
        "one it is that of the settings.",
        field="schema",
        form=Form.SCHEMA,
    ),
    Key(
        "doc",
        values.read_doc,
        formats.TEXT,
        "The docstring of the functions and stubs: one line, and after an empty line any number of lines.",
        mutants=Mutants.LEAVE_OUT,
    ),
    Key("since", read_release, formats.text(examples=["1.2"]), "The first release that has the operator."),
    Key(
        "deprecated",
        read_deprecated,
        formats.DEPRECATED,
        "Calls warn: since which release, the replacement, and a message.",
    ),
    Key(
        "upgrade",
        read_upgrades,
        formats.UPGRADE,
        "How to write a call of a former version today: a line for each version from 2 on, which is a call of "
        "that version with arguments of the version before.",
    ),
    Key(
        "python_module",
        values.read_module,
        formats.TEXT,
        "The Python module of the function, such as linalg: it has the operator linalg_det as det.",
        mutants=Mutants.LEAVE_OUT,
    ),
    Key(
        "functions",
        read_functions,
        formats.FUNCTIONS,
        "Functions of Python modules that call the operator: 'nn.soft' is the operator under this name; "
        "'nn.soft(x, limit=0.5): The docstring.' has parameters and defaults of its own.",
        mutants=Mutants.LEAVE_OUT,
    ),
    Key(
        "tags",
        None,
        formats.ONE_OR_MORE,
        "Known properties of the operator: one tag or a list, each from the tags file.",
    ),
    Key(
        "variants",
        values.read_variants,
        formats.text(
            pattern="^\\s*(function|method)\\s*(,\\s*(function|method)\\s*)?$",
            examples=["function", "method", "function, method"],
        ),
        "Where callers find the operator: as a function, as a method of Tensor, or both. Default: function.",
        form=Form.WORDS,
        mutants=Mutants.LEAVE_OUT,
    ),
    Key(
        "device_check",
        one_of("device check", ("NoCheck", "ExactSame")),
        formats.text(enum=["NoCheck", "ExactSame"]),
        "Whether all tensors must be on one device. NoCheck: they may be on several.",
    ),
    Key(
        "device_guard",
        values.read_boolean,
        formats.BOOLEAN,
        "Whether the device of the first tensor becomes the current device. Without effect outside C++.",
    ),
    Key(
        "category_override",
        values.read_identifier,
        formats.TEXT,
        "The category of the operator in PyTorch's Python bindings. Without effect here.",
    ),
    Key(
        "manual_kernel_registration",
        values.read_boolean,
        formats.BOOLEAN,
        "The kernels are registered by hand. Without effect outside C++.",
    ),
    Key(
        "manual_cpp_binding",
        values.read_boolean,
        formats.BOOLEAN,
        "The C++ function is written by hand; autogen leaves the operator alone.",
    ),
    Key(
        "cpp_no_default_args",
        values.read_strings,
        formats.TEXTS,
        "Arguments that have no default in the C++ function. Without effect outside C++.",
    ),
    Key(
        "use_const_ref_for_mutable_tensors",
        values.read_boolean,
        formats.BOOLEAN,
        "How C++ passes tensors that the operator writes. Without effect outside C++.",
    ),
    Key(
        "structured",
        values.read_boolean,
        formats.BOOLEAN,
        "On an out variant: its kernel and its shape function serve the whole group.",
        mutants=Mutants.UNFIT,
    ),
    Key(
        "structured_delegate",
        values.read_operator_name,
        formats.text(examples=["add.out"]),
        "On the other variants of a structured group: the name of the out variant, without namespace.",
        mutants=Mutants.UNFIT,
    ),
    Key(
        "structured_inherits",
        values.read_identifier,
        formats.TEXT,
        "The C++ class that the shape function of a structured operator inherits from. Without effect here.",
    ),
    Key(
        "autocast",
        read_autocast,
        formats.AUTOCAST,
        "How autocast regions cast the operator's tensors, on all devices or on CPU and CUDA each. "
        "lower_precision: to the region's dtype; float32; float32_dtype: float32 as the dtype argument; promote: "
        "to the widest dtype among them; unchanged: neither they nor the tensors of inner calls; 'banned: what to "
        "call instead'.",
    ),
    Key(
        "autogen",
        values.read_operator_names,
        formats.text(examples=["add.out", "add_.Tensor, add.out"]),
        "Variants to make from this entry, separated by commas.",
        form=Form.WORDS,
        mutants=Mutants.LEAVE_OUT,
    ),
    Key(
        "variant_tags",
        None,
        formats.mapping(formats.ONE_OR_MORE),
        "The tags of made variants, by the names of the variants: {add.out: pointwise}. They replace 'generated' "
        "and the tags that variants keep.",
        mutants=Mutants.LEAVE_OUT,
    ),
    Key(
        "kernel",
        values.read_text,
        formats.text(examples=["self + alpha * other", "where(self > 0, self, slope * self)", "exp(-self * self)"]),
        "One expression over arguments and numbers, element by element. It gives kernels for CPU and CUDA, loops "
        "in C, 'meta' and the derivative.",
        field="expression",
        mutants=Mutants.CHANGE,
    ),
    Key(
        "meta",
        values.read_text,
        formats.TEXT,
        "The metadata of the outputs, without data: pointwise(self, other), reduce(self, dim, keepdim), "
        "gufunc(…), view, or package.module:function.",
        mutants=Mutants.CHANGE,
    ),
    Key(
        "dims",
        read_dims,
        formats.text(
            examples=[
                "n d, m d -> n m; d sum, linear(a, b)",
                "... n -> ... n; n whole, batched",
                "along(self, dim=dim); batched",
                "windows(self, dim=-1, before=radius, after=radius); batched by leading((self, 1))",
                "whole, since positions may be anywhere",
                "my_project.rules:my_rule; batched by my_project.batching:my_rule",
            ]
        ),
        "The dimensions of operands and results, if they do not follow from 'meta': their names, a family that stands "
        "for names, such as along(self, dim=dim), a function rule(shapes, values), or 'whole, since …' if nothing is "
        "cut. After a ';' the kinds of dimensions that are not parallel (sum, max, min, again, whole, window(before, "
        "after)), 'linear(a, b)' for tensors of which partial sums may pass, 'batched' if vmap computes batches by the "
        "same rule, 'batched by' a family or a function rule(info, in_dims, *args), 'cut by' a family.",
        mutants=Mutants.CHANGE,
    ),
    Key(
        "cost",
        values.read_text,
        {
            "oneOf": [{"type": "string"}, {"type": "integer"}],
            "examples": ["3 * n * m * d", "5 * numel(result), transcendentals=numel(result)", "0, read=nbytes(result)"],
        },
        "The cost of a call, if it does not follow from the dimension rule, an expression or the operators that "
        "the kernel calls: operations (a multiply-add counts 2), then transcendentals, read and written (bytes) "
        "by name. Over names of dimensions (of 'dims' or gufunc), arguments that are numbers, numel(x), "
        "size(x, dim), nbytes(x), …",
        mutants=Mutants.LEAVE_OUT,
    ),
    Key(
        "precomputed",
        values.read_precomputed,
        formats.TEXTS,
        "Values that the shape function hands to the kernel: 'argument -> type name, type name' replaces an "
        "argument; a last line of 'type name, …' adds some.",
        mutants=Mutants.UNFIT,
    ),
    Key(
        "ufunc_inner_loop",
        values.read_ufunc_loops,
        {"oneOf": [formats.TEXT, formats.mapping(formats.TEXT)]},
        "The scalar function of a pointwise operator and its dtypes: 'add (AllAndComplex, Half)', alone or by "
        "ufunc key.",
        mutants=Mutants.UNFIT,
    ),
    Key(
        "dispatch",
        values.read_dispatch,
        formats.mapping({"type": ["string", "number", "boolean"]}),
        "The kernel for each dispatch key; several keys share a line: 'CPU, CUDA: my_kernel'. A kernel is a name, "
        "a path (package.module:function, native:name, raw:file.cu::name), or an expression over xp and the "
        "arguments. Without this key: CompositeImplicitAutograd.",
        mutants=Mutants.CHANGE,
    ),
    Key(
        "convention",
        read_convention,
        formats.text(enum=list(CONVENTIONS)),
        "How the functions of a kernel in C or CUDA ('native:…', 'raw:…', 'nvcc:…') are called. elementwise: the "
        "same number of elements of each array; contiguous: shapes, too; strided: shapes and strides. parallel, "
        "alone for elementwise or before another word: on a range, in several threads at once.",
        mutants=Mutants.UNFIT,
    ),
    Key(
        "dtypes",
        read_dtypes,
        formats.one_or_more("float32, float64", "int64"),
        "The dtypes for which a kernel in C or CUDA ('native:…', 'raw:…', 'nvcc:…') has a function, or an "
        "expression of 'kernel' a loop: 'float32, float64', or a list.",
    ),
    Key(
        "dtype_of",
        read_dtype_of,
        formats.mapping(formats.TEXT, minProperties=1),
        "Tensor arguments and results of a kernel in C or CUDA ('native:…', 'raw:…', 'nvcc:…') that always have "
        "one dtype: {target: int64}.",
    ),
    Key(
        "launch",
        read_launch,
        formats.LAUNCH,
        "The launch of a CUDA kernel 'raw:…': threads of a block, elements that a thread handles, bytes of shared "
        "memory, one block for each row instead of blocks for all elements, options of the compiler.",
        mutants=Mutants.UNFIT,
    ),
    Key(
        "reference",
        values.read_text,
        formats.text(examples=["numpy.cosh", "my_project.references:smooth", "aten::softmax.int"]),
        "The meaning of the values, for `opwright gate`: a NumPy function, a function of the project, or an operator.",
    ),
)
# By name, in that order.
KEYS: Final[dict[str, Key]] = {key.name: key for key in _KEYS}


def names_where(mutants: Mutants) -> tuple[str, ...]:
    """Return the names of the keys that mutants treat so."""
    return tuple(name for name, key in KEYS.items() if key.mutants is mutants)
