#include <algorithm>
#include <initializer_list>

#include "core/graph/expert_shape.h"
#include "core/model/loss_scaling.h"
#include "core/plan/exchange.h"
#include "core/plan/least_bytes.h"

// Operands of a mixture's kernels, in the order of core/graph/op.h.
namespace plimsoll {
namespace {

class ExpertBytes : private MeasuredLaunch {
 public:
  using MeasuredLaunch::MeasuredLaunch;

  LeastBytes run() {
    if (std::string words = shape_flaw(); !words.empty()) return {{}, std::move(words)};
    sent_ = expert_rows(s_);
    switch (kernel_.kind) {
      case OpKind::kRouter:
        return router();
      case OpKind::kDispatch:
        return {{tokens(s_.inputs), routing(), sent(s_.inputs)}, {}};
      case OpKind::kExpertLinear:
        return expert_linear();
      case OpKind::kExpertDropout:
        return {{sent(s_.inputs), routing()}, {}};
      case OpKind::kCombine:
        return {{sent(s_.inputs), gates(), routing(), tokens(s_.inputs)}, {}};
      case OpKind::kExpertBalance:
        return balance();
      case OpKind::kCombineBackward:
        return {{tokens(s_.inputs), sent(s_.inputs), gates(), routing(), sent(s_.inputs), gates()}, {}};
      case OpKind::kExpertLinearBackwardInput:
        return {{sent(s_.outputs), weights(), routing(), sent(s_.inputs)}, {}};
      case OpKind::kExpertLinearBackwardWeight:
        return expert_linear_backward_weight();
      case OpKind::kShareRouting:
        return share_routing();
      case OpKind::kDispatchBackward:
        return {{sent(s_.inputs), routing(), tokens(s_.inputs)}, {}};
      default:
        return router_backward();
    }
  }

 private:
  [[nodiscard]] bool is_any_of(std::initializer_list<OpKind> kinds) const {
    return std::find(kinds.begin(), kinds.end(), kernel_.kind) != kinds.end();
  }

  /// Experts of all ranks, of which these kernels' shape has this rank's, where `terms` ranks share them.
  [[nodiscard]] std::int64_t everywhere() const {
    const bool of_share = is_any_of({OpKind::kExpertLinear, OpKind::kExpertLinearBackwardInput,
                                     OpKind::kExpertLinearBackwardWeight, OpKind::kExpertDropout});
    return of_share ? product_of({s_.experts, s_.terms}) : s_.experts;
  }

  /// Kernels index by the numbers of experts, choices and groups, and by those of the model.
  [[nodiscard]] std::string shape_flaw() const {
    const bool of_model = s_.experts >= 1 && everywhere() == around_.spec.experts.count;
    const bool routes =
        s_.choices >= 1 && s_.choices <= everywhere() && s_.groups >= 1 && s_.rows >= 1 && s_.rows % s_.groups == 0;
    if (!of_model || !routes) return "its tokens, groups, choices and experts are not those of a mixture of the model";
    if (!has_width()) return "its rows are empty";
    if (kernel_.kind == OpKind::kShareRouting && (s_.terms < 1 || s_.experts % s_.terms != 0 || s_.inputs >= s_.terms))
      return "its ranks do not share the experts evenly";
    const std::int64_t most = std::int64_t{1} << 50;
    const bool bounded = product_of({s_.rows, s_.choices, 8}) < most && product_of({s_.experts, s_.groups, 8}) < most &&
                         product_of({s_.experts, s_.groups, s_.capacity}) < most &&
                         product_of({s_.rows, s_.experts, 8}) < most;
    if (!bounded) return "its mixture is larger than any buffer";
    const bool gated = is_any_of({OpKind::kRouter, OpKind::kRouterBackward, OpKind::kExpertBalance});
    return !gated || gating_of(s_) == around_.spec.experts.gating ? "" : "its gating is not that of the model";
  }

