#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "sim/planner/body_writer.h"
#include "sim/planner/step_outline.h"

namespace plimsoll {

/// The queues and spaces that a lowering works with; those that a strategy does not need may be missing.
struct Places {
  SpaceId device, host;
  std::optional<SpaceId> ssd;
  QueueId compute, h2d, d2h, cpu, data, report;
  std::optional<QueueId> ssd_read, ssd_write;
  bool reads_directly = false, writes_directly = false;  ///< between the drive and the device, without host memory

  /// Finds them by name and kind; an error names what the platform lacks for `strategy`.
  static Result<Places> find(const Platform& platform, const Strategy& strategy);
};

/// Where each parameter group's lasting state lies; a frozen one has nothing but its weights.
struct GroupState {
  BufferId parameters;  ///< the weights that compute reads, where they live between their uses
  BufferId master;      ///< the optimizer's weights; equal to `parameters` when they are one
  std::vector<BufferId> states;  ///< what the optimizer keeps beside them, in the order of its kernels' operands
};

/// What lasts of a parameter group, in bytes; the same wherever it lies.
struct GroupSizes {
  Bytes parameters, master;
  std::vector<std::pair<TensorKind, Bytes>> states;  ///< in the order of the optimizer's operands
};

std::vector<GroupSizes> state_sizes(const Recipe& recipe, const ParameterLayout& layout);

/// Reserves the lasting state of every group where the strategy wants it and records it in the plan.
std::vector<GroupState> reserve_state(Plan& plan, BufferBook& book, const Places& places, const ParameterLayout& layout,
                                      const std::vector<GroupSizes>& sizes);

/// What that state takes of each of so many spaces.
std::vector<Bytes> lasting_bytes(const Strategy& strategy, const Recipe& recipe, const Places& places,
                                 std::size_t spaces, const ParameterLayout& layout,
                                 const std::vector<GroupSizes>& sizes);

/// Writes the instructions of one training step (or evaluation) of `graph` under the plan's strategy. `outline` is the graph's.
class StepLowering {
 public:
  StepLowering(Plan& plan, BufferBook& book, const Places& places, const Graph& graph, const StepOutline& outline,
               const std::vector<GroupState>& state, BodyDetail detail = BodyDetail::kAll);

  /// Loads, forward, backward and optimizer of all micro-batches.
  void write_step();
  /// Load, forward and loss of one micro-batch.
  void write_evaluation();

  [[nodiscard]] BodyWriter& writer() { return out_; }

 private:
  using Run = StepRun;

  /// [begin, end): those that pass a block one after another before the next block starts.
  struct MicroBatches {
    std::uint32_t begin = 0;
    std::uint32_t end = 1;
  };

  /// A buffer that is kept until as many visits have begun.
  struct Lingering {
    BufferId buffer;
    std::size_t visits = 0;
  };

  // loop_order.cpp: which block of which micro-batch comes next
  /// The runs of blocks [first, last] in the order of the step; until they are asked for again.
  [[nodiscard]] const std::vector<std::size_t>& runs_of(std::int64_t first, std::int64_t last);
  void write_passes(MicroBatches together);
  void write_backward(const Run& run);
  void write_run(const Run& run, std::uint32_t micro_batch);

  // recomputation.cpp
  /// Chooses whose outputs are kept in each block that is recomputed (Strategy::kept_outputs).
  void find_kept();
  void keep_best(const std::vector<std::size_t>& recomputed);
  /// What is computed again before `run`, the last one that of run's own block; empty when `run` starts no segment.
  [[nodiscard]] std::vector<Run> recomputed_before(const Run& run);
  /// The forward ops of blocks [first, last] that compute something which their backward pass reads.
  [[nodiscard]] std::vector<std::size_t> needed_for_backward(std::int64_t first, std::int64_t last);

