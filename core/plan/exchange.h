#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"
#include "core/model/dtype.h"

namespace plimsoll {

using ExchangeId = StrongId<struct ExchangeTag>;

/// What ranks do to each other's bytes. Behind each kind: its instruction's uses.
enum class ExchangeKind : std::uint8_t {
  kSend,           ///< bytes r
  kReceive,        ///< bytes w, as many as its send has
  kAllReduce,      ///< whole rw, workspace w      the sum over the members, on all of them
  kReduceScatter,  ///< whole r, part w, workspace w    the sum's own part
  kAllGather,      ///< part r, whole w
  kAllToAll,       ///< rows r, counts r, visitors w    to each member the rows that are meant for it
  kAllToAllBack,   ///< visitors r, counts r, rows w    each row to where it came from
};

/// Who takes part in a kind of collective instruction, and in which order. Equal exchanges of different ranks belong together;
/// those of one channel happen in the order of their instructions.
struct Exchange {
  ExchangeKind kind = ExchangeKind::kSend;
  DType dtype = DType::kFp32;        ///< of what is summed or divided; messages are bytes
  std::uint32_t channel = 0;         ///< tells streams between the same ranks apart
  std::vector<std::uint32_t> ranks;  ///< of a message the other side; else all members, in the order of their parts and of the sum's terms

  bool operator==(const Exchange&) const = default;
};

constexpr bool is_message(ExchangeKind kind) { return kind == ExchangeKind::kSend || kind == ExchangeKind::kReceive; }

constexpr bool is_all_to_all(ExchangeKind kind) { return kind == ExchangeKind::kAllToAll || kind == ExchangeKind::kAllToAllBack; }

/// How many rows go where, as int32 in the `counts` of an all-to-all among n members: [0, n]: the row at which each member's
/// begin, and behind the last their end; [n + 1, 2 n]: how many come from each; [2 n + 1]: for how many own rows there is room,
/// and [2 n + 2]: for how many visitors of each member.
struct RowCounts {
  static constexpr std::int64_t elements(std::int64_t members) { return 2 * members + 3; }
};

/// The elements [first, first + count) of a member's part, the `index`-th of `members`; the last parts may be shorter, or empty.
struct ElementPart {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
ElementPart part_of(std::int64_t elements, std::int64_t members, std::int64_t index);

/// Room for any member's part.
std::int64_t longest_part(std::int64_t elements, std::int64_t members);
/// Room for what a reduction receives of the other members: one part of each.
Bytes reduction_workspace(std::int64_t elements, std::int64_t members, DType dtype);

std::string_view to_text(ExchangeKind kind);
std::optional<ExchangeKind> parse_exchange_kind(std::string_view text);

}  // namespace plimsoll
