/* The names by which C asks for attributes, and compares those of arguments: one interned string each. */

#ifndef OPWRIGHT_INTERNED_H
#define OPWRIGHT_INTERNED_H

#include "core.h"

typedef struct {
    PyObject *_call_uncommon, *_non_differentiable, *_saved, *_to_save, *acquire, *apply, *indices, *out, *outputs,
        *release, *requires_grad, *saved, *watched;
    PyObject *only_out; /* ("out",) */
    PyObject *nothing;  /* () */
} Interned;

extern Interned interned;

int interned_ready(void);

#endif
