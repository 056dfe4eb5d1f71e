/* Products added to a matrix, by NumPy's BLAS. */

#ifndef OPWRIGHT_GEMM_H
#define OPWRIGHT_GEMM_H

#include "kernels.h"

/* A matrix: its first element, its size, and how many bytes rows and columns are apart. */
typedef struct {
    char *data;
    npy_intp rows, columns, row_step, column_step;
} Matrix;

int gemm_ready(void);
int is_gemm_matrix(int is_double, const Matrix *matrix);
Matrix matrix_at(const Array *array, npy_intp offset);
Matrix turned_matrix(Matrix matrix);
int gemm(int is_double, Matrix first, Matrix second, Matrix out, double alpha, double beta);

#endif
