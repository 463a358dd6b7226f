#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/block_chain.h"

namespace plimsoll {

/// Most blocks of a chain that a reader accepts.
inline constexpr std::size_t kMostChainBlocks = 1000;

/// Reads a chain (docs/plan-format.md). Errors name the file and the key.
Result<BlockChain> read_chain(std::string_view text, const std::string& where);

/// The same form, one block a line.
std::string chain_json(const BlockChain& chain);

/// A schedule's entries as a JSON list of texts.
std::string chain_schedule_json(const ChainSchedule& schedule);

}  // namespace plimsoll
