#include "core/model/loss_scaling.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/model/next_loss_scale.h"

namespace plimsoll {
namespace {

constexpr std::string_view kDynamic = "dynamic";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(':')) != std::string_view::npos; text.remove_prefix(end + 1)) parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_scale(std::optional<double> scale) {
  return scale && *scale > 0 && *scale <= static_cast<double>(std::numeric_limits<float>::max());
}

tl::unexpected<Error> no_scale(std::string_view text) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no loss scale", text),
               .where = {},
               .remedy = "give dynamic, dynamic:START, dynamic:START:INTERVAL, or a positive number that stays"});
}

}  // namespace

LossScale first_loss_scale(const LossScaling& scaling) {
  return {.factor = 1 / scaling.start, .norm = 0, .updates = 0, .scale = scaling.start, .good_steps = 0};
}

LossScale next_loss_scale(const LossScaling& scaling, LossScale now, bool finite) {
  return loss_scale_after(scaling, now, finite);
}

std::string to_text(const LossScaling& scaling) {
  if (scaling.interval == 0) return fmt::format("{:.17g}", scaling.start);
  if (scaling == LossScaling{}) return std::string(kDynamic);
  return fmt::format("{}:{:.17g}:{}", kDynamic, scaling.start, scaling.interval);
}

Result<LossScaling> parse_loss_scaling(std::string_view text) {
  const std::vector<std::string_view> parts = split(text);
  LossScaling scaling;
  if (parts.front() != kDynamic) {
    const auto scale = number_in<double>(text);
    if (!is_scale(scale)) return no_scale(text);
    return LossScaling{.start = *scale, .interval = 0};
  }
  if (parts.size() > 3) return no_scale(text);
  if (parts.size() > 1) {
    const auto start = number_in<double>(parts[1]);
    if (!is_scale(start)) return no_scale(text);
    scaling.start = *start;
  }
  if (parts.size() > 2) {
    const auto interval = number_in<std::int64_t>(parts[2]);
    if (!interval || *interval <= 0) return no_scale(text);
    scaling.interval = *interval;
  }
  return scaling;
}

}  // namespace plimsoll
