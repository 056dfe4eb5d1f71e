"""A recorded call of an operator under one of the libraries, differentiated twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from differentiating import (
    as_tuple,
    call_named,
    flattened,
    inputs_of,
    leaves,
    named_arguments,
    overload,
    schema_of,
    tensors_of,
)
from sampling import Sample, make


def size_of(sample: Sample) -> int:
    """How many elements its arrays have."""
    return sum(each.size for each in leaves([*sample.args, *sample.kwargs.values()]) if isinstance(each, np.ndarray))


class Twice:
    """One call under one of the libraries: its results, the gradients of these, and theirs."""

    def __init__(self, library: Any, convert: Any, name: str, sample: Sample) -> None:
        self.library, self.convert = library, convert
        schema = schema_of(name)
        arguments = {key: convert(value) for key, value in named_arguments(schema, sample).items()}
        self.leaves: dict[Any, Any] = {}
        for key in inputs_of(name):
            for number, tensor in enumerate(tensors_of(arguments[key])):
                if tensor.is_floating_point() or tensor.is_complex():
                    self.leaves[key, number] = tensor.requires_grad_()
        self.results = flattened(as_tuple(call_named(overload(library, name), schema, arguments)))
        self.cotangents: dict[int, Any] = {}

    def gradients(self, seed: int) -> dict[Any, Any]:
        """Of the results along random vectors, which are leaves as well."""
        chosen = {number: each for number, each in enumerate(self.results) if each.requires_grad}
        for number, each in chosen.items():
            array = make(tuple(each.shape), numpy_dtype(each), seed=seed)
            self.cotangents[number] = self.convert(np.ascontiguousarray(array).reshape(each.shape)).requires_grad_()
        if not chosen or not self.leaves:
            return {}
        found = self.library.autograd.grad(
            list(chosen.values()),
            list(self.leaves.values()),
            list(self.cotangents.values()),
            create_graph=True,
            allow_unused=True,
        )
        return dict(zip(self.leaves, found, strict=True))

    def second(self, gradients: dict[Any, Any], seed: int) -> dict[Any, Any]:
        """Of the gradients along other random vectors, for the leaves and the first vectors."""
        chosen = [each for each in gradients.values() if each is not None and each.requires_grad]
        if not chosen:
            return {}
        vectors = [
            self.convert(np.ascontiguousarray(make(tuple(each.shape), numpy_dtype(each), seed=seed))).reshape(
                tuple(each.shape)
            )
            for each in chosen
        ]
        sources = self.leaves | self.cotangents
        found = self.library.autograd.grad(chosen, list(sources.values()), vectors, allow_unused=True)
        return dict(zip(sources, found, strict=True))


def numpy_dtype(tensor: Any) -> np.dtype:
    """The NumPy dtype of a tensor of either library."""
    return np.dtype(str(tensor.dtype).removeprefix("torch."))
