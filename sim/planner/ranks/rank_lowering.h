#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/tensor_slice.h"
#include "sim/planner/body_writer.h"
#include "sim/planner/ranks/rank_job.h"
#include "sim/planner/ranks/stage_cut.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {

/// Channels of gathered weights: this and on, one a group. Crossings have those below 1000.
inline constexpr std::uint32_t kWeightsChannel = 2'000;

/// Writes one rank's instructions of a training step: its stages' passes in the schedule's order, messages on queues of their
/// own, sums over replicas, and the updates of what it owns. All memory is the device's.
class RankLowering {
 public:
  RankLowering(const RankJob& job, std::uint32_t rank, const Graph& graph, const StageCut& cut, Plan& plan, BufferBook& book,
               const Places& places);

  /// Of a body beside the step's: "evaluation", or what fills a pipeline that does not drain. Works on the states of the step's
  /// lowering.
  RankLowering(const RankLowering& step, const Graph& graph, const StageCut& cut);

  void write_step();
  /// Load, forward and loss of one held-out batch.
  void write_evaluation();
  /// The forward passes that a step of a steady pipeline finds behind it, all with the newest weights, which become all versions.
  void write_fill();
  [[nodiscard]] BodyWriter& writer() { return out_; }

 private:
  /// A pass over a stage's ops that other passes wait for.
  struct Deferred {
    const Op* op = nullptr;
    std::vector<std::pair<Range, Access>> operands;
  };
  /// What a group's optimizer works on.
  struct OwnedGroup {
    BufferId parameters;
    std::vector<BufferId> old;  ///< the optimizer's weights, then its states
  };
  /// This rank's part of a micro-batch's gradient, which is summed over replicas but not yet over micro-batches.
  struct GradientPart {
    const Op* op = nullptr;
    BufferId part;
    bool first = false;
  };
  /// Where instructions stand that come one after another.
  struct Entered {
    const char* name = "";
    std::uint32_t micro_batch = 0;
    std::int64_t block = -1;
    Phase phase = Phase::kForward;
  };
  using Gathered = std::map<GroupId, BufferId>;

  /// One of the terms of the gradients' norm: of elements of a group's gradient as that rank has it.
  struct NormTerm {
    std::uint32_t rank = 0;
    GroupId group;
    ElementPart elements;
  };

  // rank_states.cpp
  void reserve_states();
  void reserve_group(GroupId group);
  /// Weights that are whole on this rank hold those tensors throughout.
  void share_parameters();
  [[nodiscard]] BufferId reserve(TensorKind kind, GroupId group, bool sharded);
  /// Whether replicas divide the group's states among them.
  [[nodiscard]] bool is_sharded(GroupId group) const;
  /// Whether it has experts that replicas share. Of such a block gradients and weights stay whole: what it has besides
  /// experts is summed over more replicas than have these experts.
  [[nodiscard]] bool is_shared_mixture(GroupId group) const;
  /// Which part of a divided group this replica has: of all replicas', and of a mixture's block of those with the same
  /// experts.
  [[nodiscard]] TensorShare part_of_replica(GroupId group) const;
  [[nodiscard]] bool divides_gradients(GroupId group) const { return divides_gradients() && !is_shared_mixture(group); }
  [[nodiscard]] bool divides_weights(GroupId group) const { return divides_weights() && !is_shared_mixture(group); }

  // rank_passes.cpp
  void write_pass(const PipelineOp& op);
  void forward(std::uint32_t stage, std::uint32_t micro_batch);
  void backward(std::uint32_t stage, std::uint32_t micro_batch);
  /// The pass without what may wait, which is noted with the bytes that it will read; these are kept as they are now.
  void input_gradient(std::uint32_t stage, std::uint32_t micro_batch);
  void weight_gradient(std::uint32_t stage, std::uint32_t micro_batch);
  void keep_for_later(const Op& op, std::vector<Deferred>& later, std::uint32_t micro_batch);
  void launch(const Op& op, std::uint32_t micro_batch);
  void launch(const Op& op, const std::vector<std::pair<Range, Access>>& operands);
  [[nodiscard]] std::vector<std::pair<Range, Access>> operands_of(const Op& op, std::uint32_t micro_batch);
  void load_batch(std::uint32_t micro_batch);
  void enter(const Op& op, std::uint32_t micro_batch, const char* name);
  /// After an excursion.
  void go_on();
  /// Calls `each` for the ops, with their weights at hand: what replicas divide comes together one run of a block ahead.
  template <typename Each>
  void for_each_op(const std::vector<std::size_t>& ops, std::uint32_t micro_batch, const char* name, const Each& each);
  [[nodiscard]] Gathered gather_weights(const std::vector<std::size_t>& ops, std::size_t begin, std::size_t end);
  void use_weights(const Gathered& gathered);
  [[nodiscard]] bool reads_batch(std::uint32_t stage) const;

