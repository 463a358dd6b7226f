#include "sim/planner/chains/model_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/graph/buildable.h"
#include "core/graph/op_work.h"

namespace plimsoll {
namespace {

using OpList = std::vector<std::size_t>;

/// Kernels of one block of the chain, in their order.
struct Stage {
  OpList forward, backward;
};

class ModelChainBuilder {
 public:
  ModelChainBuilder(const Graph& graph, const Processor& processor, const CostModel& costs)
      : graph_(graph),
        processor_(processor),
        costs_(costs),
        stages_(static_cast<std::size_t>(graph.spec.blocks()) + 2),
        seconds_(graph.ops.size()),
        made_in_(graph.tensors.size(), kNowhere) {}

  Result<BlockChain> build() {
    if (const auto timed = find_stages(); !timed) return fail(timed.error());
    if (const auto chain = check_chain(); !chain) return fail(chain.error());
    BlockChain chain;
    for (std::size_t s = 0; s < stages_.size(); ++s) chain.blocks.push_back(block_of(s));
    return chain;
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  [[nodiscard]] std::uint32_t whole_of(TensorId tensor) const {
    const Tensor& t = graph_.at(tensor);
    return t.view_of.valid() ? t.view_of.index : tensor.index;
  }
  [[nodiscard]] Bytes bytes_of(std::uint32_t tensor) const { return graph_.tensors[tensor].bytes(); }
  [[nodiscard]] bool is_activation(std::uint32_t tensor) const { return graph_.tensors[tensor].kind == TensorKind::kActivation; }
  [[nodiscard]] bool is_temporary(std::uint32_t tensor) const {
    const TensorKind kind = graph_.tensors[tensor].kind;
    return kind == TensorKind::kActivationGradient || kind == TensorKind::kWorkspace;
  }

  /// What stands outside the blocks belongs to the first stage before them, and to the last one behind them.
  Result<void> find_stages() {
    bool block_forward = false, block_backward = false;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const bool forward = op.phase == Phase::kForward;
      if (!forward && op.phase != Phase::kBackward) continue;
      (forward ? block_forward : block_backward) |= op.block >= 0;
      const bool last = forward ? block_forward : !block_backward;
      const std::size_t stage = op.block >= 0 ? static_cast<std::size_t>(op.block) + 1 : last ? stages_.size() - 1 : 0;
      (forward ? stages_[stage].forward : stages_[stage].backward).push_back(i);
      const auto cost = costs_.kernel(processor_, {op.kind, op.dtype, op.shape});
      if (!cost) return fail(cost.error());
      seconds_[i] = to_seconds(cost->median);
      for (const Operand& operand : op.operands) {
        std::size_t& made = made_in_[whole_of(operand.tensor)];
        if (forward && writes(operand.access) && made == kNowhere) made = stage;
      }
    }
    return {};
  }

