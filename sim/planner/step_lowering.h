#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "sim/planner/body_writer.h"

namespace plimsoll {

/// The queues and spaces that a lowering works with; those that a strategy does not need may be missing.
struct Places {
  SpaceId device, host;
  std::optional<SpaceId> ssd;
  QueueId compute, h2d, d2h, cpu, data, report;
  std::optional<QueueId> ssd_read, ssd_write;

  /// Finds them by name and kind; an error names what the platform lacks for `strategy`.
  static Result<Places> find(const Platform& platform, const Strategy& strategy);
};

/// Where each parameter group's lasting state lies.
struct GroupState {
  BufferId parameters;  ///< the weights that compute reads, where they live between their uses
  BufferId master;      ///< the optimizer's weights; equal to `parameters` when they are one
  BufferId first_moment;
  BufferId second_moment;
};

/// Reserves the lasting state of every group where the strategy wants it and records it in the plan.
std::vector<GroupState> reserve_state(Plan& plan, BufferBook& book, const Places& places, const ParameterLayout& layout);

/// Writes the instructions of one training step (or evaluation) of `graph` under the plan's strategy.
class StepLowering {
 public:
  StepLowering(Plan& plan, BufferBook& book, const Places& places, const Graph& graph, const std::vector<GroupState>& state);

  /// Loads, forward, backward and optimizer of all micro-batches.
  void write_step();
  /// Load, forward and loss of one micro-batch.
  void write_evaluation();

  [[nodiscard]] BodyWriter& writer() { return out_; }

 private:
  /// Neighbouring ops of one phase and block: [first, last) of the graph's ops.
  struct Run {
    Phase phase = Phase::kForward;
    std::int64_t block = -1;
    std::size_t first = 0;
    std::size_t last = 0;
  };

  void find_runs();
  /// Starts a run of ops, which may become one call, and brings the weights that it reads to the device.
  void begin_run(std::string name, std::uint32_t micro_batch, std::int64_t block, Phase phase, const std::vector<std::size_t>& ops);
  void fetch_parameters(const std::vector<std::size_t>& ops);
  void fetch_group(GroupId group, TensorId tensor);
  /// Keeps `buffer` from a run earlier on, so that what fills it can run ahead of its use.
  void reach_back(BufferId buffer, std::int64_t runs);
  void load_tokens(std::uint32_t micro_batch);
  void write_forward(std::uint32_t micro_batch);
  void write_backward(std::uint32_t micro_batch);
  void recompute_up_to(std::int64_t block, std::uint32_t micro_batch);
  /// The forward ops of blocks [first, last] that compute something which their backward pass reads.
  [[nodiscard]] std::vector<std::size_t> needed_for_backward(std::int64_t first, std::int64_t last) const;
  void write_op(const Op& op, std::uint32_t micro_batch);
  void gradient_complete(GroupId group, std::uint32_t micro_batch);
  void gradients_to_host();
  void write_optimizer();
  void update_on_host(GroupId group, const Op& adamw);
  void publish_weights(GroupId group, BufferId weights);
  void report(std::uint32_t micro_batches);
  [[nodiscard]] BufferId fetch_to_host(BufferId device_buffer);

  [[nodiscard]] Range range_of(const Operand& operand, SpaceId space);
  [[nodiscard]] BufferId make_buffer(const Tensor& tensor, SpaceId space);
  [[nodiscard]] bool optimizer_on_host() const { return plan_.strategy.optimizer != Tier::kDevice; }
  /// Keeps the newest `staging_slots` of a stream of transfer buffers apart, so that transfers can run ahead.
  void rotate(std::deque<BufferId>& recent, BufferId newest);

  Plan& plan_;
  BufferBook& book_;
  Places places_;
  const Graph& graph_;
  const std::vector<GroupState>& state_;
  BodyWriter out_;
  std::vector<Run> runs_;
  std::vector<BufferId> current_;           ///< by tensor: the buffer that holds it now
  std::map<GroupId, BufferId> on_device_;   ///< streamed groups that the current run reads
  std::vector<std::uint32_t> run_starts_;   ///< ids of the runs' first instructions
  std::vector<TensorId> own_gradients_;     ///< by group: what one micro-batch's backward pass writes
  std::vector<TensorId> summed_gradients_;  ///< by group: what the optimizer reads
  std::vector<BufferId> losses_;            ///< on the device, one a micro-batch
  BufferId clip_factor_;
  std::deque<BufferId> leaving_gradients_, arriving_gradients_, arriving_states_, leaving_weights_;
};

}  // namespace plimsoll
