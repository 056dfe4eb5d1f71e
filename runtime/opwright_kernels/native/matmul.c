/* Products of matrices by the inner loop of NumPy's matmul, which calls its BLAS; and such a product with something
 * added to it. What NumPy would copy first is left to the Python. */

#include "gemm.h"

#include "fast/arrays/loops.h"

/* Of how many rows a matrix may be multiplied transposed, and how large the other is then at least (is_faster_turned).
 */
#define FEWEST_ROWS 3
#define MOST_ROWS 96
#define LARGE_MATRIX 32768
/* Of how many rows and columns BLAS adds a product to what is added: fewer of them it sums in an order of its own. */
#define FEWEST_LINES 4

/* The loops of matmul for float32 and float64: the ufunc is held for ever. */
static struct {
    PyUFuncGenericFunction loop;
    void *data;
} loops[2];

/* Arguments of one call of matmul's loop: `sizes[0]` products of (rows, inner) by (inner, columns), along the last
 * dimension of the batch. The `outer` dimensions of the batch before that are walked over. */
typedef struct {
    char *data[3];
    npy_intp sizes[4], steps[9];
    int outer;
    npy_intp shape[NPY_MAXDIMS], outer_steps[3][NPY_MAXDIMS];
    int is_double, is_vector; /* of the second operand */
    npy_intp work;
    const char *added; /* what is added, or NULL: rows of `sizes[3]` elements */
    npy_intp added_step;
    double alpha, beta;
} ProductJob;

/* Find the inner loops of np.matmul for float32 and float64. Returns 0, also where this NumPy's ufunc is laid out
 * differently and no loop is found; -1 with an exception. */
int products_ready(void) {
    PyObject *numpy = PyImport_ImportModule("numpy"),
             *found = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "matmul");
    Py_XDECREF(numpy);
    if (found == NULL) {
        return -1;
    }
    const PyUFuncObject *ufunc = (const PyUFuncObject *)found;
    int is_known = strcmp(Py_TYPE(found)->tp_name, "numpy.ufunc") == 0 && ufunc->nargs == 3 && ufunc->core_enabled;
    for (int row = 0; is_known && row < ufunc->ntypes; row++) {
        const char *types = ufunc->types + row * 3;
        int is_one = types[0] == types[1] && types[1] == types[2];
        if (is_one && (types[0] == NPY_FLOAT || types[0] == NPY_DOUBLE)) {
            loops[types[0] == NPY_DOUBLE].loop = ufunc->functions[row];
            loops[types[0] == NPY_DOUBLE].data = ufunc->data == NULL ? NULL : ufunc->data[row];
        }
    }
    return 0;
}

/* Whether an operand is an aligned ndarray of that type number, which NumPy gives to its loop without a copy. */
static int is_taken(PyObject *object, int type) {
    return is_array_of(object, type) && PyArray_ISALIGNED((Array *)object) && PyArray_ISNOTSWAPPED((Array *)object);
}

/* Write the data and strides of operand `which` (0, 1, or 2 for the result): its last two dimensions, and those of the
 * batch. A vector is one column. */
static void set_matrices(ProductJob *job, int which, const Array *array, int is_vector) {
    const npy_intp *strides = PyArray_STRIDES(array);
    const int batch = is_vector ? 0 : PyArray_NDIM(array) - 2;
    job->data[which] = PyArray_BYTES(array);
    job->steps[which] = batch > 0 ? strides[batch - 1] : 0;
    job->steps[3 + 2 * which] = strides[batch];
    job->steps[4 + 2 * which] = is_vector ? 0 : strides[batch + 1];
    for (int dim = 0; dim < job->outer; dim++) {
        job->outer_steps[which][dim] = strides[dim];
    }
}

/* Read two operands (*batch, rows, inner) and (*batch, inner, columns), or a matrix and a vector, with elements.
 * Returns the number of dimensions of their product, whose shape is written; 0 without an exception for anything
 * else. */