  [[nodiscard]] bool has_width() const {
    if (kernel_.kind == OpKind::kExpertBalance) return s_.terms >= 1;
    if (kernel_.kind == OpKind::kShareRouting) return true;
    const bool products =
        is_any_of({OpKind::kExpertLinear, OpKind::kExpertLinearBackwardInput, OpKind::kExpertLinearBackwardWeight});
    return s_.inputs >= 1 && (!products || s_.outputs >= 1);
  }

  [[nodiscard]] bool noisy() const { return gating_of(s_) == GatingKind::kNoisy; }
  [[nodiscard]] std::int64_t tokens(std::int64_t width) const { return product_of({s_.rows, width, e_}); }
  [[nodiscard]] std::int64_t sent(std::int64_t width) const { return product_of({sent_, width, e_}); }
  [[nodiscard]] std::int64_t gates() const { return product_of({s_.rows, s_.choices, wide_}); }
  [[nodiscard]] std::int64_t routing() const { return product_of({routing_elements(s_), kIndexBytes}); }
  [[nodiscard]] std::int64_t statistics() const { return product_of({statistics_elements(s_), kDoubleBytes}); }
  [[nodiscard]] std::int64_t scores() const { return product_of({s_.rows, scores_of_token(s_), wide_}); }
  [[nodiscard]] std::int64_t slopes() const { return product_of({slopes_elements(s_), kDoubleBytes}); }
  [[nodiscard]] std::int64_t router_weight() const { return product_of({s_.experts, s_.inputs, e_}); }
  [[nodiscard]] std::int64_t weights() const { return product_of({s_.experts, s_.outputs, s_.inputs, e_}); }
  [[nodiscard]] std::int64_t biases() const { return product_of({s_.experts, s_.outputs, e_}); }

  [[nodiscard]] LeastBytes router() const {
    LeastBytes least{{tokens(s_.inputs), router_weight()}, {}};
    if (noisy()) least.operands.push_back(router_weight());
    least.operands.insert(least.operands.end(), {scores(), gates(), routing(), statistics()});
    return least;
  }

  [[nodiscard]] LeastBytes share_routing() const {
    return {{product_of({s_.terms, routing()}), product_of({s_.terms, routing_elements(shape_of_share(s_)), kIndexBytes}),
             product_of({RowCounts::elements(s_.terms), kIndexBytes})},
            {}};
  }

  [[nodiscard]] LeastBytes expert_linear() const {
    LeastBytes least{{sent(s_.inputs), weights()}, {}};
    if (given_.size() == 5) least.operands.push_back(biases());
    least.operands.insert(least.operands.end(), {routing(), sent(s_.outputs)});
    return least;
  }

  [[nodiscard]] LeastBytes expert_linear_backward_weight() const {
    LeastBytes least{{sent(s_.outputs), sent(s_.inputs), routing(), weights()}, {}};
    if (given_.size() == 5) least.operands.push_back(biases());
    return least;
  }

  [[nodiscard]] LeastBytes balance() const {
    if (s_.terms > static_cast<std::int64_t>(given_.size())) return {{}, "it has fewer routers than it sums"};
    LeastBytes least{std::vector<std::int64_t>(static_cast<std::size_t>(s_.terms), statistics()), {}};
    if (given_.size() > least.operands.size() + 2) least.operands.push_back(kLossScaleDoubles * kDoubleBytes);
    least.operands.insert(least.operands.end(), {slopes(), 2 * kDoubleBytes});
    return least;
  }

  [[nodiscard]] LeastBytes router_backward() const {
    LeastBytes least{{tokens(s_.inputs), router_weight()}, {}};
    if (noisy()) least.operands.push_back(router_weight());
    least.operands.insert(least.operands.end(), {scores(), gates(), gates(), routing(), statistics(), slopes(),
                                                 tokens(s_.inputs), router_weight()});
    if (noisy()) least.operands.push_back(router_weight());
    least.operands.push_back(product_of({s_.rows, router_outputs(s_), wide_}));
    return least;
  }

  std::int64_t sent_ = 0;  ///< rows of all experts
};

}  // namespace

LeastBytes least_bytes_of_experts(const Kernel& kernel, std::span<const GivenOperand> given,
                                  const KernelSurroundings& around) {
  return ExpertBytes(kernel, given, around).run();
}

}  // namespace plimsoll
