#include "profiler/probe/system_texts.h"

#include <charconv>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// The text up to `end`, which is taken off with it.
std::string_view take_until(std::string_view& text, char end) {
  const auto at = text.find(end);
  const auto taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<Bytes> kibibytes(std::string_view digits) {
  const auto count = parse_whole(digits);
  if (!count || *count > kMaxParsedBytes.count / kKiB.count) return std::nullopt;
  return kKiB * *count;
}

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    if (take_until(text, ' ') == word) return true;
  }
  return false;
}

bool lists_controller(std::string_view controllers, std::string_view wanted) {
  if (wanted.empty()) return controllers.empty();
  while (!controllers.empty()) {
    if (take_until(controllers, ',') == wanted) return true;
  }
  return false;
}

}  // namespace

CpuDescription parse_cpuinfo(std::string_view text) {
  CpuDescription cpu;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (trimmed(line).empty()) break;  // the next processor
    const auto name = trimmed(take_until(line, ':'));
    const auto value = trimmed(line);
    if (name == "model name") cpu.model = value;
    if (name == "cpu MHz") cpu.mhz = parse_number(value).value_or(0.0);
    if (name != "flags") continue;
    cpu.avx2 = has_word(value, "avx2") && has_word(value, "fma");
    cpu.avx512 = has_word(value, "avx512f");
  }
  return cpu;
}

std::optional<Bytes> parse_meminfo(std::string_view text, std::string_view field) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (take_until(line, ':') != field) continue;
    std::string_view value = trimmed(line);
    if (!value.ends_with(" kB")) return std::nullopt;
    value.remove_suffix(3);
    return kibibytes(trimmed(value));
  }
  return std::nullopt;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  text = trimmed(text);
  const auto quota = parse_whole(take_until(text, ' '));
  const auto period = parse_whole(trimmed(text));
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    take_until(line, ':');
    if (lists_controller(take_until(line, ':'), controller) && line.starts_with('/')) return std::string(line);
  }
  return std::nullopt;
}

}  // namespace plimsoll
