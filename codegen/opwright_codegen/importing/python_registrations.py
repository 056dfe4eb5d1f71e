"""Registrations in Python: calls of `torch.library`, read from the syntax tree and never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from opwright_codegen.errors import SchemaError
from opwright_codegen.importing.gathered import Gathered
from opwright_codegen.source import Source

__all__ = ["read_python_registrations"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_OPERATORS = ("custom_op", "triton_op")
_DEFAULT_KEY = "CompositeImplicitAutograd"
_EXPLICIT_KEY = "CompositeExplicitAutograd"
# Devices, as torch.library has them, and their dispatch keys; all others are their names in capitals.
_KEYS = {"default": _EXPLICIT_KEY, "meta": "Meta", "lazy": "Lazy", "privateuseone": "PrivateUse1", "npu": "PrivateUse1"}
_LOWER = ("cpu", "cuda", "xpu", "mps", "hpu", "xla", "mtia", "hip", "ipu", "ve", "maia", "vulkan", "fpga")
_MAX_PARTS = 16  # names with more dots, and sums of more texts, are nothing that is looked for


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
        self._names = {"torch": "torch"}  # what imported names stand for
        self._texts: dict[str, str | None] = {}  # of the module, given once
        self._libraries: dict[str, tuple[str | None, str]] = {}  # namespaces and dispatch keys, by variables
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self._names[alias.asname] = alias.name
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                self._texts[name] = None if name in self._texts else self._text(statement.value)

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

    def _dotted(self, node: ast.expr) -> str:
        """Return a name as its imports have it, `torch.library.define`; "" for what is no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MAX_PARTS:
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._names.get(node.id, node.id), *reversed(parts)])

    def _text(self, node: ast.expr | None) -> str | None:
        """Return the text that an expression is; None for what is computed."""
        parts: list[str] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and len(parts) < _MAX_PARTS:
            right = self._text_of_one(node.right)
            if right is None:
                return None
            parts.append(right)
            node = node.left
        first = self._text_of_one(node)
        return None if first is None else "".join([first, *reversed(parts)])

    def _text_of_one(self, node: ast.expr | None) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self._texts.get(name)
        return None

    def _library(self, target: ast.expr, call: ast.Call) -> None:
        """Note the variable that a Library is assigned to."""
        name = self._dotted(call.func)
        if name in ("torch.library.Library", "torch.library._scoped_library") and (variable := self._dotted(target)):
            key = self._text(_argument(call, 2, "dispatch_key"))
            self._libraries[variable] = self._text(_argument(call, 0, "ns")), key or _DEFAULT_KEY

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
        elif (method or variable) == "direct_register_custom_op":  # as vLLM and others have it
            self._inferred(call, self._text(_argument(call, 0, "op_name")))

    def _library_define(self, call: ast.Call, namespace: str | None, _: str) -> None:
        text = self._text(_argument(call, 0, "schema"))
        if text is None:
            self._computed(call, None)
        elif namespace is None and "::" not in text.partition("(")[0]:
            name = text.partition("(")[0]
            self._into.hole(self._where(call), name, "the namespace of its library is computed", "write it as a text")
        else:
            self._into.define(text, namespace, self._where(call), _tags(call))

    def _define(self, call: ast.Call) -> None:
        name, schema = self._text(_argument(call, 0, "qualname")), self._text(_argument(call, 1, "schema"))
        if name is not None and len(call.args) == 1 and not call.keywords and "(" in name:
            self._into.define(name, None, self._where(call))  # as PyTorch 2.14 takes it
        elif name is None or schema is None:
            self._computed(call, name)
        else:
            self._into.define(name + schema, None, self._where(call), _tags(call))

    def _operator(self, call: ast.Call, method: str) -> None:
        name, node = self._text(_argument(call, 0, "name")), _argument(call, None, "schema")
        schema = self._text(node)
        if name is not None and (node is None or (isinstance(node, ast.Constant) and node.value is None)):
            self._inferred(call, name)
        elif name is None or schema is None:
            self._computed(call, name)
        else:
            self._into.define(name + schema, None, self._where(call), _tags(call))
            if (function := _argument(call, 1, "fn")) is not None and method in _OPERATORS:
                self._kernels(call, name, self._dotted(function))

    def _computed(self, call: ast.Call, name: str | None) -> None:
        hint = "write it into the schema file; opwright import torch NAMESPACE --load MODULE reads what is loaded"
        problem = "its schema or name is computed: no text stands here"
        self._into.hole(self._where(call), name, problem, hint)

    def _inferred(self, call: ast.Call, name: str | None) -> None:
        hint = "opwright import torch NAMESPACE --load MODULE reads it from what is loaded"
        self._into.hole(self._where(call), name, "its schema is inferred from the annotations: write it", hint)

    def _library_impl(self, call: ast.Call, namespace: str | None, key: str) -> None:
        name, given = self._text(_argument(call, 0, "op_name")), _argument(call, 2, "dispatch_key")
        function = _argument(call, 1, "fn")
        if name is None or function is None or (given is not None and self._text(given) is None):
            return  # of an operator that is defined elsewhere, as a packet or a loop has it
        self._implement(call, name, namespace, [self._text(given) or key], self._dotted(function))

    def _decorated(self, call: ast.Call, function: str) -> None:
        """Read the kernel that a decorator makes of a function."""
        name = self._dotted(call.func)
        if name in ("torch.library.impl", "torch.library.register_kernel"):
            library = self._libraries.get(self._dotted(call.args[0])) if call.args else None
            if library is not None:
                operator, keys = self._text(_argument(call, 1, "name")), _argument(call, 2, "dispatch_key")
                namespace: str | None = library[0]
                known = [library[1]] if keys is None else self._devices(keys)
            else:
                operator, namespace = self._text(_argument(call, 0, "qualname")), None
                known = self._devices(_argument(call, 1, "types") or _argument(call, None, "device_types"))
            if operator is not None:
                self._implement(call, operator, namespace, known, function)
        elif name in [f"torch.library.{method}" for method in _OPERATORS]:
            self._kernels(call, self._text(_argument(call, 0, "name")), function)

    def _kernels(self, call: ast.Call, name: str | None, function: str) -> None:
        """Add the kernels of an operator that its own definition names."""
        if name is not None and self._into.is_defined(name):
            self._implement(call, name, None, self._devices(_argument(call, None, "device_types")), function)

    def _devices(self, node: ast.expr | None) -> list[str]:
        """Return the dispatch keys of devices, given as one text or several."""
        nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node] if node is not None else []
        texts = [text for each in nodes if (text := self._text(each)) is not None]
        return [_KEYS.get(text, text.upper() if text in _LOWER else text) for text in texts] or [_EXPLICIT_KEY]

    def _implement(self, call: ast.Call, name: str, namespace: str | None, keys: Sequence[str], function: str) -> None:
        full = name if "::" in name else f"{namespace}::{name}" if namespace is not None else None
        if full is not None and function:
            for key in keys:
                self._into.implement(full, key, function.rpartition(".")[2], self._where(call))


def _argument(call: ast.Call, index: int | None, name: str) -> ast.expr | None:
    """Return an argument by its position or name; None where it is not given."""
    if index is not None and len(call.args) > index:
        return call.args[index]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _tags(call: ast.Call) -> tuple[str, ...]:
    """Return the tags of a registration, `tags=(torch.Tag.core,)`."""
    node = _argument(call, None, "tags")
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    found = [each for each in nodes if isinstance(each, ast.Attribute)]
    return tuple(each.attr for each in found)
