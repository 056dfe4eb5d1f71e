/* Small matrices: LU with pivots, Cholesky and LDL factors, determinants, inverses and systems. Which are larger, come
 * in batches, hold what is not finite, or cannot be factored, are left to the Python, and to LAPACK. */

#include "kernels.h"

#include "fast/arrays/loops.h"

/* Above this size LAPACK is faster, although a call of it costs more. */
#define MOST_COLUMNS 32
/* (1 + sqrt(17)) / 8: bounds how fast elements grow, whichever size a block of D has. */
#define GROWTH 0.6403882032022076

/* A matrix of any strides (bytes) in a borrowed array, or its transpose. */
typedef struct {
    const char *from;
    npy_intp rows, columns, row_step, column_step;
    int type;
} Matrix;

#define REAL float
#define OF(NAME) NAME##_f32
#include "decompositions_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "decompositions_loops.h"
#undef REAL
#undef OF

#define BOTH(NAME) {NAME##_f32, NAME##_f64}
static int (*const read_matrix[])(const Matrix *, void *) = BOTH(read_matrix);
static int (*const eliminate[])(void *, npy_intp, int32_t *) = BOTH(eliminate);
static int (*const read_lower[])(const Matrix *, void *) = BOTH(read_lower);
static int (*const take_blocks[])(void *, npy_intp, int32_t *) = BOTH(take_blocks);
static int (*const take_root[])(void *, npy_intp) = BOTH(take_root);
static void (*const solve_triangle[])(const void *, npy_intp, int, int, int, void *, npy_intp) = BOTH(solve_triangle);
static void (*const swap_rows[])(const int32_t *, npy_intp, int, void *, npy_intp) = BOTH(swap_rows);
static void (*const multiply_diagonal[])(const void *, npy_intp, int, void *) = BOTH(multiply_diagonal);
static void (*const add_logarithms[])(const void *, npy_intp, int, void *, void *) = BOTH(add_logarithms);
static void (*const write_ones[])(void *, npy_intp) = BOTH(write_ones);
/* The function of a pair, float32 or float64, for a matrix's type. */
#define FOR(PAIR, MATRIX) PAIR[(MATRIX)->type == NPY_DOUBLE]

/* Whether an object is an aligned matrix of float32 or float64 with elements, of any strides; of that type number
 * unless it is NPY_NOTYPE. Its layout is written to `matrix`. */
static int read_any(PyObject *object, int type, Matrix *matrix) {
    Array *array = (Array *)object;
    if (!(is_array_of(object, NPY_FLOAT) || is_array_of(object, NPY_DOUBLE)) || PyArray_NDIM(array) != 2 ||
        (type != NPY_NOTYPE && PyArray_TYPE(array) != type) || !PyArray_ISALIGNED(array) ||
        !PyArray_ISNOTSWAPPED(array) || count_of(array) == 0) {
        return 0;
    }
    *matrix = (Matrix){PyArray_BYTES(array),      PyArray_DIM(array, 0),    PyArray_DIM(array, 1),
                       PyArray_STRIDE(array, 0), PyArray_STRIDE(array, 1), PyArray_TYPE(array)};
    return 1;
}

/* Return the transpose of a matrix: the same memory with the strides exchanged. */
static Matrix transposed(const Matrix *matrix) {
    return (Matrix){matrix->from,        matrix->columns,  matrix->rows,
                    matrix->column_step, matrix->row_step, matrix->type};
}

/* Whether an object is a square matrix of at most MOST_COLUMNS columns, as `read_any` takes it. */
static int read_square(PyObject *object, int type, Matrix *matrix) {
    return read_any(object, type, matrix) && matrix->rows == matrix->columns && matrix->rows <= MOST_COLUMNS;
}

/* Whether pivots (LAPACK's, counted from 1) are an odd permutation: the sign of the determinant. */
static int is_odd(const int32_t *pivots, npy_intp n) {
    int swaps = 0;
    for (npy_intp j = 0; j < n; j++) {
        swaps ^= pivots[j] != j + 1;
    }
    return swaps;
}

/* The factors of a matrix as arrays, new references; `lu` and `pivots` are their data. */
typedef struct {
    Array *factors, *pivot_array;
    void *lu;
    int32_t *pivots;
    npy_intp n;
} Factors;

/* Release the arrays of factors. */
static void drop(Factors *made) {
    Py_CLEAR(made->factors);
    Py_CLEAR(made->pivot_array);
}

/* Factor P @ A = L @ U into new arrays. Returns the first zero on the diagonal of U, counted from 1, or 0; -1 with
 * nothing made: without an exception if an element is not finite, with one if memory runs out. */
