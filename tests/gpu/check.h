#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/device.h"
#include "formats/machines/gpu_catalogue.h"
#include "tests/gpu/finding.h"

namespace plimsoll::gpu {

/// The device that is checked, and who hears of findings.
class Bench {
 public:
  using Hear = std::function<void(const Finding&)>;

  Bench(std::shared_ptr<Device> device, GpuEntry board, std::string name, std::string bound, Hear hear)
      : device_(std::move(device)), board_(std::move(board)), name_(std::move(name)), bound_(std::move(bound)), hear_(std::move(hear)) {}

  [[nodiscard]] const std::shared_ptr<Device>& device() const { return device_; }
  [[nodiscard]] const GpuEntry& board() const { return board_; }

  /// One of the check's values; `part` tells it from the others.
  void add(const std::string& part, double value, bool good, std::string note = {},
           std::vector<std::pair<std::string, double>> numbers = {}) {
    const auto now = std::chrono::steady_clock::now();
    hear_({.name = part.empty() ? name_ : name_ + "/" + part,
           .bound = bound_,
           .verdict = good ? Verdict::kPassed : Verdict::kMissed,
           .value = value,
           .note = std::move(note),
           .seconds = std::chrono::duration<double>(now - since_).count(),
           .numbers = std::move(numbers)});
    since_ = now;
  }

  /// What the check needs is not on this computer.
  void skip(const std::string& why) { hear_({.name = name_, .bound = bound_, .note = "skipped: " + why}); }

 private:
  std::shared_ptr<Device> device_;
  GpuEntry board_;
  std::string name_, bound_;
  Hear hear_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

struct Check {
  std::string name;
  std::string bound;
  std::function<void(Bench&)> run;
  double limit = 60;  ///< seconds; a check that takes longer is ended
};

/// Every check, in the order in which they run: what is cheap and tells most comes first.
std::vector<Check> all_checks();

std::vector<Check> value_checks();
std::vector<Check> training_checks();
std::vector<Check> update_checks();
std::vector<Check> link_checks();
std::vector<Check> memory_checks();
std::vector<Check> drive_checks();
std::vector<Check> speed_checks();
std::vector<Check> layer_checks();
std::vector<Check> attention_checks();
std::vector<Check> logit_checks();
std::vector<Check> prediction_checks();

}  // namespace plimsoll::gpu