  // parameter_streaming.cpp
  /// Whether the group's weights live somewhere else and come for a run only.
  [[nodiscard]] bool is_streamed(GroupId group) const;
  void fetch_parameters(const std::vector<std::size_t>& ops);
  [[nodiscard]] BufferId fetch_group(GroupId group);
  /// From host memory, or from a drive that reaches the device.
  void copy_to_device(const Range& source, const Range& device);
  /// Keeps `buffer` from a run earlier on, so that what fills it can run ahead of its use.
  void reach_back(BufferId buffer, std::int64_t runs);

  // activation_offload.cpp: what backward reads on its way off the device and back
  /// Which tensors leave the device after each block's forward pass.
  void find_leaving();
  void find_shared_activations();
  [[nodiscard]] bool is_of_many_blocks(TensorId tensor) const { return of_many_blocks_[tensor.index] != 0; }
  /// The activations that the backward pass of blocks [first, last], with what it recomputes, reads and does not make.
  [[nodiscard]] std::vector<TensorId> kept_for_backward(std::int64_t first, std::int64_t last);
  void send_activations_away(const Run& run, std::uint32_t micro_batch);
  /// Brings what the run reads and what is away to the device.
  void bring_activations_back(const Run& run, std::uint32_t micro_batch);
  [[nodiscard]] BufferId bring_back(const Tensor& tensor, BufferId stored);
  /// Keeps `buffer` from that many visits earlier on, so that what fills it can run ahead of its use.
  void arrive_early(BufferId buffer, std::int64_t visits);
  /// Keeps `buffer` for that many more visits, so that they need not wait for what empties it.
  void linger(BufferId buffer, std::int64_t visits);
  /// Ends the life of what was kept up to here.
  void end_lingering();

  // gradient_lowering.cpp: gradients on their way from the backward op that writes them to the optimizer
  void add_to_sum(const Op& op, std::uint32_t micro_batch);
  /// After the last micro-batch: joins what a tied head has; what leaves the device goes, and its norm is taken on the way.
  void finish_gradients(const Run& run);
  /// The once-a-step ops of `kind` that work on `sum`.
  void work_on_sum(TensorId sum, OpKind kind, SpaceId where);
  /// Whether a complete sum that waits on the drive goes there from the device, and the host sees no more of it than its norm
  /// until the update.
  [[nodiscard]] bool leaves_for_drive(TensorId sum);
  void send_to_host(TensorId gradient, std::uint32_t micro_batch);
  void bring_to_host(TensorId sum, std::uint32_t age = 0);
  void store_on_ssd(TensorId sum);
  void sum_to_host(TensorId sum);
  /// Where a gradient waits for its update.
  [[nodiscard]] Tier gradient_tier(TensorId sum) const;
  /// The norm of a gradient that stays on the device while the factor of all is computed on the host.
  void norm_from_device(const Op& op);

  void load_batch(std::uint32_t micro_batch);
  void write_op(const Op& op, std::uint32_t micro_batch);
  void note_loss(const Op& op, const std::vector<std::pair<Range, Access>>& operands);
  /// Appends the op's kernel, with what the micro-batch holds of its operands, to the queue that computes at `where`.
  void launch(const Op& op, std::uint32_t micro_batch, SpaceId where);
  /// The kernel of an op whose launches all have the same.
  [[nodiscard]] KernelId kernel_of(const Op& op);

  // loss_scale.cpp: the scale of the loss, on its way to the loss and to updates
  void find_loss_scale();
  /// What a kernel that reads or updates the scale finds.
  void place_loss_scale(const Op& op, std::uint32_t micro_batch);
  /// The factor that an update in the backward pass may guess: the gradients are finite, and none is clipped.
  [[nodiscard]] std::optional<Range> guessed_factor(GroupId group) const;
  /// Under which an update takes place at all; nothing when it always does.
  [[nodiscard]] std::optional<Range> update_flag() const;

  // overlapped_update.cpp
  void update_in_backward(TensorId sum);
  void finish_updates();
  void redo_updates();

