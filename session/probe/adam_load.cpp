#include "session/probe/adam_load.h"

#include <chrono>
#include <random>

#include "executor/kernels/loops.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kElements = std::int64_t{7} << 20;  // 28 MiB an array
constexpr std::int64_t kPiece = std::int64_t{1} << 16;
/// Reads weights, gradient and moments, writes weights and moments: 7 numbers of 4 bytes.
constexpr std::int64_t kBytesAnElement = 28;
constexpr std::size_t kDrawn = std::size_t{1} << 16;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

AdamLoad::AdamLoad(std::size_t threads) : states_(threads) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> drawn(kDrawn);
  for (float& value : drawn) value = normal(random);
  for (States& states : states_) {
    for (std::vector<float>* list : {&states.weights, &states.gradient, &states.m, &states.v}) {
      list->resize(static_cast<std::size_t>(kElements));
      for (std::size_t i = 0; i < list->size(); ++i)
        (*list)[i] = list == &states.v ? drawn[i % kDrawn] * drawn[i % kDrawn] : drawn[i % kDrawn];
    }
  }
}

AdamLoad::~AdamLoad() {
  if (running_) stop();
}

void AdamLoad::start() {
  running_ = true;
  bytes_ = 0;
  started_ns_ = now_ns();
  for (States& states : states_) threads_.emplace_back([this, &states] { work(states); });
}

double AdamLoad::stop() {
  running_ = false;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const double seconds = static_cast<double>(now_ns() - started_ns_) * 1e-9;
  return seconds > 0 ? static_cast<double>(bytes_) / seconds : 0;
}

void AdamLoad::work(States& states) {
  const UpdateStep<float> step{
      .beta1 = 0.9f, .beta2 = 0.999f, .step_size = 1e-4f, .inverse_root = 1, .epsilon = 1e-8f, .keep = 0.9999f};
  for (std::int64_t at = 0; running_; at = at + kPiece < kElements ? at + kPiece : 0) {
    float* const weights = states.weights.data() + at;
    float* const m = states.m.data() + at;
    float* const v = states.v.data() + at;
    loops<float>().adamw(kPiece, step, states.gradient.data() + at, weights, m, v, weights, m, v);
    bytes_ += kPiece * kBytesAnElement;
  }
}

}  // namespace plimsoll
