#include "sim/parallel/pass_seconds.h"

#include <algorithm>

#include "sim/cost/efficiencies.h"
#include "sim/parallel/slowed_backward.h"
#include "sim/stack/kernel_seconds.h"

namespace plimsoll {
namespace {

constexpr double kMicro = 1e-6;

bool is_collective(const StackKernel& kernel) { return kernel.sort == StackKernelSort::kCollective; }

bool is_linear(const StackKernel& kernel) { return kernel.sort == StackKernelSort::kProduct && kernel.batch == 1; }

/// A weight's gradient sums over all rows, and comes right after the input's.
bool is_weight_gradient(const std::vector<StackKernel>& kernels, std::size_t i, std::int64_t rows) {
  const StackKernel& kernel = kernels[i];
  const bool sums_rows = is_linear(kernel) && kernel.k == rows && kernel.phase == Phase::kBackward && !kernel.again;
  return sums_rows && i > 0 && is_linear(kernels[i - 1]) && kernels[i - 1].m == rows;
}

class PassSum {
 public:
  PassSum(const std::vector<StackKernel>& kernels, const PassTerms& terms)
      : kernels_(kernels), terms_(terms), seconds_(kernels.size()) {}

  Result<PieceCost> sum() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const auto seconds = seconds_of_launch(kernels_[i]);
      if (!seconds) return fail(seconds.error());
      seconds_[i] = *seconds;
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) add(i);
    wait_for_host();
    return cost_;
  }

 private:
  [[nodiscard]] Result<double> seconds_of_launch(const StackKernel& kernel) const {
    if (is_collective(kernel)) return collective(kernel);
    if (kernel.sort != StackKernelSort::kAttention) return kernel_seconds(kernel, terms_.rates);
    StackKernel whole = kernel;  // a rank's queries on the keys of all
    whole.flops *= static_cast<double>(terms_.layout.context_ranks);
    return kernel_seconds(whole, terms_.rates);
  }

  /// Tensor ranks sum with all-reduces, or gather and scatter rows where the stream is cut by rows; bytes are those on
  /// the wire.
  [[nodiscard]] double collective(const StackKernel& kernel) const {
    const auto ranks = static_cast<double>(terms_.layout.tensor_ranks);
    const bool by_rows = terms_.layout.sequence_parallel;
    const Collective kind = by_rows ? Collective::kAllGather : Collective::kAllReduce;
    const double whole = kernel.bytes * ranks / (ranks - 1) / (by_rows ? 1 : 2);
    return plimsoll::seconds_of(kind, whole, tensor_group(terms_.layout, terms_.cluster), terms_.cluster);
  }

  void add(std::size_t i) {
    const StackKernel& kernel = kernels_[i];
    if (is_collective(kernel)) return add_collective(i);
    if (kernel.phase == Phase::kOptimizer) {
      cost_.update += seconds_[i];
      return;
    }
    ++launches_[kernel.phase == Phase::kForward ? 0 : 1];
    if (kernel.sort == StackKernelSort::kAttention) add_context(kernel, seconds_[i]);
    const double flops =
        kernel.flops *
        (kernel.sort == StackKernelSort::kAttention ? static_cast<double>(terms_.layout.context_ranks) : 1);
    cost_.hardware_flops += flops;
    if (!kernel.again) cost_.model_flops += flops;
    if (kernel.phase == Phase::kForward)
      cost_.forward += seconds_[i];
    else if (is_weight_gradient(kernels_, i, terms_.rows))
      cost_.weight_gradient += seconds_[i];
    else
      cost_.input_gradient += seconds_[i];
  }

  void add_collective(std::size_t i) {
    const bool forward = kernels_[i].phase == Phase::kForward;
    double product = terms_.layout.overlaps_tensor && !forward ? beside(i) : 0;
    if (terms_.layout.cuts_products && product == 0) product = beside_pieces(i);
    const double hidden = hidden_beside(seconds_[i], product, terms_.cluster.collective_share);
    cost_.hidden_sends += hidden;
    (forward ? cost_.forward_sends : cost_.backward_sends) += seconds_[i] - hidden;
  }

  /// Seconds of the product beside which a backward pass's collective runs.
  [[nodiscard]] double beside(std::size_t i) const {
    if (kernels_[i].again) return 0;
    if (i > 0 && is_weight_gradient(kernels_, i - 1, terms_.rows)) return seconds_[i - 1];
    const bool gathers =
        i + 3 < kernels_.size() && is_weight_gradient(kernels_, i + 2, terms_.rows) && is_collective(kernels_[i + 3]);
    return gathers ? seconds_[i + 1] : 0;
  }

  /// Seconds of the product that consumes what is gathered, or makes what is scattered, but for the piece of its rows that waits
  /// for nothing (or that nothing is left to hide): the rank's own.
  [[nodiscard]] double beside_pieces(std::size_t i) const {
    const auto pieces = static_cast<double>(terms_.layout.tensor_ranks);
    const bool consumed = i + 1 < kernels_.size() && is_linear(kernels_[i + 1]);
    if (!consumed && (i == 0 || !is_linear(kernels_[i - 1]))) return 0;
    return seconds_[consumed ? i + 1 : i - 1] * (pieces - 1) / pieces;
  }

  /// Keys and values of the other context ranks; backward passes send them and their gradients.
  void add_context(const StackKernel& kernel, double seconds) {
    const ParallelLayout& layout = terms_.layout;
    if (layout.context_ranks < 2) return;
    const RankGroup group = context_group(layout, terms_.cluster);
    const double heads = static_cast<double>(terms_.kv_heads) / static_cast<double>(layout.tensor_ranks);
    const double one = static_cast<double>(terms_.rows) * heads * static_cast<double>(kernel.k) *
                       static_cast<double>(size_of(kernel.dtype));
    double sent = 0, beside = 0;
    if (layout.context == ContextKind::kRing) {
      const double steps = static_cast<double>(group.ranks - 1);
      sent = steps * hop_seconds((kernel.backward ? 4 : 2) * one, group.nodes() > 1, terms_.cluster);
      beside = seconds * steps / static_cast<double>(group.ranks);
    } else {
      const double queries =
          static_cast<double>(terms_.rows) * static_cast<double>(kernel.batch * kernel.k * size_of(kernel.dtype));
      sent = 2 * plimsoll::seconds_of(Collective::kAllToAll, queries, group, terms_.cluster) +
             2 * plimsoll::seconds_of(Collective::kAllToAll, one, group, terms_.cluster);
    }
    const double hidden = hidden_beside(sent, beside, terms_.cluster.collective_share);
    cost_.hidden_sends += hidden;
    (kernel.phase == Phase::kForward ? cost_.forward_sends : cost_.backward_sends) += sent - hidden;
  }

  /// A pass lasts as long as the host needs to launch its kernels.
  void wait_for_host() {
    const double each = cost_constants().at("stack.dispatch.eager") * kMicro;
    cost_.forward = std::max(cost_.forward, each * launches_[0] - cost_.forward_sends);
    const double backward = cost_.input_gradient + cost_.weight_gradient;
    cost_.input_gradient += std::max(0.0, each * launches_[1] - cost_.backward_sends - backward);
  }

  const std::vector<StackKernel>& kernels_;
  const PassTerms& terms_;
  std::vector<double> seconds_;
  PieceCost cost_;
  double launches_[2] = {0, 0};
};

}  // namespace

Result<PieceCost> pass_seconds(const std::vector<StackKernel>& kernels, const PassTerms& terms) {
  return PassSum(kernels, terms).sum();
}

}  // namespace plimsoll
