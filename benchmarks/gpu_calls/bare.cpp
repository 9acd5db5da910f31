// The column bare: an extension that does nothing but call.
#include <Python.h>

#include "cuda_calls.h"

static void *s, *e, *a, *b, *k, *g1, *g100;
static int number;
static PyObject* failed() {
  PyErr_SetString(PyExc_RuntimeError, "the call failed");
  return nullptr;
}
static PyObject* use(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "KKKKKKK", &s, &e, &a, &b, &k, &g1, &g100)) return nullptr;
  Py_RETURN_NONE;
}
#define CALL(name, call)                        \
  static PyObject* name(PyObject*, PyObject*) { \
    if (call) return failed();                  \
    Py_RETURN_NONE;                             \
  }
#define GIVES(name, call)                       \
  static PyObject* name(PyObject*, PyObject*) { \
    void* p;                                    \
    if (call) return failed();                  \
    return PyLong_FromVoidPtr(p);               \
  }
#define TAKES(name, call)                             \
  static PyObject* name(PyObject*, PyObject* value) { \
    void* p = PyLong_AsVoidPtr(value);                \
    if (call) return failed();                        \
    Py_RETURN_NONE;                                   \
  }
// clang-format off
CALL(get_device, cudaGetDevice(&number))
CALL(set_device, cudaSetDevice(0))
CALL(stream_query, cudaStreamQuery(s))
CALL(stream_sync, cudaStreamSynchronize(s))
CALL(event_record, cudaEventRecord(e, s))
CALL(event_query, cudaEventQuery(e))
CALL(stream_wait, cudaStreamWaitEvent(s, e, 0))
GIVES(pool_alloc, cudaMallocAsync(&p, 1 << 20, s))
TAKES(pool_free, cudaFreeAsync(p, s))
GIVES(alloc, cudaMalloc(&p, 1 << 20))
GIVES(alloc_2M, cudaMalloc(&p, 2 << 20))
TAKES(release, cudaFree(p))
CALL(copy_4_KiB, cudaMemcpyAsync(a, b, 4096, 3, s))
CALL(set_4_KiB, cudaMemsetAsync(a, 0, 4096, s))
CALL(empty_launch, cudaLaunchKernel(k, dim{1, 1, 1}, dim{1, 1, 1}, nullptr, 0, s))
CALL(graph_of_1, cudaGraphLaunch(g1, s))
CALL(graph_of_100, cudaGraphLaunch(g100, s))
#define ROW(name) {#name, name, METH_NOARGS, nullptr},
static PyMethodDef methods[] = {
    {"use", use, METH_VARARGS, nullptr}, {"pool_free", pool_free, METH_O, nullptr}, {"release", release, METH_O, nullptr},
    ROW(get_device) ROW(set_device) ROW(stream_query) ROW(stream_sync) ROW(event_record) ROW(event_query) ROW(stream_wait)
    ROW(pool_alloc) ROW(alloc) ROW(alloc_2M) ROW(copy_4_KiB) ROW(set_4_KiB) ROW(empty_launch) ROW(graph_of_1) ROW(graph_of_100)
    {nullptr, nullptr, 0, nullptr}};
// clang-format on
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bare", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_bare() { return PyModule_Create(&definition); }
