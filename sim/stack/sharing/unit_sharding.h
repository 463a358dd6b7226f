#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/stack/sharing/state_sharing.h"

namespace plimsoll {

struct UnitShardingOptions {
  std::int64_t ranks = 1;
  bool flat = true;                  ///< one flat parameter a unit (FSDP1); else every parameter by itself (FSDP2)
  bool keeps_after_forward = false;  ///< SHARD_GRAD_OP
  std::optional<DType> state_type;   ///< of shards and what is kept for them; nothing: as the parameters
  bool separate_ends = false;        ///< the embedding, and the last norm with the head, are units too
  bool reduces_in_fp32 = false;
  bool whole_gradients = false;      ///< only the last micro-batch of a step reduces: until then every rank keeps whole gradients
  /// Adapters are units of their own within blocks, as PEFT's policy wraps them: a block is gathered when the one before it has ended.
  bool adapters_apart = false;
  bool offloads = false;             ///< shards wait and are updated in host memory
  OptimizerKind optimizer = OptimizerKind::kAdamW;
};

/// PyTorch's FSDP: parameters are gathered unit by unit (a block each, and the rest) on a stream of their own, freed after
/// forward, gathered again in backward one unit ahead (not where adapters are units too); gradients leave it as a rank's share of their sum.
class UnitSharding : public StateSharing {
 public:
  UnitSharding(Tape& tape, UnitShardingOptions options);

  void begin(bool last_micro_batch) override;
  void begin_backward() override;
  void end() override;
  void update(const Recipe& recipe, OptimizerLoop loop) override;
  /// Shards, and of what is trained gradients and the optimizer's states.
  [[nodiscard]] Bytes host() const override;

 private:
  struct Unit {
    std::vector<Parameter*> parameters;
    std::int64_t bytes = 0;      ///< gathered
    std::int64_t trained = 0;    ///< elements
    Tensor whole;                ///< all of its gradient, where no micro-batch of this step has reduced it yet
    std::shared_ptr<Storage> flat;
    Tensor arriving;             ///< gathered and not yet copied out to the parameters
    bool gathered = false;
  };

  void add(Parameter& parameter);
  /// What a parameter is gathered with: "block 3", an end of the model, or nothing for the rest.
  [[nodiscard]] std::string unit_of(const std::string& parameter) const;
  void make_shards(Unit& unit);
  void move(const std::string& place);
  void request(Unit& unit);
  void gather(Unit& unit);
  void release(Unit& unit);
  void leave(Unit& unit);
  void reduce(Unit& unit);
  void reduce_flat(Unit& unit);
  void reduce_each(Unit& unit);
  /// One tensor of all that backward made for the unit; its kernels read what they write this many times.
  Tensor join_gradients(Unit& unit, DType type, Holding holding, double passes);
  /// Adds it to that of earlier micro-batches.
  void keep_whole(Unit& unit, Tensor joined);
  void hand_out(Unit& unit, const Tensor& part);
  /// PyTorch's own optimizer over shards in host memory.
  void update_on_host(const Recipe& recipe, OptimizerLoop loop);
  /// FullyShardedDataParallel frees nothing in a backward pass without reductions of what it kept after forward.
  [[nodiscard]] bool stays_gathered() const { return !reduces_ && options_.flat && options_.keeps_after_forward; }
  [[nodiscard]] bool is_block(const Unit& unit) const { return &unit != &units_.front(); }
  [[nodiscard]] std::int64_t share(std::int64_t elements) const { return (elements + options_.ranks - 1) / options_.ranks; }

  UnitShardingOptions options_;
  std::deque<Unit> units_;  ///< the first is what belongs to no other
  std::map<std::string, std::size_t> unit_at_;
  std::deque<Parameter> shards_;
  std::map<const Unit*, std::vector<Parameter*>> shards_of_;
  bool reduces_ = true;      ///< this micro-batch
  Unit* current_ = nullptr;
  Unit* retired_ = nullptr;  ///< freed, but its memory waits for the kernels that read it
  Tensor last_arrived_;      ///< kept until the next unit has been copied out
  Tensor last_reduced_;      ///< input of the collective that runs
  Tensors sent_;             ///< gradients' shards that were copied to host memory, which FullyShardedDataParallel keeps until backward ends
};

}  // namespace plimsoll
