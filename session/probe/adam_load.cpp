#include "session/probe/adam_load.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <random>

#include "executor/cuda/host_twins.h"

namespace plimsoll {
namespace {

/// Weights and moments in fp32, gradient and published weights in bf16.
constexpr std::int64_t kBytesHeld = 16;
/// Reads weights, moments and gradient, writes weights, moments and what is published.
constexpr std::int64_t kBytesMoved = 28;
constexpr std::int64_t kElementsOfThread = std::int64_t{1} << 19;  ///< of an update
constexpr std::int64_t kMostUpdates = 16;
constexpr std::size_t kDrawn = std::size_t{1} << 16;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<float> drawn_numbers() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> drawn(kDrawn);
  for (float& value : drawn) value = normal(random);
  return drawn;
}

}  // namespace

AdamLoad::AdamLoad(std::size_t threads, Bytes most)
    : pool_(static_cast<std::int64_t>(std::max<std::size_t>(1, threads))),
      recipe_{.precision = Precision::kBf16Mixed, .sequence = 1},
      elements_(std::clamp<std::int64_t>(most.count / kBytesHeld, 1, pool_.workers() * kElementsOfThread)),
      updates_(std::clamp<std::int64_t>(most.count / (kBytesHeld * elements_), 1, kMostUpdates)),
      memory_(Bytes(kBytesHeld * elements_ * updates_)) {
  for (std::int64_t update = 0; update < updates_; ++update) fill(operands_.emplace_back(operands_of(update)));
}

std::vector<OperandView> AdamLoad::operands_of(std::int64_t update) const {
  std::vector<OperandView> operands;
  std::byte* at = memory_.data() + kBytesHeld * elements_ * update;
  const auto add = [&](std::int64_t size, Access access) {
    operands.push_back({.data = at, .bytes = Bytes(size * elements_), .access = access});
    at += size * elements_;
  };
  for (int i = 0; i < 3; ++i) add(4, Access::kReadWrite);
  add(2, Access::kRead);
  add(2, Access::kWrite);
  return operands;
}

void AdamLoad::fill(const std::vector<OperandView>& operands) {
  static const std::vector<float> drawn = drawn_numbers();
  pool_.run((elements_ + static_cast<std::int64_t>(kDrawn) - 1) / static_cast<std::int64_t>(kDrawn), [&](std::int64_t piece, std::int64_t) {
    const std::int64_t begin = piece * static_cast<std::int64_t>(kDrawn), end = std::min(elements_, begin + static_cast<std::int64_t>(kDrawn));
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = drawn[static_cast<std::size_t>(i - begin)];
      reinterpret_cast<float*>(operands[0].data)[i] = value;
      reinterpret_cast<float*>(operands[1].data)[i] = value;
      reinterpret_cast<float*>(operands[2].data)[i] = value * value;
      reinterpret_cast<std::uint16_t*>(operands[3].data)[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    }
  });
}

AdamLoad::~AdamLoad() { running_ = false; }

void AdamLoad::start() {
  running_ = true;
  under_way_ = false;
  thread_ = std::jthread([this] { work(); });
  under_way_.wait(false);
}

double AdamLoad::stop() {
  running_ = false;
  if (thread_.joinable()) thread_.join();
  return rate_;
}

void AdamLoad::work() {
  const Kernel kernel{.kind = OpKind::kAdamW, .dtype = DType::kBf16, .shape = {.rows = elements_, .inputs = elements_}};
  const auto update = [&](std::int64_t number) {
    const auto& operands = operands_[static_cast<std::size_t>(number % updates_)];
    [[maybe_unused]] const bool known = launch_as_on_device(kernel, operands, {.pool = &pool_, .recipe = &recipe_, .step = 10});
    assert(known);
  };
  update(0);
  const auto start = std::chrono::steady_clock::now();
  under_way_ = true;
  under_way_.notify_one();
  std::int64_t done = 0;
  do {
    update(++done);
  } while (running_);
  rate_ = static_cast<double>(done * kBytesMoved * elements_) / std::max(1e-9, seconds_since(start));
}

}  // namespace plimsoll
