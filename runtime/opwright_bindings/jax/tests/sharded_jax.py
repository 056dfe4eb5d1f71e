"""Operators of `in_parts` on four devices that XLA plays: prints what differs from one device, in JSON.

`python sharded_jax.py` in the folder of the package.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

jax.config.update("jax_num_cpu_devices", 4)

import in_parts_jax as f  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from opwright_core.dispatch.call.operator import find_operator  # noqa: E402
from opwright_core.tensors.tensor import wrap  # noqa: E402
from opwright_gate.loading import load_modules  # noqa: E402

NAMES = {"all-gather": "gather", "all-reduce": "sum", "collective-permute": "halo", "all-to-all": "all-to-all"}
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
WHOLE: dict[Any, Any] = {}  # what one device gives
RANDOM = np.random.default_rng(0)
A, B, C, ROW = (RANDOM.uniform(0.1, 1, shape).astype(np.float32) for shape in ((8, 24), (24, 4), (8, 1), (24,)))
LOOSE = jax.numpy.asarray(A)  # not committed to a device
BOTH, AUTO, ONLY = ("Explicit", "Auto"), ("Auto",), ("Explicit",)
X, Y, XY = P("x"), P(None, "x"), P("x", "y")
Cut = tuple[str, Sequence[Any], Sequence[P], dict[str, tuple[str, ...]], tuple[str, ...]]
# Operator, arguments, how operands lie, what is sent between devices for each transform, and with which axes.
CUTS: list[Cut] = [
    ("softclip", [A, C], [X, X], {"grad": ()}, BOTH),
    ("softclip", [A, ROW], [Y, P("x")], {"grad": ()}, BOTH),
    ("softclip", [A, C], [Y, P()], {"grad": ("sum",), "vmap": (), "jvp": ()}, BOTH),
    ("softclip", [A, ROW], [XY, P("y")], {"grad": ("sum",)}, BOTH),
    ("mix", [A, B], [X, P()], {"f": (), "grad": ("sum",)}, BOTH),
    ("mix", [A, B], [Y, X], {"f": ("sum",)}, BOTH),
    ("mix", [A, B], [P(), Y], {"f": (), "grad": ("sum",)}, BOTH),
    ("mix", [A, B], [XY, P("y")], {"f": ("sum",)}, BOTH),
    ("slope", [A], [X], {"f": ()}, BOTH),
    ("slope", [A], [Y], {"f": ("halo",)}, BOTH),
    ("slope", [A], [P(None, ("x", "y"))], {"f": ("halo",)}, BOTH),
    ("peak", [A, 1], [X], {"f": (), "grad": (), "jvp": ()}, ONLY),
    ("peak", [A, 1], [Y], {"f": ("sum",), "vmap": ("sum",), "grad": ("gather",), "jvp": ("gather",)}, ONLY),
    ("peak", [A, 1], [X], {"f": ("gather", "sum")}, AUTO),
    ("length", [A, 1], [Y], {"f": ("gather",)}, ONLY),
    ("slope", [A], [X], {"rows": ()}, ONLY),
    ("moments", [A], [X], {"f": ()}, ONLY),
]


def main() -> None:
    """Check all cuts, and a user's own shard_map."""
    faults, count = [], 0
    for kind in (AxisType.Explicit, AxisType.Auto):
        for shape, axes in (((4,), ("x",)), ((2, 2), ("x", "y"))):
            mesh = jax.make_mesh(shape, axes, axis_types=(kind,) * len(axes))
            with jax.set_mesh(mesh):
                for why in judged(mesh, kind.name):
                    count += 1
                    faults += [why] if why else []
                faults += exported(mesh, kind.name) if len(axes) == 1 else uncommitted()
    faults += own_maps()
    print(json.dumps({"faults": faults, "count": count, "missing": missing(), "planted": planted()}))


def planted() -> dict[str, list[str]]:
    """Return the cause of operators that are planted, and what the table's judge says of each."""
    import planting

    from opwright_bindings.jax.runtime.judged_shardings import judge

    load_modules(["faults_of_dimensions"])
    causes = {name: cause for name, (_, cause) in planting.CAUSES.items()}
    with judge() as found:
        return {name: [causes[name], found(find_operator(name), [wrap(A)])[0]] for name in causes}


