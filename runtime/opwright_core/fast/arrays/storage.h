/* The rare parts of a tensor and its memory's count of writes, `opwright_core.arrays.storage.Extra` and `Storage`. */

#ifndef OPWRIGHT_STORAGE_H
#define OPWRIGHT_STORAGE_H

#include "tensor.h"

/* The classes, and where their slots are: `configure` fills it. */
typedef struct {
    PyTypeObject *extra, *storage;
    Py_ssize_t base, grad, own, seen, creation;                /* of Extra; `own` is `storage` */
    Py_ssize_t array, version, has_detached, has_views, resizable, flat, former; /* of Storage */
} StorageSlots;

extern StorageSlots storage_slots;

PyObject *extra_of(PyObject *tensor);
PyObject *version_of(PyObject *tensor);
PyObject *storage_of(PyObject *tensor);
int storage_count_write(PyObject *tensor);

#endif
