// The handler that somebody writes who has one kernel to give to JAX.
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error Call(double alpha, ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y, ffi::ResultBuffer<ffi::F32> out)
{
    const int64_t n = x.element_count();
    if (y.element_count() != n || out->element_count() != n)
        return ffi::Error::InvalidArgument("sizes differ");
    const float *const a = x.typed_data(), *const b = y.typed_data();
    float *const to = out->typed_data();
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)alpha * a[i] + b[i];
    return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(Axpy, Call,
                              ffi::Ffi::Bind()
                                  .Attr<double>("alpha")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
