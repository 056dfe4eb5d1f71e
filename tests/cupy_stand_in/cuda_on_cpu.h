/* CUDA's words in C++ on the CPU: blocks run one after the other, the threads of a block one after the other too, or, if
 * the source has __syncthreads, at once. What this cannot show: races between blocks, warps, atomics, speed. */
#pragma once
#include "cuda_headers/cuda_runtime_api.h"
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#define __CUDACC__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __restrict__ __restrict
using std::max;
using std::min;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) float2 { float x, y; };
struct alignas(16) double2 { double x, y; };
static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;
static std::barrier<> *on_cpu_barrier;
static std::vector<double2> on_cpu_shared; /* aligned for every type */

static inline void __syncthreads() { on_cpu_barrier->arrive_and_wait(); }
static inline float rsqrtf(float x) { return 1 / std::sqrt(x); }

/* An argument as it is packed: its bytes, and what they are: pointer, float, integer, struct. */
struct on_cpu_argument {
    const void *at;
    int64_t size;
    char kind;
};

template <class T> static bool on_cpu_fits(const on_cpu_argument &given)
{
    const char kind = std::is_pointer_v<T> ? 'p' : std::is_floating_point_v<T> ? 'f' : std::is_integral_v<T> ? 'i' : 's';
    return given.kind == kind && given.size == (int64_t)sizeof(T);
}

/* Runs a kernel; a message where it is called with other arguments than it takes. */
template <class... P, std::size_t... I>
static const char *on_cpu_run(void (*kernel)(P...), const on_cpu_argument *given, int count, dim3 grid, dim3 block,
                              int64_t shared, bool waits, std::index_sequence<I...>)
{
    if (count != (int)sizeof...(P))
        return "another number of arguments";
    static thread_local std::string wrong;
    wrong.clear();
    (void)((on_cpu_fits<P>(given[I]) ? true : (wrong = "argument " + std::to_string(I) + " is of another type", false)) && ...);
    if (!wrong.empty())
        return wrong.c_str();
    on_cpu_shared.assign(shared / sizeof(double2) + 1, double2{});
    auto one = [&](unsigned at, unsigned x) {
        blockIdx = dim3(at, 0, 0), threadIdx = dim3(x, 0, 0), blockDim = block, gridDim = grid;
        kernel(*(std::remove_const_t<P> *)given[I].at...);
    };
    for (unsigned at = 0; at < grid.x; at++) {
        if (!waits) {
            for (unsigned x = 0; x < block.x; x++)
                one(at, x);
            continue;
        }
        std::barrier<> barrier(block.x);
        on_cpu_barrier = &barrier;
        std::vector<std::thread> threads;
        for (unsigned x = 0; x < block.x; x++)
            threads.emplace_back([&, x] { one(at, x); barrier.arrive_and_drop(); });
        for (auto &thread : threads)
            thread.join();
    }
    return nullptr;
}

template <class... P>
static const char *on_cpu_launch(void (*kernel)(P...), const on_cpu_argument *given, int count, unsigned grid,
                                 unsigned block, int64_t shared, bool waits)
{
    return on_cpu_run(kernel, given, count, grid, block, shared, waits, std::index_sequence_for<P...>());
}

/* A launch in host code, of a kernel that does not wait. */
template <class F> static void on_cpu_start(dim3 grid, dim3 block, size_t, void *, F run)
{
    for (unsigned at = 0; at < grid.x; at++)
        for (unsigned x = 0; x < block.x; x++) {
            blockIdx = dim3(at, 0, 0), threadIdx = dim3(x, 0, 0), blockDim = block, gridDim = grid;
            run();
        }
}
