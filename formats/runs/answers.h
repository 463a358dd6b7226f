#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/model/adapter.h"
#include "core/trace/compare_losses.h"
#include "core/trace/compare_traces.h"
#include "formats/runs/safety_answer.h"
#include "formats/training/training_answer.h"

namespace plimsoll {

/// Memory of one space in an answer, as the plan needs it and as the machine offers it.
struct SpaceAnswer {
  std::string space;  ///< "gpu0", "host", "ssd"
  Bytes capacity;
  Bytes usable;
  Bytes peak;            ///< what must fit into `usable`
  Bytes peak_allocated;  ///< live bytes
  Bytes peak_reserved;   ///< with what the allocator holds back
  Bytes peak_process;    ///< with context, libraries and framework
  bool certain = false;  ///< exact, not an estimate
  std::optional<Bytes> peak_requested;  ///< of programs that allocate while a step runs: what their tensors asked for
  std::optional<Bytes> peak_device;     ///< and with what others use of the device
  std::string peak_at;                  ///< "step 1, backward, block 11"; may be empty
  struct ByCategory {
    Bytes parameters;
    Bytes gradients;
    Bytes optimizer;
    Bytes activations;
    Bytes workspace;
    Bytes framework;
  } by_category;

  /// What is left of `usable`; negative when it does not fit.
  [[nodiscard]] Bytes margin() const { return usable - peak; }
};

/// A space of which a plan needs more than there is.
struct ShortSpaceAnswer {
  std::string space;
  Bytes needed;
  Bytes usable;
};

/// The best plan of another family than the one answered with, and why it was not taken.
struct AlternativeAnswer {
  std::string strategy;      ///< its family
  double step_seconds = 0;   ///< of one that does not fit: what it would take with more memory
  Bytes peak;                ///< on the device
  double slower_seconds = 0; ///< than the plan answered with; negative: faster
  std::string limited_by;    ///< its busiest resource
  double busy_fraction = 0;
  std::vector<ShortSpaceAnswer> short_of;  ///< empty when it fits
  Strategy choices;

