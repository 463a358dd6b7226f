#pragma once

#include <span>

#include "core/plan/plan.h"

namespace plimsoll {

/// What an exchange carries. A round's messages go at once, and the next round begins behind them.
struct ExchangeTraffic {
  Bytes bytes;  ///< that a rank sends in a round, or receives if that is more
  std::int64_t rounds = 1;
};

/// Of an exchange with those uses. All-to-alls are taken as full and evenly spread.
ExchangeTraffic traffic_of(const Exchange& exchange, std::span<const Use> uses);

}  // namespace plimsoll
