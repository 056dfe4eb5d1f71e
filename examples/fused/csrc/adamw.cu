// AdamW: one pass over the four arrays.
#include "fused_cuda.h"

template <typename T>
__device__ void adamw_step(int64_t n, T *param, const T *grad, T *exp_avg, T *exp_avg_sq, double lr, double beta1,
                           double beta2, double eps, double weight_decay, int64_t step)
{
    const T rate = (T)(lr / (1 - pow(beta1, (double)step)));
    const T unbiased = (T)(1 / sqrt(1 - pow(beta2, (double)step)));
    const T kept = (T)(1 - lr * weight_decay), least = (T)eps;
    const T keep1 = (T)beta1, keep2 = (T)beta2, add1 = (T)(1 - beta1), add2 = (T)(1 - beta2);
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        exp_avg[i] = keep1 * exp_avg[i] + add1 * grad[i];
        exp_avg_sq[i] = keep2 * exp_avg_sq[i] + add2 * grad[i] * grad[i];
        param[i] = kept * param[i] - rate * exp_avg[i] / (sqrt(exp_avg_sq[i]) * unbiased + least);
    }
}

__global__ void adamw_step_f32(int64_t n, float *param, const float *grad, float *exp_avg, float *exp_avg_sq,
                               double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step)
{
    adamw_step(n, param, grad, exp_avg, exp_avg_sq, lr, beta1, beta2, eps, weight_decay, step);
}

__global__ void adamw_step_f64(int64_t n, double *param, const double *grad, double *exp_avg, double *exp_avg_sq,
                               double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step)
{
    adamw_step(n, param, grad, exp_avg, exp_avg_sq, lr, beta1, beta2, eps, weight_decay, step);
}
