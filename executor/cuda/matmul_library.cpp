#include "executor/cuda/matmul_library.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "core/base/error.h"
#include "executor/cuda/cuda_try.h"
#include "executor/cuda/find_symbol.h"

namespace plimsoll::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what the library's own documentation advises for sm_90

void check_blas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("{}: status {}", call, static_cast<int>(status)),
                          .where = "cuBLASLt",
                          .remedy = {}});
}
#define BLAS_TRY(call) check_blas(call, #call)

/// The functions that we call, as the loader finds them.
struct Functions {
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtDestroy) destroy;
  decltype(&::cublasLtGetVersion) version;
  decltype(&::cublasLtMatmulDescCreate) create_description;
  decltype(&::cublasLtMatmulDescDestroy) destroy_description;
  decltype(&::cublasLtMatmulDescSetAttribute) describe;
  decltype(&::cublasLtMatrixLayoutCreate) create_layout;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&::cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) prefer;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) find_algorithm;
  decltype(&::cublasLtMatmul) multiply;
};

bool find_all(void* library, Functions& f) {
  return find_symbol(library, "cublasLtCreate", f.create) && find_symbol(library, "cublasLtDestroy", f.destroy) &&
         find_symbol(library, "cublasLtGetVersion", f.version) && find_symbol(library, "cublasLtMatmulDescCreate", f.create_description) &&
         find_symbol(library, "cublasLtMatmulDescDestroy", f.destroy_description) &&
         find_symbol(library, "cublasLtMatmulDescSetAttribute", f.describe) &&
         find_symbol(library, "cublasLtMatrixLayoutCreate", f.create_layout) &&
         find_symbol(library, "cublasLtMatrixLayoutDestroy", f.destroy_layout) &&
         find_symbol(library, "cublasLtMatmulPreferenceCreate", f.create_preference) &&
         find_symbol(library, "cublasLtMatmulPreferenceDestroy", f.destroy_preference) &&
         find_symbol(library, "cublasLtMatmulPreferenceSetAttribute", f.prefer) &&
         find_symbol(library, "cublasLtMatmulAlgoGetHeuristic", f.find_algorithm) && find_symbol(library, "cublasLtMatmul", f.multiply);
}

/// What an algorithm depends on: sizes, strides, flags, elements, alignments.
using Signature = std::array<Index, 14>;

/// The largest power of two, at most 256, that divides an address.
Index alignment_of(const void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return value == 0 ? 256 : std::min<Index>(256, static_cast<Index>(value & (~value + 1)));
}

class CublasLt final : public MatmulLibrary {
 public:
  explicit CublasLt(const Functions& functions) : f_(functions) {
    BLAS_TRY(f_.create(&handle_));
    CUDA_TRY(cudaMalloc(&workspace_, kWorkspace));
  }
  ~CublasLt() override {
    for (auto& [signature, prepared] : prepared_) {
      if (prepared.description != nullptr) f_.destroy_description(prepared.description);
      for (cublasLtMatrixLayout_t layout : {prepared.a, prepared.b, prepared.c}) {
        if (layout != nullptr) f_.destroy_layout(layout);
      }
    }
    cudaFree(workspace_);
    f_.destroy(handle_);
  }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  [[nodiscard]] std::string describe() const override {
    const std::size_t version = f_.version();
    return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

 protected:
  bool multiply(const Untyped& product, cudaStream_t stream) override {
    const std::scoped_lock lock(mutex_);
    const ProductArgs<std::byte>& p = product.args;
    Prepared& ready = prepare(product);
    if (!ready.found) return false;
    if (p.bias != nullptr) set(ready.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias));
    const float factor = p.factor, kept = p.adds ? 1.0F : 0.0F;
    BLAS_TRY(f_.multiply(handle_, ready.description, &factor, p.b, ready.a, p.a, ready.b, &kept, p.c, ready.c, p.c, ready.c,
                         &ready.algorithm, workspace_, kWorkspace, stream));
    return true;
  }

 private:
  /// The library's matrices lie by columns, so ours are their transposes: Cᵀ = Bᵀ Aᵀ, and its A is our B.
  struct Prepared {
    cublasLtMatmulDesc_t description = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    bool found = false;
  };

