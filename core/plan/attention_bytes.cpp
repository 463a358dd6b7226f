#include <algorithm>

#include "core/graph/attention_work.h"
#include "core/model/distance_bucket.h"
#include "core/plan/least_bytes.h"

// Operands of attention, of keys and values alone and of biases of distances, in the order of core/graph/op.h.
namespace plimsoll {
namespace {

class AttentionBytes : private MeasuredLaunch {
 public:
  using MeasuredLaunch::MeasuredLaunch;

  LeastBytes run() {
    if (s_.rows < 1) return flaw("it has no rows");
    switch (kernel_.kind) {
      case OpKind::kAttention: return attention({out(), row_statistics()});
      case OpKind::kAttentionBackward: return attention({out(), row_statistics(), out(), qkv()});
      case OpKind::kKeysValues: return heads({qkv(), keys()});
      case OpKind::kKeysValuesBackward: return heads({keys(), qkv()});
      case OpKind::kAttentionStep: return attention_step({keys(), out(), row_statistics()});
      case OpKind::kAttentionStepBackward:
        return attention_step({keys(), out(), row_statistics(), out(), qkv(), keys()});
      case OpKind::kDistanceBias: return distance_bias({bias_table(), distance_biases()});
      case OpKind::kDistanceBiasBackward: return distance_bias({distance_biases(), bias_table()});
      case OpKind::kBiasedAttention: return biased_attention({distance_biases(), out(), row_statistics()});
      case OpKind::kBiasedAttentionBackward:
        return biased_attention({distance_biases(), out(), row_statistics(), out(), qkv(), distance_biases()});
      case OpKind::kCrossAttention: return cross_attention({out(), row_statistics()});
      case OpKind::kCrossAttentionBackward:
        return cross_attention({out(), row_statistics(), out(), out(), cross_keys()});
      default: return unknown();
    }
  }

 private:
  [[nodiscard]] std::int64_t out() const { return product_of({s_.rows, s_.heads, s_.head_dim, e_}); }
  [[nodiscard]] std::int64_t keys() const { return product_of({s_.rows, 2 * s_.kv_heads, s_.head_dim, e_}); }
  [[nodiscard]] std::int64_t row_statistics() const { return product_of({s_.rows, s_.heads, wide_}); }

  [[nodiscard]] LeastBytes attention(std::vector<std::int64_t> behind) const {
    if (!whole_sequences()) return flaw("its rows are not whole sequences");
    LeastBytes least = heads({qkv()});
    if (s_.variant == static_cast<std::uint8_t>(AttentionKind::kPadded)) least.operands.push_back(extents());
    least.operands.insert(least.operands.end(), behind.begin(), behind.end());
    const bool bounded =
        std::max(qkv(), product_of({s_.sequence, s_.head_dim, kAttentionRows})) < (std::int64_t{1} << 50);
    least.operands.push_back(bounded ? attention_workspace(kernel_.kind, s_, kernel_.dtype, around_.on_gpu ? 0 : 1).count
                                     : kNoBufferHolds);
    return least;
  }

  [[nodiscard]] LeastBytes attention_step(std::vector<std::int64_t> behind) const {
    const bool whole = s_.variant == static_cast<std::uint8_t>(AttentionKind::kFull);
    return whole ? attention(std::move(behind)) : flaw("its queries do not see all of another rank's keys");
  }

  [[nodiscard]] std::int64_t bias_table() const { return product_of({s_.rows, s_.heads, e_}); }
  /// Twice the sequence is no less than its distances.
  [[nodiscard]] std::int64_t distance_biases() const {
    const std::int64_t most = product_of({2, s_.sequence, s_.heads, wide_});
    return most >= kNoBufferHolds ? most : distance_count(s_.sequence) * s_.heads * wide_;
  }
  [[nodiscard]] std::int64_t cross_keys() const {
    return s_.sequence < 1 ? 0 : product_of({s_.rows / s_.sequence, s_.inputs, 2 * s_.kv_heads, s_.head_dim, e_});
  }
  [[nodiscard]] bool is_masked(AttentionKind kind) const { return s_.variant == static_cast<std::uint8_t>(kind); }

  [[nodiscard]] LeastBytes distance_bias(std::vector<std::int64_t> operands) const {
    const bool sound = s_.rows >= kFewestBuckets && s_.inputs == kFarthestDistance && s_.rows <= kMostBuckets;
    if (!sound) return flaw("its buckets are no buckets of distances");
    const bool known = is_masked(AttentionKind::kCausal) || is_masked(AttentionKind::kFull);
    return known && s_.heads >= 1 && s_.sequence >= 1 ? LeastBytes{std::move(operands), {}}
                                                      : flaw("it has no heads or no distances");
  }
  [[nodiscard]] LeastBytes biased_attention(const std::vector<std::int64_t>& behind) const {
    const bool known = is_masked(AttentionKind::kCausal) || is_masked(AttentionKind::kFull);
    return known ? attention(behind) : flaw("its queries see neither all keys nor those before them");
  }
  [[nodiscard]] LeastBytes cross_attention(const std::vector<std::int64_t>& behind) const {
    if (!is_masked(AttentionKind::kFull) || s_.inputs < 1)
      return flaw("its queries do not see all of another sequence");
    const bool bounded =
        std::max(cross_keys(), product_of({s_.inputs, s_.head_dim, kAttentionRows})) < (std::int64_t{1} << 50);
    if (!bounded) return flaw("its keys are larger than any buffer");
    LeastBytes least = attention(behind);
    if (!least.flaw.empty()) return least;
    least.operands.front() = out();  // queries alone; the keys follow
    least.operands.insert(least.operands.begin() + 1, cross_keys());
    return least;
  }
};

}  // namespace

LeastBytes least_bytes_of_attention(const Kernel& kernel, std::span<const GivenOperand> given,
                                    const KernelSurroundings& around) {
  return AttentionBytes(kernel, given, around).run();
}

}  // namespace plimsoll