static int read_operands(ProductJob *job, PyObject *first, PyObject *second, npy_intp *shape) {
    int type = Py_TYPE(first) == &PyArray_Type ? PyArray_TYPE((Array *)first) : -1;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || !is_taken(first, type) || !is_taken(second, type)) {
        return 0;
    }
    const Array *left = (Array *)first, *right = (Array *)second;
    const int ndim = PyArray_NDIM(left), batch = ndim - 2, is_vector = ndim == 2 && PyArray_NDIM(right) == 1;
    if (batch < 0 || PyArray_NDIM(right) != ndim - is_vector ||
        PyArray_DIM(left, ndim - 1) != PyArray_DIM(right, batch) ||
        count_of(left) == 0 || count_of(right) == 0) {
        return 0;
    }
    for (int dim = 0; dim < batch; dim++) {
        shape[dim] = PyArray_DIM(left, dim);
        if (PyArray_DIM(right, dim) != shape[dim]) {
            return 0;
        }
    }
    job->sizes[1] = shape[batch] = PyArray_DIM(left, batch);
    job->sizes[2] = PyArray_DIM(left, ndim - 1);
    job->sizes[3] = shape[batch + 1] = is_vector ? 1 : PyArray_DIM(right, ndim - 1);
    job->sizes[0] = batch > 0 ? shape[batch - 1] : 1;
    job->outer = batch > 0 ? batch - 1 : 0;
    memcpy(job->shape, shape, (size_t)job->outer * sizeof *shape);
    job->is_double = type == NPY_DOUBLE;
    job->is_vector = is_vector;
    set_matrices(job, 0, left, 0);
    set_matrices(job, 1, right, is_vector);
    const double work = (double)count_of(left) * (double)job->sizes[3];
    job->work = work < (double)LONG_WORK ? (npy_intp)work : LONG_WORK;
    return loops[job->is_double].loop == NULL ? 0 : ndim - is_vector;
}

/* Return the array for a product, a new reference: `out` if it is dense, of that shape and type, and apart from the
 * operands, or a new array if there is none. NULL without an exception for another `out`, with one if memory runs
 * out. */
static Array *product_target(const KernelCall *call, int ndim, const npy_intp *shape, int type) {
    if (call->out == NULL) {
        return new_array(ndim, shape, type);
    }
    Array *out = plain_array(call->out, type);
    if (out == NULL || PyArray_NDIM(out) != ndim || !PyArray_ISWRITEABLE(out) ||
        memcmp(PyArray_DIMS(out), shape, (size_t)ndim * sizeof *shape) != 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < call->count; i++) {
        if (Py_TYPE(call->args[i]) == &PyArray_Type && !arrays_are_apart(call->args[i], (PyObject *)out)) {
            return NULL;
        }
    }
    return (Array *)Py_NewRef((PyObject *)out);
}

/* Advance the data pointers to the next index of the batch dimensions before the last. Returns whether there is one. */
static int next_matrix(ProductJob *job, npy_intp *index) {
    for (int dim = job->outer - 1; dim >= 0; dim--) {
        const int is_last = ++index[dim] == job->shape[dim];
        for (int i = 0; i < 3; i++) {
            job->data[i] += job->outer_steps[i][dim] * (is_last ? 1 - job->shape[dim] : 1);
        }
        if (!is_last) {
            return 1;
        }
        index[dim] = 0;
    }
    return 0;
}

/* Whether the second matrix of float32 is column-major, as the transposed weight of a layer is, and large beside the
 * few rows of the first. BLAS copies such a matrix slowly before it multiplies: other.T @ self.T and a transposing copy
 * take half to nine tenths of the time. For float64 nothing is gained. */
static int is_faster_turned(const ProductJob *job) {
    const npy_intp rows = job->sizes[1], inner = job->sizes[2], columns = job->sizes[3], size = sizeof(float);
    return !job->is_double && job->sizes[0] == 1 && rows >= FEWEST_ROWS && rows <= MOST_ROWS && inner >= rows &&
           columns >= 2 * rows && inner * columns >= LARGE_MATRIX && job->steps[5] == size &&
           job->steps[6] == inner * size;
}

/* Multiply one pair of matrices at `data` transposed, into `scratch`, and copy the result to where it belongs. */
static void multiply_turned(const ProductJob *job, char *const *data, char *scratch) {
    const npy_intp *steps = job->steps, size = sizeof(float), rows = job->sizes[1], columns = job->sizes[3];
    const npy_intp sizes[4] = {1, columns, job->sizes[2], rows};
    const npy_intp turned[9] = {0, 0, 0, steps[6], steps[5], steps[4], steps[3], rows * size, size};
    char *operands[3] = {data[1], data[0], scratch};
    loops[0].loop(operands, sizes, turned, loops[0].data);
    copy_turned((const float *)scratch, (float *)data[2], rows, columns);
}

