/* DLPack's C exchange API, as version 1.3 lays it out: how arrays of other libraries are taken, and results given. */

#ifndef OPWRIGHT_EXCHANGE_H
#define OPWRIGHT_EXCHANGE_H

#include "fast/core.h"
#include "numpy_api.h"

typedef struct {
    uint32_t major, minor;
} DLVersion;

typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides count elements */
    uint64_t byte_offset;
} DLTensor;

typedef struct ManagedTensor {
    DLVersion version;
    void *context;
    void (*deleter)(struct ManagedTensor *self);
    uint64_t flags;
    DLTensor tensor;
} ManagedTensor;

typedef void SetError(void *context, const char *kind, const char *message);

typedef struct {
    DLVersion version;
    void *former;
    int (*allocate)(DLTensor *like, ManagedTensor **out, void *context, SetError *fail);
    int (*managed_of)(void *object, ManagedTensor **out);
    int (*object_of)(ManagedTensor *tensor, void **out);
    int (*tensor_of)(void *object, DLTensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} ExchangeAPI;

#define DLPACK_CPU 1
#define DLPACK_READ_ONLY 1u
#define DLPACK_VERSION ((DLVersion){1, 3})

#define MOST_SHELLS 4

/* How the arrays of a class are exchanged: its API, and what is asked of a value before. */
typedef struct {
    const ExchangeAPI *api;    /* borrowed for ever; NULL: the class is not known */
    PyObject *numpy, *from_numpy; /* functions that take and give tensors of a PyTorch without such an API; else NULL */
    const PyGetSetDef *requires_grad;
    PyCFunction is_neg;
    PyObject *levels;          /* a dict: PyTorch's `_current_level` of forward gradients is -1 where there are none */
    PyObject *is_grad_enabled,
        *bump_versions; /* functions of PyTorch; there is the first where there is `requires_grad` */
    int shells_count;
    PyObject *shells[MOST_SHELLS]; /* arrays without memory, which nobody else has, for the next calls */
} Exchange;

PyObject *array_on(const DLTensor *tensor, PyObject *owner, int flags);
PyObject *array_like(const DLTensor *tensor);
ManagedTensor *managed_tensor(PyArrayObject *array);

PyObject *exchange_take(Exchange *exchange, PyObject *value);
void exchange_drop(Exchange *exchange, PyObject *array);
PyObject *exchange_give(const Exchange *exchange, PyObject *like, PyObject *result);

/* exchange_class.c */
const ExchangeAPI *exchange_api_of(PyObject *type);
int exchange_open(Exchange *exchange, PyObject *type);
void exchange_close(Exchange *exchange);
int exchange_is_uncommon(const Exchange *exchange, PyObject *value);
int exchange_tell_written(const Exchange *exchange, PyObject *values);

/* tensor_exchange.c */
PyObject *make_tensor_exchange(void);

#endif