static int factor(const Matrix *matrix, Factors *made) {
    const npy_intp n = matrix->rows;
    made->n = n;
    made->factors = new_by_columns(n, n, matrix->type);
    made->pivot_array = new_array(1, &n, NPY_INT32);
    if (made->factors != NULL && made->pivot_array != NULL) {
        made->lu = PyArray_BYTES(made->factors);
        made->pivots = (int32_t *)PyArray_BYTES(made->pivot_array);
        if (FOR(read_matrix, matrix)(matrix, made->lu)) {
            return FOR(eliminate, matrix)(made->lu, n, made->pivots);
        }
    }
    drop(made);
    return -1;
}

/* Factor a matrix that must be invertible. Returns whether there are factors; nothing is made if not, and an exception
 * is set only if memory ran out. */
static int factor_regular(const Matrix *matrix, Factors *made) {
    const int first_zero = factor(matrix, made);
    if (first_zero > 0) {
        drop(made);
    }
    return first_zero == 0;
}

/* Return LAPACK's `info` of success, a new zero-dimensional int32 array of 0; NULL with an exception. */
static PyObject *no_info(void) {
    Array *info = new_array(0, NULL, NPY_INT32);
    if (info != NULL) {
        *(int32_t *)PyArray_BYTES(info) = 0;
    }
    return (PyObject *)info;
}

/* Return a tuple of results, whose references it steals; NULL, and all of them released, if one of them is NULL. */
static PyObject *all_of(PyObject *const *results, int count) {
    PyObject *tuple = PyTuple_New(count);
    int is_whole = tuple != NULL;
    for (int i = 0; i < count; i++) {
        is_whole = is_whole && results[i] != NULL;
        if (tuple != NULL) {
            PyTuple_SET_ITEM(tuple, i, results[i]);
        } else {
            Py_XDECREF(results[i]);
        }
    }
    if (!is_whole) {
        Py_CLEAR(tuple);
    }
    return tuple;
}

/* Solve A @ X = B in place, or A.T @ X = B where `is_transposed`, for `count` columns of B, by the factors of A. */
static void solve_columns(
    const Matrix *matrix, const void *lu, const int32_t *pivots, int is_transposed, void *columns, npy_intp count) {
    const npy_intp n = matrix->rows;
    if (!is_transposed) {
        FOR(swap_rows, matrix)(pivots, n, 0, columns, count);
        FOR(solve_triangle, matrix)(lu, n, 0, 0, 1, columns, count);
        FOR(solve_triangle, matrix)(lu, n, 0, 1, 0, columns, count);
    } else {
        FOR(solve_triangle, matrix)(lu, n, 1, 0, 0, columns, count);
        FOR(solve_triangle, matrix)(lu, n, 1, 1, 1, columns, count);
        FOR(swap_rows, matrix)(pivots, n, 1, columns, count);
    }
}

/* Read the right-hand side, (n, count) or for X @ A = B (count, n), into columns of n elements to solve for:
 * column-major, or row-major where X @ A = B is solved as A.T @ X.T = B.T. Returns a new array of B's shape and writes
 * `count`; NULL without an exception if it does not match or is not finite. */
static Array *read_right(PyObject *object, const Matrix *matrix, int is_left, npy_intp *count) {
    Matrix right, columns;
    if (!read_any(object, matrix->type, &right)) {
        return NULL;
    }
    columns = is_left ? right : transposed(&right);
    if (columns.rows != matrix->rows) {
        return NULL;
    }
    const npy_intp shape[2] = {right.rows, right.columns};
    Array *result = is_left ? new_by_columns(shape[0], shape[1], right.type) : new_array(2, shape, right.type);
    if (result != NULL && !FOR(read_matrix, matrix)(&columns, PyArray_BYTES(result))) {
        Py_CLEAR(result);
    }
    *count = columns.columns;
    return result;
}

/* Read a right-hand side (n,) into a new array, which it returns; NULL without an exception if it does not match or is
 * not finite. */
static Array *read_vector(PyObject *object, const Matrix *matrix) {
    Array *array = (Array *)object;
    if (!is_array_of(object, matrix->type) || PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != matrix->rows ||
        !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) {
        return NULL;
    }
    const Matrix column = {PyArray_BYTES(array), matrix->rows, 1, PyArray_STRIDE(array, 0), 0, matrix->type};
    Array *result = new_array(1, PyArray_DIMS(array), matrix->type);
    if (result != NULL && !FOR(read_matrix, matrix)(&column, PyArray_BYTES(result))) {
        Py_CLEAR(result);
    }
    return result;
}

/* solution_and_factors(A, B, left, check_errors) of a small square A. Returns the tuple (X, LU, pivots, info); NULL
 * without an exception if A is large, singular or not finite, or if B does not match or is not finite. */
