// The C kernel bound by nanobind, with the checks that it makes of arrays: dtype, rank, device, writable.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "native_demo_kernels.h"

namespace nb = nanobind;
using In = nb::ndarray<nb::numpy, const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<nb::numpy, double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

NB_MODULE(bound, module)
{
    module.def("axpy", [](In x, In y, double alpha, Out out) {
        axpy_f64(static_cast<int64_t>(x.shape(0)), x.data(), y.data(), alpha, out.data());
    });
}
