#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "executor/cuda/kernels/product.h"

namespace plimsoll::cuda {

/// cuBLASLt, loaded when it is wanted: the program starts without it. Equal shapes and alignments get one algorithm, found once;
/// none that sums in place, so equal arguments give equal bits.
class MatmulLibrary {
 public:
  /// Looks for the library as the loader does, then beside the toolkit. Null where there is none; `why` says so.
  static std::unique_ptr<MatmulLibrary> open(std::string& why);
  virtual ~MatmulLibrary() = default;

  /// "cuBLASLt 13.0.2".
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Puts the product, its bias included, on the stream. False: the library has no algorithm for it. All products go to one
  /// stream at a time, for they share a workspace.
  bool multiply(const ProductArgs<float>& args, bool tf32, cudaStream_t stream);
  bool multiply(const ProductArgs<Bf16>& args, bool tf32, cudaStream_t stream);
  bool multiply(const ProductArgs<Fp16>& args, bool tf32, cudaStream_t stream);

 protected:
  enum class Elements : std::uint8_t { kFp32, kTf32, kBf16, kFp16 };
  /// A product whatever its elements are; the pointers of ProductArgs are to such.
  struct Untyped {
    Elements elements;
    ProductArgs<std::byte> args;
  };
  virtual bool multiply(const Untyped& product, cudaStream_t stream) = 0;
};

}  // namespace plimsoll::cuda
