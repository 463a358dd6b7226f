#include "sim/replay/replay_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace plimsoll {
namespace {

constexpr std::pair<std::string_view, ReplayPart> kParts[] = {{"kernel", ReplayPart::kKernel},
                                                              {"copy", ReplayPart::kCopy},
                                                              {"fill", ReplayPart::kFill},
                                                              {"call", ReplayPart::kCall},
                                                              {"gap", ReplayPart::kGap}};

tl::unexpected<Error> refuse(std::string_view text, std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = std::string(text),
               .remedy = "write PART=PATTERN:FACTOR, as in kernel=gemm:0.8; parts are kernel, copy, fill, call and gap"});
}

/// Whether the text is the pattern, in which '*' stands for anything.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, back = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      back = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++back;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

Result<ScaleRule> parse_scale_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.rfind(':');
  if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals) return refuse(text, "no scale rule");
  ScaleRule rule{.pattern = std::string(text.substr(equals + 1, colon - equals - 1))};
  bool known = false;
  for (const auto& [name, part] : kParts) {
    if (text.substr(0, equals) != name) continue;
    rule.part = part;
    known = true;
  }
  if (!known) return refuse(text, fmt::format("there is no part '{}' of a trace", text.substr(0, equals)));
  const std::string_view factor = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), rule.factor);
  const bool number = error == std::errc() && end == factor.data() + factor.size() && std::isfinite(rule.factor);
  if (!number || rule.factor < 0 || rule.factor > 1e6)
    return refuse(text, fmt::format("the factor '{}' is no number from 0 to 1000000", factor));
  return rule;
}

bool fits(const ScaleRule& rule, std::string_view name) {
  if (rule.pattern.find('*') == std::string::npos) return name.find(rule.pattern) != std::string_view::npos;
  return matches(rule.pattern, name);
}

}  // namespace plimsoll
