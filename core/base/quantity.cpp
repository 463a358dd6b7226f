#include "core/base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace plimsoll {
namespace {

struct ByteUnit {
  std::string_view name;
  double size;
};

constexpr std::array<ByteUnit, 17> kByteUnits{{{"", 1},
                                               {"B", 1},
                                               {"KiB", 0x1p10},
                                               {"MiB", 0x1p20},
                                               {"GiB", 0x1p30},
                                               {"TiB", 0x1p40},
                                               {"PiB", 0x1p50},
                                               {"KB", 1e3},
                                               {"MB", 1e6},
                                               {"GB", 1e9},
                                               {"TB", 1e12},
                                               {"PB", 1e15},
                                               {"K", 1e3},
                                               {"M", 1e6},
                                               {"G", 1e9},
                                               {"T", 1e12},
                                               {"P", 1e15}}};

/// As written, or in small letters alone; "Gb" would be bits elsewhere.
bool is_unit(std::string_view text, std::string_view unit) {
  if (text == unit || (text == "kB" && unit == "KB")) return true;
  return std::equal(text.begin(), text.end(), unit.begin(), unit.end(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

Error bad_size(std::string_view text, std::string what) {
  return {.kind = ErrorKind::kInput,
          .what = fmt::format("'{}' {}", text, what),
          .where = {},
          .remedy = "write a size as 16GiB, 512MiB, 2TB or 1.5T, which is 1.5TB"};
}

}  // namespace

Nanoseconds from_seconds(double seconds) { return Nanoseconds(std::llround(seconds * 1e9)); }

std::string to_text(Bytes bytes) {
  const double value = static_cast<double>(bytes.count);
  const double size = std::fabs(value);
  if (size < 0x1p10) return fmt::format("{} B", bytes.count);
  if (size < 0x1p20) return fmt::format("{:.1f} KiB", value * 0x1p-10);
  if (size < 0x1p30) return fmt::format("{:.1f} MiB", value * 0x1p-20);
  if (size < 0x1p40) return fmt::format("{:.2f} GiB", value * 0x1p-30);
  return fmt::format("{:.2f} TiB", value * 0x1p-40);
}

std::string to_text(Nanoseconds time) {
  const double ns = static_cast<double>(time.count);
  if (std::fabs(ns) < 1e3) return fmt::format("{} ns", time.count);
  if (std::fabs(ns) < 1e6) return fmt::format("{:.2f} us", ns * 1e-3);
  if (std::fabs(ns) < 1e9) return fmt::format("{:.2f} ms", ns * 1e-6);
  return fmt::format("{:.3f} s", ns * 1e-9);
}

Result<Bytes> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || !std::isfinite(value)) return fail(bad_size(text, "is not a size"));
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const ByteUnit& known : kByteUnits) {
    if (!is_unit(unit, known.name)) continue;
    const double bytes = value * known.size;
    if (bytes < 0 || bytes > static_cast<double>(kMaxParsedBytes.count)) return fail(bad_size(text, "is out of range"));
    return Bytes(std::llround(bytes));
  }
  return fail(bad_size(text, fmt::format("has the unknown unit '{}'", unit)));
}

}  // namespace plimsoll
