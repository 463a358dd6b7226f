#include "sim/planner/chains/chain_baselines.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

std::uint32_t fastest_option(const ChainBlock& block) {
  const auto seconds = [](const ChainOption& option) { return option.forward_seconds + option.backward_seconds; };
  const auto best = std::min_element(block.options.begin(), block.options.end(),
                                     [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  return static_cast<std::uint32_t>(best - block.options.begin());
}

/// Forwards of [first, end) that keep the input of `first` only.
void sweep(std::size_t first, std::size_t end, ChainSchedule& schedule) {
  for (std::size_t block = first; block < end; ++block) {
    schedule.push_back({block == first ? ChainWork::kCheckpoint : ChainWork::kPass, ChainBlockId(block)});
  }
}

/// [first, end) forward, all saved, and backward.
void save_and_return(const BlockChain& chain, std::size_t first, std::size_t end, ChainSchedule& schedule) {
  for (std::size_t block = first; block < end; ++block) {
    schedule.push_back({ChainWork::kSave, ChainBlockId(block), fastest_option(chain.blocks[block])});
  }
  for (std::size_t block = end; block-- > first;) schedule.push_back({ChainWork::kBackward, ChainBlockId(block)});
}

}  // namespace

ChainSchedule keep_everything(const BlockChain& chain) {
  ChainSchedule schedule;
  save_and_return(chain, 0, chain.blocks.size(), schedule);
  return schedule;
}

ChainSchedule square_root_segments(const BlockChain& chain) {
  const std::size_t count = chain.blocks.size();
  const auto length = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  const std::size_t last = (count - 1) / length * length;  // where the last stretch begins
  ChainSchedule schedule;
  for (std::size_t first = 0; first < last; first += length) sweep(first, first + length, schedule);
  save_and_return(chain, last, count, schedule);
  for (std::size_t end = last; end > 0; end -= length) save_and_return(chain, end - length, end, schedule);
  return schedule;
}

Revolve::Revolve(const BlockChain& chain, std::size_t slots)
    : chain_(chain),
      slots_(std::clamp<std::size_t>(slots, 1, chain.blocks.size())),
      cells_((slots_ + 1) * chain.blocks.size()) {
  const std::size_t blocks = chain.blocks.size();
  for (std::size_t last = 0; last < blocks; ++last) cells_[blocks + last] = {last * (last + 1) / 2, 0};
  for (std::size_t slot = 2; slot <= slots_; ++slot) {
    for (std::size_t last = 0; last < blocks; ++last) cells_[slot * blocks + last] = best(slot, last);
  }
}

Revolve::Cell Revolve::best(std::size_t slots, std::size_t last) const {
  Cell least = at(1, last);
  for (std::size_t cut = 1; cut < last; ++cut) {
    const std::size_t forwards = cut + at(slots - 1, last - cut).forwards + at(slots, cut - 1).forwards;
    if (forwards < least.forwards) least = {forwards, cut};
  }
  return least;
}

ChainSchedule Revolve::schedule(std::size_t slots) const {
  ChainSchedule schedule;
  append(0, chain_.blocks.size() - 1, std::clamp<std::size_t>(slots, 1, slots_), schedule);
  return schedule;
}

void Revolve::append(std::size_t first, std::size_t last, std::size_t slots, ChainSchedule& schedule) const {
  const std::size_t cut = at(slots, last - first).cut;
  if (cut > 0) {
    sweep(first, first + cut, schedule);
    append(first + cut, last, slots - 1, schedule);
    append(first, first + cut - 1, slots, schedule);
    return;
  }
  for (std::size_t block = last + 1; block-- > first;) {  // from this one input again and again
    sweep(first, block, schedule);
    save_and_return(chain_, block, block + 1, schedule);
  }
}

}  // namespace plimsoll