static PyObject *handle_solution(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    Factors made;
    if (call->count != 4 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix) ||
        !PyBool_Check(call->args[2])) {
        return NULL;
    }
    npy_intp count = 1;
    const int is_left = call->args[2] == Py_True;
    Array *result = is_left ? read_vector(call->args[1], &matrix) : NULL;
    if (result == NULL && !PyErr_Occurred()) {
        result = read_right(call->args[1], &matrix, is_left, &count);
    }
    if (result == NULL || !factor_regular(&matrix, &made)) {
        Py_XDECREF(result);
        return NULL;
    }
    solve_columns(&matrix, made.lu, made.pivots, !is_left, PyArray_BYTES(result), count);
    PyObject *results[] = {(PyObject *)result, (PyObject *)made.factors, (PyObject *)made.pivot_array, no_info()};
    return all_of(results, 4);
}

/* Return the pivots of an (n, n) matrix, a dense int32 array of n numbers from 1 to n, borrowed; NULL without an
 * exception for anything else. */
static const int32_t *read_pivots(PyObject *object, npy_intp n) {
    Array *array = plain_array(object, NPY_INT32);
    if (array == NULL || PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != n) {
        return NULL;
    }
    const int32_t *pivots = (const int32_t *)PyArray_BYTES(array);
    for (npy_intp j = 0; j < n; j++) {
        if (pivots[j] < 1 || pivots[j] > n) {
            return NULL;
        }
    }
    return pivots;
}

/* solve_with_lu(LU, pivots, B, left, adjoint) of a small square LU. Returns X, a new array of B's shape; NULL without
 * an exception for matrices that are large, not finite or do not match. */
static PyObject *handle_lu_solution(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    double elements[MOST_COLUMNS * MOST_COLUMNS];
    if (call->count != 5 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix) ||
        !PyBool_Check(call->args[3]) || !PyBool_Check(call->args[4])) {
        return NULL;
    }
    npy_intp count;
    const int is_left = call->args[3] == Py_True, is_adjoint = call->args[4] == Py_True;
    const int32_t *pivots = read_pivots(call->args[1], matrix.rows);
    if (pivots == NULL || !FOR(read_matrix, &matrix)(&matrix, elements)) {
        return NULL;
    }
    Array *result = read_right(call->args[2], &matrix, is_left, &count);
    if (result != NULL) {
        solve_columns(&matrix, elements, pivots, is_left == is_adjoint, PyArray_BYTES(result), count);
    }
    return (PyObject *)result;
}

/* inverse_and_info(A, check_errors) of a small square A. Returns the tuple (inverse, info); NULL without an exception
 * if A is large, singular or not finite. */
static PyObject *handle_inverse(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    Factors made;
    if (call->count != 2 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix) ||
        !factor_regular(&matrix, &made)) {
        return NULL;
    }
    Array *result = new_by_columns(made.n, made.n, matrix.type);
    if (result != NULL) {
        FOR(write_ones, &matrix)(PyArray_BYTES(result), made.n);
        solve_columns(&matrix, made.lu, made.pivots, 0, PyArray_BYTES(result), made.n);
    }
    drop(&made);
    PyObject *results[] = {(PyObject *)result, no_info()};
    return all_of(results, 2);
}

/* Factor the matrix of a determinant as the Python does: the transpose of a row-major one, which is column-major.
 * Returns what `factor` does; -1 with nothing made, too, if the arguments are others. */
static int factor_for_determinant(const KernelCall *call, Matrix *matrix, Factors *made) {
    if (call->count != 1 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, matrix)) {
        return -1;
    }
    if (PyArray_IS_C_CONTIGUOUS((Array *)call->args[0])) {
        *matrix = transposed(matrix);
    }
    return factor(matrix, made);
}

/* determinant(A) of a small square A. Returns the tuple (determinant, LU, pivots), the first one zero-dimensional; NULL
 * without an exception if A is large or not finite. */
static PyObject *handle_determinant(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    Factors made;
    if (factor_for_determinant(call, &matrix, &made) < 0) {
        return NULL;
    }
    Array *result = new_array(0, NULL, matrix.type);
    if (result != NULL) {
        FOR(multiply_diagonal, &matrix)(made.lu, made.n, is_odd(made.pivots, made.n), PyArray_BYTES(result));
    }
    PyObject *results[] = {(PyObject *)result, (PyObject *)made.factors, (PyObject *)made.pivot_array};
    return all_of(results, 3);
}

/* log_determinant(A) of a small square A. Returns the tuple (sign, log(|determinant|), LU, pivots); NULL without an
 * exception if A is large, singular or not finite. */
