"""Answers of a process that has not called the operator before."""

from __future__ import annotations

import os
import pickle
from typing import Any

from opwright_gate.cases import Case
from opwright_gate.subjects import Subject

__all__ = ["fresh_outputs"]


def fresh_outputs(subject: Subject, case: Case) -> Any:
    """Return the outputs of a call, made where no other was made since the operator was loaded, as far as this process
    is such; None where it raises.

    The process is forked of this one: caches that earlier calls filled are in it, too. So the properties about state
    call with values that no other property has.
    """
    receiving, sending = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(receiving)
            answer = subject.run(case)
            with os.fdopen(sending, "wb") as stream:
                pickle.dump(None if answer.error is not None else answer.outputs, stream)
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return pickle.loads(text) if text else None
