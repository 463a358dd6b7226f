#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

/// What is wrong, if anything.
using Flaw = std::optional<std::string>;

Flaw check_members(const Plan& plan, const Exchange& exchange) {
  std::vector<std::uint32_t> ranks = exchange.ranks;
  std::sort(ranks.begin(), ranks.end());
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) return "names a rank twice";
  if (!ranks.empty() && ranks.back() >= plan.ranks) return fmt::format("names rank {} of {}", ranks.back(), plan.ranks);
  const bool own = std::binary_search(ranks.begin(), ranks.end(), plan.rank);
  if (is_message(exchange.kind)) {
    if (ranks.size() != 1 || own) return "is a message and does not name one other rank";
    return {};
  }
  if (!own || ranks.size() < 2) return fmt::format("has no part of rank {} beside others'", plan.rank);
  if (size_of(exchange.dtype) == 0) return "has elements of no size";
  return {};
}

/// Looks at an instruction with an exchange: its uses' kinds and sizes.
class UseCheck {
 public:
  UseCheck(const Exchange& exchange, std::span<const Use> uses)
      : exchange_(exchange), uses_(uses), members_(static_cast<std::int64_t>(exchange.ranks.size())) {}

  [[nodiscard]] Flaw run() const {
    switch (exchange_.kind) {
      case ExchangeKind::kSend: return expect({Access::kRead});
      case ExchangeKind::kReceive: return expect({Access::kWrite});
      case ExchangeKind::kAllReduce: return sums({Access::kReadWrite, Access::kWrite}, 0);
      case ExchangeKind::kReduceScatter: return sums({Access::kRead, Access::kWrite, Access::kWrite}, 0);
      case ExchangeKind::kAllGather: return sums({Access::kRead, Access::kWrite}, 1);
      case ExchangeKind::kAllToAll: return rows(2);
      case ExchangeKind::kAllToAllBack: return rows(0);
    }
    return "is of no known kind";
  }

 private:
  [[nodiscard]] Flaw expect(const std::vector<Access>& pattern) const {
    const bool alike = std::equal(pattern.begin(), pattern.end(), uses_.begin(), uses_.end(),
                                  [](Access access, const Use& use) { return use.access == access; });
    return alike ? Flaw() : fmt::format("its uses are not those of {} in their order", to_text(exchange_.kind));
  }

  /// `whole` is the use that holds all parts.
  [[nodiscard]] Flaw sums(const std::vector<Access>& pattern, std::size_t whole) const {
    if (auto flaw = expect(pattern)) return flaw;
    const std::int64_t size = size_of(exchange_.dtype);
    const Bytes bytes = uses_[whole].bytes;
    if (bytes.count % size != 0) return fmt::format("{} bytes are no whole number of {}", bytes.count, to_text(exchange_.dtype));
    const std::int64_t elements = bytes.count / size;
    const Bytes part(longest_part(elements, members_) * size);
    const Bytes workspace = reduction_workspace(elements, members_, exchange_.dtype);
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (i == whole) continue;
      const bool last = i + 1 == uses_.size() && exchange_.kind != ExchangeKind::kAllGather;
      const Bytes wanted = last ? workspace : part;
      if (uses_[i].bytes != wanted)
        return fmt::format("use {} has {} bytes, and {} are needed", i, uses_[i].bytes.count, wanted.count);
    }
    return {};
  }

  /// How long a row is stands in the counts, with which the executor compares it.
  [[nodiscard]] Flaw rows(std::size_t visiting) const {
    if (auto flaw = expect({Access::kRead, Access::kRead, Access::kWrite})) return flaw;
    if (uses_[visiting].bytes.count % members_ != 0) return "its visitors' rows do not divide by its members";
    const std::int64_t counts = RowCounts::elements(members_) * 4;
    if (uses_[1].bytes.count == counts) return {};
    return fmt::format("its counts have {} bytes, and {} are needed", uses_[1].bytes.count, counts);
  }

  const Exchange& exchange_;
  std::span<const Use> uses_;
  std::int64_t members_;
};

tl::unexpected<Error> defect(std::string where, std::string what) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = std::move(where), .remedy = {}});
}

}  // namespace

Result<void> check_exchanges(const Plan& plan) {
  if (plan.rank >= plan.ranks) return defect("plan", fmt::format("is of rank {} of {}", plan.rank, plan.ranks));
  for (std::size_t i = 0; i < plan.exchanges.size(); ++i) {
    if (auto flaw = check_members(plan, plan.exchanges[i])) return defect(fmt::format("exchange {}", i), *flaw);
  }
  for (const Block& block : plan.blocks) {
    for (std::size_t i = 0; i < block.list.instructions.size(); ++i) {
      const Instruction& instruction = block.list.instructions[i];
      if (!instruction.exchange.valid()) continue;
      const auto uses = std::span(block.list.uses).subspan(instruction.first_use, instruction.use_count);
      auto flaw = instruction.guard == kNoGuard ? UseCheck(plan.at(instruction.exchange), uses).run()
                                                : Flaw("may be skipped, and the other ranks would wait");
      if (flaw) return defect(fmt::format("block {}, {}", block.name, name_of(plan, instruction, i)), *flaw);
    }
  }
  return {};
}

}  // namespace plimsoll
