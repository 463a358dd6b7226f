#include "executor/kernels/bf16_product.h"

#include <fmt/format.h>
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/base/error.h"

namespace plimsoll {
namespace {

using Dims = dnnl::memory::dims;

/// What oneDNN wants of every thread that calls it.
struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Library& library_of_thread() {
  thread_local Library library;
  return library;
}

Dims strides_of(const MatrixView<Bf16>& view) { return view.transposed ? Dims{1, view.stride} : Dims{view.stride, 1}; }

dnnl::matmul::primitive_desc describe(const Product<Bf16>& p, const dnnl::engine& engine) {
  using Type = dnnl::memory::data_type;
  const dnnl::memory::desc a({p.rows, p.depth}, Type::bf16, strides_of(p.a));
  const dnnl::memory::desc b({p.depth, p.columns}, Type::bf16, strides_of(p.b));
  const dnnl::memory::desc c({p.rows, p.columns}, Type::f32, Dims{p.columns, 1});
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c};
#else
  return {dnnl::matmul::desc(a, b, c), engine};
#endif
}

}  // namespace

bool multiplies_bf16() {
#if defined(__x86_64__)
  // What oneDNN may use, which ONEDNN_MAX_CPU_ISA can make less than the processor has; an ISA has the bits of all below it.
  static const unsigned usable = dnnl_get_effective_cpu_isa();
  return __builtin_cpu_supports("avx512bf16") != 0 && (usable & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
#else
  return false;
#endif
}

void multiply_bf16(const Product<Bf16>& p, float* sums) {
  omp_set_num_threads(1);  // of the calling thread only: each worker multiplies alone
  try {
    Library& library = library_of_thread();
    const dnnl::matmul::primitive_desc how = describe(p, library.engine);
    const auto operand = [&](const dnnl::memory::desc& desc, const void* data) {
      return dnnl::memory(desc, library.engine, const_cast<void*>(data));
    };
    dnnl::matmul(how).execute(library.stream, {{DNNL_ARG_SRC, operand(how.src_desc(), p.a.data)},
                                               {DNNL_ARG_WEIGHTS, operand(how.weights_desc(), p.b.data)},
                                               {DNNL_ARG_DST, operand(how.dst_desc(), sums)}});
    library.stream.wait();
  } catch (const dnnl::error& error) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("oneDNN refused a {} x {} x {} bf16 matrix product: {}", p.rows, p.columns,
                                                p.depth, error.what()),
                            .where = "dnnl::matmul",
                            .remedy = "choose the OpenBLAS library"});
  }
}

}  // namespace plimsoll
