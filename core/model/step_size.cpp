#include "core/model/step_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/foreign_feature.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kDefaultSequence = 1024;
constexpr double kMostInstructions = 1e6;

}  // namespace

std::int64_t longest_trained(const ModelSpec& spec, bool own_step) {
  return own_step && foreign_feature(spec).empty() ? spec.longest_sequence() : spec.max_positions;
}

std::int64_t usual_sequence(const ModelSpec& spec) {
  return spec.reads_images() ? spec.max_positions : std::min(kDefaultSequence, longest_trained(spec, true));
}

Result<void> check_step_size(const ModelSpec& spec, const Recipe& recipe) {
  // Forward, backward and optimizer of a layer are about 40 kernels and copies.
  const double instructions = 40.0 * static_cast<double>(spec.blocks()) * static_cast<double>(recipe.accumulate);
  if (instructions <= kMostInstructions) return {};
  return fail(
      {.kind = ErrorKind::kInput,
       .what = fmt::format(
           "{} layers x {} micro-batches make a step of about {:.0f} million instructions; {:.0f} million can be "
           "planned",
           spec.blocks(), recipe.accumulate, instructions * 1e-6, kMostInstructions * 1e-6),
       .where = {},
       .remedy = "use a smaller --accumulate (and a larger --batch), or fewer layers"});
}

}  // namespace plimsoll
