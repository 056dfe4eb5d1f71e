// Softmax and cross entropy: a block for each row of logits. A target that is no class makes the row's results NaN, since
// kernels cannot fail.
#include "fused_cuda.h"

#include "block.cuh"

template <typename T>
__device__ void loss_of_row(const T *logits, int64_t classes, int64_t target, T *loss, T *lse)
{
    T largest = logits[0], total = 0;
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x)
        largest = logits[i] > largest ? logits[i] : largest;
    largest = largest_of_block(largest);
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x)
        total += exp(logits[i] - largest);
    total = sum_of_block(total);
    if (threadIdx.x == 0) {
        *lse = largest + log(total);
        *loss = target < 0 || target >= classes ? (T)nan("") : log(total) + (largest - logits[target]);
    }
}

template <typename T>
__device__ void gradient_of_row(T grad, const T *logits, int64_t classes, int64_t target, T lse, T *out)
{
    const T scale = target < 0 || target >= classes ? (T)nan("") : grad;
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x)
        out[i] = scale * (exp(logits[i] - lse) - (i == target ? 1 : 0));
}

__global__ void cross_entropy_f32(const float *logits, int logits_ndim, opwright_sizes logits_shape,
                                  const int64_t *target, int target_ndim, opwright_sizes target_shape, float *loss,
                                  int loss_ndim, opwright_sizes loss_shape, float *lse, int lse_ndim,
                                  opwright_sizes lse_shape)
{
    const int64_t row = blockIdx.x, classes = logits_shape[logits_ndim - 1];
    loss_of_row(logits + row * classes, classes, target[row], loss + row, lse + row);
}

__global__ void cross_entropy_f64(const double *logits, int logits_ndim, opwright_sizes logits_shape,
                                  const int64_t *target, int target_ndim, opwright_sizes target_shape, double *loss,
                                  int loss_ndim, opwright_sizes loss_shape, double *lse, int lse_ndim,
                                  opwright_sizes lse_shape)
{
    const int64_t row = blockIdx.x, classes = logits_shape[logits_ndim - 1];
    loss_of_row(logits + row * classes, classes, target[row], loss + row, lse + row);
}

__global__ void cross_entropy_backward_f32(const float *grad_loss, int grad_loss_ndim, opwright_sizes grad_loss_shape,
                                           const float *logits, int logits_ndim, opwright_sizes logits_shape,
                                           const int64_t *target, int target_ndim, opwright_sizes target_shape,
                                           const float *lse, int lse_ndim, opwright_sizes lse_shape, float *out,
                                           int out_ndim, opwright_sizes out_shape)
{
    const int64_t row = blockIdx.x, classes = logits_shape[logits_ndim - 1];
    gradient_of_row(grad_loss[row], logits + row * classes, classes, target[row], lse[row], out + row * classes);
}

__global__ void cross_entropy_backward_f64(const double *grad_loss, int grad_loss_ndim, opwright_sizes grad_loss_shape,
                                           const double *logits, int logits_ndim, opwright_sizes logits_shape,
                                           const int64_t *target, int target_ndim, opwright_sizes target_shape,
                                           const double *lse, int lse_ndim, opwright_sizes lse_shape, double *out,
                                           int out_ndim, opwright_sizes out_shape)
{
    const int64_t row = blockIdx.x, classes = logits_shape[logits_ndim - 1];
    gradient_of_row(grad_loss[row], logits + row * classes, classes, target[row], lse[row], out + row * classes);
}
