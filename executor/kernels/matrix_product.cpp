#include "executor/kernels/matrix_product.h"

#include <cblas.h>
#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include "core/base/error.h"

namespace plimsoll {
namespace {

CBLAS_TRANSPOSE cblas_letter(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

char dnnl_letter(bool transposed) { return transposed ? 'T' : 'N'; }

blasint narrow(std::int64_t n) { return static_cast<blasint>(n); }

void multiply_onednn(const Product<float>& p) {
  omp_set_num_threads(1);  // of the calling thread only: each worker multiplies alone
  const dnnl_status_t status =
      dnnl_sgemm(dnnl_letter(p.a.transposed), dnnl_letter(p.b.transposed), p.rows, p.columns, p.depth,
                 static_cast<float>(p.factor), p.a.data, p.a.stride, p.b.data, p.b.stride, p.adds ? 1.0F : 0.0F, p.c, p.c_stride);
  if (status == dnnl_success) return;
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("oneDNN refused a {} x {} x {} matrix product (status {})", p.rows,
                                              p.columns, p.depth, static_cast<int>(status)),
                          .where = "dnnl_sgemm",
                          .remedy = "choose the OpenBLAS library"});
}

void multiply_openblas(const Product<float>& p) {
  cblas_sgemm(CblasRowMajor, cblas_letter(p.a.transposed), cblas_letter(p.b.transposed), narrow(p.rows),
              narrow(p.columns), narrow(p.depth), static_cast<float>(p.factor), p.a.data, narrow(p.a.stride), p.b.data,
              narrow(p.b.stride), p.adds ? 1.0F : 0.0F, p.c, narrow(p.c_stride));
}

}  // namespace

MatrixProduct::MatrixProduct(MatmulLibrary library) : library_(library) { openblas_set_num_threads(1); }

void MatrixProduct::multiply(const Product<float>& product) const {
  if (library_ == MatmulLibrary::kOneDnn) {
    multiply_onednn(product);
  } else {
    multiply_openblas(product);
  }
}

void MatrixProduct::multiply(const Product<double>& p) const {
  cblas_dgemm(CblasRowMajor, cblas_letter(p.a.transposed), cblas_letter(p.b.transposed), narrow(p.rows),
              narrow(p.columns), narrow(p.depth), p.factor, p.a.data, narrow(p.a.stride), p.b.data, narrow(p.b.stride),
              p.adds ? 1.0 : 0.0, p.c, narrow(p.c_stride));
}

}  // namespace plimsoll
