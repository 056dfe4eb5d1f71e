/* New tensors like others, on the fast path; the largest and smallest elements so far. */

#include "kernels.h"

/* Whether strides are exactly those of rows one behind the other. */
static int is_row_major(const Array *array) {
    npy_intp step = element_size(array);
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        if (PyArray_STRIDE(array, i) != step || PyArray_DIM(array, i) == 0) {
            return 0;
        }
        step *= PyArray_DIM(array, i);
    }
    return 1;
}

/* empty_like(self, dtype, layout, device, pin_memory, memory_format) where none is given, and zeros_like. Returns a new
 * tensor; NULL without an exception unless self is row-major, and on the fast path. */
static PyObject *handle_like(const CompiledKernel *kernel, const KernelCall *call) {
    PyObject *given = NULL, *made = NULL;
    if (call->count != 6 || call->out != NULL || call->args[1] != Py_None || call->args[3] != Py_None ||
        call->args[5] != Py_None || fast_path_arrays(call->args, 1, Py_None, &given) <= 0 ||
        !is_row_major((Array *)given)) {
        return NULL;
    }
    Array *array = new_like((Array *)given);
    if (array != NULL) {
        if (kernel->how != NULL) {
            memset(PyArray_DATA(array), 0, (size_t)(count_of(array) * element_size(array)));
        }
        made = wrap(NULL, (PyObject *)array);
        Py_DECREF(array);
    }
    return made;
}

/* Define a loop: the extremes so far along the middle of (outer, along, inner), and where each stood last; NaN stays.
 * NAME returns nothing. */
#define EXTREMES(NAME, TYPE, IS_NEW)                                                                                   \
    static void NAME(const void *given, void *result, int64_t *indices, const npy_intp *sizes) {                       \
        const npy_intp along = sizes[1], inner = sizes[2];                                                             \
        for (npy_intp o = 0; o < sizes[0]; o++) {                                                                      \
            for (npy_intp k = 0; k < inner; k++) {                                                                     \
                const npy_intp start = o * along * inner + k;                                                          \
                TYPE found = ((const TYPE *)given)[start];                                                             \
                int64_t index = 0;                                                                                     \
                for (npy_intp i = 0; i < along; i++) {                                                                 \
                    const TYPE x = ((const TYPE *)given)[start + i * inner];                                           \
                    if (x != x || (found == found && x IS_NEW found)) {                                                \
                        found = x == found ? found : x;                                                                \
                        index = i;                                                                                     \
                    }                                                                                                  \
                    ((TYPE *)result)[start + i * inner] = found;                                                       \
                    indices[start + i * inner] = index;                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

EXTREMES(largest_f32, float, >=)
EXTREMES(largest_f64, double, >=)
EXTREMES(smallest_f32, float, <=)
EXTREMES(smallest_f64, double, <=)

typedef void (*Extremes)(const void *given, void *result, int64_t *indices, const npy_intp *sizes);
static const Extremes largest_how[] = {largest_f32, largest_f64}, smallest_how[] = {smallest_f32, smallest_f64};

/* running_largest(self, dim) and running_smallest, of arrays that are not long. Returns the tuple (values, indices);
 * NULL without an exception for others, and unless self is dense float32 or float64 with dimensions and elements. */
static PyObject *handle_extremes(const CompiledKernel *kernel, const KernelCall *call) {
    double dim;
    Array *self = call->count == 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    const int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (ndim == 0 || count_of(self) == 0 || count_of(self) > LONG_WORK || !read_number(call->args[1], &dim) ||
        dim < -ndim || dim >= ndim) {
        return NULL;
    }
    const int axis = (int)dim + (dim < 0 ? ndim : 0);
    npy_intp sizes[3] = {count_of_first(self, axis), PyArray_DIM(self, axis), 1};
    sizes[2] = count_of(self) / sizes[0] / sizes[1];
    Array *values = new_like(self), *indices = new_array(ndim, PyArray_DIMS(self), NPY_INT64);
    PyObject *results = NULL;
    if (values != NULL && indices != NULL) {
        ((const Extremes *)kernel->how)[PyArray_TYPE(self) == NPY_DOUBLE](
            PyArray_DATA(self), PyArray_DATA(values), (int64_t *)PyArray_DATA(indices), sizes);
        results = PyTuple_Pack(2, values, indices);
    }
    Py_XDECREF(values);
    Py_XDECREF(indices);
    return results;
}

const CompiledKernel like_kernels[] = {
    {"empty_like", handle_like, NULL, OF_NUMPY | QUIET},
    {"zeros_like", handle_like, "zeros", OF_NUMPY | QUIET},
    {"running_largest", handle_extremes, largest_how, QUIET},
    {"running_smallest", handle_extremes, smallest_how, QUIET},
    {NULL, NULL, NULL, 0},
};
