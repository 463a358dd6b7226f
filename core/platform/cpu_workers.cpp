#include "core/platform/cpu_workers.h"

#include <fmt/format.h>

#include <charconv>

namespace plimsoll {
namespace {

constexpr std::string_view kWorkersWord = " threads";

}  // namespace

std::string cpu_calibration_name(std::string_view model, std::int64_t workers) {
  return fmt::format("{}, {}{}", model, workers, kWorkersWord);
}

std::int64_t workers_of(std::string_view name) {
  if (!name.ends_with(kWorkersWord)) return 1;
  name.remove_suffix(kWorkersWord.size());
  const auto comma = name.rfind(", ");
  if (comma == std::string_view::npos) return 1;
  name.remove_prefix(comma + 2);
  std::int64_t workers = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), workers);
  return error == std::errc{} && end == name.data() + name.size() && workers > 0 ? workers : 1;
}

}  // namespace plimsoll