  // delayed_update.cpp
  [[nodiscard]] bool delayed() const { return plan_.recipe.delay > 0; }
  /// Whether delayed updates run beside forward and backward.
  [[nodiscard]] bool updates_ahead() const;
  [[nodiscard]] SpaceId waiting_space(GroupId group, TensorId sum) const;
  /// Two slots: this step's and the one of the step before.
  [[nodiscard]] BufferId lasting_buffer(const Tensor& tensor, SpaceId space);
  void find_waiting();
  void update_ahead();
  void publish_ahead();
  [[nodiscard]] TensorId clip_tensor() const;
  [[nodiscard]] BufferId make_flag(std::string name, SpaceId where);
  /// How old what an update reads of gradients is, in steps.
  [[nodiscard]] std::uint32_t gradient_age() const { return delayed() ? 1 : 0; }

  // device_update.cpp
  /// Where a group's update finds its operands.
  [[nodiscard]] SpaceId updating_space(GroupId group) const;
  /// A buffer for what is on its way, as large as `like`.
  [[nodiscard]] BufferId passing_buffer(BufferId like, std::string_view where_to, SpaceId space);
  /// Brings what waits elsewhere to staging memory at `where`.
  [[nodiscard]] Range stage(const Range& stored, SpaceId where);
  /// Sends what an update made, or a copy of it, to where it lasts.
  void put_back(BufferId updated, BufferId stored);
  /// A complete sum leaves for the host. Whether its norm was taken before, as where it comes back for its update.
  [[nodiscard]] bool send_complete_sum(TensorId sum);
  /// Of a group that the device updates: what is left behind there, or comes back.
  [[nodiscard]] Range gradient_on_device(TensorId sum);

  // optimizer_lowering.cpp
  void write_optimizer();
  [[nodiscard]] bool done_with_gradient(const Op& op) const;
  /// A sequence of updates begins, whose first states may be staged from instruction `earliest` on.
  void start_updates(std::uint32_t earliest);
  /// Brings a group's states to where it is updated (into staging memory, where they wait elsewhere), updates and publishes them, and writes them back.
  void update_group(GroupId group, bool clips);
  /// What the kernels of a group's update work on, by what it is.
  struct UpdatedGroup {
    GroupId group;
    std::vector<Range> old;    ///< the optimizer's weights and its states, as they were
    std::vector<BufferId> made;  ///< and what has them updated
    Range gradient;
    BufferId weights;          ///< what compute reads; the optimizer's weights unless it has its own
    bool clips = false;
  };
  void take_states(const std::vector<BufferId>& stored, UpdatedGroup& group);
  void launch_update(const Op& op, const UpdatedGroup& group);
  /// Brings the clip factor and its flag to the device, where it updates blocks of its own.
  void share_clip_factor();
  [[nodiscard]] Range clip_factor_for(GroupId group) const;
  [[nodiscard]] Range flag() const;
  /// What this update uses of data from elsewhere can come as many updates earlier as there are staging slots.
  void come_ahead(BufferId staged);
  /// Where the optimizer can read it.
  [[nodiscard]] Range summed_gradient(GroupId group);
  /// Where a mixed-precision update puts the weights that compute reads.
  [[nodiscard]] BufferId updated_weights(GroupId group);
  void publish_weights(GroupId group, BufferId weights);
  void report();
  [[nodiscard]] BufferId fetch_to_host(BufferId device_buffer);

  /// What holds the operand, made where nothing does.
  BufferId buffer_of(const Operand& operand, std::uint32_t micro_batch, SpaceId space);
  void find_range(const Operand& operand, std::uint32_t micro_batch, SpaceId space, Range& range);
  [[nodiscard]] Range range_of(const Operand& operand, std::uint32_t micro_batch, SpaceId space);
  /// The buffer that holds a tensor (or the tensor that it is a part of) now.
  [[nodiscard]] BufferId& holder(TensorId tensor, std::uint32_t micro_batch);
  [[nodiscard]] BufferId make_buffer(const Tensor& tensor, SpaceId space);
  /// The tensor whose buffer holds this one: itself, or what it is a part of.
  [[nodiscard]] TensorId whole_of(TensorId tensor) const { return outline_.whole[tensor.index]; }
  [[nodiscard]] std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(graph_.recipe.accumulate); }
  /// Whether the CPU updates, and so learns the norm of all gradients; blocks may be left to the device all the same.
  [[nodiscard]] bool optimizer_on_host() const { return plan_.strategy.optimizer != Tier::kDevice; }
  [[nodiscard]] bool updated_on_host(GroupId group) const;
  /// Keeps the newest `staging_slots` of a stream of transfer buffers apart, so that transfers can run ahead.
  void rotate(std::deque<BufferId>& recent, BufferId newest);

