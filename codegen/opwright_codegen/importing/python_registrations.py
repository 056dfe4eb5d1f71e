"""Registrations in Python: calls of `torch.library`, read from the syntax tree and never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from opwright_codegen.errors import SchemaError
from opwright_codegen.importing.gathered import Gathered
from opwright_codegen.source import Source
from opwright_codegen.sources.python_annotations import NotInferred, annotated_schema
from opwright_codegen.sources.python_names import Computed, Names, argument

__all__ = ["read_python_registrations"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_OPERATORS = ("custom_op", "triton_op")
_DEFAULT_KEY = "CompositeImplicitAutograd"
_EXPLICIT_KEY = "CompositeExplicitAutograd"
# Devices, as torch.library has them, and their dispatch keys. Any other device is that of a backend outside of PyTorch.
_KEYS = {"default": _EXPLICIT_KEY, "meta": "Meta", "lazy": "Lazy"}
_LOWER = ("cpu", "cuda", "xpu", "mps", "hpu", "xla", "mtia", "hip", "ipu", "ve", "maia", "vulkan", "fpga")
_DIRECT = "direct_register_custom_op"  # as vLLM, SGLang and others have it
_INFERRED = "torch.library.infer_schema"


def read_python_registrations(source: Source, into: Gathered) -> None:
    """Add what a Python source registers. Raises SchemaError for a text that is no Python."""
    tree = _parse(source)
    reader = _Reader(source, into, tree)
    for node in sorted(filter(reader.is_of_interest, ast.walk(tree)), key=_place):
        reader.read(node)


def _place(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, ast.withitem):
        node = node.context_expr
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _parse(source: Source) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        starts = source.line_starts()
        line = min(max(error.lineno or 1, 1), len(starts))
        start = min(starts[line - 1] + max((error.offset or 1) - 1, 0), len(source.text))
        span = source.whole().sub(start, min(start + 1, len(source.text)))
        hint = "Python files are read by the syntax of the Python that runs here"
        raise SchemaError("source-syntax", f"this is not Python: {error.msg}", span, hint) from None
    except (RecursionError, MemoryError):
        message = "the file nests deeper than Python's parser follows"
        raise SchemaError("source-syntax", message, source.whole().sub(0, 0), "give the other files alone") from None
    except ValueError as error:  # null bytes, lone surrogates
        raise SchemaError("source-syntax", f"this is not Python: {error}", source.whole().sub(0, 0)) from None


class _Reader:
    def __init__(self, source: Source, into: Gathered, tree: ast.Module) -> None:
        self._path = source.shown_path()
        self._into = into
        self._names = Names(tree)
        self._libraries: dict[str, tuple[str | None, str]] = {}  # namespaces and dispatch keys, by variables
        self._given: dict[ast.expr, _Function] = {}  # functions, by the calls that they are given to
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._given |= dict.fromkeys(node.decorator_list, node)
                case ast.Call(func=ast.Call() as inner, args=[ast.Name(id=name)]) if name in self._names.functions:
                    self._given[inner] = self._names.functions[name]

    @staticmethod
    def is_of_interest(node: ast.AST) -> bool:
        """Whether a node may register something, or name a library."""
        return isinstance(node, ast.Call | ast.Assign | ast.AnnAssign | ast.withitem | _Function)

    def read(self, node: ast.AST) -> None:
        match node:
            case (
                ast.Assign(targets=[target], value=ast.Call() as call)
                | ast.AnnAssign(target=target, value=ast.Call() as call)
            ):
                self._library(target, call)
            case ast.withitem(context_expr=ast.Call() as call, optional_vars=ast.expr() as target):
                self._library(target, call)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call):
                        self._decorated(decorator, node.name)
            case ast.Call():
                self._call(node)

    def _where(self, node: ast.AST) -> str:
        return f"{self._path}:{_place(node)[0]}"

    def _dotted(self, node: ast.expr | None) -> str:
        return self._names.dotted(node)

    def _text(self, node: ast.expr | None) -> str | None:
        """Return the text that an expression is, a call of `infer_schema` among them; None for what is computed."""
        match node:
            case ast.Call(args=[function, *_]) if self._dotted(node.func) == _INFERRED:
                name, found = self._text(argument(node, None, "op_name")) or "", self._function(function)
                schema = None if found is None else self._schema(node, found)
                return f"{name}{schema}" if isinstance(schema, str) else None
            case ast.BinOp(op=ast.Add(), left=left, right=ast.Call() as call):
                before, after = self._names.text(left), self._text(call)
                return None if before is None or after is None else before + after
        return self._names.text(node)

    def _function(self, node: ast.expr | None) -> _Function | None:
        """Return the function of the source that an expression names."""
        return self._names.functions.get(node.id) if isinstance(node, ast.Name) else None

    def _schema(self, call: ast.Call, function: _Function) -> str | NotInferred:
        """Return the schema of a function that a call registers, without its name, or why there is none."""
        given = argument(call, 2, "mutates_args")  # by position in vLLM's function alone
        written = () if given is None else self._names.value(given)
        is_all = written == "unknown"
        if not is_all and (isinstance(written, Computed) or not isinstance(written, tuple)):
            return NotInferred("mutates_args is computed")
        mutated = None if is_all else [str(each) for each in written]  # type: ignore[union-attr]
        try:
            return annotated_schema(function, mutated, self._names, _tags(call))
        except NotInferred as problem:
            return problem

    def _library(self, target: ast.expr, call: ast.Call) -> None:
        """Note the variable that a Library is assigned to."""
        name = self._dotted(call.func)
        if name in ("torch.library.Library", "torch.library._scoped_library") and (variable := self._dotted(target)):
            key = self._text(argument(call, 2, "dispatch_key"))
            self._libraries[variable] = self._text(argument(call, 0, "ns")), key or _DEFAULT_KEY

    def _call(self, call: ast.Call) -> None:
        variable, _, method = self._dotted(call.func).rpartition(".")
        if variable in self._libraries:
            if method == "define":
                self._library_define(call, *self._libraries[variable])
            elif method == "impl":
                self._library_impl(call, *self._libraries[variable])
        elif variable == "torch.library" and method == "define":
            self._define(call)
        elif variable == "torch.library" and method in _OPERATORS:
            self._operator(call, method)
        elif (method or variable) == _DIRECT:
            self._direct(call, variable)

    def _library_define(self, call: ast.Call, namespace: str | None, _: str) -> None:
        text = self._text(argument(call, 0, "schema"))
        if text is None:
            self._computed(call, None)
        elif namespace is None and "::" not in text.partition("(")[0]:
            name = text.partition("(")[0]
            self._into.hole(self._where(call), name, "the namespace of its library is computed", "write it as a text")
        else:
            self._into.define(text, namespace, self._where(call), _tags(call))

    def _define(self, call: ast.Call) -> None:
        name, schema = self._text(argument(call, 0, "qualname")), self._text(argument(call, 1, "schema"))
        if name is not None and len(call.args) == 1 and not call.keywords and "(" in name:
            self._into.define(name, None, self._where(call))  # as PyTorch 2.14 takes it
        elif name is None or schema is None:
            self._computed(call, name)
        else:
            self._into.define(name + schema, None, self._where(call), _tags(call))

    def _operator(self, call: ast.Call, method: str) -> None:
        name, node = self._text(argument(call, 0, "name")), argument(call, None, "schema")
        schema = self._text(node)
        if name is not None and (node is None or (isinstance(node, ast.Constant) and node.value is None)):
            self._inferred(call, name, self._given.get(call) or self._function(argument(call, 1, "fn")))
        elif name is None or schema is None:
            self._computed(call, name)
        else:
            self._into.define(name + schema, None, self._where(call), _tags(call))
            if (function := argument(call, 1, "fn")) is not None and method in _OPERATORS:
                self._kernels(call, name, self._dotted(function))

    def _computed(self, call: ast.Call, name: str | None) -> None:
        hint = "write it into the schema file; opwright import torch NAMESPACE --load MODULE reads what is loaded"
        problem = "its schema or name is computed: no text stands here"
        self._into.hole(self._where(call), name, problem, hint)

    def _inferred(self, call: ast.Call, name: str, function: _Function | None) -> None:
        """Define an operator by the annotations of its function."""
        schema = NotInferred("its function is not in this file") if function is None else self._schema(call, function)
        if isinstance(schema, str):
            defined = self._into.define(name + schema, None, self._where(call), _tags(call))
            if defined is not None and function is not None and call not in function.decorator_list:
                self._kernels(call, name, function.name)
            return
        problem = f"its schema cannot be inferred from the annotations: {schema}"
        hint = "write it; opwright import torch NAMESPACE --load MODULE reads it from what is loaded"
        kind = "its schema cannot be inferred from the annotations"
        self._into.hole(self._where(call), name, problem, hint, kind)

    def _direct(self, call: ast.Call, package: str) -> None:
        """Define an operator as vLLM's function does: in the library given, or in that of the function's package."""
        name, target = self._text(argument(call, 0, "op_name")), argument(call, None, "target_lib")
        library = self._libraries.get(self._dotted(target)) if target is not None else None
        namespace = library[0] if library is not None else package.partition(".")[0] if target is None else ""
        if name is None:
            self._computed(call, None)
        elif not namespace:
            self._into.hole(self._where(call), name, "the namespace of its library is not in this file", "write it")
        else:
            function = self._function(argument(call, 1, "op_func"))
            self._inferred(call, f"{namespace}::{name}", function)

    def _library_impl(self, call: ast.Call, namespace: str | None, key: str) -> None:
        name, given = self._text(argument(call, 0, "op_name")), argument(call, 2, "dispatch_key")
        function = argument(call, 1, "fn")
        if name is None or function is None or (given is not None and self._text(given) is None):
            return  # of an operator that is defined elsewhere, as a packet or a loop has it
        self._implement(call, name, namespace, [self._text(given) or key], self._dotted(function))

    def _decorated(self, call: ast.Call, function: str) -> None:
        """Read the kernel that a decorator makes of a function."""
        name = self._dotted(call.func)
        if name in ("torch.library.impl", "torch.library.register_kernel"):
            library = self._libraries.get(self._dotted(call.args[0])) if call.args else None
            if library is not None:
                operator, keys = self._text(argument(call, 1, "name")), argument(call, 2, "dispatch_key")
                namespace: str | None = library[0]
                known = [library[1]] if keys is None else self._devices(keys)
            else:
                operator, namespace = self._text(argument(call, 0, "qualname")), None
                known = self._devices(argument(call, 1, "types") or argument(call, None, "device_types"))
            if operator is not None:
                self._implement(call, operator, namespace, known, function)
        elif name in [f"torch.library.{method}" for method in _OPERATORS]:
            self._kernels(call, self._text(argument(call, 0, "name")), function)

    def _kernels(self, call: ast.Call, name: str | None, function: str) -> None:
        """Add the kernels of an operator that its own definition names."""
        if name is not None and self._into.is_defined(name):
            key = self._text(argument(call, None, "dispatch_key"))
            devices = self._devices(argument(call, None, "device_types"))
            self._implement(call, name, None, devices if key is None else [key], function)

    def _devices(self, node: ast.expr | None) -> list[str]:
        """Return the dispatch keys of devices, given as one text or several."""
        nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node] if node is not None else []
        texts = [text for each in nodes if (text := self._text(each)) is not None]
        return [_KEYS.get(text, _key(text)) for text in texts] or [_EXPLICIT_KEY]

    def _implement(self, call: ast.Call, name: str, namespace: str | None, keys: Sequence[str], function: str) -> None:
        full = name if "::" in name else f"{namespace}::{name}" if namespace is not None else None
        if full is not None and function in self._names.functions:
            schema = self._schema(ast.Call(ast.Name(""), [], []), self._names.functions[function])
            self._into.suggest(full, schema if isinstance(schema, str) else None)
        if full is not None and function:
            for key in keys:
                self._into.implement(full, key, function.rpartition(".")[2], self._where(call))


def _key(text: str) -> str:
    """Return the dispatch key of a device, or the key that the text is already."""
    return text.upper() if text in _LOWER else "PrivateUse1" if text.islower() else text


def _tags(call: ast.Call) -> tuple[str, ...]:
    """Return the tags of a registration, `tags=(torch.Tag.core,)`."""
    node = argument(call, None, "tags")
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    found = [each for each in nodes if isinstance(each, ast.Attribute)]
    return tuple(each.attr for each in found)
