#pragma once

#include <algorithm>
#include <random>

#include "core/plan/block_chain.h"

namespace plimsoll::test {

/// A chain of sizes up to `most_bytes`, in which a forward that keeps nothing needs no more room than one that saves.
inline BlockChain random_chain(std::mt19937& random, std::size_t blocks, unsigned most_bytes,
                               unsigned most_options = 2) {
  const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
  BlockChain chain{.output = Bytes(below(3)), .blocks = {}};
  for (std::size_t i = 0; i < blocks; ++i) {
    chain.blocks.push_back(
        {.input = Bytes(1 + below(most_bytes)), .forward_only_seconds = 1.0 + 0.25 * static_cast<double>(below(16))});
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    ChainBlock& block = chain.blocks[i];
    block.forward_only_temporary = Bytes(below(3));
    const std::int64_t options = 1 + below(most_options);
    for (std::int64_t k = 0; k < options; ++k) {
      block.options.push_back({.forward_seconds = block.forward_only_seconds + 0.5 * static_cast<double>(below(4)),
                               .backward_seconds = 1.0 + 0.5 * static_cast<double>(below(8)),
                               .saved = chain.boundary(i + 1) + block.forward_only_temporary + Bytes(below(most_bytes)),
                               .forward_temporary = Bytes(below(4)),
                               .backward_temporary = Bytes(below(4))});
    }
  }
  return chain;
}

/// Equal blocks with inputs and outputs of `input` bytes that save `saved` bytes; a forward and a backward take a
/// second each.
inline BlockChain equal_chain(std::size_t blocks, Bytes input, Bytes saved) {
  const ChainOption option{.forward_seconds = 1, .backward_seconds = 1, .saved = saved};
  const ChainBlock block{.input = input, .forward_only_seconds = 1, .forward_only_temporary = {}, .options = {option}};
  return {.output = input, .blocks = std::vector<ChainBlock>(blocks, block)};
}

}  // namespace plimsoll::test
