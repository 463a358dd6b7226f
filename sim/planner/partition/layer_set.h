#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <vector>

#include "core/plan/layer_graph.h"

namespace plimsoll {

/// A set of a graph's layers, one bit each.
class LayerSet {
 public:
  LayerSet() = default;
  explicit LayerSet(std::size_t layers) : words_((layers + 63) / 64) {}

  void insert(LayerId layer) { words_[layer.index / 64] |= std::uint64_t{1} << (layer.index % 64); }
  void insert(const LayerSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  [[nodiscard]] bool has(LayerId layer) const { return (words_[layer.index / 64] >> (layer.index % 64) & 1) != 0; }

  [[nodiscard]] bool contains(const LayerSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }

  auto operator<=>(const LayerSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace plimsoll
