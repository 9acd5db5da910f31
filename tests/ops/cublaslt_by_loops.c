/* A stand-in for cuBLASLt on machines without a GPU: the functions that this project calls, after that library's manual, on memory of the
 * host. Matrices lie in columns; floats and doubles. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  int compute, scale;
  int32_t transposed[2];
} Matmul;
typedef struct {
  int type;
  uint64_t rows, columns;
  int64_t leading, batch_stride;
  int32_t batch;
} Layout;

size_t cublasLtGetVersion(void) { return 130000; }
const char* cublasLtGetStatusString(int status) { return status ? "failed" : "done"; }
int cublasLtCreate(void** handle) { return *handle = malloc(1), 0; }
int cublasLtMatmulDescCreate(Matmul** matmul, int compute, int scale) {
  *matmul = calloc(1, sizeof **matmul);
  (*matmul)->compute = compute, (*matmul)->scale = scale;
  return 0;
}
int cublasLtMatmulDescDestroy(Matmul* matmul) { return free(matmul), 0; }
int cublasLtMatmulDescSetAttribute(Matmul* matmul, int attribute, const void* value, size_t size) {
  if (size != 4 || (attribute != 3 && attribute != 4)) return 7;
  matmul->transposed[attribute - 3] = *(const int32_t*)value;
  return 0;
}
int cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < (int64_t)rows) return 7;
  *layout = calloc(1, sizeof **layout);
  **layout = (Layout){type, rows, columns, leading, 0, 1};
  return 0;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) { return free(layout), 0; }
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t size) {
  if (attribute == 5 && size == 4) return layout->batch = *(const int32_t*)value, 0;
  if (attribute == 6 && size == 8) return layout->batch_stride = *(const int64_t*)value, 0;
  return 7;
}
int cublasLtMatmulPreferenceCreate(void** preference) { return *preference = malloc(1), 0; }
int cublasLtMatmulPreferenceDestroy(void* preference) { return free(preference), 0; }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, size_t size) {
  (void)preference, (void)value;
  return attribute == 1 ? (size == 8 ? 0 : 7) : (size == 4 ? 0 : 7);
}
int cublasLtMatmulAlgoGetHeuristic(void) { return 15; }

static double get(const void* memory, const Layout* layout, int64_t matrix, uint64_t row, uint64_t column) {
  const int64_t at = matrix * layout->batch_stride + (int64_t)column * layout->leading + (int64_t)row;
  return layout->type == 1 ? ((const double*)memory)[at] : (double)((const float*)memory)[at];
}

int cublasLtMatmul(void* handle, Matmul* matmul, const void* alpha, const void* a, Layout* a_layout, const void* b,
                   Layout* b_layout, const void* beta, const void* c, Layout* c_layout, void* d, Layout* d_layout,
                   const void* algorithm, void* workspace, size_t workspace_size, void* stream) {
  (void)handle, (void)algorithm, (void)workspace, (void)workspace_size, (void)stream;
  const int doubles = matmul->scale == 1;
  if (matmul->compute != (doubles ? 70 : 68) || d_layout->type != doubles) return 15;
  const double x = doubles ? *(const double*)alpha : (double)*(const float*)alpha;
  const double y = doubles ? *(const double*)beta : (double)*(const float*)beta;
  const int ta = matmul->transposed[0], tb = matmul->transposed[1];
  const uint64_t k = ta ? a_layout->rows : a_layout->columns;
  if ((ta ? a_layout->columns : a_layout->rows) != d_layout->rows) return 7;
  if ((tb ? b_layout->rows : b_layout->columns) != d_layout->columns) return 7;
  if ((tb ? b_layout->columns : b_layout->rows) != k) return 7;
  if (a_layout->batch != d_layout->batch || b_layout->batch != d_layout->batch) return 7;
  for (int64_t matrix = 0; matrix < d_layout->batch; ++matrix) {
    for (uint64_t i = 0; i < d_layout->rows; ++i) {
      for (uint64_t j = 0; j < d_layout->columns; ++j) {
        double sum = 0;
        for (uint64_t l = 0; l < k; ++l) {
          sum += get(a, a_layout, matrix, ta ? l : i, ta ? i : l) * get(b, b_layout, matrix, tb ? j : l, tb ? l : j);
        }
        const double result = x * sum + (y != 0 ? y * get(c, c_layout, matrix, i, j) : 0);
        const int64_t at = matrix * d_layout->batch_stride + (int64_t)j * d_layout->leading + (int64_t)i;
        if (doubles) {
          ((double*)d)[at] = result;
        } else {
          ((float*)d)[at] = (float)result;
        }
      }
    }
  }
  return 0;
}
