/* The names by which C asks for attributes, and compares those of arguments: one interned string each. */

#ifndef OPWRIGHT_INTERNED_H
#define OPWRIGHT_INTERNED_H

#include "core.h"

/* Calls X for each name. */
#define INTERNED_NAMES(X)                                                                                              \
    X(_blocks) X(_call_uncommon) X(_current_level) X(_non_differentiable) X(_saved) X(_to_save) X(acquire) X(apply)    \
    X(indices) X(inference_mode) X(is_neg) X(no_grad) X(out) X(outputs) X(release) X(requires_grad) X(saved)           \
    X(several) X(watched)

#define INTERNED_FIELD(NAME) PyObject *NAME;

typedef struct {
    INTERNED_NAMES(INTERNED_FIELD)
    PyObject *only_out; /* ("out",) */
    PyObject *nothing;  /* () */
} Interned;

extern Interned interned;

int interned_ready(void);

#endif
