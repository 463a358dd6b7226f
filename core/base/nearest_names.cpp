#include "core/base/nearest_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>
#include <utility>

namespace plimsoll {
namespace {

/// Letters replaced, left out, put in or neighbours that changed places: the fewest that make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // two rows up
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

/// Whether a number that the key ends with goes on in the name: "llama3" is begun by "llama-30b", but meant by "llama3-8b".
bool breaks_number(std::string_view key, std::string_view name) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  if (key.empty() || !is_digit(key.back())) return false;
  std::size_t letters = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (std::isalnum(static_cast<unsigned char>(name[i])) == 0) continue;
    if (++letters == key.size()) return i + 1 < name.size() && is_digit(name[i + 1]);
  }
  return false;
}

}  // namespace

std::string name_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names, std::size_t count) {
  const std::string key = name_key(wanted).substr(0, 64);
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> ranked;  // (distance, place of the key in the name, position)
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) != names.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const std::string other = name_key(names[i]);
    const auto place = key.empty() ? std::string::npos : other.find(key);
    const bool contains = place != std::string::npos;
    ranked.emplace_back(contains ? 0 : edit_distance(key, other), contains ? place + breaks_number(key, names[i]) : 0, i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) nearest.push_back(names[std::get<2>(ranked[i])]);
  return nearest;
}

std::vector<std::string> near_names(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string key = name_key(wanted).substr(0, 64);
  std::vector<std::string> near = nearest_names(wanted, names);
  std::erase_if(near, [&](const std::string& name) {
    const std::string other = name_key(name);
    const bool begun = key.size() > 1 && other.starts_with(key);
    return !begun && 2 * edit_distance(key, other) > key.size();
  });
  return near;
}

std::string slip_of(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string key = name_key(wanted).substr(0, 64);
  const std::size_t most = std::min<std::size_t>(2, key.size() / 7);
  const auto meant = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    const std::string other = name_key(name);
    const bool as_long = key.size() <= other.size() + 1 && other.size() <= key.size() + 1;  // "s2_attention" is no "attention"
    return as_long && edit_distance(key, other) <= most;
  });
  return meant == names.end() ? std::string() : *meant;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names) {
  const auto nearest = nearest_names(wanted, names);
  if (nearest.empty()) return {};
  return fmt::format("did you mean {}?", fmt::join(nearest, ", "));
}

bool has_in_name(std::string_view name, std::string_view part) {
  return name_key(name).find(name_key(part)) != std::string::npos;
}

}  // namespace plimsoll
