/* The names by which C asks for attributes, and compares those of arguments: one interned string each. */

#ifndef OPWRIGHT_INTERNED_H
#define OPWRIGHT_INTERNED_H

#include "core.h"

typedef struct {
    PyObject *_blocks, *_call_uncommon, *_non_differentiable, *_saved, *_to_save, *acquire, *apply, *indices, *inference_mode, *no_grad, *out, *outputs,
        *release, *requires_grad, *saved, *several, *watched;
    PyObject *only_out; /* ("out",) */
    PyObject *nothing;  /* () */
} Interned;

extern Interned interned;

int interned_ready(void);

#endif
