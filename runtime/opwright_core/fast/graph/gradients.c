/* Gradients: the formulas of a class of nodes, as calls of operators, and the slots that a pass frees.
 *
 * Python reads the formulas (`opwright_core.gradient_codes`). `apply` of the node computes the same, and is called if a
 * saved tensor has to be looked at, or an operand is not what a step expects. */

#include "fast/arrays/arrays.h"
#include "backward.h"
#include "engine.h"
#include "saved_values.h"

/* What a step does, by the numbers of `opwright_core.gradient_codes`: STEP_GRAD is the gradient of the result,
 * STEP_SAVED a tensor that the node saved, STEP_VALUE anything else in a slot, STEP_GIVEN a constant, STEP_CONJ a
 * value's conjugate, STEP_CALL an operator's result; and how the gradient of a view's node lies beside that of its
 * base: STEP_APART for nodes of no such view, STEP_SAME, STEP_TURNED, STEP_SWAPPED by its two dims. */

/* The most slots that are freed here. */
#define MOST_FREED 12

/* A step of a formula, whose value those after it may take. */
typedef struct {
    unsigned char kind, count;
    unsigned char operands[MOST_ARGUMENTS]; /* the numbers of values */
    Py_ssize_t slot;
    PyObject *given;
    Operator operator;
    const CompiledKernel *adding; /* of STEP_CALL: a kernel that can add the result to an array; NULL */
} Step;

/* The formula of an edge: the last value is its gradient. */
typedef struct {
    int count; /* 0: the Python has it */
    Step *steps;
} Formula;

typedef struct {
    PyObject_HEAD
    Py_ssize_t formulas_count; /* 0: the Python has all */
    Formula *formulas;
    int lay; /* STEP_APART … */
    Py_ssize_t freed_count;
    Py_ssize_t freed[MOST_FREED];
} Gradients;

static PyTypeObject *gradients_type = NULL;

/* Free the steps of a formula. */
static void free_formula(Formula *formula) {
    for (int i = 0; i < formula->count; i++) {
        Py_CLEAR(formula->steps[i].given);
        operator_clear(&formula->steps[i].operator);
    }
    PyMem_Free(formula->steps);
}

