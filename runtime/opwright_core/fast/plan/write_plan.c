/* WritingPlan: the plan of a call that writes, made of a cached tensor spec. It does what
 * `opwright_core.plans.plan.Plan` does for a target that matches the plan, row-major, and apart from the operands or
 * one of them. A Plan does the rest.
 * */

#include "fast/arrays/arrays.h"
#include "fast/configure.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/plain_arrays.h"
#include "fast/arrays/tensor.h"
#include "write_plan.h"

typedef struct {
    PyObject_HEAD
    PyObject *spec;
    PyObject *given; /* a tuple */
    PyObject *plan;  /* the Plan that handles the rest; NULL while there is none */
    int is_shared;   /* whether the target is an operand that is not read in the order it is written in */
} WritingPlan;

/* What `configure` is told: the Plan, what casts operands, and where the slots of a tensor spec are. */
static struct {
    PyObject *plan, *cast;
    PyTypeObject *spec;
    Py_ssize_t shape, dtype, produces, casts, pointwise;
} writing = {0};

static PyTypeObject *writing_type = NULL;

/* Visit what a plan holds. Returns what `visit` returns. */
static int writing_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((WritingPlan *)self)->spec);
    Py_VISIT(((WritingPlan *)self)->given);
    Py_VISIT(((WritingPlan *)self)->plan);
    return 0;
}

/* Free a plan. */
static void writing_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    WritingPlan *plan = (WritingPlan *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(plan->spec);
    Py_CLEAR(plan->given);
    Py_CLEAR(plan->plan);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Return the Plan, borrowed, or NULL with an exception. */
static PyObject *plan_of(WritingPlan *self) {
    if (self->plan == NULL) {
        self->plan = PyObject_CallFunctionObjArgs(writing.plan, self->spec, self->given, NULL);
    }
    return self->plan;
}

/* Whether a target matches the plan and lies apart from all operands, or is one; returns 1 or 0. */
static int matches_plan(WritingPlan *self, PyObject *target) {
    PyObject *dtype = slot_at(self->spec, writing.dtype), *shape = slot_at(self->spec, writing.shape);
    if (target == NULL || Py_TYPE(target) != core.array || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)target) ||
        !array_fits(target, dtype, shape)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->given); i++) {
        PyObject *each = PyTuple_GET_ITEM(self->given, i);
        if (each == target) {
            self->is_shared |= slot_at(self->spec, writing.pointwise) != Py_True;
        } else if (Py_TYPE(each) == core.array) {
            if (!arrays_are_apart(target, each)) {
                return 0;
            }
        } else if (each != Py_None && !PyFloat_CheckExact(each) && !PyLong_CheckExact(each)) {
            return 0;
        }
    }
    return 1;
}

/* Return the operands for the kernel, cast as the plan says: a new reference. */
static PyObject *get_operands(PyObject *object, void *closure) {
    WritingPlan *self = (WritingPlan *)object;
    PyObject *casts = slot_at(self->spec, writing.casts);
    (void)closure;
    if (casts != NULL && PyTuple_CheckExact(casts) && PyTuple_GET_SIZE(casts) == 0) {
        return Py_NewRef(self->given);
    }
    return PyObject_CallFunctionObjArgs(writing.cast, self->spec, self->given, NULL);
}

/* Return the result's dtype: a new reference. */
static PyObject *get_dtype(PyObject *object, void *closure) {
    (void)closure;
    return Py_NewRef(slot_at(((WritingPlan *)object)->spec, writing.dtype));
}

/* Return the array of a tensor that the operator writes to, as the method of Plan with this name does. */
static PyObject *target_of(PyObject *object, PyObject *tensor, const char *name) {
    WritingPlan *self = (WritingPlan *)object;
    PyObject *array = Py_TYPE(tensor) == core.tensor ? ((Tensor *)tensor)->array : NULL;
    if (matches_plan(self, array)) {
        return Py_NewRef(array);
    }
    PyObject *plan = plan_of(self);
    return plan == NULL ? NULL : PyObject_CallMethod(plan, name, "O", tensor);
}

/* inplace(tensor): return the array of a tensor that the operator overwrites. */
static PyObject *inplace(PyObject *self, PyObject *tensor) {
    return target_of(self, tensor, "inplace");
}

