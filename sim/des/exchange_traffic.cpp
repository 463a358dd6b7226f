#include "sim/des/exchange_traffic.h"

namespace plimsoll {

ExchangeTraffic traffic_of(const Exchange& exchange, std::span<const Use> uses) {
  const auto members = static_cast<std::int64_t>(exchange.ranks.size());
  const auto shared = [&](Bytes whole) { return Bytes(whole.count / members * (members - 1)); };
  switch (exchange.kind) {
    case ExchangeKind::kSend:
    case ExchangeKind::kReceive: return {uses[0].bytes};
    case ExchangeKind::kAllReduce: return {shared(uses[0].bytes), 2};
    case ExchangeKind::kReduceScatter: return {shared(uses[0].bytes)};
    case ExchangeKind::kAllGather: return {shared(uses[1].bytes)};
    case ExchangeKind::kAllToAll: return {shared(uses[0].bytes)};
    case ExchangeKind::kAllToAllBack: return {shared(uses[2].bytes)};
  }
  return {};
}

}  // namespace plimsoll
