/* What a call from Python of the C kernel costs at least: no argument is looked at. */
#define Py_LIMITED_API 0x030B0000
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include "native_demo_kernels.h"

static PyObject *axpy(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)count;
    PyArrayObject *const x = (PyArrayObject *)args[0], *const y = (PyArrayObject *)args[1];
    PyObject *const made = args[3] == Py_None ? PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_FLOAT64)
                                              : Py_NewRef(args[3]);
    axpy_f64(PyArray_DIM(x, 0), PyArray_DATA(x), PyArray_DATA(y), PyFloat_AsDouble(args[2]),
             PyArray_DATA((PyArrayObject *)made));
    return made;
}

static PyMethodDef methods[] = {
    {"axpy", (PyCFunction)(void (*)(void))axpy, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int set_up(PyObject *module)
{
    (void)module;
    import_array1(-1);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)set_up}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "bare", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_bare(void)
{
    return PyModuleDef_Init(&definition);
}
