#pragma once

__device__ inline int64_t first_of_thread()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
