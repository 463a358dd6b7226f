#include <vector>

#include "core/model/loss_scaling.h"
#include "executor/kernels/experts/balance_loss.h"

namespace plimsoll::kernels {

/// The loss of Hugging Face's Mixtral takes the mean of all blocks before it multiplies: α·E·Σ f·P with f the choices and P
/// the probability of a token, over blocks and tokens. Other gatings' losses are sums of the blocks'.
void expert_balance(const OpShape& s, Operands operands, const LaunchContext& context) {
  const ExpertSpec& experts = *context.experts;
  const auto blocks = static_cast<std::size_t>(s.terms);
  const std::size_t out = operands.size() - 2;
  std::vector<double> chosen(static_cast<std::size_t>(s.experts), 0.0), weight = chosen;
  double loss = 0, refused = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const RouterStatistics of(s, array<double>(operands, b));
    loss += block_balance_loss(experts, s, of);
    refused += of.refused() / static_cast<double>(blocks);
    for (std::int64_t g = 0; g < s.groups; ++g) {
      for (std::int64_t e = 0; e < s.experts; ++e) {
        chosen[static_cast<std::size_t>(e)] += of.chosen(g, e);
        weight[static_cast<std::size_t>(e)] += of.weight(g, e);
      }
    }
  }
  const double tokens = static_cast<double>(s.rows) * static_cast<double>(blocks);
  const double scale = experts.gating == GatingKind::kTopK ? experts.balance * static_cast<double>(s.experts) : 0;
  double* slopes = array<double>(operands, out);
  for (std::size_t e = 0; e < chosen.size(); ++e) {
    slopes[e] = scale * (chosen[e] / tokens) / tokens;
    loss += slopes[e] * weight[e];
  }
  slopes[chosen.size()] = out > blocks ? array<const LossScale>(operands, blocks)->scale : 1;
  double* losses = array<double>(operands, out + 1);
  losses[0] = loss;
  losses[1] = refused;
}

}  // namespace plimsoll::kernels