  Plan& plan_;
  BufferBook& book_;
  Places places_;
  const Graph& graph_;
  const StepOutline& outline_;
  const std::vector<GroupState>& state_;
  BodyWriter out_;
  std::vector<std::size_t> asked_runs_;                  ///< see runs_of
  std::vector<std::size_t> forward_;                     ///< of the blocks that needed_for_backward is asked about
  std::vector<KernelId> kernels_;                        ///< by op: of its launches, once there was one
  std::vector<std::pair<Range, Access>> operands_;       ///< of the launch that is being written
  std::vector<std::pair<Range, Access>> news_, rest_;    ///< with them, of an update
  std::vector<std::uint32_t> asked_for_;    ///< by tensor: the last question (needed_for_backward) that it was needed for
  std::vector<std::uint32_t> made_in_;      ///< by tensor: the last question (kept_for_backward) that something in it makes it
  std::uint32_t question_ = 0;
  std::vector<BufferId> shared_;            ///< by tensor: what holds weights, sums and states now
  std::vector<std::vector<BufferId>> own_;  ///< by micro-batch and tensor: what holds everything else now
  MicroBatches together_;                   ///< those that pass the blocks now
  struct Fetched {
    GroupId group;
    BufferId buffer;
    TensorId tensor;
  };
  std::vector<Fetched> on_device_;          ///< streamed groups that the current run reads, by group
  std::vector<Fetched> fetching_;           ///< those of the run that begins
  std::vector<std::uint32_t> run_starts_;   ///< ids of the runs' first instructions
  std::vector<std::uint32_t> visit_starts_; ///< and of the runs of every single micro-batch
  std::vector<char> kept_;                  ///< by tensor: kept from forward to backward though its block is recomputed
  std::vector<char> of_many_blocks_;        ///< by tensor: backward passes of many blocks read it, so it stays on the device
  std::vector<std::vector<TensorId>> leaving_;  ///< by block: what leaves the device after the block's forward pass
  std::vector<std::vector<BufferId>> away_;  ///< by micro-batch and tensor: where it waits for backward; empty where nothing does
  std::size_t away_count_ = 0;
  std::vector<Lingering> lingering_;
  std::vector<BufferId> losses_;            ///< on the device, one a micro-batch
  std::vector<BufferId> expert_losses_;     ///< with them, where the model has experts
  BufferId right_answers_;          ///< of an evaluation with labels, on the device
  BufferId clip_factor_, factor_on_device_, flag_on_device_;
  std::pair<TensorId, BufferId> still_here_;  ///< a sum that has left for the host, on the device yet for its update that follows
  BufferId flag_;        ///< of the clip factor: under it updates are redone, or take place (ClipFlag)
  BufferId loss_scale_;  ///< that lasts; an invalid id where the loss is not scaled
  BufferId scale_on_device_;  ///< its copy there, where updates are made on the host
  struct {
    std::uint32_t earliest = 0;                 ///< from where on the first states may be staged
    std::vector<std::uint32_t> starts;          ///< ids of the updates' first instructions
    std::vector<std::vector<BufferId>> staged;  ///< what each has in staging memory
  } updates_;
  std::map<TensorId, BufferId> waiting_;    ///< gradients and clip factor that the next step's updates read
  std::vector<std::pair<GroupId, BufferId>> unpublished_;  ///< weights that were updated ahead
  std::map<TensorId, BufferId> on_ssd_;     ///< where gradients lie there
  std::deque<BufferId> leaving_gradients_, arriving_gradients_, passing_sums_, leaving_weights_, leaving_states_;
};

}  // namespace plimsoll
