#include "cli/options/divide_gpus.h"

#include <fmt/format.h>

#include "cli/options/partner_options.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--gpus", .remedy = std::move(remedy)});
}

}  // namespace

Result<StackFlags> divide_gpus(StackFlags flags, std::int64_t gpus) {
  if (gpus <= 1) return flags;
  const std::int64_t others = flags.tensor_ranks * flags.stages * flags.context_ranks;
  if (gpus % others != 0) {
    return refuse(fmt::format("{} GPUs do not divide by tp {} x pp {} x cp {}", gpus, flags.tensor_ranks, flags.stages, flags.context_ranks),
                  "take degrees that divide them, or another number of GPUs");
  }
  if (!is_given(flags, "--dp")) flags.gpus = gpus / others;
  if (flags.gpus * others == gpus) return flags;
  return refuse(fmt::format("dp {} x tp {} x pp {} x cp {} are {} GPUs, not {}", flags.gpus, flags.tensor_ranks, flags.stages, flags.context_ranks,
                            flags.gpus * others, gpus),
                fmt::format("take --dp {}", gpus / others));
}

}  // namespace plimsoll