  /// Activations are read where they were made or one stage on, and written where they were made.
  Result<void> check_chain() const {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const OpList* list : {&stages_[s].forward, &stages_[s].backward}) {
        for (const std::size_t i : *list) {
          for (const Operand& operand : graph_.ops[i].operands) {
            const std::uint32_t tensor = whole_of(operand.tensor);
            if (!is_activation(tensor) || made_in_[tensor] == kNowhere) continue;
            const bool near = made_in_[tensor] == s || (made_in_[tensor] + 1 == s && !writes(operand.access));
            if (!near) return not_a_chain(tensor, s);
          }
        }
      }
    }
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> not_a_chain(std::uint32_t tensor, std::size_t stage) const {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("this model is no chain: part {} of it uses '{}', which part {} made", stage,
                                     graph_.tensors[tensor].name, made_in_[tensor]),
                 .where = graph_.spec.name,
                 .remedy = "use plimsoll fit, which plans any model"});
  }

  [[nodiscard]] double time_of(const OpList& ops) const {
    double seconds = 0;
    for (const std::size_t i : ops) seconds += seconds_[i];
    return seconds;
  }

  /// Activations that a list of kernels reads, made in that stage.
  void add_read(const OpList& ops, std::size_t stage, std::set<std::uint32_t>& read) const {
    for (const std::size_t i : ops) {
      for (const Operand& operand : graph_.ops[i].operands) {
        const std::uint32_t tensor = whole_of(operand.tensor);
        if (reads(operand.access) && is_activation(tensor) && made_in_[tensor] == stage) read.insert(tensor);
      }
    }
  }

  [[nodiscard]] std::set<std::uint32_t> outputs_of(std::size_t stage) const {
    std::set<std::uint32_t> outputs;
    if (stage + 1 < stages_.size()) add_read(stages_[stage + 1].forward, stage, outputs);
    return outputs;
  }

  [[nodiscard]] Bytes sum_of(const std::set<std::uint32_t>& tensors) const {
    Bytes sum;
    for (const std::uint32_t tensor : tensors) sum += bytes_of(tensor);
    return sum;
  }

  /// Forward kernels to run again before the backward when `kept` is there.
  [[nodiscard]] OpList to_repeat(std::size_t stage, const std::set<std::uint32_t>& kept) const {
    std::set<std::uint32_t> needed;
    add_read(stages_[stage].backward, stage, needed);
    OpList again;
    const OpList& forward = stages_[stage].forward;
    for (std::size_t k = forward.size(); k-- > 0;) {
      const auto& operands = graph_.ops[forward[k]].operands;
      const bool wanted = std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
        const std::uint32_t tensor = whole_of(operand.tensor);
        return writes(operand.access) && needed.contains(tensor) && !kept.contains(tensor);
      });
      if (!wanted) continue;
      again.push_back(forward[k]);
      add_read({forward[k]}, stage, needed);
    }
    std::reverse(again.begin(), again.end());
    return again;
  }

  /// Most bytes that live together while `ops` run, of tensors made here and temporaries, but not of `held`; those in
  /// `until_end` stay.
  [[nodiscard]] Bytes peak_of(const OpList& ops, std::size_t stage, const std::set<std::uint32_t>& held,
                              const std::set<std::uint32_t>& until_end) const {
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> lives;
    for (std::size_t at = 0; at < ops.size(); ++at) {
      for (const Operand& operand : graph_.ops[ops[at]].operands) {
        const std::uint32_t tensor = whole_of(operand.tensor);
        const bool here = is_temporary(tensor) || (is_activation(tensor) && made_in_[tensor] == stage);
        if (!here || held.contains(tensor)) continue;
        const auto life = lives.try_emplace(tensor, at, at).first;
        life->second.second = until_end.contains(tensor) ? ops.size() - 1 : at;
      }
    }
    std::vector<Bytes> change(ops.size() + 1);
    for (const auto& [tensor, life] : lives) {
      const bool comes = graph_.tensors[tensor].kind == TensorKind::kActivationGradient && passes(tensor, stage + 1);
      const bool goes = graph_.tensors[tensor].kind == TensorKind::kActivationGradient && stage > 0 && passes(tensor, stage - 1);
      change[comes ? 0 : life.first] += bytes_of(tensor);
      change[goes ? ops.size() : life.second + 1] -= bytes_of(tensor);
    }
    Bytes live, peak;
    for (const Bytes bytes : change) peak = std::max(peak, live += bytes);
    return peak;
  }

  /// Whether a stage's backward uses a gradient too.
  [[nodiscard]] bool passes(std::uint32_t tensor, std::size_t stage) const {
    if (stage >= stages_.size()) return false;
    return std::any_of(stages_[stage].backward.begin(), stages_[stage].backward.end(), [&](std::size_t i) {
      const auto& operands = graph_.ops[i].operands;
      return std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return whole_of(o.tensor) == tensor; });
    });
  }

  static Bytes beyond(Bytes peak, Bytes counted) { return std::max(Bytes(), peak - counted); }

  [[nodiscard]] ChainOption option_of(std::size_t stage, std::set<std::uint32_t> kept) const {
    const auto outputs = outputs_of(stage);
    kept.insert(outputs.begin(), outputs.end());
    const OpList again = to_repeat(stage, kept);
    std::set<std::uint32_t> read = outputs;
    add_read(again, stage, read);
    add_read(stages_[stage].backward, stage, read);
    std::erase_if(kept, [&](std::uint32_t tensor) { return !read.contains(tensor); });
    OpList back = again;
    back.insert(back.end(), stages_[stage].backward.begin(), stages_[stage].backward.end());
    ChainOption option{
        .forward_seconds = time_of(stages_[stage].forward), .backward_seconds = time_of(back), .saved = sum_of(kept)};
    option.forward_temporary = beyond(peak_of(stages_[stage].forward, stage, {}, kept), option.saved);
    option.backward_temporary = beyond(peak_of(back, stage, kept, {}), input_of(stage));
    return option;
  }

  [[nodiscard]] Bytes input_of(std::size_t stage) const { return stage == 0 ? Bytes() : sum_of(outputs_of(stage - 1)); }

  /// Kernels to be repeated when nothing is kept, dearest bytes first.
  [[nodiscard]] OpList dearest(std::size_t stage) const {
    OpList ops = to_repeat(stage, outputs_of(stage));
    const auto price = [&](std::size_t i) {
      Bytes bytes;
      for (const std::uint32_t tensor : made_by(i)) bytes += bytes_of(tensor);
      return bytes.count > 0 ? flops_of(graph_.ops[i].kind, graph_.ops[i].shape) / static_cast<double>(bytes.count) : -1.0;
    };
    std::stable_sort(ops.begin(), ops.end(), [&](std::size_t a, std::size_t b) { return price(a) > price(b); });
    return ops;
  }

  [[nodiscard]] std::set<std::uint32_t> made_by(std::size_t op) const {
    std::set<std::uint32_t> made;
    for (const Operand& operand : graph_.ops[op].operands) {
      const std::uint32_t tensor = whole_of(operand.tensor);
      if (operand.access == Access::kWrite && is_activation(tensor)) made.insert(tensor);
    }
    return made;
  }

  [[nodiscard]] ChainBlock block_of(std::size_t stage) const {
    ChainBlock block{.input = input_of(stage), .forward_only_seconds = time_of(stages_[stage].forward)};
    const auto outputs = outputs_of(stage);
    block.forward_only_temporary = beyond(peak_of(stages_[stage].forward, stage, {}, outputs), sum_of(outputs));
    std::set<std::uint32_t> kept;
    std::vector<ChainOption> options{option_of(stage, kept)};
    for (const std::size_t op : dearest(stage)) {
      const auto made = made_by(op);
      kept.insert(made.begin(), made.end());
      options.push_back(option_of(stage, kept));
    }
    for (std::size_t k = 0; k < options.size(); ++k) {
      if (!beaten(options, k)) block.options.push_back(options[k]);
    }
    std::stable_sort(block.options.begin(), block.options.end(),
                     [](const ChainOption& a, const ChainOption& b) { return a.saved < b.saved; });
    return block;
  }

  /// Whether another option is at least as good in all, and better in one or stands earlier.
  static bool beaten(const std::vector<ChainOption>& options, std::size_t k) {
    const auto key = [](const ChainOption& o) {
      return std::tuple(o.saved, o.forward_seconds + o.backward_seconds, o.forward_temporary, o.backward_temporary);
    };
    const auto [saved, seconds, forward, backward] = key(options[k]);
    for (std::size_t i = 0; i < options.size(); ++i) {
      const auto [s, t, f, b] = key(options[i]);
      const bool no_worse = s <= saved && t <= seconds && f <= forward && b <= backward;
      if (i != k && no_worse && (i < k || key(options[i]) != key(options[k]))) return true;
    }
    return false;
  }

  const Graph& graph_;
  const Processor& processor_;
  const CostModel& costs_;
  std::vector<Stage> stages_;
  std::vector<double> seconds_;       ///< by kernel
  std::vector<std::size_t> made_in_;  ///< by tensor: the first stage whose forward writes it
};

}  // namespace

Result<BlockChain> model_chain(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs) {
  if (const auto buildable = check_buildable(spec, recipe); !buildable) return fail(buildable.error());
  const auto compute = platform.queue("compute");
  if (!compute)
    return fail({.kind = ErrorKind::kInput, .what = "the platform has no queue 'compute'", .where = {}, .remedy = {}});
  const Processor& processor = platform.at(platform.at(*compute).processor);
  const std::int64_t workers = processor.kind == ProcessorKind::kCpu ? processor.cores : 0;
  const Graph graph = build_training_graph(spec, recipe, {.workers = workers});
  return ModelChainBuilder(graph, processor, costs).build();
}

}  // namespace plimsoll
