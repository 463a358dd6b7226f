#pragma once

#include "cli/options/stack_flags.h"
#include "core/base/result.h"

namespace plimsoll {

/// The flags with the `gpus` that --on or --gpus name divided among their degrees: where nobody said --dp, as many share the batch as
/// --tp, --pp and --cp leave. Refuses degrees that do not divide them, and a --dp that makes another number of GPUs. One GPU says
/// nothing: then --dp and the degrees alone tell how many there are.
Result<StackFlags> divide_gpus(StackFlags flags, std::int64_t gpus);

}  // namespace plimsoll