def judged(mesh: Any, kind: str) -> Iterator[str]:
    for name, args, specs, wanted, kinds in CUTS:
        if kind not in kinds or any("y" in str(each) for each in specs) != ("y" in mesh.shape):
            continue
        call, arrays = taking_arrays(getattr(f, name), args)
        for what, sent in wanted.items():
            function = transformed(what, call, len(arrays))
            stacked = [np.stack([each, each + 1]) for each in arrays] if what == "vmap" else arrays
            lie = [P(None, *each) for each in specs] if what == "vmap" else specs
            put = [jax.device_put(one, NamedSharding(mesh, lies)) for one, lies in zip(stacked, lie, strict=True)]
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                compiled = jax.jit(function).lower(*put).compile(QUICKLY)
            found = compiled(*put)
            key = (name, what, *[each.shape for each in stacked])
            if key not in WHOLE:
                with jax.set_mesh(jax.sharding.Mesh(np.array(jax.devices()[:1]), ("one",))):
                    WHOLE[key] = jax.jit(function).lower(*stacked).compile(QUICKLY)(*stacked)
            expected = WHOLE[key]
            yield fault(f"{kind} {what} of {name} at {specs}", found, expected, compiled.as_text(), sent, told)


def taking_arrays(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    return (lambda *given: function(*given, *args[len(arrays) :])), arrays


def transformed(what: str, call: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the operator, its gradients by all operands, its tangent, or a batch of it."""
    match what:
        case "grad":
            return jax.grad(lambda *given: (call(*given) ** 2).sum(), tuple(range(count)))
        case "jvp":
            return lambda *given: jax.jvp(call, given, given)[1]
        case "vmap" | "rows":
            return jax.vmap(call)
    return call


def fault(said: str, found: Any, expected: Any, text: str, sent: Sequence[str], told: Sequence[Any]) -> str:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if not np.allclose(one, other, rtol=1e-4, atol=1e-5):
            return f"{said}: {np.asarray(one)} and not {np.asarray(other)}"
    seen = [word for name, word in NAMES.items() if re.search(rf"= [^=]* {name}(-start)?\(", text)]
    if {*seen} != {*sent}:
        return f"{said}: {seen} and not {sent}"
    is_warned = any("Python computes it, of arrays that are gathered" in str(each.message) for each in told)
    return "" if is_warned == (said.startswith("Auto") and "peak" in said) else f"{said}: warned: {is_warned}"


def exported(mesh: Any, kind: str) -> Iterator[str]:
    """Yield what differs in exported programs, which call no Python; with Auto axes XLA would have to ask how to cut
    what C computes."""
    allowed = [export.DisabledSafetyCheck.custom_call(name) for name in f.binding.library.targets()]
    put = jax.device_put(A, NamedSharding(mesh, X))
    calls = {"softclip": lambda a: f.softclip(a, ROW), "mix": lambda a: f.mix(a, B), "peak": lambda a: f.peak(a, 1)}
    for name, call in calls.items():
        said = ""
        try:
            found = export.export(jax.jit(call), disabled_checks=allowed)(put).call(put)
            if not np.allclose(found, call(put)) or found.sharding.spec[0] != "x":
                yield f"{kind} {name} exported: {found}"
        except NotImplementedError as error:
            said = str(error)
        is_asked = kind == "Auto" and name == "mix"
        wanted = "cannot call back" if name == "peak" else "Explicit axes" if is_asked else ""
        if bool(wanted) != bool(said) or wanted not in said:
            yield f"{kind} {name} exported: {said!r} and not {wanted!r}"


def uncommitted() -> Iterator[str]:
    """Yield what differs for an array that lies nowhere yet, on a mesh."""
    expected = np.abs(A).max(1)
    for given in (LOOSE, A):
        if not np.allclose(jax.jit(lambda a: f.peak(a, 1))(given), expected):
            yield f"peak of {type(given)}"


def own_maps() -> Iterator[str]:
    """Yield what differs in a user's own shard_map under grad, where JAX checks what varies."""
    mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
    for name, args, specs in (("softclip", [A, ROW], [X, P()]), ("mix", [A, B], [X, P()]), ("peak", [A, 1], [X])):
        call, arrays = taking_arrays(getattr(f, name), args)
        mapped = jax.shard_map(call, mesh=mesh, in_specs=tuple(specs), out_specs=X)
        found, expected = [transformed("grad", each, len(arrays))(*arrays) for each in (mapped, call)]
        for one, other in zip(found, expected, strict=True):
            if not np.allclose(one, other, rtol=1e-4, atol=1e-5):
                yield f"shard_map of {name} under grad: {one} and not {other}"


def missing() -> list[str]:
    """Return what JAX no longer has of what `private` asks for."""
    from jax._src import dispatch

    aval = jax.typeof(np.ones(2))
    has_kind = hasattr(aval, "manual_axis_type") or hasattr(aval, "vma")
    found = {"what varies": has_kind, "update": hasattr(aval, "update")}
    found["devices"] = hasattr(dispatch, "prim_requires_devices_during_lowering")
    return [name for name, is_there in found.items() if not is_there]


if __name__ == "__main__":
    main()
