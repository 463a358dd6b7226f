#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/plan/operand_sizes.h"

namespace plimsoll {

/// More than any buffer has: sizes come from files, and their products may pass 64 bits.
inline constexpr std::int64_t kNoBufferHolds = std::numeric_limits<std::int64_t>::max() / 4;

/// The product of sizes that are not negative, or kNoBufferHolds.
inline std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    product = product > kNoBufferHolds / factor ? kNoBufferHolds : product * factor;
  }
  return product;
}

/// One operand as a use of the launch gives it.
struct GivenOperand {
  Access access = Access::kRead;
  std::int64_t bytes = 0;
};

/// What a kernel of one kind asks of its operands: least bytes of each, or why it cannot run at all.
struct LeastBytes {
  std::vector<std::int64_t> operands;
  std::string flaw;  ///< empty: none
};

inline constexpr std::int64_t kIndexBytes = 4;  ///< of a token, an extent, a label, a routing
inline constexpr std::int64_t kDoubleBytes = 8;

/// A launch of which the operands' least bytes are asked: the tables of kernels derive from it. Keeps references.
struct MeasuredLaunch {
  MeasuredLaunch(const Kernel& kernel, std::span<const GivenOperand> given, const KernelSurroundings& around)
      : kernel_(kernel),
        s_(kernel.shape),
        given_(given),
        around_(around),
        e_(size_of(kernel.dtype)),
        wide_(kernel.dtype == DType::kFp64 ? 8 : 4) {}

  static LeastBytes flaw(std::string words) { return {{}, std::move(words)}; }
  static LeastBytes unknown() { return flaw("no interpreter knows how much its kernel touches"); }

  [[nodiscard]] std::int64_t rows(std::int64_t width) const { return product_of({s_.rows, width, e_}); }
  [[nodiscard]] std::int64_t qkv() const { return product_of({s_.rows, s_.heads + 2 * s_.kv_heads, s_.head_dim, e_}); }
  [[nodiscard]] std::int64_t extents() const { return product_of({s_.rows / s_.sequence, 2, kIndexBytes}); }
  [[nodiscard]] bool whole_sequences() const { return s_.sequence >= 1 && s_.rows % s_.sequence == 0; }
  /// Those, where query heads can share the key heads that there are.
  [[nodiscard]] LeastBytes heads(std::vector<std::int64_t> operands) const {
    const bool sound = s_.heads >= 1 && s_.kv_heads >= 1 && s_.head_dim >= 1 && s_.heads % s_.kv_heads == 0;
    return sound ? LeastBytes{std::move(operands), {}} : flaw("its heads cannot share their keys");
  }

  const Kernel& kernel_;
  const OpShape& s_;
  std::span<const GivenOperand> given_;
  const KernelSurroundings& around_;
  std::int64_t e_;     ///< bytes of an element
  std::int64_t wide_;  ///< of one of statistics and sums
};

/// Of kernels of forward and backward that no other family has.
LeastBytes least_bytes_of_kernel(const Kernel& kernel, std::span<const GivenOperand> given,
                                 const KernelSurroundings& around);

/// Of attention, keys and values, and biases of distances.
LeastBytes least_bytes_of_attention(const Kernel& kernel, std::span<const GivenOperand> given,
                                    const KernelSurroundings& around);

/// Of a mixture of experts' kernels.
LeastBytes least_bytes_of_experts(const Kernel& kernel, std::span<const GivenOperand> given,
                                  const KernelSurroundings& around);

/// Of optimizers' kernels that write weights.
LeastBytes least_bytes_of_update(const Kernel& kernel, std::span<const GivenOperand> given,
                                 const KernelSurroundings& around);

}  // namespace plimsoll
