#include "core/graph/optimizer_state.h"
#include "core/graph/update_work.h"
#include "core/model/loss_scaling.h"
#include "core/plan/least_bytes.h"

// Operands of updates (core/graph/op.h): weights, states, gradient, [factor], then, from version to version, the new
// weights and states, then [compute weights] and the workspace that SM3 and Muon need.
namespace plimsoll {
namespace {

std::size_t states_of(OpKind kind) {
  switch (kind) {
    case OpKind::kSgd:
      return 0;
    case OpKind::kAdam:
    case OpKind::kAdamW:
    case OpKind::kAdam8bit:
    case OpKind::kLamb:
      return 2;
    default:
      return 1;
  }
}

class UpdateBytes : private MeasuredLaunch {
 public:
  UpdateBytes(const Kernel& kernel, std::span<const GivenOperand> given, const KernelSurroundings& around)
      : MeasuredLaunch(kernel, given, around),
        states_(states_of(kernel.kind)),
        by_row_(takes_group(kernel.kind) || kernel.kind == OpKind::kAdam8bit),
        elements_(by_row_ ? s_.rows : product_of({s_.rows, s_.inputs})) {}

  LeastBytes run() {
    if (s_.rows < 1 || (!by_row_ && s_.inputs < 1)) return flaw("it updates nothing");
    if (kernel_.kind == OpKind::kMuon && (s_.terms < 1 || s_.rows % s_.terms != 0)) return flaw("its rows are no whole matrices");
    if (elements_ >= kNoBufferHolds) return flaw("it updates more than any buffer holds");
    if (given_.size() < states_ + 2) return flaw("it lacks weights, states or the gradient");
    LeastBytes least = kept_states();
    least.operands.push_back(
        product_of({elements_, e_}));  // a sum of gradients has the wider type, which its size tells
    add_factor(least);
    const bool in_place = given_[0].access == Access::kReadWrite;
    if (!in_place) append(least, kept_states());
    if (std::string words = add_rest(least, in_place); !words.empty()) return flaw(std::move(words));
    return least;
  }

 private:
  static void append(LeastBytes& to, LeastBytes more) {
    to.operands.insert(to.operands.end(), more.operands.begin(), more.operands.end());
  }
  [[nodiscard]] bool scaled() const { return scales_loss(around_.recipe.precision); }
  [[nodiscard]] bool narrow() const {
    return (takes_group(kernel_.kind) || kernel_.kind == OpKind::kMuon) && given_[0].bytes != product_of({elements_, wide_});
  }

  /// Weights and states as the optimizer keeps them.
  [[nodiscard]] LeastBytes kept_states() const {
    const std::int64_t each = narrow() ? e_ : wide_;
    LeastBytes least{{product_of({elements_, each})}, {}};
    std::int64_t state = product_of({elements_, each});
    if (kernel_.kind == OpKind::kAdam8bit) state = quantized_bytes(elements_);
    const bool factored = kernel_.kind == OpKind::kAdafactor || kernel_.kind == OpKind::kSm3;
    if (factored) state = product_of({s_.rows > 1 ? s_.rows + s_.inputs : s_.inputs, wide_});
    least.operands.insert(least.operands.end(), states_, state);
    return least;
  }

  void add_factor(LeastBytes& least) const {
    const std::size_t next = least.operands.size();
    const bool given = next < given_.size() && given_[next].access == Access::kRead;
    if (given || scaled()) least.operands.push_back((scaled() ? kScaledFactorDoubles : 1) * kDoubleBytes);
  }

  /// SM3's new sums of rows; three matrices in bf16 of Muon.
  [[nodiscard]] std::int64_t workspace() const {
    if (kernel_.kind == OpKind::kSm3 && s_.rows > 1) return product_of({s_.rows, wide_});
    return kernel_.kind == OpKind::kMuon ? product_of({s_.rows / s_.terms, s_.inputs, 3 * size_of(DType::kBf16)}) : 0;
  }

  /// What follows; in words why it cannot.
  [[nodiscard]] std::string add_rest(LeastBytes& least, bool in_place) const {
    const std::int64_t room = workspace();
    const bool waits = room > 0;
    const bool publishes = given_.size() > least.operands.size() + (waits ? 1 : 0);
    if (publishes) {
      const std::int64_t published = product_of({elements_, e_});
      const std::int64_t stated = given_[least.operands.size()].bytes;
      if (stated > published)
        return "its compute weights are more than its weights";  // as many are written as there is room for
      least.operands.push_back(published);
    }
    if (waits) least.operands.push_back(room);
    if (scaled() && !publishes) return "it lacks the compute weights of a scaled loss";
    if (around_.recipe.delay > 0 && !in_place) return "a delayed update goes from version to version";
    for (std::size_t i = 0; scaled() && !in_place && i <= states_; ++i) {  // skipped updates copy the old versions
      const std::size_t fresh = states_ + 3 + i;
      if (fresh >= given_.size() || given_[fresh].bytes != given_[i].bytes) return "its versions differ in size";
    }
    return {};
  }

  std::size_t states_;
  bool by_row_;
  std::int64_t elements_;
};

}  // namespace

LeastBytes least_bytes_of_update(const Kernel& kernel, std::span<const GivenOperand> given,
                                 const KernelSurroundings& around) {
  return UpdateBytes(kernel, given, around).run();
}

}  // namespace plimsoll
