#include "tests/sim/planner/chains/brute_force_chain.h"

#include <algorithm>
#include <map>
#include <queue>

namespace plimsoll::test {
namespace {

/// What lies in memory: inputs that are kept, options by which blocks are saved (-1: not), the input that just arrived
/// and that nothing keeps (-1: none), and the block at whose input the gradient waits.
struct State {
  std::vector<char> kept;
  std::vector<int> saved;
  int passing = -1;
  int gradient = 0;

  auto operator<=>(const State&) const = default;
};

class Search {
 public:
  Search(const BlockChain& chain, Bytes budget)
      : chain_(chain), budget_(budget), count_(static_cast<int>(chain.blocks.size())) {}

  std::optional<double> run() {
    reach({std::vector<char>(count_ + 1), std::vector<int>(count_, -1), -1, count_}, 0);
    while (!queue_.empty()) {
      const auto [seconds, state] = queue_.top();
      queue_.pop();
      if (seconds > best_.at(state)) continue;
      if (state.gradient == 0) return seconds;
      for (int block = 0; block < state.gradient; ++block) {
        if (has_input(state, block)) try_block(state, block, seconds);
      }
    }
    return std::nullopt;
  }

 private:
  using Entry = std::pair<double, State>;

  [[nodiscard]] std::int64_t boundary(int index) const {
    return chain_.boundary(static_cast<std::size_t>(index)).count;
  }
  [[nodiscard]] const ChainBlock& block_at(int index) const { return chain_.blocks[static_cast<std::size_t>(index)]; }

  static bool has_input(const State& state, int block) {
    return block == 0 || state.kept[block] || state.passing == block || state.saved[block - 1] >= 0;
  }

  [[nodiscard]] std::int64_t held(const State& state) const {
    std::int64_t bytes = state.passing >= 0 ? boundary(state.passing) : 0;
    for (int i = 0; i < count_; ++i) {
      if (state.kept[i]) bytes += boundary(i);
      if (state.saved[i] >= 0) bytes += block_at(i).options[state.saved[i]].saved.count;
    }
    return bytes;
  }

  void reach(State state, double seconds) {
    const auto [at, is_new] = best_.try_emplace(state, seconds);
    if (!is_new && at->second <= seconds) return;
    at->second = seconds;
    queue_.push({seconds, std::move(state)});
  }

  /// The input that passes through `block` is kept from now on; any other one is stuck, and its state leads nowhere
  /// cheaper.
  static void keep_input(State& state, int block) {
    if (state.passing != block) return;
    state.kept[block] = true;
    state.passing = -1;
  }

  void try_block(const State& state, int block, double seconds) {
    if (state.passing >= 0 && state.passing != block) return;
    if (block + 1 < state.gradient) try_forward(state, block, seconds);
    if (state.saved[block] >= 0) return;
    for (int option = 0; option < static_cast<int>(block_at(block).options.size()); ++option) {
      try_save(state, block, option, seconds);
    }
  }

  void try_forward(const State& state, int block, double seconds) {
    const std::int64_t need =
        boundary(state.gradient) + boundary(block + 1) + block_at(block).forward_only_temporary.count;
    if (held(state) + need > budget_.count) return;
    for (const bool keep : {false, true}) {
      State next = state;
      if (keep) keep_input(next, block);
      if (next.passing == block) next.passing = -1;
      if (!has_input(next, block + 1)) next.passing = block + 1;
      reach(std::move(next), seconds + block_at(block).forward_only_seconds);
    }
  }

  /// At the gradient's block the backward follows at once, and after it those of the blocks before that are saved.
  void try_save(const State& state, int block, int number, double seconds) {
    const ChainOption& option = block_at(block).options[number];
    const bool returns = block + 1 == state.gradient;
    const std::int64_t temporary = std::max(option.forward_temporary, option.backward_temporary).count;
    const std::int64_t need = option.saved.count + (returns ? boundary(block) + temporary
                                                            : boundary(block + 1) + option.forward_temporary.count);
    if (held(state) + need > budget_.count) return;
    State next = state;
    keep_input(next, block);
    next.saved[block] = number;
    seconds += option.forward_seconds;
    while (next.gradient > 0 && next.saved[next.gradient - 1] >= 0) {
      const int last = next.gradient - 1;
      const ChainOption& by = block_at(last).options[next.saved[last]];
      if (held(next) + boundary(last) + by.backward_temporary.count > budget_.count) return;
      seconds += by.backward_seconds;
      next.saved[last] = -1;
      next.kept[last] = false;
      next.gradient = last;
    }
    reach(std::move(next), seconds);
  }

  const BlockChain& chain_;
  Bytes budget_;
  int count_;
  std::map<State, double> best_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::optional<double> brute_force_chain(const BlockChain& chain, Bytes budget) { return Search(chain, budget).run(); }

}  // namespace plimsoll::test