/* Run the matmul loop for all matrices of the batch. Needs no GIL. */
static void multiply(void *given) {
    ProductJob *job = given;
    npy_intp index[NPY_MAXDIMS] = {0};
    const size_t room = (size_t)(job->sizes[1] * job->sizes[3]) * sizeof(float);
    char *scratch = is_faster_turned(job) ? malloc(room) : NULL; /* without memory it goes the other way */
    do {
        char *data[3] = {job->data[0], job->data[1], job->data[2]};
        if (scratch != NULL) {
            multiply_turned(job, data, scratch);
        } else {
            loops[job->is_double].loop(data, job->sizes, job->steps, loops[job->is_double].data);
        }
    } while (next_matrix(job, index));
    free(scratch);
}

/* Define a loop that returns nothing and writes added * beta + out * alpha over `out`, with each product and sum
 * rounded as NumPy rounds them. */
#define ADD_ROWS(NAME, REAL, PLUS_PRODUCT)                                                                             \
    CLONES static void NAME(const ProductJob *job) {                                                                   \
        const npy_intp columns = job->sizes[3];                                                                        \
        const REAL alpha = (REAL)job->alpha, beta = (REAL)job->beta;                                                   \
        for (npy_intp row = 0; row < job->sizes[1]; row++) {                                                           \
            const REAL *added = (const REAL *)(job->added + row * job->added_step);                                    \
            REAL *out = (REAL *)job->data[2] + row * columns;                                                          \
            EACH_ALONE for (npy_intp i = 0; alpha == 1 && i < columns; i++) {                                          \
                out[i] = added[i] * beta + out[i];                                                                     \
            }                                                                                                          \
            EACH_ALONE for (npy_intp i = 0; alpha != 1 && i < columns; i++) {                                          \
                out[i] = PLUS_PRODUCT(added[i] * beta, out[i], alpha);                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }

ADD_ROWS(add_rows_f32, float, plus_product_f32)
ADD_ROWS(add_rows_f64, double, plus_product_f64)

/* Define a loop that returns nothing and writes added * beta to the rows of `out`, or to its columns, one number each.
 */
#define FILL_ROWS(NAME, REAL)                                                                                          \
    CLONES static void NAME(const ProductJob *job, REAL *out, int by_columns) {                                        \
        const npy_intp lines = job->sizes[by_columns ? 3 : 1], length = job->sizes[by_columns ? 1 : 3];                \
        const REAL beta = (REAL)job->beta;                                                                             \
        for (npy_intp line = 0; line < lines; line++, out += length) {                                                 \
            const REAL *added = (const REAL *)(job->added + line * job->added_step);                                   \
            const REAL number = by_columns ? ((const REAL *)job->added)[line] * beta : 0;                              \
            EACH_ALONE for (npy_intp i = 0; i < length; i++) {                                                         \
                out[i] = by_columns ? number : added[i] * beta;                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }

FILL_ROWS(fill_rows_f32, float)
FILL_ROWS(fill_rows_f64, double)

/* Add the product transposed to a row, in memory of its own, and copy that to where it belongs. Returns 0, with nothing
 * done, where memory runs out or BLAS does not take an operand. */
static int add_turned(const ProductJob *job, Matrix first, Matrix second) {
    const npy_intp rows = first.rows, columns = second.columns, size = sizeof(float);
    float *scratch = malloc((size_t)(rows * columns) * sizeof(float));
    int is_done = 0;
    if (scratch != NULL) {
        fill_rows_f32(job, scratch, 1);
        is_done = gemm(0, turned_matrix(second), turned_matrix(first),
                       (Matrix){(char *)scratch, columns, rows, rows * size, size}, 1, 1);
    }
    if (is_done) {
        copy_turned(scratch, (float *)job->data[2], rows, columns);
    }
    free(scratch);
    return is_done;
}

/* Compute product_sum of one pair of matrices by BLAS alone, which adds the product to what it is added to: one pass
 * over the result in place of three. Returns 0, where that is not the product_sum, or BLAS does not take an operand. */
static int multiply_onto(const ProductJob *job) {
    const npy_intp *sizes = job->sizes, *steps = job->steps;
    const Matrix first = {job->data[0], sizes[1], sizes[2], steps[3], steps[4]};
    const Matrix second = {job->data[1], sizes[2], sizes[3], steps[5], steps[6]};
    const Matrix out = {job->data[2], sizes[1], sizes[3], steps[7], steps[8]};
    if (job->alpha != 1 || job->work < LONG_WORK || sizes[1] < FEWEST_LINES || sizes[3] < FEWEST_LINES ||
        !is_gemm_matrix(job->is_double, &first) || !is_gemm_matrix(job->is_double, &second)) {
        return 0;
    }
    if (job->added_step == 0 && is_faster_turned(job) && add_turned(job, first, second)) {
        return 1;
    }
    if (job->is_double) {
        fill_rows_f64(job, (double *)out.data, 0);
    } else {
        fill_rows_f32(job, (float *)out.data, 0);
    }
    return gemm(job->is_double, first, second, out, 1, 1);
}

/* Compute product_sum of one pair of matrices. Needs no GIL. */
static void multiply_and_add(void *given) {
    const ProductJob *job = given;
    if (!multiply_onto(job)) {
        multiply(given);
        (job->is_double ? add_rows_f64 : add_rows_f32)(job);
    }
}

/* Run `work` into the array for the product. Returns it, a new reference; NULL where `product_target` returns NULL. */
static PyObject *multiplied(const KernelCall *call, ProductJob *job, int ndim, const npy_intp *shape, Work work) {
    Array *out = product_target(call, ndim, shape, job->is_double ? NPY_DOUBLE : NPY_FLOAT);
    if (out != NULL) {
        set_matrices(job, 2, out, job->is_vector);
        do_work(work, job, job->work);
    }
    return (PyObject *)out;
}

/* matrix_product(self, other). Returns a new reference to a new array or to `out`; NULL without an exception unless
 * `read_operands` takes both, and for an `out` of another layout. */
static PyObject *handle_product(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ProductJob job;
    npy_intp shape[NPY_MAXDIMS];
    int ndim = call->count == 2 ? read_operands(&job, call->args[0], call->args[1], shape) : 0;
    return ndim == 0 ? NULL : multiplied(call, &job, ndim, shape, multiply);
}

/* Return the product of two arrays, a new array; NULL without an exception if Python must compute it, with one
 * if memory runs out. */
PyObject *product_of_arrays(PyObject *first, PyObject *second) {
    PyObject *args[2] = {first, second};
    const KernelCall call = {args, 2, NULL};
    return handle_product(NULL, &call);
}

/* Whether what is added to a product is dense, and (rows, columns), (1, columns) or (columns,): then the job gets
 * it. */
static int read_added(ProductJob *job, PyObject *object) {
    const Array *added = plain_array(object, job->is_double ? NPY_DOUBLE : NPY_FLOAT);
    const int ndim = added == NULL ? 0 : PyArray_NDIM(added);
    if (ndim < 1 || ndim > 2 || PyArray_DIM(added, ndim - 1) != job->sizes[3]) {
        return 0;
    }
    const npy_intp rows = ndim == 2 ? PyArray_DIM(added, 0) : 1;
    job->added = PyArray_BYTES(added);
    job->added_step = rows == 1 ? 0 : PyArray_STRIDE(added, 0);
    return rows == 1 || rows == job->sizes[1];
}

/* product_sum(self, first, second, beta, alpha) of two matrices. Returns a new reference to a new array or to `out`;
 * NULL without an exception for other operands, and for a beta of 0, where self must not be read. */
static PyObject *handle_sum(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ProductJob job;
    npy_intp shape[NPY_MAXDIMS];
    if (call->count != 5 || read_operands(&job, call->args[1], call->args[2], shape) != 2 ||
        !read_added(&job, call->args[0]) ||
        !read_number(call->args[3], &job.beta) || !read_number(call->args[4], &job.alpha) || job.beta == 0) {
        return NULL;
    }
    return multiplied(call, &job, 2, shape, multiply_and_add);
}

const CompiledKernel matmul_kernels[] = {
    {"matrix_product", handle_product, NULL, WHOLE},
    {"product_sum", handle_sum, NULL, WHOLE},
    {NULL, NULL, NULL, 0},
};
