"""Arguments, functions and structures as JSON has them. What is no plain value is an object with one key, its kind."""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from opwright.creation.construction import tensor
from opwright.fx.json_allowed import FUNCTIONS
from opwright.fx.node import Node
from opwright.pytree import TreeSpec
from opwright_core.arrays import dtypes
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import as_dtype, dtype_name
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.packets import Packet, find_packet
from opwright_core.errors import DispatchError
from opwright_core.names.missing import did_you_mean
from opwright_core.tensors.tensor import Tensor

__all__ = ["JSONFormatError", "function_from", "function_text", "spec_from", "spec_text", "value_from", "value_text"]


class JSONFormatError(ValueError):
    """A text that is no graph in JSON, or a graph that JSON cannot hold. The message says where and what."""


_NAMES: Final = {function: name for name, function in sorted(FUNCTIONS.items(), reverse=True)}
_LEAST, _MOST = -(2**63), 2**64


def function_text(target: Callable[..., Any] | str, where: str) -> Any:
    """Return a target as JSON: an operator by its qualified name. Raises JSONFormatError for a function without."""
    if isinstance(target, str):
        return target
    if isinstance(target, Operator | Packet):
        return target.name if isinstance(target, Operator) else {"packet": target.name}
    found = _NAMES.get(target)
    if found is None:
        raise JSONFormatError(
            f"{where} calls {target!r}, which JSON cannot hold: graphs in JSON call operators and functions of the "
            "module `operator`. Make it a custom operator (opwright.library.custom_op)"
        )
    return found


def function_from(data: Any, where: str) -> Callable[..., Any]:
    """Return the function of a name. Raises JSONFormatError for one that there is not."""
    try:
        if isinstance(data, dict) and isinstance(data.get("packet"), str):
            return find_packet(data["packet"])
        if isinstance(data, str) and "::" in data:
            return find_operator(data)
    except (DispatchError, AttributeError) as error:
        raise JSONFormatError(
            f"{where} calls an operator that is not defined here: import what defines it first\n{error}"
        ) from error
    found: Callable[..., Any] | None = FUNCTIONS.get(data) if isinstance(data, str) else None
    if found is None:
        near = did_you_mean(data, FUNCTIONS) if isinstance(data, str) else ""
        raise JSONFormatError(f"{where} calls {data!r}, which no graph calls{near}")
    return found


def value_text(value: Any, where: str) -> Any:
    """Return an argument as JSON. Raises JSONFormatError for one that has no form there."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case complex():
            return {"complex": [value_text(value.real, where), value_text(value.imag, where)]}
        case Node():
            return {"node": value.name}
        case tuple():
            return {"tuple": [value_text(item, where) for item in value]}
        case list():
            return [value_text(item, where) for item in value]
        case dict():
            items = [[value_text(key, where), value_text(item, where)] for key, item in value.items()]
            return {"dict": items}
        case slice():
            return {"slice": [value_text(each, where) for each in (value.start, value.stop, value.step)]}
        case np.dtype():
            return {"dtype": dtype_name(value)}
        case Device():
            return {"device": str(value)}
        case Layout():
            return {"layout": value.name}
        case MemoryFormat():
            return {"memory_format": value.name}
        case Tensor():
            return {"tensor": _tensor_text(value)}
    if value is ...:
        return {"ellipsis": True}
    raise JSONFormatError(f"{where} has {type(value).__name__} {value!r:.80}, which JSON cannot hold")


def value_from(data: Any, nodes: dict[str, Node], where: str) -> Any:
    """Return the argument that JSON says. Raises JSONFormatError."""
    if type(data) is int and not _LEAST <= data < _MOST:
        raise JSONFormatError(f"{where} has an int of more than 64 bits")
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return [value_from(item, nodes, where) for item in data]
    if isinstance(data, dict) and len(data) == 1:
        ((kind, content),) = data.items()
        try:
            return _of_kind(kind, content, nodes, where)
        except JSONFormatError:
            raise
        except Exception as error:
            raise JSONFormatError(f"{where}: {content!r:.80} is no {kind}: {error}") from error
    raise JSONFormatError(f"{where}: {data!r:.80} is no argument of a node")


def _of_kind(kind: str, content: Any, nodes: dict[str, Node], where: str) -> Any:
    match kind:
        case "node":
            if content not in nodes:
                raise JSONFormatError(f"{where} reads {content!r}, and no node before it has that name")
            return nodes[content]
        case "tuple":
            return tuple([value_from(item, nodes, where) for item in content])
        case "dict":
            return {value_from(key, nodes, where): value_from(item, nodes, where) for key, item in content}
        case "slice":
            return slice(*[value_from(each, nodes, where) for each in content])
        case "complex":
            return complex(*[value_from(each, nodes, where) for each in content])
        case "float":
            return float(content)
        case "dtype":
            return _dtype(content)
        case "device":
            return as_device(content)
        case "layout":
            return Layout[content]
        case "memory_format":
            return MemoryFormat[content]
        case "tensor":
            return _tensor_from(content)
        case "ellipsis":
            return ...
    raise JSONFormatError(f"{where}: {kind!r} is no kind of argument")


def _dtype(name: str) -> Any:
    found = getattr(dtypes, "bool_" if name == "bool" else name, None)
    if not isinstance(found, np.dtype):
        raise ValueError("there is no such dtype")
    return as_dtype(found)


def _tensor_text(value: Tensor) -> dict[str, Any]:
    """Return a tensor's data, row-major; strides and history are not kept."""
    array = np.ascontiguousarray(value.detach().cpu().numpy(force=True))
    text = base64.b64encode(array.tobytes()).decode("ascii")
    found = {"dtype": dtype_name(value.dtype), "shape": list(value.shape), "device": str(value.device), "data": text}
    return {**found, "requires_grad": True} if value.requires_grad else found