  // steady_passes.cpp: a pipeline that does not drain between steps
  void write_steady_step();
  void write_steady_pass(PipelineWork work, std::uint32_t q);
  /// What the backward pass reads of what the forward pass has.
  void find_waiting();
  [[nodiscard]] std::uint32_t slots_of(TensorId whole, std::uint32_t q, std::uint32_t made_at) const;
  /// For a tensor that a forward pass makes, or finds: one whose slots are steps, where a pass of a later step reads it.
  [[nodiscard]] BufferId forward_buffer(TensorId whole, std::uint32_t q, std::uint32_t made_at);
  [[nodiscard]] BufferId waiting_buffer(TensorId whole, std::uint32_t q, std::uint32_t made_at);
  [[nodiscard]] std::uint32_t offset_of(TensorId whole) const;
  /// In which step's slot the current micro-batch finds its own.
  [[nodiscard]] std::uint32_t age_of(BufferId buffer) const;
  /// Asks for what the forward pass of another rank sends in this step.
  void announce_forward(std::uint32_t nth);
  /// What is fetched while later steps run here does not hold them up.
  void send_from_slots(BufferId sent, std::uint32_t to);
  [[nodiscard]] BufferId batch_buffer(TensorId part, std::uint32_t q);
  [[nodiscard]] bool is_steady() const { return !job_.flushes() && !evaluates_; }
  [[nodiscard]] std::uint32_t ahead() const { return steady_.ahead[place_]; }

  // rank_rounds.cpp: stages of different numbers of ranks, which micro-batches go round
  [[nodiscard]] bool goes_round() const { return job_.schedule.goes_round(); }
  [[nodiscard]] std::uint32_t stride() const { return steady_.stride(place_); }
  /// Of micro-batches from `first` on the nth that is this rank's.
  [[nodiscard]] std::uint32_t own_micro_batch(std::uint32_t first, std::uint32_t nth) const;
  [[nodiscard]] bool is_own(std::uint32_t micro_batch) const;
  /// Who passes on that place what this rank needs of a micro-batch, or of a held-out one.
  [[nodiscard]] std::uint32_t rank_passing(std::uint32_t place, std::uint32_t micro_batch) const;
  /// Whom this rank gives what it has of a micro-batch.
  [[nodiscard]] std::vector<std::uint32_t> ranks_given(std::uint32_t place, std::uint32_t micro_batch) const;
  /// After a backward pass: all of a place's replicas sum up the gradients of a round.
  void update_after(std::uint32_t micro_batch, std::uint32_t nth);

  // weight_versions.cpp
  void reserve_versions();
  /// The version of a group's weights that the current pass reads, where that is not the newest.
  [[nodiscard]] std::optional<Range> older_weights(TensorId tensor) const;
  [[nodiscard]] std::uint32_t versions_back(GroupId group) const;
  /// The newest becomes the youngest of the older ones, before it is updated in place.
  void keep_version(std::uint32_t age);
  /// Buffers of older versions of a group: those of a step's updates go to them in turn.
  [[nodiscard]] std::uint32_t version_buffers(std::uint32_t versions) const;
  // rank_norms.cpp
  void write_norms();
  [[nodiscard]] std::vector<NormTerm> norm_terms() const;
  void launch_norm(const NormTerm& term, const Range& result);
  void exchange_norms(const std::vector<NormTerm>& terms, BufferId partials);

  // rank_slices.cpp
  /// Which side of a product of ranks that share layers is cut; none where each computes all of it.
  [[nodiscard]] TensorCut cut_of_product(const Op& op) const;
  /// Whether what the op writes last is one of the terms that the ranks add up.
  [[nodiscard]] bool is_term(const Op& op) const;
  /// One of the ranks adds the bias of a product whose outputs are sums over them.
  void leave_bias_to_first(const Op& op, std::vector<std::pair<Range, Access>>& operands) const;
  /// After what each rank has a term of, all get the sum.
  void sum_over_slices(const Op& op, const Range& product, std::uint32_t micro_batch);

  // rank_rows.cpp
  /// This rank's rows of a tensor, and in which pass they were gathered into all of it.
  struct OwnRows {
    BufferId buffer;
    std::optional<Phase> gathered_in;
  };
  [[nodiscard]] bool works_on_own_rows(const Op& op) const;
  [[nodiscard]] Exchange among_slices(ExchangeKind kind, DType dtype) const;
  [[nodiscard]] BufferId make_own_rows(TensorId whole, std::uint32_t micro_batch);
  [[nodiscard]] Range own_rows(TensorId whole, Access access, std::uint32_t micro_batch);
  void launch_on_own_rows(const Op& op, std::uint32_t micro_batch);
  void gather_rows(TensorId tensor, std::uint32_t micro_batch);
  void gather_what_is_read(const Op& op, std::uint32_t micro_batch);
  void scatter_rows(const Op& op, const Range& product, std::uint32_t micro_batch);
  void sum_norm_gradients(TensorId sum, BufferId stored);