static PyObject *handle_log_determinant(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    Factors made;
    const int first_zero = factor_for_determinant(call, &matrix, &made);
    if (first_zero != 0) {
        if (first_zero > 0) {
            drop(&made);
        }
        return NULL;
    }
    Array *sign = new_array(0, NULL, matrix.type), *logarithm = new_array(0, NULL, matrix.type);
    if (sign != NULL && logarithm != NULL) {
        FOR(add_logarithms, &matrix)
        (made.lu, made.n, is_odd(made.pivots, made.n), PyArray_BYTES(sign), PyArray_BYTES(logarithm));
    }
    PyObject *results[] = {
        (PyObject *)sign, (PyObject *)logarithm, (PyObject *)made.factors, (PyObject *)made.pivot_array};
    return all_of(results, 4);
}

/* lu_and_info(A, pivot, check_errors) of a small square A. Returns the tuple (LU, pivots, info); NULL without an
 * exception if A is large, singular or not finite. */
static PyObject *handle_lu(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    Factors made;
    if (call->count != 3 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix) ||
        !factor_regular(&matrix, &made)) {
        return NULL;
    }
    PyObject *results[] = {(PyObject *)made.factors, (PyObject *)made.pivot_array, no_info()};
    return all_of(results, 3);
}

/* cholesky_and_info(self, upper, check_errors) of a small square matrix. Returns the tuple (factor, info); NULL without
 * an exception if it is large, not finite or not positive-definite. */
static PyObject *handle_cholesky(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    if (call->count != 3 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix) ||
        !PyBool_Check(call->args[1])) {
        return NULL;
    }
    const int is_upper = call->args[1] == Py_True;
    const npy_intp n = matrix.rows, shape[2] = {n, n};
    matrix = is_upper ? transposed(&matrix) : matrix;
    Array *lower = is_upper ? new_array(2, shape, matrix.type) : new_by_columns(n, n, matrix.type);
    if (lower == NULL || !FOR(read_matrix, &matrix)(&matrix, PyArray_BYTES(lower)) ||
        !FOR(take_root, &matrix)(PyArray_BYTES(lower), n)) {
        Py_XDECREF(lower);
        return NULL;
    }
    PyObject *results[] = {(PyObject *)lower, no_info()};
    return all_of(results, 2);
}

/* ldl_and_info(self, hermitian, check_errors) of a small square matrix. Returns the tuple (LD, pivots, info); NULL
 * without an exception if it is large or not finite, or a block of D is zero. */
static PyObject *handle_ldl(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    if (call->count != 3 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix)) {
        return NULL;
    }
    const npy_intp n = matrix.rows, shape[2] = {n, n};
    Array *factors = new_array(2, shape, matrix.type), *pivots = new_array(1, shape, NPY_INT32);
    if (factors == NULL || pivots == NULL || !FOR(read_lower, &matrix)(&matrix, PyArray_BYTES(factors)) ||
        FOR(take_blocks, &matrix)(PyArray_BYTES(factors), n, (int32_t *)PyArray_BYTES(pivots)) != 0) {
        Py_XDECREF(factors);
        Py_XDECREF(pivots);
        return NULL;
    }
    PyObject *results[] = {(PyObject *)factors, (PyObject *)pivots, no_info()};
    return all_of(results, 3);
}

/* solve_triangular(A, B, upper, left, unitriangular) of a small square A. Returns X, a new array of B's shape; NULL
 * without an exception for matrices that are large, not finite or do not match. */
static PyObject *handle_triangular(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Matrix matrix;
    if (call->count != 5 || call->out != NULL || !read_square(call->args[0], NPY_NOTYPE, &matrix) ||
        !PyBool_Check(call->args[2]) || !PyBool_Check(call->args[3]) || !PyBool_Check(call->args[4])) {
        return NULL;
    }
    double elements[MOST_COLUMNS * MOST_COLUMNS];
    npy_intp count;
    const int is_left = call->args[3] == Py_True;
    if (!FOR(read_matrix, &matrix)(&matrix, elements)) {
        return NULL;
    }
    Array *result = read_right(call->args[1], &matrix, is_left, &count);
    if (result != NULL) {
        /* X @ A = B is A.T @ X.T = B.T, by the other triangle. */
        const int is_upper = (call->args[2] == Py_True) == is_left, is_unit = call->args[4] == Py_True;
        FOR(solve_triangle, &matrix)
        (elements, matrix.rows, !is_left, is_upper, is_unit, PyArray_BYTES(result), count);
    }
    return (PyObject *)result;
}

const CompiledKernel decomposition_kernels[] = {
    {"solution_and_factors", handle_solution, NULL, QUIET},
    {"solve_with_lu", handle_lu_solution, NULL, QUIET},
    {"inverse_and_info", handle_inverse, NULL, QUIET},
    {"determinant", handle_determinant, NULL, QUIET},
    {"log_determinant", handle_log_determinant, NULL, QUIET},
    {"lu_and_info", handle_lu, NULL, QUIET},
    {"cholesky_and_info", handle_cholesky, NULL, QUIET},
    {"ldl_and_info", handle_ldl, NULL, QUIET},
    {"solve_triangular", handle_triangular, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
