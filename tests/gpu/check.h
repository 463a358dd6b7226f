#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/device.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll::gpu {

enum class Verdict { kPassed, kMissed, kBroken, kSkipped };

/// What one check came to.
struct Finding {
  std::string name;
  std::string bound;
  Verdict verdict = Verdict::kSkipped;
  double value = 0;
  std::string note;
  double seconds = 0;
};

/// The device that is checked, and where findings go.
class Bench {
 public:
  Bench(std::shared_ptr<Device> device, GpuEntry board, std::string name, std::string bound, std::vector<Finding>& findings)
      : device_(std::move(device)), board_(std::move(board)), name_(std::move(name)), bound_(std::move(bound)), findings_(findings) {}

  [[nodiscard]] const std::shared_ptr<Device>& device() const { return device_; }
  [[nodiscard]] const GpuEntry& board() const { return board_; }

  /// One of the check's values; `part` tells it from the others.
  void add(const std::string& part, double value, bool good, std::string note = {}) {
    const auto now = std::chrono::steady_clock::now();
    findings_.push_back({.name = part.empty() ? name_ : name_ + "/" + part,
                         .bound = bound_,
                         .verdict = good ? Verdict::kPassed : Verdict::kMissed,
                         .value = value,
                         .note = std::move(note),
                         .seconds = std::chrono::duration<double>(now - since_).count()});
    since_ = now;
  }

  /// What the check needs is not on this computer.
  void skip(const std::string& why) {
    findings_.push_back({.name = name_, .bound = bound_, .note = "skipped: " + why});
  }

 private:
  std::shared_ptr<Device> device_;
  GpuEntry board_;
  std::string name_, bound_;
  std::vector<Finding>& findings_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

struct Check {
  std::string name;
  std::string bound;
  std::function<void(Bench&)> run;
};

/// Every check, in the order in which they run: what is cheap and tells most comes first.
std::vector<Check> all_checks();

std::vector<Check> value_checks();
std::vector<Check> training_checks();
std::vector<Check> link_checks();
std::vector<Check> memory_checks();
std::vector<Check> speed_checks();
std::vector<Check> attention_checks();
std::vector<Check> prediction_checks();

}  // namespace plimsoll::gpu
