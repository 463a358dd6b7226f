#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// What a rank holds of parameters, gradients and optimizer states, and moves beside its own forward and backward. This one
/// shares nothing: every rank holds all.
class StateSharing {
 public:
  /// With `keeps_gradients` they are zeroed and stay.
  explicit StateSharing(Tape& tape, bool keeps_gradients = false) : tape_(tape), keeps_gradients_(keeps_gradients) {}
  virtual ~StateSharing() = default;
  StateSharing(const StateSharing&) = delete;
  StateSharing& operator=(const StateSharing&) = delete;

  /// Before the forward pass of a micro-batch.
  virtual void begin(bool last_micro_batch) { (void)last_micro_batch; }
  /// Between its forward and its backward pass.
  virtual void begin_backward() {}
  /// After its backward pass.
  virtual void end() {}
  /// Clips, updates, and lets the gradients go.
  virtual void update(const Recipe& recipe, OptimizerLoop loop);
  /// What this rank keeps in host memory and on drives.
  [[nodiscard]] virtual Bytes host() const { return {}; }
  [[nodiscard]] virtual Bytes drive() const { return {}; }

 protected:
  /// A collective in which every rank ends with, or contributes, `bytes`: a share of (ranks − 1) / ranks of them travels, in
  /// each round; an all-reduce goes round twice. `blocking`: kernels wait for it.
  void collective(double bytes, std::int64_t ranks, DType dtype, int rounds = 1, bool blocking = false);
  void step(const std::vector<Parameter*>& trained, const Recipe& recipe, OptimizerLoop loop);
  /// An update in host memory of a `share` of `flat`, whose gradients came in `type`: what norms and unscaling pass
  /// over, then the update; states on a drive are read before it and written after it.
  void update_in_host_memory(const Recipe& recipe, const Parameter& flat, DType type, Home states, double share = 1);
  Tape& tape_;

 private:
  bool keeps_gradients_;
};

/// The part of a model that is gathered and let go at once: "block 3" of "block 3.norm1.weight", "encoder 0" of
/// "encoder 0.self.q.weight"; nothing for what belongs to no block.
std::string block_of(const std::string& parameter);

/// Whether parameters are in two bytes and an fp32 copy of what is updated lies elsewhere, so that no autocast is needed.
bool has_half_weights(const Recipe& recipe, const StackSetup& setup);
/// Whether parameters are made without memory and shared out before they get any.
bool shares_parameters(const StackSetup& setup);

/// How the setup's program shares the states of the model that lies on the tape.
std::unique_ptr<StateSharing> share_states(Tape& tape, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
