#include "cli/options/stack_adapters.h"

#include <utility>

namespace plimsoll {

Result<void> take_stack_adapters(const StackFlags& flags, TrainingFlags& training, StackSetup& setup) {
  const bool encoded = training.adapter.base_bits.value_or(16) < 16;
  if (!flags.kbit_preparation.empty() && !encoded) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--kbit-preparation would be ignored: it is of a base of 4 or 8 bits",
                 .where = {},
                 .remedy = "add --base-bits 4"});
  }
  if (setup.plain_scales && training.adapter.base_bits.value_or(16) != 4) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--double-quant would be ignored: it is of a base of 4 bits",
                 .where = {},
                 .remedy = "add --base-bits 4"});
  }
  if (training.adapter.lora.empty()) return {};
  setup.adapter_dropout = std::exchange(training.adapter.dropout, 0.0);
  return {};
}

}  // namespace plimsoll
