/* DLPack's C exchange API, as version 1.3 lays it out: how arrays of other libraries are taken, and results given. */

#ifndef OPWRIGHT_EXCHANGE_H
#define OPWRIGHT_EXCHANGE_H

#include "core.h"

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

typedef struct {
    DLVersion version;
    void *former;
    int (*allocate)(DLTensor *like, ManagedTensor **out, void *context, void (*fail)(void *, const char *, const char *));
    int (*managed_of)(void *object, ManagedTensor **out);
    int (*object_of)(ManagedTensor *tensor, void **out);
    int (*tensor_of)(void *object, DLTensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} ExchangeAPI;

#define DLPACK_CPU 1

const ExchangeAPI *exchange_api(PyObject *type);
PyObject *exchange_take(const ExchangeAPI *api, PyObject *value);
PyObject *exchange_give(const ExchangeAPI *api, PyObject *like, PyObject *result);

#endif
