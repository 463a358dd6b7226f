#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/runs/run_file.h"
#include "sim/memory/ledger.h"

namespace plimsoll::gui {

/// The categories of a memory curve, from the bottom of the stack to its top.
enum class CurvePart : std::uint8_t { kParameters, kOptimizer, kGradients, kActivations, kActivationGradients, kWorkspace };
inline constexpr std::size_t kCurveParts = 6;

CurvePart curve_part(TensorKind kind);
/// "parameters": the name by which themes know its colour.
const char* name_of(CurvePart part);

/// What is live from `time` until the next point.
struct CurvePoint {
  std::int64_t time = 0;
  std::array<std::int64_t, kCurveParts> bytes{};

  [[nodiscard]] std::int64_t total() const;
};

/// A buffer that lives when most is live.
struct LivingBuffer {
  std::string name;
  TensorKind category = TensorKind::kActivation;
  std::int64_t bytes = 0;
};

/// Live bytes of one memory space over time, under a forest of maxima: the highest point of any stretch is found in
/// O(log n), so that no peak is lost at any zoom.
class MemoryCurve {
 public:
  MemoryCurve() = default;
  MemoryCurve(std::string space, std::int64_t packed, std::int64_t usable, std::vector<CurvePoint> points);

  [[nodiscard]] const std::string& space() const { return space_; }
  [[nodiscard]] std::int64_t packed() const { return packed_; }  ///< the arena's height
  [[nodiscard]] std::int64_t usable() const { return usable_; }
  [[nodiscard]] const std::vector<CurvePoint>& points() const { return points_; }
  /// Index of the first point at which most is live; of an empty curve 0.
  [[nodiscard]] std::size_t peak() const { return peak_; }
  /// Whether anything of that category is ever live.
  [[nodiscard]] bool has(CurvePart part) const { return parts_[static_cast<std::size_t>(part)]; }
  /// The highest point that holds some time of [begin, end); no points or all later: npos.
  [[nodiscard]] std::size_t highest(double begin, double end) const;

  std::vector<LivingBuffer> at_peak;  ///< largest first

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

 private:
  static constexpr std::size_t kFanOut = 16;
  [[nodiscard]] std::size_t higher(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::size_t highest_of(std::size_t first, std::size_t last) const;
  void build_levels();

  std::string space_;
  std::int64_t packed_ = 0;
  std::int64_t usable_ = 0;
  std::vector<CurvePoint> points_;
  std::vector<std::vector<std::uint32_t>> levels_;  ///< index of the highest of kFanOut below; whole ones only
  std::size_t peak_ = 0;
  std::array<bool, kCurveParts> parts_{};
};

/// The curves of the spaces in which anything lies.
std::vector<MemoryCurve> memory_curves(const Plan& plan, const MemoryLedger& ledger);

/// The curves of the plan's spaces as a run file recorded them: of a program that allocates while it runs, with what it has had since
/// before the step. What lies there at the peak is not known by name.
std::vector<MemoryCurve> recorded_curves(const Plan& plan, const std::vector<MemorySample>& samples);

}  // namespace plimsoll::gui
