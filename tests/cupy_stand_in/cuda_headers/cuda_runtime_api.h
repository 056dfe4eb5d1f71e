/* The few functions of CUDA's runtime that host code of the tests calls, in the memory of the host. */
#pragma once
#include <cstring>

typedef int cudaError_t;
typedef struct on_cpu_stream *cudaStream_t;
enum { cudaSuccess = 0, cudaMemcpyDeviceToDevice = 3 };

static inline const char *cudaGetErrorString(cudaError_t error) { return error == 1 ? "invalid argument" : "no error"; }
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t)
{
    memset(to, value, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                            size_t height, int, cudaStream_t)
{
    for (size_t row = 0; row < height; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return cudaSuccess;
}
