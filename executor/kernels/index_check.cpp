#include "executor/kernels/index_check.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/graph/masked_token.h"
#include "executor/kernels/experts/routing.h"
#include "executor/kernels/targets.h"

namespace plimsoll::kernels {
namespace {

[[noreturn]] void stray(const char* what, std::int64_t number, std::int64_t limit) {
  throw EnvironmentError(
      {.kind = ErrorKind::kDefect,
       .what = fmt::format("{} {} is not below {}: what the kernel was given is no such table", what, number, limit),
       .where = {},
       .remedy = "make the plan again with plimsoll plan"});
}

void require_below(const char* what, std::int64_t number, std::int64_t limit) {
  if (number < 0 || number >= limit) stray(what, number, limit);
}

}  // namespace

void check_tokens(const OpShape& s, const std::int32_t* tokens) {
  for (std::int64_t row = 0; row < s.rows; ++row) {
    require_below("token", token_id(tokens[row / s.sequence * (s.sequence + 1) + row % s.sequence]), s.outputs);
  }
}

void check_targets(const OpShape& s, const std::int32_t* tokens_or_labels) {
  const Targets targets(s, tokens_or_labels);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    if (targets.of(row) >= s.outputs) stray("target", targets.of(row), s.outputs);
  }
}

void check_routing(const OpShape& s, const Routing& routing) {
  for (std::int64_t e = 0; e <= s.experts; ++e) {
    const std::int32_t before = e == 0 ? 0 : routing.starts[e - 1];
    if (routing.starts[e] < before || routing.starts[e] > routing.bound)
      stray("an expert's row", routing.starts[e], routing.bound);
  }
  for (std::int64_t at = 0; at < s.rows * s.choices; ++at) {
    require_below("an expert", routing.choices[at], s.experts);
    if (routing.rows[at] != -1) require_below("a token's row", routing.rows[at], routing.bound);
  }
  for (std::int64_t row = 0; row < routing.used(); ++row) {
    require_below("a row's token", routing.sources[row], s.rows * s.choices);
  }
}

void check_room(std::int64_t rows, const Routing& share) { require_below("a share's row", rows, share.bound + 1); }

}  // namespace plimsoll::kernels
