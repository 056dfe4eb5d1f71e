// Layer norm: a block for each row.
#include "fused_cuda.h"

#include "block.cuh"

__device__ int64_t rows_of(int ndim, const opwright_sizes &shape)
{
    int64_t rows = 1;
    for (int i = 0; i < ndim - 1; i++)
        rows *= shape[i];
    return rows;
}

template <typename T>
__device__ void normalize_row(int64_t columns, const T *x, const T *weight, const T *bias, double eps, T *y, T *mean,
                              T *rstd)
{
    T total = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        total += x[i];
    const T average = sum_of_block(total) / (T)columns;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        squares += (x[i] - average) * (x[i] - average);
    const T scale = 1 / sqrt(sum_of_block(squares) / (T)columns + (T)eps);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        y[i] = (x[i] - average) * scale * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
    if (threadIdx.x == 0) {
        *mean = average;
        *rstd = scale;
    }
}

template <typename T>
__device__ void gradient_of_row(int64_t columns, const T *grad, const T *x, T mean, T rstd, const T *weight, T *grad_x)
{
    T sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
        const T h = weight ? grad[i] * weight[i] : grad[i];
        sum += h;
        product += h * (x[i] - mean) * rstd;
    }
    sum = sum_of_block(sum) / (T)columns;
    product = sum_of_block(product) / (T)columns;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
        const T h = weight ? grad[i] * weight[i] : grad[i];
        grad_x[i] = rstd * (h - sum - (x[i] - mean) * rstd * product);
    }
}

// Columns are summed by all blocks together: each thread goes down every so-manieth column, beside its neighbours.
template <typename T>
__device__ void gradients_of_columns(int64_t rows, int64_t columns, const T *grad, const T *x, const T *mean,
                                     const T *rstd, T *grad_weight, T *grad_bias)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += stride) {
        T of_weight = 0, of_bias = 0;
        for (int64_t row = 0; row < rows; row++) {
            const T here = grad[row * columns + i];
            of_weight += here * (x[row * columns + i] - mean[row]) * rstd[row];
            of_bias += here;
        }
        grad_weight[i] = of_weight;
        grad_bias[i] = of_bias;
    }
}

__global__ void layer_norm_f32(const float *x, int x_ndim, opwright_sizes x_shape, const float *weight,
                               int weight_ndim, opwright_sizes weight_shape, const float *bias, int bias_ndim,
                               opwright_sizes bias_shape, double eps, float *y, int y_ndim, opwright_sizes y_shape,
                               float *mean, int mean_ndim, opwright_sizes mean_shape, float *rstd, int rstd_ndim,
                               opwright_sizes rstd_shape)
{
    const int64_t row = blockIdx.x, columns = x_shape[x_ndim - 1], at = row * columns;
    normalize_row(columns, x + at, weight, bias, eps, y + at, mean + row, rstd + row);
}

__global__ void layer_norm_f64(const double *x, int x_ndim, opwright_sizes x_shape, const double *weight,
                               int weight_ndim, opwright_sizes weight_shape, const double *bias, int bias_ndim,
                               opwright_sizes bias_shape, double eps, double *y, int y_ndim, opwright_sizes y_shape,
                               double *mean, int mean_ndim, opwright_sizes mean_shape, double *rstd, int rstd_ndim,
                               opwright_sizes rstd_shape)
{
    const int64_t row = blockIdx.x, columns = x_shape[x_ndim - 1], at = row * columns;
    normalize_row(columns, x + at, weight, bias, eps, y + at, mean + row, rstd + row);
}

__global__ void layer_norm_backward_f32(const float *grad_y, int grad_y_ndim, opwright_sizes grad_y_shape,
                                        const float *x, int x_ndim, opwright_sizes x_shape, const float *mean,
                                        int mean_ndim, opwright_sizes mean_shape, const float *rstd, int rstd_ndim,
                                        opwright_sizes rstd_shape, const float *weight, int weight_ndim,
                                        opwright_sizes weight_shape, double eps, float *grad_x, int grad_x_ndim,
                                        opwright_sizes grad_x_shape, float *grad_weight, int grad_weight_ndim,
                                        opwright_sizes grad_weight_shape, float *grad_bias, int grad_bias_ndim,
                                        opwright_sizes grad_bias_shape)
{
    const int64_t row = blockIdx.x, rows = rows_of(x_ndim, x_shape), columns = x_shape[x_ndim - 1], at = row * columns;
    if (row < rows) // (of no rows, one block leaves zeros for the columns)
        gradient_of_row(columns, grad_y + at, x + at, mean[row], rstd[row], weight, grad_x + at);
    gradients_of_columns(rows, columns, grad_y, x, mean, rstd, grad_weight, grad_bias);
}

__global__ void layer_norm_backward_f64(const double *grad_y, int grad_y_ndim, opwright_sizes grad_y_shape,
                                        const double *x, int x_ndim, opwright_sizes x_shape, const double *mean,
                                        int mean_ndim, opwright_sizes mean_shape, const double *rstd, int rstd_ndim,
                                        opwright_sizes rstd_shape, const double *weight, int weight_ndim,
                                        opwright_sizes weight_shape, double eps, double *grad_x, int grad_x_ndim,
                                        opwright_sizes grad_x_shape, double *grad_weight, int grad_weight_ndim,
                                        opwright_sizes grad_weight_shape, double *grad_bias, int grad_bias_ndim,
                                        opwright_sizes grad_bias_shape)
{
    const int64_t row = blockIdx.x, rows = rows_of(x_ndim, x_shape), columns = x_shape[x_ndim - 1], at = row * columns;
    if (row < rows) // (of no rows, one block leaves zeros for the columns)
        gradient_of_row(columns, grad_y + at, x + at, mean[row], rstd[row], weight, grad_x + at);
    gradients_of_columns(rows, columns, grad_y, x, mean, rstd, grad_weight, grad_bias);
}
