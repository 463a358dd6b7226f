#include "session/measure_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

namespace plimsoll {
namespace {

constexpr std::uint32_t kChannel = 0;
constexpr std::size_t kLarge = std::size_t{4} << 20;

/// Median time of one way, in seconds.
double one_way(Job& job, std::size_t bytes, int trips) {
  std::vector<std::byte> message(bytes);
  std::vector<double> seconds;
  for (int trip = 0; trip < trips; ++trip) {
    const auto start = std::chrono::steady_clock::now();
    if (job.rank() == 0) {
      job.send(1, kChannel, message);
      job.receive(1, kChannel, message);
    } else {
      job.receive(0, kChannel, message);
      job.send(0, kChannel, message);
    }
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 2);
  }
  std::nth_element(seconds.begin(), seconds.begin() + trips / 2, seconds.end());
  return seconds[static_cast<std::size_t>(trips / 2)];
}

}  // namespace

Link measure_link(Job& job) {
  double latency = 0, large = 0;
  if (job.ranks() > 1 && job.rank() < 2) {
    latency = one_way(job, 8, 51);
    large = one_way(job, kLarge, 11);
  }
  const std::string told = job.told_by_first(fmt::format("{:.17g} {:.17g}", latency, large));
  char* rest = nullptr;
  latency = std::strtod(told.c_str(), &rest);
  large = std::strtod(rest, nullptr);
  return link_between(latency, large, Bytes(kLarge));
}

Link link_between(double empty_seconds, double seconds, Bytes bytes) {
  const double latency = std::min(empty_seconds, seconds / 2);
  Link link{.name = std::string(kRanksLink)};
  link.latency = from_seconds(latency);
  link.bytes_per_second = static_cast<double>(bytes.count) / std::max(seconds - latency, 1e-9);
  return link;
}

}  // namespace plimsoll
