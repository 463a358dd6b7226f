#include <algorithm>

#include "core/graph/op_work.h"
#include "core/model/base_storage.h"
#include "core/model/loss_scaling.h"
#include "core/model/model_spec.h"
#include "core/plan/least_bytes.h"

// Operands stand in the order of core/graph/op.h; how much of each is touched was read off the kernels.
namespace plimsoll {
namespace {

constexpr std::int64_t kScaleBytes = kLossScaleDoubles * kDoubleBytes;

class KernelBytes : private MeasuredLaunch {
 public:
  using MeasuredLaunch::MeasuredLaunch;

  LeastBytes run() {
    if (s_.rows < 1 && kernel_.kind != OpKind::kClipFactor) return flaw("it has no rows");
    switch (kernel_.kind) {
      case OpKind::kEmbedding: return embedding(false);
      case OpKind::kEmbeddingBackward: return embedding(true);
      case OpKind::kClassToken: return class_token({patches(), e_ * s_.inputs, places(), rows(s_.inputs)});
      case OpKind::kClassTokenBackward: return class_token({rows(s_.inputs), patches(), e_ * s_.inputs, places()});
      case OpKind::kFirstToken: return first_token({sequences(), rows(s_.inputs)});
      case OpKind::kFirstTokenBackward: return first_token({rows(s_.inputs), sequences()});
      case OpKind::kNorm: return norm();
      case OpKind::kNormBackward: return norm_backward();
      case OpKind::kLinear: return linear();
      case OpKind::kLinearBackwardInput: return product({strided(), matrix(), rows(s_.inputs)});
      case OpKind::kLinearBackwardWeight: return linear_backward_weight();
      case OpKind::kHeadNorm: return heads({qkv(), head(), head(), qkv(), head_statistics()});
      case OpKind::kHeadNormBackward: return head_norm_backward();
      case OpKind::kRope:
      case OpKind::kRopeBackward: return rope();
      case OpKind::kDequantize: return dequantize();
      case OpKind::kAdd: return wide_rows({rows(s_.inputs), rows(s_.inputs), rows(s_.inputs)}, s_.inputs);
      case OpKind::kActivation: return wide_rows({rows(activated()), rows(s_.outputs)}, s_.outputs);
      case OpKind::kActivationBackward:
        return wide_rows({rows(activated()), rows(s_.outputs), rows(activated())}, s_.outputs);
      case OpKind::kCrossEntropy: return loss({kScaleBytes}, 4);
      case OpKind::kLoss: return loss({}, 3);
      case OpKind::kAccumulate: return {{product_of({s_.rows, e_}), product_of({s_.rows, wide_})}, {}};
      case OpKind::kSquaredNorm: return {{gradient(), kDoubleBytes}, {}};
      case OpKind::kClipFactor: return clip_factor();
      default: return unknown();
    }
  }

 private:
  [[nodiscard]] std::int64_t matrix() const { return product_of({s_.inputs, s_.outputs, e_}); }
  [[nodiscard]] std::int64_t of_columns(std::int64_t count) const { return product_of({count, s_.inputs, e_}); }
  [[nodiscard]] bool has(std::size_t operands) const { return given_.size() >= operands; }
  [[nodiscard]] bool layer_norm() const { return s_.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm); }
  [[nodiscard]] std::int64_t tiles() const { return (s_.rows + kReductionRows - 1) / kReductionRows; }

  [[nodiscard]] std::int64_t tokens() const {
    return product_of({s_.rows / s_.sequence, s_.sequence + 1, kIndexBytes});
  }

  /// With `backward` the gradient stands for the table that is read, and the other way round.
  [[nodiscard]] LeastBytes embedding(bool backward) const {
    if (!whole_sequences() || s_.inputs < 1 || s_.outputs < 1)
      return flaw("its rows are not whole sequences of some width");
    const bool passes = s_.stride < 0 || s_.stride > s_.positions || s_.positions - s_.stride < s_.sequence;
    if (s_.positions > 0 && passes) return flaw("its sequences pass its positions");
    LeastBytes least{{tokens(), backward ? rows(s_.inputs) : of_columns(s_.outputs)}, {}};
    if (!backward && s_.positions > 0) least.operands.push_back(of_columns(s_.positions));
    if (s_.variant > 0) least.operands.push_back(extents());
    if (backward) least.operands.push_back(of_columns(s_.outputs));
    if (backward && s_.positions > 0) least.operands.push_back(of_columns(s_.positions));
    if (s_.variant > 0) least.operands.push_back(of_columns(s_.variant));
    if (!backward) least.operands.push_back(rows(s_.inputs));
    return least;
  }

  [[nodiscard]] std::int64_t patches() const {
    return s_.sequence < 1 ? 0 : product_of({s_.rows / s_.sequence, s_.sequence - 1, s_.inputs, e_});
  }
  [[nodiscard]] std::int64_t places() const { return of_columns(s_.positions); }
  [[nodiscard]] LeastBytes class_token(std::vector<std::int64_t> operands) const {
    if (!whole_sequences() || s_.positions < s_.sequence)
      return flaw("its rows are not whole sequences with a position each");
    return wide_rows(std::move(operands), s_.inputs);
  }

  [[nodiscard]] std::int64_t sequences() const { return product_of({s_.rows, s_.sequence, s_.inputs, e_}); }
  [[nodiscard]] LeastBytes first_token(std::vector<std::int64_t> operands) const {
    if (s_.sequence < 1) return flaw("its sequences have no tokens");
    return wide_rows(std::move(operands), s_.inputs);
  }

  [[nodiscard]] static LeastBytes wide_rows(std::vector<std::int64_t> operands, std::int64_t width) {
    return width < 1 ? flaw("its rows are empty") : LeastBytes{std::move(operands), {}};
  }

