#include "sim/planner/chains/replay_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace plimsoll {
namespace {

/// The memory of a chain while its schedule runs.
class Replay {
 public:
  explicit Replay(const BlockChain& chain)
      : chain_(chain), inputs_(chain.blocks.size() + 1, Input::kAbsent), saved_(chain.blocks.size()) {
    inputs_[0] = Input::kKept;  // the chain's own, which is not counted
  }

  /// Why the entry cannot run; nothing when it ran. `next` is the entry after it.
  std::optional<std::string> run(const ChainOp& op, const ChainOp* next) {
    const std::size_t block = op.block.index;
    if (block >= chain_.blocks.size()) return "there is no such block";
    if (!has_input(block)) return "its input is not there";
    if (op.work == ChainWork::kBackward) return run_backward(block);
    if (op.work == ChainWork::kSave) return run_save(block, op.option, next != nullptr && is_backward_of(*next, op));
    if (block + 1 == chain_.blocks.size()) return "nothing reads what the last block writes";
    run_forward(block, op.work);
    return std::nullopt;
  }

  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] Bytes peak() const { return peak_; }
  /// The block to which the gradient has come: 0 when all went backward.
  [[nodiscard]] std::size_t to_go() const { return gradient_.value_or(chain_.blocks.size()); }

 private:
  enum class Input : std::uint8_t { kAbsent, kPassing, kKept };

  static bool is_backward_of(const ChainOp& op, const ChainOp& forward) {
    return op.work == ChainWork::kBackward && op.block == forward.block;
  }

  [[nodiscard]] bool has_input(std::size_t block) const {
    return inputs_[block] != Input::kAbsent || (block > 0 && saved_[block - 1].has_value());
  }

  void need(Bytes bytes) { peak_ = std::max(peak_, held_ + bytes); }

  void run_forward(std::size_t block, ChainWork work) {
    const ChainBlock& what = chain_.blocks[block];
    need(chain_.boundary(to_go()) + chain_.boundary(block + 1) + what.forward_only_temporary);
    seconds_ += what.forward_only_seconds;
    if (inputs_[block] == Input::kPassing) {
      inputs_[block] = work == ChainWork::kCheckpoint ? Input::kKept : Input::kAbsent;
      if (work == ChainWork::kPass) held_ -= chain_.boundary(block);
    }
    if (has_input(block + 1)) return;
    inputs_[block + 1] = Input::kPassing;
    held_ += chain_.boundary(block + 1);
  }

  std::optional<std::string> run_save(std::size_t block, std::uint32_t number, bool goes_backward) {
    if (saved_[block]) return "it is saved already";
    if (number >= chain_.blocks[block].options.size()) return "it has no such option";
    const ChainOption& option = chain_.blocks[block].options[number];
    const Bytes temporary = std::max(option.forward_temporary, option.backward_temporary);
    need(option.saved +
         (goes_backward ? chain_.boundary(block) + temporary : chain_.boundary(block + 1) + option.forward_temporary));
    seconds_ += option.forward_seconds;
    if (inputs_[block] == Input::kPassing) inputs_[block] = Input::kKept;
    saved_[block] = number;
    held_ += option.saved;
    return std::nullopt;
  }

  std::optional<std::string> run_backward(std::size_t block) {
    if (!saved_[block]) return "it is not saved";
    if (to_go() != block + 1) return fmt::format("the gradient waits at block {}", to_go());
    const ChainOption& option = chain_.blocks[block].options[*saved_[block]];
    need(chain_.boundary(block) + option.backward_temporary);
    seconds_ += option.backward_seconds;
    saved_[block].reset();
    held_ -= option.saved;
    if (block > 0 && inputs_[block] != Input::kAbsent) {
      inputs_[block] = Input::kAbsent;
      held_ -= chain_.boundary(block);
    }
    gradient_ = block;
    return std::nullopt;
  }

  const BlockChain& chain_;
  std::vector<Input> inputs_;  ///< those that are not part of what the block before saved
  std::vector<std::optional<std::uint32_t>> saved_;
  std::optional<std::size_t> gradient_;
  Bytes held_, peak_;
  double seconds_ = 0;
};

tl::unexpected<Error> refuse(std::string what, std::string where) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = std::move(where), .remedy = {}});
}

}  // namespace

Result<ChainReplay> replay_chain(const BlockChain& chain, const ChainSchedule& schedule) {
  Replay replay(chain);
  ChainReplay answer;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto why_not = replay.run(schedule[i], i + 1 < schedule.size() ? &schedule[i + 1] : nullptr);
    if (why_not) return refuse(*why_not, fmt::format("entry {}, {}", i, to_text(schedule[i])));
    if (replay.peak() > answer.peak) answer.fullest = i;
    answer.peak = replay.peak();
  }
  if (replay.to_go() != 0) return refuse(fmt::format("block {} never goes backward", replay.to_go() - 1), "the end");
  answer.seconds = replay.seconds();
  return answer;
}

}  // namespace plimsoll