  // rank_experts.cpp
  /// A stretch of a group's gradients: replicas have different ones of the experts that they share.
  struct SummedRun {
    ElementPart elements;
    bool of_experts = false;
  };
  [[nodiscard]] static bool is_expert_exchange(OpKind kind);
  void exchange_with_experts(const Op& op, const std::vector<std::pair<Range, Access>>& operands);
  /// What a sum of gradients consists of, in its order; one run where nobody shares experts.
  [[nodiscard]] std::vector<SummedRun> runs_of_sum(const Tensor& sum) const;
  /// How many kAccumulate a step has of it: one a micro-batch and run, and of experts one for each of those who share them.
  [[nodiscard]] std::uint32_t terms_of_sum(const Tensor& sum) const;
  /// Of an exchange among replicas those that have the same experts.
  [[nodiscard]] Exchange among_holders(Exchange replicas) const;
  // rank_ring.cpp
  using Operands = std::vector<std::pair<Range, Access>>;
  /// What goes round among ranks that share a sequence, for one attention op.
  struct Ring {
    Kernel apart, step;  ///< puts keys and values apart; attends to those of another rank
    Range qkv;
    Bytes bytes;              ///< of one slice's keys and values
    std::uint32_t index = 0;  ///< the own slice
  };
  [[nodiscard]] std::uint32_t slice_of_sequence() const { return replica_ % job_.context; }
  [[nodiscard]] std::uint32_t rank_of_slice(std::uint32_t index) const;
  [[nodiscard]] bool is_last(const Ring& ring) const { return ring.index + 1 == job_.context; }
  [[nodiscard]] OpShape shape_on_slice(const Op& op) const;
  void copy_own_positions(const Range& batch, const Range& to);
  [[nodiscard]] Ring ring_of(const Op& op, const Range& qkv) const;
  [[nodiscard]] BufferId ring_buffer(const Ring& ring, const char* name, TensorKind kind);
  [[nodiscard]] std::pair<Range, Access> ring_workspace(const Kernel& kernel);
  void send_own_keys(const Ring& ring);
  /// Those of the slice before what came last; they go on to the next rank.
  [[nodiscard]] Range pass_on_keys(const Ring& ring);
  void attend_in_ring(const Op& op, const Operands& operands);
  void attend_back_in_ring(const Op& op, const Operands& operands);
  /// Each slice's loss is a term of its sequences'.
  void sum_losses_of_slices(const std::vector<BufferId>& losses);

  // rank_messages.cpp
  [[nodiscard]] bool waits_for(const PipelineOp& op, const Crossing& crossing) const;
  [[nodiscard]] bool releases(const PipelineOp& op, const Crossing& crossing) const;
  [[nodiscard]] bool is_message(const Crossing& crossing) const { return place_of(crossing.from) != place_of(crossing.to); }
  /// Asks for what `op` will need, so that it can arrive while the pass before runs.
  void announce(const PipelineOp& op);
  void take_in(const PipelineOp& op);
  void send_on(const PipelineOp& op);
  /// Keeps what was sent in the last passes from what is asked for now.
  void keep_sent(std::size_t pass);
  void send(std::uint32_t to, std::uint32_t channel, const std::string& what, const Range& range);
  void receive(std::uint32_t from, std::uint32_t channel, const std::string& what, const Range& range);
  [[nodiscard]] QueueId queue_named(const std::string& name);

  // rank_updates.cpp
  void complete_sum(TensorId sum);
  void sum_over_replicas(TensorId sum);
  [[nodiscard]] bool is_tied(TensorId sum) const;
  [[nodiscard]] Exchange among_replicas(ExchangeKind kind, DType dtype, std::uint32_t channel) const;
  [[nodiscard]] std::pair<Range, Access> workspace_of(std::int64_t elements, DType dtype) {
    return workspace_of(elements, dtype, job_.replicas);
  }
  [[nodiscard]] std::pair<Range, Access> workspace_of(std::int64_t elements, DType dtype, std::uint32_t members);
  /// A micro-batch's gradient goes to those who keep its parts; they add it up while the next one is computed.
  void scatter_gradient(const Op& op, std::uint32_t micro_batch);
  void add_parts();
  void write_optimizer();
  void join_tied_sums();
  void update_group(GroupId group);
  void launch_update(const Op& op, GroupId group, BufferId gradient);
  void share_weights();
  void report();
  /// One a micro-batch from that rank to the host, of `each` so many bytes; `own` are this rank's.
  void fetch_losses(std::uint32_t from, const std::vector<BufferId>& own, Bytes each, std::vector<std::pair<Range, Access>>& to);
  void report_evaluation();
  [[nodiscard]] BufferId fetch_to_host(BufferId device_buffer);