  [[nodiscard]] std::int64_t norm_statistics() const { return product_of({s_.rows, 2, wide_}); }
  [[nodiscard]] LeastBytes norm() const {
    LeastBytes least = wide_rows({rows(s_.inputs), of_columns(1)}, s_.inputs);
    if (layer_norm()) least.operands.push_back(of_columns(1));
    least.operands.insert(least.operands.end(), {rows(s_.inputs), norm_statistics()});
    return least;
  }
  [[nodiscard]] LeastBytes norm_backward() const {
    LeastBytes least =
        wide_rows({rows(s_.inputs), rows(s_.inputs), of_columns(1), norm_statistics(), rows(s_.inputs)}, s_.inputs);
    if (has(7)) least.operands.insert(least.operands.end(), layer_norm() ? 2 : 1, of_columns(1));
    least.operands.push_back(product_of({tiles(), layer_norm() ? 2 : 1, s_.inputs, wide_}));
    return least;
  }

  /// Rows of y or dy may be columns of wider ones: from the first row's first to the last row's last.
  [[nodiscard]] std::int64_t strided() const {
    const std::int64_t stride = s_.stride == 0 ? s_.outputs : s_.stride;
    return std::min(kNoBufferHolds, product_of({s_.rows - 1, stride, e_}) + product_of({s_.outputs, e_}));
  }
  [[nodiscard]] LeastBytes product(std::vector<std::int64_t> operands) const {
    if (s_.inputs < 1 || s_.outputs < 1) return flaw("its product has no columns");
    if (s_.stride != 0 && s_.stride < s_.outputs) return flaw("its rows overlap");
    return {std::move(operands), {}};
  }
  [[nodiscard]] LeastBytes linear() const {
    LeastBytes least = product({rows(s_.inputs), matrix()});
    if (has(4)) least.operands.push_back(product_of({s_.outputs, e_}));
    least.operands.push_back(strided());
    return least;
  }
  [[nodiscard]] LeastBytes linear_backward_weight() const {
    LeastBytes least = product({strided(), rows(s_.inputs), matrix()});
    if (has(4)) least.operands.push_back(product_of({s_.outputs, e_}));
    return least;
  }

  [[nodiscard]] std::int64_t head() const { return product_of({s_.head_dim, e_}); }
  [[nodiscard]] std::int64_t head_statistics() const { return product_of({s_.rows, s_.heads + s_.kv_heads, wide_}); }
  [[nodiscard]] LeastBytes head_norm_backward() const {
    LeastBytes least = heads({qkv(), qkv(), head(), head(), head_statistics()});
    if (has(7)) least.operands.insert(least.operands.end(), 2, head());
    least.operands.push_back(product_of({tiles(), 2, s_.head_dim, wide_}));
    return least;
  }
  [[nodiscard]] LeastBytes rope() const {
    if (!whole_sequences() || s_.inputs > s_.head_dim) return flaw("it rotates more than its heads have");
    return heads({qkv()});
  }
  [[nodiscard]] LeastBytes dequantize() const {
    if (s_.variant > static_cast<std::uint8_t>(BaseStorage::kNf4)) return flaw("its storage is not known");
    if (rows(s_.inputs) >= kNoBufferHolds) return flaw("its matrix is larger than any buffer");
    const Bytes stored = bytes_in(static_cast<BaseStorage>(s_.variant), s_.rows * s_.inputs, kernel_.dtype);
    return wide_rows({stored.count, rows(s_.inputs)}, s_.inputs);
  }

  [[nodiscard]] std::int64_t activated() const {
    return is_gated(static_cast<ActivationKind>(s_.variant)) ? product_of({2, s_.outputs}) : s_.outputs;
  }

  /// `optional` stands between targets and loss; a share of right answers may follow an evaluation's loss.
  [[nodiscard]] LeastBytes loss(std::vector<std::int64_t> optional, std::size_t with_optional) const {
    const bool labels = s_.variant == static_cast<std::uint8_t>(TargetKind::kLabel);
    if (!labels && !whole_sequences()) return flaw("its rows are not whole sequences");
    if (s_.terms < 1) return flaw("its mean is over nothing");
    if (s_.stride != 0 && s_.stride < s_.outputs) return flaw("its rows overlap");
    LeastBytes least =
        wide_rows({rows(s_.stride == 0 ? s_.outputs : s_.stride), labels ? product_of({s_.rows, kIndexBytes}) : tokens()}, s_.outputs);
    if (has(with_optional)) least.operands.insert(least.operands.end(), optional.begin(), optional.end());
    least.operands.push_back(kDoubleBytes);
    if (kernel_.kind == OpKind::kLoss && has(4)) least.operands.push_back(kDoubleBytes);
    return least;
  }

  /// Stored in the kernel's type, or summed up in the wider one.
  [[nodiscard]] std::int64_t gradient() const { return product_of({s_.rows, e_}); }

  [[nodiscard]] LeastBytes clip_factor() const {
    if (s_.terms < 1) return flaw("it sums nothing");
    const bool scaled = given_.size() > 2 && given_[2].access == Access::kReadWrite;
    LeastBytes least{{product_of({s_.terms, kDoubleBytes}), (scaled ? kScaledFactorDoubles : 2) * kDoubleBytes}, {}};
    if (scaled) least.operands.push_back(kScaleBytes);
    if (given_.size() > least.operands.size()) least.operands.push_back(kDoubleBytes);
    return least;
  }
};

}  // namespace

LeastBytes least_bytes_of_kernel(const Kernel& kernel, std::span<const GivenOperand> given,
                                 const KernelSurroundings& around) {
  return KernelBytes(kernel, given, around).run();
}

}  // namespace plimsoll
