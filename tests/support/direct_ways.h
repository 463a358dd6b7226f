#pragma once

#include <algorithm>

#include "core/platform/platform.h"

namespace plimsoll::test {

/// The platform with a way from its drive to its device, "ssd>gpu0", and one back: each as fast as the slower of the two on
/// the way through the host, drawing on what both draw on but for "dram".
inline Platform with_direct_ways(Platform platform) {
  const SpaceId ssd = *platform.space(SpaceKind::kSsd), host = *platform.space(SpaceKind::kHost),
                device = *platform.space(SpaceKind::kDevice);
  const auto join = [&](const char* name, SpaceId from, SpaceId to) {
    const Link first = platform.at(*platform.link(from, host)), second = platform.at(*platform.link(host, to));
    Link way{.name = name,
             .from = from,
             .to = to,
             .bytes_per_second = std::min(first.bytes_per_second, second.bytes_per_second),
             .latency = std::max(first.latency, second.latency),
             .path = first.path};
    way.path.insert(way.path.end(), second.path.begin(), second.path.end());
    std::erase_if(way.path, [&](const Demand& demand) { return platform.at(demand.resource).name == "dram"; });
    platform.links.push_back(std::move(way));
  };
  join("ssd>gpu0", ssd, device);
  join("gpu0>ssd", device, ssd);
  return platform;
}

}  // namespace plimsoll::test