  [[nodiscard]] bool fits() const { return short_of.empty(); }
};

/// What it saves to train adapters beside a frozen model.
struct AdapterAnswer {
  AdapterSpec adapter;
  std::int64_t trained_parameters = 0;
  Bytes training;        ///< gradients and optimizer states
  Bytes whole_training;  ///< the same if the model itself were trained
  Bytes base;            ///< the frozen model as it is kept
  Bytes whole_base;      ///< as compute reads it
};

/// One change with which a training that does not fit would fit.
struct ChangeAnswer {
  std::string what;      ///< "2.10 GiB more of gpu0", "--batch 2 --accumulate 4"
  std::string strategy;  ///< the plan that would then run
  double step_seconds = 0;
  Bytes more;            ///< memory to be added, over all spaces
  bool at_most = false;  ///< a longer search may find a faster plan, or one that takes less of a drive
};

/// What errors of the estimates would mean for the plan answered with.
struct MarginAnswer {
  double percent = 0;   ///< by which kernels and links may be off, either way
  double loss = 0;      ///< at worst, over the best plan of another family; negative: it stays the fastest
  std::string against;  ///< that family; empty when nothing else fits
  std::string where;    ///< "kernels 10 % slower, links 10 % faster"
  bool fits = true;     ///< also if it needed that much more of every memory
};

/// What `fit`, `plan` and `simulate` answer. Rates and times of a plan that does not fit are those it would have.
struct FitAnswer {
  bool fits = false;
  std::string model;
  std::int64_t parameters = 0;
  std::optional<AdapterAnswer> adapter;
  std::int64_t active_parameters = 0;  ///< through which one token passes; fewer where there are experts
  Strategy strategy;
  std::string stack = "plimsoll";
  std::string setup;  ///< of another stack: its choices in words
  double step_seconds = 0;
  double step_seconds_low = 0;
  double step_seconds_high = 0;
  double tokens_per_second = 0;
  double samples_per_second = 0;
  double model_tflops_per_gpu = 0;     ///< of the model's own arithmetic
  double hardware_tflops_per_gpu = 0;  ///< with recomputation
  double bubble_fraction = 0;
  struct Phases {
    double forward_seconds = 0;
    double backward_seconds = 0;
    double optimizer_seconds = 0;
    double exposed_transfer_seconds = 0;
    double exposed_communication_seconds = 0;
  } phases;
  /// Of a plan that redoes updates in the steps that clip: `step_seconds` is the mean.
  struct Redo {
    double probability = 1;  ///< that a step clips
    double step_seconds_never = 0;
    double step_seconds_always = 0;
  };
  std::optional<Redo> redo;
  std::optional<MarginAnswer> margin;  ///< when it was asked for
  std::vector<ChangeAnswer> larger;  ///< of one that does not fit: what could be added to the machine, each alone
  std::vector<ChangeAnswer> smaller;  ///< of one that does not fit: what fits in the memory that there is
  std::vector<SpaceAnswer> memory;
  std::string bottleneck;  ///< the busiest resource
  double bottleneck_busy_fraction = 0;
  std::string calibration_kind;  ///< "measured", "catalogue" or "extrapolated"
  std::string calibration_source;
  std::optional<double> lower_bound_seconds;  ///< no plan is faster
  std::optional<Bytes> lower_bound_peak;      ///< no plan needs less
  std::vector<AlternativeAnswer> alternatives;
  std::int64_t gpus = 1;
  struct Load {
    std::string queue;
    double busy_fraction = 0;
  };
  std::vector<Load> loads;  ///< every queue, or of other stacks every resource; busiest first
  Bytes drive_read;         ///< of one step
  Bytes drive_written;
  std::vector<std::string> assumed;  ///< what was taken for granted
  std::optional<TrainingAnswer> training;  ///< of the whole training, when its length was given
  std::optional<SafetyAnswer> safety;      ///< when it was asked for
};

/// Predicted and measured peak of one space.
struct ComparedSpaceAnswer {
  std::string space;
  Bytes predicted;
  Bytes measured;
  struct Category {
    std::string category;
    Bytes predicted;
    Bytes measured;
  };
  std::vector<Category> by_category;
};

/// How the warm-up's plan gave way to the chosen one.
struct MigrationAnswer {
  std::int64_t after_steps = 0;
  Bytes moved;
  double predicted_seconds = 0;
  double measured_seconds = 0;
};

/// What `run` answers.
struct RunAnswer {
  std::int64_t steps = 0;
  std::vector<double> losses;
  std::vector<double> expert_losses;    ///< auxiliary, a step each; empty for a model without experts
  std::vector<double> expert_overflow;  ///< share of the tokens' choices that the experts' capacity refused
  struct LossScaling {
    double scale = 0;                          ///< of the last step
    std::vector<std::int64_t> skipped_steps;  ///< 0-based; their gradients were not finite
  };
  std::optional<LossScaling> loss_scaling;  ///< fp16 only
  double step_seconds_median = 0;
  std::optional<double> predicted_step_seconds;
  double tokens_per_second = 0;
  std::vector<ComparedSpaceAnswer> memory;
  std::optional<MigrationAnswer> migration;  ///< nothing without a warm-up, or when its plan stayed
  struct HeldOut {
    std::int64_t steps = 0;
    double loss = 0;
    std::optional<double> accuracy;  ///< where there are labels
  };
  std::vector<HeldOut> evaluations;
  std::optional<SafetyAnswer> safety;  ///< of a run with --durability
  std::string file;
};

/// What `compare` answers.
struct ComparisonAnswer {
  double predicted_seconds = 0;
  double measured_seconds = 0;
  double error = 0;  ///< (measured − predicted) ÷ measured; of two runs (this − other) ÷ other, the other in `predicted`
  struct Part {
    std::string part;
    double predicted_seconds = 0;
    double measured_seconds = 0;
  };
  std::vector<Part> parts;
  std::vector<ComparedSpaceAnswer> memory;
  double matched_fraction = 0;
  std::optional<double> untraced_seconds, untraced_error;  ///< of a device's steps that kept no events
  std::optional<double> other_untraced_seconds;            ///< what those are held against
  std::vector<std::string> other_work;    ///< of two runs: in what their trainings differ beside the plan
  std::optional<ComparedLosses> losses;   ///< of two runs
};

ComparisonAnswer comparison_answer(const Comparison& comparison);

}  // namespace plimsoll
