#include "sim/stack/paged_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/stack/predict_stack.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

PagedStates paged_states(Tape& tape) {
  PagedStates paged;
  if (!tape.options().optimizer_form.paged) return paged;
  for (const Parameter& parameter : tape.parameters()) {
    Bytes own;
    for (const Tensor& state : parameter.states) {
      if (!state.storage->is_there()) own += state.bytes();
    }
    paged.all += own;
    paged.at_once = std::max(paged.at_once, own);
  }
  return paged;
}

void add_paged_states(StackPrediction& prediction, const PagedStates& paged, std::vector<StackKernel>& kernels) {
  const Bytes room = std::max(paged.at_once, prediction.usable - prediction.peak.reserved);
  const Bytes here = std::min(paged.all, room);
  for (Bytes* bytes : {&prediction.peak.process, &prediction.peak.device, &prediction.at_peak.optimizer}) *bytes += here;
  prediction.paged_out = paged.all - here;
  prediction.host += prediction.paged_out;
  if (prediction.paged_out == Bytes(0)) {
    prediction.assumptions.push_back(fmt::format("the optimizer's states ({}) are in managed memory, and the GPU has room for all of them",
                                                 to_text(paged.all)));
    return;
  }
  prediction.assumptions.push_back(
      fmt::format("of the optimizer's states in managed memory ({}) the GPU has room for {}; {} wait in host memory, and every step moves all of "
                  "them both ways over the link, as the driver evicts what came longest ago",
                  to_text(paged.all), to_text(here), to_text(prediction.paged_out)));
  for (const StackKernelSort way : {StackKernelSort::kToDevice, StackKernelSort::kToHost}) {
    kernels.push_back({.sort = way, .phase = Phase::kOptimizer, .blocking = true, .bytes = static_cast<double>(paged.all.count)});
  }
}

}  // namespace plimsoll
