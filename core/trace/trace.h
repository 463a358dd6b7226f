#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

enum class TraceKind : std::uint8_t { kPredicted, kMeasured };
enum class EventStatus : std::uint8_t { kPredicted, kMeasured, kBounded, kSkipped };

/// When one instruction of one step ran.
struct TraceEvent {
  std::uint32_t step = 0;
  std::uint32_t instruction = 0;  ///< id within the body
  Nanoseconds start;
  Nanoseconds end;
  EventStatus status = EventStatus::kMeasured;
};

/// One step in a line; kept for every step, traced or not.
struct StepSummary {
  std::uint32_t step = 0;
  Nanoseconds start;  ///< when the step's last instruction of the step before had ended (0 for the first)
  Nanoseconds end;    ///< when its last instruction ended
  double loss = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  double expert_loss = 0;      ///< auxiliary losses of a model with experts, not part of `loss`
  double expert_overflow = 0;  ///< share of its tokens' choices that the experts' capacity refused
  double loss_scale = 0;  ///< 0 where the loss is not scaled
  bool skipped = false;   ///< its gradients were not finite, so that it updated nothing
  double right = -1;  ///< of an evaluation with labels, the share of right answers; −1: not asked for

  [[nodiscard]] Nanoseconds duration() const { return end - start; }
};

/// Peak of one memory space over a run.
struct SpacePeak {
  SpaceId space;
  Bytes bytes;                                          ///< high-water mark of the arena
  std::vector<std::pair<TensorKind, Bytes>> by_category;  ///< live bytes at the moment when most are live
};

/// What an interpreter answers: one event per instruction of each traced step.
struct Trace {
  TraceKind kind = TraceKind::kMeasured;
  std::string plan_digest;
  std::string source;                         ///< "simulated", or the backend and machine that ran it
  std::vector<std::string> calibrated_from;   ///< digests of the plans whose samples fed the prediction
  Nanoseconds marking;  ///< what tracing put between two instructions of a device's queue; not kept in run files
  std::vector<TraceEvent> events;  ///< by step, then instruction id
  std::vector<StepSummary> steps;
  std::vector<SpacePeak> peaks;

  /// Whether a GPU ran it, whose events make a traced step longer than others.
  [[nodiscard]] bool is_of_device() const { return kind == TraceKind::kMeasured && source.starts_with("cuda"); }
};

}  // namespace plimsoll
