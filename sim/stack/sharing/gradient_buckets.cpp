#include "sim/stack/sharing/gradient_buckets.h"

#include <algorithm>

#include "sim/stack/optimizer_step.h"

namespace plimsoll {
namespace {

/// Parameters are sent round in pieces of at most so many bytes, two at a time.
constexpr Bytes kBroadcast = 250 * kMiB;

/// What the first rank updates: the largest parameter goes to whom has the least.
std::vector<Parameter*> first_ranks(std::vector<Parameter*> parameters, std::int64_t ranks) {
  std::stable_sort(parameters.begin(), parameters.end(), [](const Parameter* a, const Parameter* b) { return a->value.elements() > b->value.elements(); });
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks), 0);
  std::vector<Parameter*> mine;
  for (Parameter* parameter : parameters) {
    const auto least = std::min_element(loads.begin(), loads.end());
    if (least == loads.begin()) mine.push_back(parameter);
    *least += parameter->value.elements();
  }
  return mine;
}

}  // namespace

GradientBuckets::GradientBuckets(Tape& tape, GradientBucketOptions options) : StateSharing(tape), options_(options) {
  send_parameters_round();
  std::vector<Parameter*> order;
  for (Parameter& parameter : tape.parameters()) {
    if (!parameter.trained) continue;
    order.push_back(&parameter);
    parameter.after_gradient = [this](Parameter& ready) { take(ready); };
  }
  std::reverse(order.begin(), order.end());
  make_buckets(order);
}

void GradientBuckets::send_parameters_round() {
  std::int64_t gathered = 0;
  Tensors flying;
  const auto send = [&] {
    if (gathered == 0) return;
    if (flying.size() == 2) flying.erase(flying.begin());
    flying.push_back(tape_.empty({gathered}, kMaskType, Holding::kWorkspace));
    gathered = 0;
  };
  for (const Parameter& parameter : tape_.parameters()) {
    if (gathered > 0 && gathered + parameter.value.bytes().count > kBroadcast.count) send();
    gathered += parameter.value.bytes().count;
  }
  send();
}

void GradientBuckets::close(Bucket& bucket, std::int64_t elements, DType dtype) {
  bucket.memory = tape_.empty({elements}, dtype, Holding::kGradients);
  buckets_.push_back(std::exchange(bucket, {}));
}

void GradientBuckets::make_buckets(const std::vector<Parameter*>& order) {
  buckets_.clear();
  bucket_of_.clear();
  Bucket bucket;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Tensor& value = order[i]->value;
    bucket_of_[order[i]] = buckets_.size();
    elements += value.elements();
    ++bucket.parameters;
    const Bytes limit = buckets_.empty() ? options_.first : options_.others;
    const bool last = i + 1 == order.size() || order[i + 1]->value.dtype != value.dtype;
    if (!last && Bytes(elements * size_of(value.dtype)) < limit) continue;
    close(bucket, elements, value.dtype);
    elements = 0;
  }
}

void GradientBuckets::begin(bool last_micro_batch) {
  if (!rebuilt_ && !arrivals_.empty()) {
    for (Parameter* parameter : arrivals_) parameter->gradient = {};
    make_buckets(arrivals_);
    rebuilt_ = true;
  }
  arrivals_.clear();
  reduces_ = last_micro_batch;
  for (Bucket& bucket : buckets_) bucket.ready = 0;
}

void GradientBuckets::take(Parameter& parameter) {
  if (!reduces_ || std::find(arrivals_.begin(), arrivals_.end(), &parameter) != arrivals_.end()) return;
  arrivals_.push_back(&parameter);
  Bucket& bucket = buckets_[bucket_of_.at(&parameter)];
  tape_.stream(2 * traffic(parameter.gradient), parameter.gradient.dtype);
  if (options_.gradients_are_views) {
    parameter.gradient.storage = bucket.memory.storage;
  }
  if (++bucket.ready == bucket.parameters) collective(traffic(bucket.memory), options_.ranks, bucket.memory.dtype, 2);
}

void GradientBuckets::update(const Recipe& recipe, OptimizerLoop loop) {
  auto trained = with_gradients(tape_.parameters());
  if (!options_.shares_states) {
    step(trained, recipe, loop);
  } else {
    double bytes = 0;
    for (const Parameter* parameter : trained) bytes += traffic(parameter->value);
    step(first_ranks(std::move(trained), options_.ranks), recipe, loop);
    collective(bytes, options_.ranks, DType::kFp32);
  }
  for (Parameter& parameter : tape_.parameters()) parameter.gradient = {};
}

}  // namespace plimsoll