def _tensor_from(content: dict[str, Any]) -> Tensor:
    dtype, shape, data = _dtype(content["dtype"]), content["shape"], base64.b64decode(content["data"], validate=True)
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size <= sys.maxsize for size in shape):
        raise ValueError(f"{shape!r:.80} is no shape")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"a shape of {math.prod(shape):.3g} elements and {len(data)} bytes of data")
    if dtype == dtypes.bool_ and data.strip(b"\0\1"):
        raise ValueError("bools are 0 or 1")  # (NumPy counts them by adding them up.)
    array = np.frombuffer(data, dtype).reshape(shape)
    return tensor(array, device=content["device"], requires_grad=bool(content.get("requires_grad")))


_KINDS: Final[dict[str, type]] = {"list": list, "tuple": tuple, "dict": dict}


def spec_text(spec: TreeSpec | None) -> Any:
    """Return a structure as JSON. Raises JSONFormatError for classes other than list, tuple and dict."""
    if spec is None or spec.is_leaf():
        return None if spec is None else "*"
    if spec.type not in _KINDS.values():
        # (A result with names is a tuple without them.)
        if isinstance(spec.context, type) and issubclass(spec.context, tuple):
            return {"tuple": [spec_text(child) for child in spec.children]}
        raise JSONFormatError(f"a structure of {getattr(spec.type, '__name__', spec.type)} cannot be held by JSON")
    children = [spec_text(child) for child in spec.children]
    if spec.type is dict:
        keys = [value_text(key, "a dict of arguments or results") for key in spec.context]
        return {"dict": [list(pair) for pair in zip(keys, children, strict=True)]}
    return {spec.type.__name__: children}


def spec_from(data: Any) -> TreeSpec | None:
    """Return the structure that JSON says. Raises JSONFormatError."""
    if data is None:
        return None
    if data == "*":
        return TreeSpec(None, None)
    if isinstance(data, dict) and len(data) == 1:
        ((kind, children),) = data.items()
        if kind in _KINDS and isinstance(children, list):
            if kind != "dict":
                return TreeSpec(_KINDS[kind], None, tuple([_child(child) for child in children]))
            if all(isinstance(pair, list) and len(pair) == 2 for pair in children):
                keys = [value_from(key, {}, "a structure") for key, _ in children]
                return TreeSpec(dict, keys, tuple([_child(child) for _, child in children]))
    raise JSONFormatError(f"{data!r:.80} is no structure of arguments or results")


def _child(data: Any) -> TreeSpec:
    found = spec_from(data)
    if found is None:
        raise JSONFormatError("a structure of arguments or results has a part that is null")
    return found
