/* Activations, and their backward functions. */

#include "pointwise.h"

#include "special_f32.h"
#include "special_f64.h"

#include <float.h>

#define REAL float
#define LARGEST FLT_MAX
#define OF(NAME) NAME##_f32
#include "pointwise_elements.h"
#include "activations_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define REAL double
#define LARGEST DBL_MAX
#define OF(NAME) NAME##_f64
#include "pointwise_elements.h"
#include "activations_loops.h"
#undef REAL
#undef LARGEST
#undef OF

OF_ARRAYS(silu, 1, 0)
OF_ARRAYS(power_below, 1, 0)
OF_ARRAYS(log_sigmoid, 2, 0)
OF_ARRAYS(mish, 1, 0)
OF_ARRAYS(elu, 1, 3)
OF_ARRAYS(leaky_relu, 1, 1)
OF_ARRAYS(softplus, 1, 2)
OF_ARRAYS(hardsigmoid, 1, 0)
OF_ARRAYS(hardswish, 1, 0)
OF_ARRAYS(silu_gradient, 2, 0)
OF_ARRAYS(elu_gradient, 2, 3)
OF_ARRAYS(threshold_backward, 2, 1)
OF_ARRAYS(mish_backward, 2, 0)
OF_ARRAYS(softplus_backward, 2, 2)
OF_ARRAYS(sigmoid_backward, 2, 0)
OF_ARRAYS(tanh_backward, 2, 0)
OF_ARRAYS(leaky_relu_backward, 2, 1)
OF_ARRAYS(hardtanh_backward, 2, 2)
OF_ARRAYS(hardsigmoid_backward, 2, 0)
OF_ARRAYS(hardswish_backward, 2, 0)
OF_ARRAYS(hardshrink_backward, 2, 1)
OF_ARRAYS(log_sigmoid_backward, 3, 0)
static const Elementwise gelu_how[] = {{1, 0, 0, 0, BOTH(gelu)}, {1, 0, 0, 0, BOTH(gelu_by_tanh)}};
static const Elementwise gelu_gradient_how[] = {{2, 0, 0, 0, BOTH(gelu_gradient)},
                                                {2, 0, 0, 0, BOTH(gelu_by_tanh_gradient)}};
OF_ARRAYS(relu, 1, 0)
OF_ARRAYS(threshold, 1, 2)
OF_ARRAYS(hardshrink, 1, 1)
OF_ARRAYS(softshrink, 1, 1)

/* log_sigmoid(self) of one dense float32 or float64 array. Returns the tuple (log(sigmoid(self)), exp(-|self|)), both
 * of its shape; NULL without an exception for any other call, with one if memory runs out. */
static PyObject *handle_log_sigmoid(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ElementwiseJob first = {0}, second = {0};
    if (call->count != 1 || call->out != NULL || plain_floats(call->args[0]) == NULL) {
        return NULL;
    }
    PyObject *power = run_elementwise(&power_below_how, call->args, NULL, &first);
    PyObject *operands[] = {call->args[0], power}, *results = NULL;
    PyObject *logarithm = power == NULL ? NULL : run_elementwise(&log_sigmoid_how, operands, NULL, &second);
    if (logarithm != NULL) {
        results = PyTuple_Pack(2, logarithm, power);
    }
    Py_XDECREF(power);
    Py_XDECREF(logarithm);
    return results;
}

const CompiledKernel activation_kernels[] = {
    {"relu", handle_elementwise, &relu_how, QUIET},
    {"threshold", handle_elementwise, &threshold_how, QUIET},
    {"hardshrink", handle_elementwise, &hardshrink_how, 0},
    {"softshrink", handle_elementwise, &softshrink_how, 0},
    {"log_sigmoid", handle_log_sigmoid, NULL, 0},
    {"silu", handle_elementwise, &silu_how, 0},
    {"mish", handle_elementwise, &mish_how, 0},
    {"elu", handle_elementwise, &elu_how, 0},
    {"leaky_relu", handle_elementwise, &leaky_relu_how, 0},
    {"softplus", handle_elementwise, &softplus_how, 0},
    {"hardsigmoid", handle_elementwise, &hardsigmoid_how, QUIET},
    {"hardswish", handle_elementwise, &hardswish_how, 0},
    {"gelu", handle_variant, gelu_how, 0},
    {"silu_gradient", handle_elementwise, &silu_gradient_how, OF_NUMPY},
    {"gelu_gradient", handle_variant, gelu_gradient_how, OF_NUMPY},
    {"elu_gradient", handle_elementwise, &elu_gradient_how, OF_NUMPY},
    {"threshold_backward", handle_elementwise, &threshold_backward_how, QUIET},
    {"mish_backward", handle_elementwise, &mish_backward_how, 0},
    {"softplus_backward", handle_elementwise, &softplus_backward_how, 0},
    {"sigmoid_backward", handle_elementwise, &sigmoid_backward_how, 0},
    {"tanh_backward", handle_elementwise, &tanh_backward_how, 0},
    {"leaky_relu_backward", handle_elementwise, &leaky_relu_backward_how, QUIET},
    {"hardtanh_backward", handle_elementwise, &hardtanh_backward_how, QUIET},
    {"hardsigmoid_backward", handle_elementwise, &hardsigmoid_backward_how, 0},
    {"hardswish_backward", handle_elementwise, &hardswish_backward_how, 0},
    {"hardshrink_backward", handle_elementwise, &hardshrink_backward_how, QUIET},
    {"log_sigmoid_backward", handle_elementwise, &log_sigmoid_backward_how, 0},
    {NULL, NULL, NULL, 0},
};