  template <typename T>
  void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const T& value) {
    BLAS_TRY(f_.describe(description, attribute, &value, sizeof(value)));
  }

  static cudaDataType_t type_of(Elements elements) {
    if (elements == Elements::kFp16) return CUDA_R_16F;
    return elements == Elements::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
  }

  static Signature signature_of(const Untyped& product) {
    const ProductArgs<std::byte>& p = product.args;
    return {p.rows, p.columns, p.depth, p.a_stride, p.b_stride, p.c_stride, p.a_transposed, p.b_transposed, p.adds,
            p.bias == nullptr ? 0 : alignment_of(p.bias), static_cast<Index>(product.elements), alignment_of(p.a),
            alignment_of(p.b), alignment_of(p.c)};
  }

  Prepared& prepare(const Untyped& product) {
    const auto [place, is_new] = prepared_.try_emplace(signature_of(product));
    if (is_new) make(product, place->second);
    return place->second;
  }

  void make(const Untyped& product, Prepared& ready) {
    const ProductArgs<std::byte>& p = product.args;
    const auto compute = product.elements == Elements::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    BLAS_TRY(f_.create_description(&ready.description, compute, CUDA_R_32F));
    set(ready.description, CUBLASLT_MATMUL_DESC_TRANSA, p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(ready.description, CUBLASLT_MATMUL_DESC_TRANSB, p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias != nullptr) {
      set(ready.description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(ready.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias));
    }
    const cudaDataType_t type = type_of(product.elements);
    make_layout(ready.a, type, p.columns, p.depth, p.b_stride, p.b_transposed);
    make_layout(ready.b, type, p.depth, p.rows, p.a_stride, p.a_transposed);
    make_layout(ready.c, type, p.columns, p.rows, p.c_stride, false);
    find_algorithm(p, ready);
  }

  void make_layout(cublasLtMatrixLayout_t& layout, cudaDataType_t type, Index rows, Index columns, Index stride,
                   bool transposed) {
    if (transposed) std::swap(rows, columns);
    BLAS_TRY(f_.create_layout(&layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), stride));
  }

  void find_algorithm(const ProductArgs<std::byte>& p, Prepared& ready) {
    cublasLtMatmulPreference_t preference = nullptr;
    BLAS_TRY(f_.create_preference(&preference));
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      BLAS_TRY(f_.prefer(preference, attribute, &value, sizeof(value)));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(alignment_of(p.b)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(alignment_of(p.a)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(alignment_of(p.c)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(alignment_of(p.c)));
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status = f_.find_algorithm(handle_, ready.description, ready.a, ready.b, ready.c, ready.c, preference, 1,
                                                    &result, &found);
    f_.destroy_preference(preference);
    ready.found = status == CUBLAS_STATUS_SUCCESS && found > 0 && result.state == CUBLAS_STATUS_SUCCESS;
    ready.algorithm = result.algo;
  }

  Functions f_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::mutex mutex_;
  std::map<Signature, Prepared> prepared_;
};

template <typename S>
ProductArgs<std::byte> untyped(const ProductArgs<S>& p) {
  const auto bytes = [](const S* place) { return reinterpret_cast<const std::byte*>(place); };
  return {.rows = p.rows,
          .columns = p.columns,
          .depth = p.depth,
          .a = bytes(p.a),
          .a_stride = p.a_stride,
          .a_transposed = p.a_transposed,
          .b = bytes(p.b),
          .b_stride = p.b_stride,
          .b_transposed = p.b_transposed,
          .c = reinterpret_cast<std::byte*>(p.c),
          .c_stride = p.c_stride,
          .adds = p.adds,
          .factor = p.factor,
          .bias = bytes(p.bias)};
}

}  // namespace

bool MatmulLibrary::multiply(const ProductArgs<float>& args, bool tf32, cudaStream_t stream) {
  return multiply(Untyped{tf32 ? Elements::kTf32 : Elements::kFp32, untyped(args)}, stream);
}

bool MatmulLibrary::multiply(const ProductArgs<Bf16>& args, bool, cudaStream_t stream) {
  return multiply(Untyped{Elements::kBf16, untyped(args)}, stream);
}

bool MatmulLibrary::multiply(const ProductArgs<Fp16>& args, bool, cudaStream_t stream) {
  return multiply(Untyped{Elements::kFp16, untyped(args)}, stream);
}

std::unique_ptr<MatmulLibrary> MatmulLibrary::open(std::string& why) {
  void* library = nullptr;
  for (const char* name : {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"}) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    why = "libcublasLt.so.13 is not found: install cuBLAS, or put its folder into LD_LIBRARY_PATH";
    return nullptr;
  }
  Functions functions{};
  if (!find_all(library, functions)) {
    why = "libcublasLt.so.13 lacks a function";
    return nullptr;
  }
  return std::make_unique<CublasLt>(functions);
}

}  // namespace plimsoll::cuda
