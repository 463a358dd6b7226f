#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/plan/exchange.h"
#include "executor/collectives/transport.h"

namespace plimsoll {

/// What exchanges are made of, in whatever memory their bytes are.
class ExchangeSteps {
 public:
  virtual ~ExchangeSteps() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  /// Sends and receives at once, as Transport does.
  virtual void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) = 0;
  /// sum ← sum + term, element by element; as many bytes each.
  virtual void add(DType dtype, std::span<std::byte> sum, std::span<const std::byte> term) = 0;
  virtual void copy(std::span<std::byte> to, std::span<const std::byte> from) = 0;
};

/// Carries out one rank's side of `exchange`; `uses` are its instruction's, in the order of its kind.
///
/// Reductions are direct: every member gets its part of all others' and adds them up in the order of `exchange.ranks`,
/// beginning with the first one's as it is. So a sum's bits depend on that order alone, and where member i brings the i-th
/// micro-batch's gradient they are those of one rank that accumulates them one after another. Each member sends and receives
/// (n − 1) ÷ n of the bytes, as a ring does, in one round instead of n − 1.
///
/// An all-to-all sends as many rows as its counts say, which must be in host memory; what lies behind them is left as it was. Throws
/// EnvironmentError where they pass the room for them.
void run_exchange(const Exchange& exchange, ExchangeSteps& steps, const std::vector<std::span<std::byte>>& uses);
/// The same in host memory.
void run_exchange(const Exchange& exchange, Transport& transport, const std::vector<std::span<std::byte>>& uses);

}  // namespace plimsoll
