#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// Which part of a recording a rule is about.
enum class ReplayPart { kKernel, kCopy, kFill, kCall, kGap };

/// "What if these took `factor` times as long?"
struct ScaleRule {
  ReplayPart part = ReplayPart::kKernel;
  std::string pattern;  ///< of the name: a part of it, or with '*' the whole; empty: all
  double factor = 1.0;
};

/// Reads "kernel=gemm:0.8", "copy=HtoD:2", "gap=:0.5".
Result<ScaleRule> parse_scale_rule(std::string_view text);

/// True when `name` fits the rule's pattern.
bool fits(const ScaleRule& rule, std::string_view name);

struct ReplayOptions {
  std::vector<ScaleRule> scales;  ///< the factors of all that fit are multiplied
  std::vector<double> work_factors;  ///< of each piece of device work besides, by its index; empty: 1
  bool host_gaps = true;          ///< false: host threads go from call to call without a pause
};

}  // namespace plimsoll
