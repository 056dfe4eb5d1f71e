/* Products added to a matrix, by the BLAS that NumPy was built with: matmul's loops can only overwrite. */

#define _GNU_SOURCE /* for RTLD_NOLOAD */

#include "gemm.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <dlfcn.h>
#define HAS_BLAS
#endif

#define ROW_MAJOR 101
#define AS_IT_IS 111
#define TURNED 112

/* cblas_sgemm and cblas_dgemm. Sizes are passed as 64 bits: a BLAS with integers of 32 reads the lower half, of
 * registers and of slots of the stack, which have 64 on these machines. */
typedef void (*GemmF32)(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t,
                        float, void *, int64_t);
typedef void (*GemmF64)(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t,
                        double, void *, int64_t);

static struct {
    GemmF32 f32;
    GemmF64 f64;
} blas = {NULL, NULL};

/* Find the functions in what the module at a path is linked to. */
static void find_blas(const char *path) {
#ifdef HAS_BLAS
    static const char *const spellings[] = {"scipy_cblas_%cgemm64_", "scipy_cblas_%cgemm", "cblas_%cgemm64_",
                                            "cblas_%cgemm"};
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; library != NULL && blas.f64 == NULL && i < sizeof spellings / sizeof *spellings; i++) {
        char names[2][32];
        snprintf(names[0], sizeof names[0], spellings[i], 's');
        snprintf(names[1], sizeof names[1], spellings[i], 'd');
        void *found[2] = {dlsym(library, names[0]), dlsym(library, names[1])};
        if (found[0] != NULL && found[1] != NULL) {
            memcpy(&blas.f32, &found[0], sizeof found[0]);
            memcpy(&blas.f64, &found[1], sizeof found[1]);
        }
    }
#else
    (void)path;
#endif
}

/* Find the BLAS of NumPy. Returns 0, also where there is none that can be called; -1 with an exception. */
int gemm_ready(void) {
    PyObject *matmul = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject *path = matmul == NULL ? NULL : PyObject_GetAttrString(matmul, "__file__");
    const char *text = path == NULL ? NULL : PyUnicode_AsUTF8(path);
    if (text != NULL) {
        find_blas(text);
    }
    Py_XDECREF(matmul);
    Py_XDECREF(path);
    PyErr_Clear(); /* a NumPy that is laid out in another way has none for us */
    return 0;
}

/* Return the matrix of the last two dimensions of an array of at least two, at an offset in bytes. */
Matrix matrix_at(const Array *array, npy_intp offset) {
    const int ndim = PyArray_NDIM(array);
    const npy_intp *shape = PyArray_DIMS(array) + ndim - 2, *strides = PyArray_STRIDES(array) + ndim - 2;
    return (Matrix){PyArray_BYTES(array) + offset, shape[0], shape[1], strides[0], strides[1]};
}

/* Return a matrix with rows and columns exchanged. */
Matrix turned_matrix(Matrix matrix) {
    return (Matrix){matrix.data, matrix.columns, matrix.rows, matrix.column_step, matrix.row_step};
}

/* Whether rows lie one after another, or further apart, with elements side by side. */
static int is_by_rows(const Matrix *matrix, npy_intp size) {
    return (matrix->column_step == size || matrix->columns == 1) && matrix->row_step % size == 0 &&
           (matrix->rows == 1 || matrix->row_step >= matrix->columns * size);
}

/* Read how BLAS goes over an operand: as it is, or turned. Returns 0 for strides that it has no words for. */
static int read_lay(const Matrix *matrix, npy_intp size, int *how, int64_t *step) {
    const Matrix turned = turned_matrix(*matrix);
    const int by_rows = is_by_rows(matrix, size);
    if (!by_rows && !is_by_rows(&turned, size)) {
        return 0;
    }
    const Matrix *lying = by_rows ? matrix : &turned;
    *how = by_rows ? AS_IT_IS : TURNED;
    *step = lying->rows == 1 || lying->row_step < lying->columns * size ? lying->columns : lying->row_step / size;
    return *step <= INT32_MAX && matrix->rows <= INT32_MAX && matrix->columns <= INT32_MAX;
}

/* Whether BLAS takes a matrix as it lies. */
int is_gemm_matrix(int is_double, const Matrix *matrix) {
    int how;
    int64_t step;
    return blas.f64 != NULL && read_lay(matrix, is_double ? sizeof(double) : sizeof(float), &how, &step);
}

/* Write out * beta + first @ second * alpha over `out`, whose elements may be what it is with a beta of 0. Returns 0,
 * with nothing done, where there is no BLAS or a matrix lies otherwise than it takes. Needs no GIL. */
int gemm(int is_double, Matrix first, Matrix second, Matrix out, double alpha, double beta) {
    const npy_intp size = is_double ? sizeof(double) : sizeof(float);
    int how[3];
    int64_t steps[3];
    if (blas.f64 == NULL || !read_lay(&out, size, &how[2], &steps[2])) {
        return 0;
    }
    if (how[2] == TURNED) {
        return gemm(is_double, turned_matrix(second), turned_matrix(first), turned_matrix(out), alpha, beta);
    }
    if (!read_lay(&first, size, &how[0], &steps[0]) || !read_lay(&second, size, &how[1], &steps[1])) {
        return 0;
    }
    if (is_double) {
        blas.f64(ROW_MAJOR, how[0], how[1], out.rows, out.columns, first.columns, alpha, first.data, steps[0],
                 second.data, steps[1], beta, out.data, steps[2]);
    } else {
        blas.f32(ROW_MAJOR, how[0], how[1], out.rows, out.columns, first.columns, (float)alpha, first.data, steps[0],
                 second.data, steps[1], (float)beta, out.data, steps[2]);
    }
    return 1;
}