/* Free an instance. */
static void gradients_dealloc(PyObject *self) {
    Gradients *gradients = (Gradients *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t i = 0; i < gradients->formulas_count; i++) {
        free_formula(&gradients->formulas[i]);
    }
    PyMem_Free(gradients->formulas);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Return a real tensor as it is: a new reference, or NULL. */
static PyObject *conjugate(PyObject *value) {
    if (PyFloat_CheckExact(value) || PyLong_CheckExact(value)) {
        return Py_NewRef(value);
    }
    PyObject *array = Py_TYPE(value) == core.tensor ? ((Tensor *)value)->array : NULL;
    return array != NULL && Py_TYPE(array) == core.array && array_is_real(array) ? Py_NewRef(value) : NULL;
}

/* Return the value of a step, a new reference, or NULL: without an exception the Python has to compute the gradient. */
static PyObject *take_step(Step *step, PyObject *node, PyObject *grad, PyObject *const *values) {
    PyObject *args[MOST_ARGUMENTS];
    switch (step->kind) {
    case STEP_GRAD:
        return Py_NewRef(grad);
    case STEP_SAVED:
        return unpack(slot_at(node, step->slot));
    case STEP_VALUE:
        return Py_XNewRef(slot_at(node, step->slot));
    case STEP_GIVEN:
        return Py_NewRef(step->given);
    case STEP_CONJ:
        return conjugate(values[step->operands[0]]);
    default:
        for (int i = 0; i < step->count; i++) {
            args[i] = values[step->operands[i]];
        }
        return operator_call(&step->operator, args, step->count);
    }
}

/* The values of the steps of a formula. */
typedef struct {
    int count;
    PyObject *values[MOST_VALUES];
} Values;

/* Drop the values of steps. */
static void drop_values(Values *values) {
    while (values->count > 0) {
        Py_DECREF(values->values[--values->count]);
    }
}

/* Take the steps of a formula up to a number of them. Returns 1; 0, with the values dropped, if one has none: without
 * an exception Python has to compute the gradient. */
static int take_steps(const Formula *formula, int until, PyObject *node, PyObject *grad, Values *taken) {
    while (taken->count < until) {
        PyObject *value = take_step(&formula->steps[taken->count], node, grad, taken->values);
        if (value == NULL) {
            drop_values(taken);
            return 0;
        }
        taken->values[taken->count++] = value;
    }
    return until > 0;
}

/* Compute the gradient of an edge. Returns a new reference, or NULL: without an exception if Python has to compute it.
 */
static PyObject *compute_one(const Formula *formula, PyObject *node, PyObject *grad) {
    Values taken;
    taken.count = 0;
    if (!take_steps(formula, formula->count, node, grad, &taken)) {
        return NULL;
    }
    PyObject *found = Py_NewRef(taken.values[taken.count - 1]);
    drop_values(&taken);
    return found;
}

/* Whether the last step of a formula is a product that can be added to what waits for the edge. */
static int is_of_product(const Formula *formula) {
    return formula->count > 0 && formula->steps[formula->count - 1].adding != NULL;
}

/* Take the last step of a formula: add the product to the gradient that waits for the edge, `result` stays NULL then,
 * or compute it. Returns -1 with an exception. */
static int finish_product(Pass *pass, const Formula *formula, PyObject *edge, Values *taken, PyObject **result) {
    Step *step = &formula->steps[formula->count - 1];
    PyObject *args[MOST_ARGUMENTS];
    for (int i = 0; i < step->count; i++) {
        args[i] = taken->values[step->operands[i]];
    }
    const Product product = {step->adding, args, step->count};
    int is_added = add_to_waiting(pass, edge, &product);
    if (is_added == 0) {
        *result = operator_call(&step->operator, args, step->count);
        is_added = *result == NULL ? -1 : 0;
    }
    return is_added < 0 ? -1 : 0;
}

/* The most products of a node. */
#define MOST_PRODUCTS 2

/* Compute the gradients of those edges that lead anywhere: new references in `results`, which held NULL, and does so
 * where a product was added to a gradient that waits; such products come last, when nothing is left for Python to
 * compute. Returns 0 where the Python has to, and -1 with an exception; `results` then holds NULL. */
int gradients_compute(
    Pass *pass, PyObject *object, PyObject *node, PyObject *grad, const Edges *edges, PyObject **results) {
    const Gradients *gradients = (Gradients *)object;
    Values taken[MOST_PRODUCTS];
    Py_ssize_t of[MOST_PRODUCTS];
    int products = 0, is_done = gradients->formulas_count == edges->count;
    for (Py_ssize_t i = 0; is_done && i < edges->count; i++) {
        const Formula *formula = &gradients->formulas[i];
        if (edges->items[i] == Py_None) {
            results[i] = Py_NewRef(Py_None);
        } else if (products < MOST_PRODUCTS && is_of_product(formula)) {
            of[products] = i;
            taken[products].count = 0;
            is_done = take_steps(formula, formula->count - 1, node, grad, &taken[products]);
            products += is_done;
        } else {
            results[i] = compute_one(formula, node, grad);
            is_done = results[i] != NULL;
        }
    }
    for (int k = 0; k < products; k++) {
        is_done = is_done && finish_product(pass, &gradients->formulas[of[k]], edges->items[of[k]], &taken[k],
                                            &results[of[k]]) == 0;
        drop_values(&taken[k]);
    }
    for (Py_ssize_t i = 0; !is_done && i < edges->count; i++) {
        Py_CLEAR(results[i]);
    }
    return is_done ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* Read a dimension that a node keeps, of so many, which may be counted from the end. Returns -1 where it keeps none. */
static Py_ssize_t dim_of(const Step *step, PyObject *node, Py_ssize_t ndim) {
    PyObject *dim = step->kind == STEP_VALUE ? slot_at(node, step->slot) : NULL;
    int overflow;
    if (dim == NULL || !PyLong_CheckExact(dim)) {
        return -1;
    }
    const long number = PyLong_AsLongAndOverflow(dim, &overflow);
    return number < 0 ? number + ndim : number;
}

/* Return how the gradient of a node's operand lies beside that of its result, which is a view of it: STEP_SAME,
 * STEP_TURNED where the last two dimensions are exchanged; STEP_APART for other nodes. */
int gradients_lay(PyObject *object, PyObject *node) {
    const Gradients *gradients = (Gradients *)object;
    PyObject *shape = ((Node *)node)->shape;
    const Py_ssize_t ndim = shape != NULL && PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 0;
    if (gradients->lay != STEP_SWAPPED) {
        return gradients->lay == STEP_TURNED && ndim != 2 ? STEP_APART : gradients->lay;
    }
    Py_ssize_t dims[2] = {-1, -1};
    int found = 0;
    for (int i = 0; i < gradients->formulas->count && found < 2; i++) {
        const Py_ssize_t dim = dim_of(&gradients->formulas->steps[i], node, ndim);
        if (dim >= 0) {
            dims[found++] = dim;
        }
    }
    if (found == 2 && dims[0] == dims[1]) {
        return STEP_SAME;
    }
    return found == 2 && dims[0] + dims[1] == 2 * ndim - 3 && dims[0] >= ndim - 2 && dims[1] >= ndim - 2 ? STEP_TURNED
                                                                                                       : STEP_APART;
}

/* Free what a node saved. Returns 0. */
int gradients_release(PyObject *object, PyObject *node) {
    const Gradients *gradients = (Gradients *)object;
    for (Py_ssize_t i = 0; i < gradients->freed_count; i++) {
        replace_slot(node, gradients->freed[i], Py_NewRef(Py_None));
    }
    return 0;
}

/* Read a step, `(kind, slot, given, table, function, operands)`. Returns -1 with an exception. */
static int read_step(Step *step, PyObject *text, PyTypeObject *type, int number) {
    const char *slot;
    PyObject *given, *table, *function, *operands;
    int kind;
    if (!PyArg_ParseTuple(text, "izOOOO!", &kind, &slot, &given, &table, &function, &PyTuple_Type, &operands)) {
        return -1;
    }
    if (kind < STEP_GRAD || kind > STEP_CALL || PyTuple_GET_SIZE(operands) > MOST_ARGUMENTS ||
        (kind == STEP_CONJ && PyTuple_GET_SIZE(operands) != 1)) {
        PyErr_SetString(PyExc_ValueError, "no such step");
        return -1;
    }
    step->kind = (unsigned char)kind;
    step->count = (unsigned char)PyTuple_GET_SIZE(operands);
    for (Py_ssize_t i = 0; i < step->count; i++) {
        long operand = PyLong_AsLong(PyTuple_GET_ITEM(operands, i));
        if (operand < 0 || operand >= number) {
            PyErr_SetString(PyExc_ValueError, "a step takes the values of those before it");
            return -1;
        }
        step->operands[i] = (unsigned char)operand;
    }
    if (slot != NULL && (step->slot = slot_offset(type, slot)) < 0) {
        return -1;
    }
    if ((kind == STEP_SAVED || kind == STEP_VALUE) && slot == NULL) {
        PyErr_SetString(PyExc_ValueError, "such a step names a slot");
        return -1;
    }
    step->given = Py_NewRef(given);
    step->adding = kind == STEP_CALL ? kernel_with(function, ADDS) : NULL;
    return kind == STEP_CALL ? operator_set(&step->operator, table, function) : 0;
}

/* Read the steps of a formula. Returns -1 with an exception. */
static int read_formula(Formula *formula, PyObject *steps, PyTypeObject *type) {
    if (!PyTuple_Check(steps) || PyTuple_GET_SIZE(steps) > MOST_VALUES) {
        PyErr_SetString(PyExc_ValueError, "a formula is a tuple of so many steps at most");
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(steps);
    formula->steps = PyMem_Calloc((size_t)count + 1, sizeof(Step));
    if (formula->steps == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        formula->count++;
        if (read_step(&formula->steps[i], PyTuple_GET_ITEM(steps, i), type, (int)i) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Read the names of the slots that a pass frees. Returns -1 with an exception. */
static int read_freed(Gradients *made, PyObject *freed, PyTypeObject *type) {
    if (PyTuple_GET_SIZE(freed) > MOST_FREED) {
        PyErr_SetString(PyExc_ValueError, "a node that saves so much is the Python's");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(freed); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(freed, i));
        if (name == NULL || (made->freed[i] = slot_offset(type, name)) < 0) {
            return -1;
        }
        made->freed_count++;
    }
    return 0;
}

/* Make an instance: `Gradients(class, formulas, names of the slots that are freed, lay)`. Returns a new reference. */
static PyObject *gradients_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *node, *formulas, *freed;
    int lay;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Gradients() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(
            args, "O!O!O!i:Gradients", &PyType_Type, &node, &PyTuple_Type, &formulas, &PyTuple_Type, &freed, &lay)) {
        return NULL;
    }
    Gradients *made = (Gradients *)type->tp_alloc(type, 0);
    if (made == NULL || read_freed(made, freed, (PyTypeObject *)node) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    made->lay = PyTuple_GET_SIZE(formulas) == 1 ? lay : 0;
    made->formulas = PyMem_Calloc((size_t)PyTuple_GET_SIZE(formulas) + 1, sizeof(Formula));
    if (made->formulas == NULL) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(formulas); i++) {
        made->formulas_count++;
        if (read_formula(&made->formulas[i], PyTuple_GET_ITEM(formulas, i), (PyTypeObject *)node) < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return (PyObject *)made;
}

static PyType_Slot gradients_slots[] = {
    {Py_tp_doc, "What nodes of a class compute without Python, and what they free."},
    {Py_tp_new, gradients_new},
    {Py_tp_dealloc, gradients_dealloc},
    {0, NULL},
};

static PyType_Spec gradients_spec = {
    .name = "opwright_core._fast.Gradients",
    .basicsize = sizeof(Gradients),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = gradients_slots,
};

/* Make the type. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_gradients_type(PyObject *module) {
    gradients_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &gradients_spec, NULL);
    return gradients_type;
}
