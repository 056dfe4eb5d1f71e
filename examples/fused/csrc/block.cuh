// What all threads of a block know together. A block has at most 1,024 threads, a power of two.
#ifndef BLOCK_CUH
#define BLOCK_CUH

// The sum of what all threads bring, in every one of them.
template <typename T>
__device__ T sum_of_block(T mine)
{
    __shared__ T parts[1024];
    __syncthreads(); // others may still read the last sum
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

// The largest of what all threads bring, in every one of them.
template <typename T>
__device__ T largest_of_block(T mine)
{
    __shared__ T parts[1024];
    __syncthreads();
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half && parts[threadIdx.x] < parts[threadIdx.x + half])
            parts[threadIdx.x] = parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

#endif
