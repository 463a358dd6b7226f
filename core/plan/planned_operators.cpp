#include "core/plan/planned_operators.h"

#include <map>

#include "core/plan/expand.h"

namespace plimsoll {
namespace {

/// "qkv" of the buffer "qkv of block 3".
std::string_view name_in_block(std::string_view buffer) { return buffer.substr(0, buffer.find(" of block ")); }

/// Follows what forward writes through the body.
class Follower {
 public:
  explicit Follower(const Plan& plan) : plan_(plan), body_(expand(plan, *plan.body("step"))) {}

  std::vector<std::vector<PlannedOperator>> follow() {
    for (std::size_t i = 0; i < body_.size(); ++i) {
      if (body_.micro_batches[i] != 0) continue;
      const Instruction& instruction = body_.list.instructions[i];
      if (instruction.phase == Phase::kForward) forward(instruction);
      if (instruction.phase == Phase::kBackward) backward(instruction);
    }
    return std::move(blocks_);
  }

 private:
  struct Place {
    std::size_t block = 0;
    std::size_t index = 0;
  };

  [[nodiscard]] bool is_activation(const Use& use) const {
    return plan_.buffers[use.target].category == TensorKind::kActivation;
  }
  [[nodiscard]] PlannedOperator& at(Place place) { return blocks_[place.block][place.index]; }

  void forward(const Instruction& instruction) {
    if (instruction.kind == InstructionKind::kCopy) return send_away(instruction);
    if (instruction.kind != InstructionKind::kLaunch || instruction.layer < 0) return;
    const auto block = static_cast<std::size_t>(instruction.layer);
    PlannedOperator made{.kind = plan_.at(instruction.kernel).kind};
    if (blocks_.size() <= block) blocks_.resize(block + 1);
    const Place place{block, blocks_[block].size()};
    for (const Use& use : body_.uses(instruction)) {
      if (!writes(use.access) || !is_activation(use)) continue;
      if (made.output.empty()) made.output = name_in_block(plan_.buffers[use.target].name);
      made.written += use.bytes;
      writers_[use.target].push_back(place);
    }
    if (!made.output.empty()) blocks_[block].push_back(std::move(made));
  }

  void send_away(const Instruction& copy) {
    for (const Use& use : body_.uses(copy)) {
      const auto found = writers_.find(use.target);
      if (found == writers_.end() || writes(use.access)) continue;
      for (const Place place : found->second) at(place).away += use.bytes;
      keep(use);
    }
  }

  void backward(const Instruction& instruction) {
    const bool again = instruction.kind == InstructionKind::kLaunch && instruction.layer >= 0;
    for (const Use& use : body_.uses(instruction)) {
      if (!is_activation(use)) continue;
      if (reads(use.access)) keep(use);
      if (writes(use.access) && again) compute_again(instruction, use);
    }
  }

  /// Every buffer counts once, however often it is read.
  void keep(const Use& use) {
    const auto found = writers_.find(use.target);
    if (found == writers_.end() || kept_[use.target]) return;
    kept_[use.target] = true;
    for (const Place place : found->second) at(place).kept += use.bytes;
  }

  void compute_again(const Instruction& instruction, const Use& use) {
    const auto block = static_cast<std::size_t>(instruction.layer);
    if (block >= blocks_.size()) return;
    for (PlannedOperator& made : blocks_[block]) {
      const bool same = made.kind == plan_.at(instruction.kernel).kind && made.output == first_output(instruction);
      if (same) made.again += use.bytes;
    }
  }

  [[nodiscard]] std::string_view first_output(const Instruction& instruction) const {
    for (const Use& use : body_.uses(instruction)) {
      if (writes(use.access) && is_activation(use)) return name_in_block(plan_.buffers[use.target].name);
    }
    return {};
  }

  const Plan& plan_;
  FlatBody body_;
  std::vector<std::vector<PlannedOperator>> blocks_;
  std::map<std::uint32_t, std::vector<Place>> writers_;  ///< by buffer: who wrote it in the forward pass
  std::map<std::uint32_t, bool> kept_;
};

}  // namespace

std::vector<std::vector<PlannedOperator>> planned_operators(const Plan& plan) {
  if (plan.body("step") == nullptr) return {};
  return Follower(plan).follow();
}

}  // namespace plimsoll