  [[nodiscard]] BufferId& holder(TensorId tensor, std::uint32_t micro_batch);
  [[nodiscard]] BufferId make_buffer(const Tensor& tensor);
  [[nodiscard]] Range range_of(const Operand& operand, std::uint32_t micro_batch);
  [[nodiscard]] Range part_of_tensor(TensorId tensor, BufferId buffer) const;
  [[nodiscard]] TensorId whole_of(TensorId tensor) const {
    return graph_.at(tensor).view_of.valid() ? graph_.at(tensor).view_of : tensor;
  }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t stage) const { return place_of_stage_[stage]; }
  [[nodiscard]] bool divides_gradients() const { return job_.zero >= 2 && job_.replicas > 1; }
  [[nodiscard]] bool divides_weights() const { return job_.zero >= 3 && job_.replicas > 1; }
  [[nodiscard]] bool owns(GroupId group) const { return place_of(cut_.stage_of_group[group.index]) == place_; }
  [[nodiscard]] std::uint32_t rank_of_place(std::uint32_t place) const { return job_.rank_at(place, replica_, slice_); }
  [[nodiscard]] std::uint32_t global(std::uint32_t micro_batch) const {
    if (evaluates_ || goes_round()) return micro_batch;
    const std::uint32_t count = job_.micro_batches();  // from there on they are of later steps
    return micro_batch / count * count * job_.data_ranks() + replica_ / job_.context * count + micro_batch % count;
  }
  [[nodiscard]] TensorKind summed_kind() const {
    return graph_.recipe.accumulate > 1 ? TensorKind::kAccumulator : TensorKind::kGradient;
  }

  const RankJob& job_;
  const Graph& graph_;
  const StageCut& cut_;
  Plan& plan_;
  BufferBook& book_;
  Places places_;
  BodyWriter out_;
  std::uint32_t rank_, place_, replica_, slice_;
  std::vector<std::uint32_t> place_of_stage_;
  std::map<GroupId, OwnedGroup> groups_;    ///< that this rank updates, or reads
  std::vector<BufferId> shared_;            ///< by tensor: what holds weights and sums
  std::vector<std::vector<BufferId>> own_;  ///< by micro-batch and tensor: what holds everything else now
  std::vector<bool> loaded_;                ///< by micro-batch
  std::map<std::pair<std::size_t, std::uint32_t>, BufferId> arriving_;                 ///< by crossing and micro-batch
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Deferred>> deferred_;  ///< by stage and micro-batch
  std::map<TensorId, std::uint32_t> summed_;                                           ///< how many terms each sum has
  std::set<std::pair<TensorId, std::int64_t>> begun_;  ///< sums, and where in them what was written begins
  std::map<TensorId, BufferId> parts_;  ///< of sums that replicas divide: this one's part
  std::vector<std::pair<std::size_t, BufferId>> sent_;  ///< in which pass, and what
  std::size_t pass_ = 0;
  std::map<std::pair<std::uint32_t, TensorId>, OwnRows> own_rows_;  ///< by micro-batch; of ranks that share rows
  std::vector<GradientPart> unsummed_;
  Entered entered_;
  std::vector<BufferId> losses_;  ///< by micro-batch
  std::vector<BufferId> expert_losses_;  ///< by micro-batch, of a mixture
  BufferId right_answers_;               ///< of an evaluation with labels
  bool evaluates_ = false;
  bool fills_ = false;
  SteadyPipeline steady_;                          ///< of a schedule without a flush
  std::map<GroupId, std::vector<BufferId>> versions_;  ///< older ones of weights: of a step's updates, a slot a step
  std::uint32_t updates_done_ = 0;                     ///< in this step
  std::uint32_t updated_from_ = 0;                     ///< the micro-batch whose gradients an update finds
  std::set<TensorId> wanted_;                      ///< that the backward pass reads and the forward pass has
  std::map<TensorId, std::uint32_t> arrivals_;     ///< of the forward pass: the sender's `ahead`
  std::map<std::pair<TensorId, std::uint32_t>, BufferId> waiting_;  ///< by micro-batch of a step
  std::map<BufferId, std::uint32_t> made_at_;      ///< the offset at which the pass ran that fills a waiting one
  std::uint32_t now_ = 0;                          ///< the current pass's micro-batch
  bool backward_ = false;                          ///< or a forward pass
  BufferId clip_factor_;
};

}  // namespace plimsoll
