#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/des/fair_share.h"

namespace plimsoll {

/// Fair speeds that were found before: blocks repeat, and what runs together in one runs together in the next. The demands of
/// all activities outlive this and stay what they are, so that where they lie says what they are. Speeds are those of
/// FairShare to the bit: what is remembered is looked up by the same activities in the same order.
class KnownShares {
 public:
  explicit KnownShares(std::span<const Resource> resources) : shares_(resources) {}

  /// Writes the speed of each activity, as FairShare::solve does.
  void solve(std::span<const Activity> activities, std::span<double> speeds);

 private:
  /// More at once are solved anew; so are those whose place in the table others took since.
  static constexpr std::size_t kMostTogether = 12;
  static constexpr std::size_t kPlaces = 256;  // a power of two

  struct Known {
    std::vector<Activity> activities;
    std::vector<double> speeds;
  };

  static std::size_t place_of(std::span<const Activity> activities);

  FairShare shares_;
  std::vector<Known> known_;
};

}  // namespace plimsoll