/* target(tensor): return the array of an `out=` tensor. */
static PyObject *target(PyObject *self, PyObject *tensor) {
    return target_of(self, tensor, "target");
}

/* out(target): return the target if the kernel may write straight into it, else None. */
static PyObject *out(PyObject *object, PyObject *array) {
    WritingPlan *self = (WritingPlan *)object;
    if (self->plan != NULL) {
        return PyObject_CallMethod(self->plan, "out", "O", array);
    }
    int is_written = !self->is_shared && slot_at(self->spec, writing.dtype) == slot_at(self->spec, writing.produces);
    return Py_NewRef(is_written ? array : Py_None);
}

/* store(result, target): put the kernel's result into the target. Returns None. */
static PyObject *store(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    if (count == 2 && args[0] == args[1]) {
        Py_RETURN_NONE;
    }
    PyObject *plan = plan_of((WritingPlan *)object),
             *method = plan == NULL ? NULL : PyObject_GetAttrString(plan, "store");
    PyObject *result = method == NULL ? NULL : PyObject_Vectorcall(method, args, (size_t)count, NULL);
    Py_XDECREF(method);
    return result;
}

/* Make a plan: `WritingPlan(spec, operands)`. Returns a new reference. */
static PyObject *writing_call(PyObject *type, PyObject *const *args, size_t flagged, PyObject *names) {
    if (names != NULL || PyVectorcall_NARGS(flagged) != 2 || writing.spec == NULL ||
        !Py_IS_TYPE(args[0], writing.spec) || !PyTuple_CheckExact(args[1])) {
        return PyObject_Vectorcall(writing.plan, args, flagged, names);
    }
    WritingPlan *made = (WritingPlan *)writing_type->tp_alloc((PyTypeObject *)type, 0);
    if (made != NULL) {
        made->spec = Py_NewRef(args[0]);
        made->given = Py_NewRef(args[1]);
    }
    return (PyObject *)made;
}

static const SettingSlot spec_slots[] = {
    {"shape", &writing.shape},
    {"dtype", &writing.dtype},
    {"produces", &writing.produces},
    {"casts", &writing.casts},
    {"pointwise", &writing.pointwise},
    {NULL, NULL},
};

const Setting writing_settings[] = {
    {"Plan", SETTING_OBJECT, &writing.plan, NULL, NULL},
    {"cast_operands", SETTING_OBJECT, &writing.cast, NULL, NULL},
    {"TensorSpec", SETTING_CLASS, &writing.spec, spec_slots, NULL},
    NO_SETTING,
};

static PyMethodDef writing_methods[] = {
    {"inplace", inplace, METH_O, "Return the array of a tensor that the operator overwrites."},
    {"target", target, METH_O, "Return the array of an `out=` tensor."},
    {"out", out, METH_O, "Return the target if the kernel may write straight into it, else None."},
    {"store", (PyCFunction)(void (*)(void))store, METH_FASTCALL, "Put the kernel's result into the target."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef writing_getset[] = {
    {"operands", get_operands, NULL, "The operands for the kernel.", NULL},
    {"dtype", get_dtype, NULL, "The result's dtype.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Return an attribute, a new reference; of the Plan what this has not. */
static PyObject *writing_getattro(PyObject *self, PyObject *name) {
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    PyErr_Clear();
    PyObject *plan = plan_of((WritingPlan *)self);
    return plan == NULL ? NULL : PyObject_GetAttr(plan, name);
}

static PyType_Slot writing_slots[] = {
    {Py_tp_getattro, writing_getattro},
    {Py_tp_doc, "The plan of a call that writes, by a cached tensor spec."},
    {Py_tp_traverse, writing_traverse},
    {Py_tp_dealloc, writing_dealloc},
    {Py_tp_methods, writing_methods},
    {Py_tp_getset, writing_getset},
    {0, NULL},
};

static PyType_Spec writing_spec = {
    .name = "opwright_core._fast.WritingPlan",
    .basicsize = sizeof(WritingPlan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = writing_slots,
};

/* Make the type. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_writing_type(PyObject *module) {
    writing_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &writing_spec, NULL);
    if (writing_type != NULL) {
        writing_type->tp_vectorcall = writing_call;
    }
    return writing_type;
}
