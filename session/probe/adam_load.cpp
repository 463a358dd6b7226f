#include "session/probe/adam_load.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "executor/kernels/loops.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{7} << 20;  // 28 MiB an array
constexpr std::size_t kArrays = 4;
constexpr std::int64_t kPiece = std::int64_t{1} << 16;
/// Reads weights, gradient and moments, writes weights and moments: 7 numbers of 4 bytes.
constexpr std::int64_t kBytesAnElement = 28;
constexpr std::size_t kDrawn = std::size_t{1} << 16;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of each array of a thread: whole pieces, at least one.
std::int64_t elements_of(std::size_t threads, Bytes most) {
  const std::int64_t pieces = most.count / static_cast<std::int64_t>(threads * kArrays * sizeof(float)) / kPiece;
  return std::clamp(pieces * kPiece, kPiece, kMostElements);
}

}  // namespace

AdamLoad::AdamLoad(std::size_t threads, Bytes most)
    : count_(std::max<std::size_t>(1, threads)),
      elements_(elements_of(count_, most)),
      memory_(Bytes(static_cast<std::int64_t>(count_ * kArrays * sizeof(float)) * elements_)) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> drawn(kDrawn);
  for (float& value : drawn) value = normal(random);
  std::vector<std::jthread> fillers;
  for (std::size_t i = 0; i < count_; ++i) fillers.emplace_back([this, i, &drawn] { fill(states_of(i), drawn); });
}

AdamLoad::States AdamLoad::states_of(std::size_t thread) const {
  float* const first = reinterpret_cast<float*>(memory_.data()) + static_cast<std::int64_t>(thread * kArrays) * elements_;
  return {first, first + elements_, first + 2 * elements_, first + 3 * elements_};
}

void AdamLoad::fill(const States& states, const std::vector<float>& drawn) const {
  for (float* const list : {states.weights, states.gradient, states.m, states.v}) {
    for (std::int64_t i = 0; i < elements_; ++i) {
      const float value = drawn[static_cast<std::size_t>(i) % kDrawn];
      list[i] = list == states.v ? value * value : value;
    }
  }
}

AdamLoad::~AdamLoad() { running_ = false; }

void AdamLoad::start() {
  running_ = true;
  bytes_ = 0;
  for (std::size_t i = 0; i < count_; ++i) threads_.emplace_back([this, i] { work(states_of(i)); });
  const auto all_began = static_cast<std::int64_t>(count_) * kPiece * kBytesAnElement;
  while (bytes_ < all_began) std::this_thread::yield();
  bytes_ = 0;
  started_ns_ = now_ns();
}

double AdamLoad::stop() {
  running_ = false;
  threads_.clear();
  const double seconds = static_cast<double>(now_ns() - started_ns_) * 1e-9;
  return seconds > 0 ? static_cast<double>(bytes_) / seconds : 0;
}

void AdamLoad::work(const States& states) {
  const UpdateStep<float> step{
      .beta1 = 0.9f, .beta2 = 0.999f, .step_size = 1e-4f, .inverse_root = 1, .epsilon = 1e-8f, .keep = 0.9999f};
  for (std::int64_t at = 0; running_; at = at + kPiece < elements_ ? at + kPiece : 0) {
    float *const weights = states.weights + at, *const m = states.m + at, *const v = states.v + at;
    loops<float>().adamw(kPiece, step, states.gradient + at, weights, m, v, weights, m, v);
    bytes_ += kPiece * kBytesAnElement;
  }
}

}  // namespace plimsoll
