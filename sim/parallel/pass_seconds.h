#pragma once

#include <vector>

#include "sim/parallel/collectives.h"
#include "sim/parallel/stage_pieces.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// What decides how long a pass's kernels and collectives take.
struct PassTerms {
  const ParallelLayout& layout;
  std::int64_t rows = 1;  ///< tokens of a micro-batch on this rank: a weight's gradient sums over them
  std::int64_t kv_heads = 1;
  const KernelRates& rates;
  const Cluster& cluster;
};

/// Seconds of the kernels of one micro-batch by pass, and of the collectives among tensor and context ranks. Where the
/// layout overlaps them, the collectives around a layer's backward products hide behind these: what gathers behind the
/// product for the input's gradient, what sums behind the one for the weights' (Korthikanti et al. 2022,
/// section 4.2.2). Keys and values that go round hide behind attention.
Result<PieceCost> pass_seconds(const std::vector<StackKernel>& kernels, const PassTerms& terms);

}  // namespace plimsoll
