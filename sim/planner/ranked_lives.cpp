#include "sim/planner/ranked_lives.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Where beginnings lie farther apart they are sorted instead of counted moment by moment.
constexpr std::size_t kMomentsForEach = 64;

std::vector<Lifespan> by_counting(std::span<const PackItem> items, std::uint32_t end_of_time) {
  std::vector<std::uint32_t> before(static_cast<std::size_t>(end_of_time) + 2, 0);  // beginnings before each moment
  for (const PackItem& item : items) before[item.life.begin + 1] = 1;
  for (std::size_t at = 1; at < before.size(); ++at) before[at] += before[at - 1];
  std::vector<Lifespan> lives;
  lives.reserve(items.size());
  for (const PackItem& item : items) lives.push_back({before[item.life.begin], before[item.life.end]});
  return lives;
}

std::vector<Lifespan> by_sorting(std::span<const PackItem> items) {
  std::vector<std::uint32_t> begins;
  for (const PackItem& item : items) begins.push_back(item.life.begin);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  const auto before = [&](std::uint32_t at) {
    return static_cast<std::uint32_t>(std::lower_bound(begins.begin(), begins.end(), at) - begins.begin());
  };
  std::vector<Lifespan> lives;
  for (const PackItem& item : items) lives.push_back({before(item.life.begin), before(item.life.end)});
  return lives;
}

}  // namespace

std::vector<Lifespan> ranked_lives(std::span<const PackItem> items) {
  std::uint32_t end_of_time = 0;
  for (const PackItem& item : items) end_of_time = std::max({end_of_time, item.life.begin, item.life.end});
  return end_of_time <= kMomentsForEach * items.size() ? by_counting(items, end_of_time) : by_sorting(items);
}

}  // namespace plimsoll
