#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll::gui {

/// What an instruction does, as far as its colour tells.
enum class WorkClass : std::uint8_t {
  kForward,
  kBackward,
  kRecompute,  ///< a forward kernel in the backward pass
  kOptimizer,
  kCopyIn,     ///< to the device
  kCopyOut,
  kRead,       ///< from a drive
  kWrite,
  kCollective,
  kLoad,
  kKernel,     ///< a GPU kernel of a trace that does not tell its phase
  kOther,
};
inline constexpr std::size_t kWorkClasses = static_cast<std::size_t>(WorkClass::kOther) + 1;

/// Lightness within a class: kernels of one phase are told apart.
enum class WorkTone : std::uint8_t { kProduct, kAttention, kRest };
inline constexpr std::size_t kWorkTones = 3;

/// Index into a table of colours.
constexpr std::uint8_t paint_index(WorkClass work, WorkTone tone) {
  return static_cast<std::uint8_t>(static_cast<std::size_t>(work) * kWorkTones + static_cast<std::size_t>(tone));
}
inline constexpr std::size_t kPaints = kWorkClasses * kWorkTones;

constexpr WorkClass work_of_paint(std::uint8_t paint) { return static_cast<WorkClass>(paint / kWorkTones); }

WorkClass work_class(const Plan& plan, const Instruction& instruction, bool to_device);
WorkTone work_tone(const Plan& plan, const Instruction& instruction);

}  // namespace plimsoll::gui
