#include "sim/stack/sharing/partitioned_units.h"

#include <algorithm>

#include "sim/stack/optimizer_step.h"
#include "sim/stack/sequence_ranks.h"

namespace plimsoll {
namespace {

// DeepSpeed's defaults, in elements (runtime/zero/config): param_persistence_threshold, max_reuse_distance, sub_group_size.
constexpr std::int64_t kStays = 100'000;
constexpr std::int64_t kReuseDistance = 1'000'000'000;
constexpr std::int64_t kGroup = 1'000'000'000;
/// Buffers of states that wait on a drive (buffer_count × buffer_size of the optimizer's swapper).
constexpr std::int64_t kSwapBuffers = 4;
constexpr std::int64_t kSwapBuffer = 100'000'000;

}  // namespace

PartitionedUnits::PartitionedUnits(Tape& tape, const Recipe& recipe, const StackSetup& setup)
    : StateSharing(tape), ranks_(zero_ranks(setup)), parameter_home_(setup.parameters), state_home_(setup.optimizer),
      bucket_elements_(setup.reduce_bucket) {
  units_.emplace_back();
  for (Parameter& parameter : tape.parameters()) add(parameter);
  for (std::size_t i = 1; i < units_.size(); ++i) units_[i].before = units_[i - 1].before + units_[i - 1].elements;
  make_partitions(recipe, setup);
  tape.on_move([this](const std::string& place) { move(place); });
}

void PartitionedUnits::add(Parameter& parameter) {
  bytes_ += parameter.value.bytes().count;
  if (parameter.trained) {
    trained_ += parameter.value.elements();
    type_ = parameter.value.dtype;
    parameter.after_gradient = [this](Parameter& ready) { take(ready); };
  }
  if (parameter.value.elements() < kStays) {
    parameter.value.storage->return_to_device();
    return;
  }
  const std::string name = block_of(parameter.name);
  std::size_t index = 0;
  if (!name.empty()) {
    const auto [known, fresh] = unit_at_.emplace(name, units_.size());
    if (fresh) units_.emplace_back();
    index = known->second;
  }
  units_[index].parameters.push_back(&parameter);
  units_[index].elements += parameter.value.elements();
  units_[index].bytes += parameter.value.bytes().count;
}

void PartitionedUnits::make_partitions(const Recipe& recipe, const StackSetup& setup) {
  if (parameter_home_ == Home::kDevice) parameter_part_ = tape_.empty({part(bytes_)}, kMaskType, Holding::kParameters);
  bucket_ = tape_.empty({bucket_elements_}, type_, Holding::kGradients);
  std::int64_t left = part(trained_);
  for (; left > 0; left -= kGroup) {
    Parameter& group = groups_.emplace_back();
    group.value = {.storage = nullptr, .shape = {std::min(left, kGroup)}, .dtype = DType::kFp32};
    group.hidden_matrices = hidden_share(group.value.elements(), tape_.parameters());
    states_ += group.value.bytes() + state_bytes(group, recipe.optimizer);
    if (state_home_ != Home::kDevice) continue;
    group.value = tape_.empty(group.value.shape, DType::kFp32, Holding::kOptimizer);
    group.gradient = tape_.empty(group.value.shape, DType::kFp32, Holding::kGradients);
    optimizer_step(tape_, {&group}, recipe, setup.loop);
    group.gradient = {};
  }
  if (state_home_ == Home::kDevice) gradient_part_ = tape_.empty({part(trained_)}, type_, Holding::kGradients);
}

bool PartitionedUnits::needed_soon(const Unit& unit) const {
  // Backward comes back over all that lies between this unit and the end of forward.
  const std::int64_t behind = units_.back().before + units_.back().elements - unit.before - unit.elements;
  return 2 * behind < kReuseDistance;
}

void PartitionedUnits::move(const std::string& place) {
  if (tape_.phase() == Phase::kOptimizer) return;
  const auto found = unit_at_.find(place);
  Unit& unit = units_[found == unit_at_.end() ? 0 : found->second];
  if (current_ == &unit) return;
  const bool backward = tape_.phase() == Phase::kBackward;
  if (current_ != nullptr && current_ != &units_.front() && (backward || !needed_soon(*current_))) release(*current_);
  current_ = &unit;
  gather(unit);
  // The next one is fetched while this one computes.
  const std::size_t index = found == unit_at_.end() ? 0 : found->second;
  if (index == 0) return;
  if (backward && index > 1) gather(units_[index - 1]);
  if (!backward && index + 1 < units_.size()) gather(units_[index + 1]);
}

void PartitionedUnits::gather(Unit& unit) {
  if (unit.gathered || unit.parameters.empty()) return;
  unit.gathered = true;
  const double bytes = static_cast<double>(unit.bytes);
  if (parameter_home_ != Home::kDevice) {
    const double own = bytes / static_cast<double>(ranks_);
    if (parameter_home_ == Home::kDrive) tape_.launch({.sort = StackKernelSort::kFromDrive, .dtype = type_, .bytes = own});
    tape_.launch({.sort = StackKernelSort::kToDevice, .dtype = type_, .bytes = own});
  }
  for (Parameter* parameter : unit.parameters) parameter->value.storage->return_to_device();
  collective(bytes, ranks_, type_);
}

void PartitionedUnits::release(Unit& unit) {
  unit.gathered = false;
  for (Parameter* parameter : unit.parameters) parameter->value.storage->leave();
}

void PartitionedUnits::take(Parameter& parameter) {
  const std::int64_t elements = parameter.value.elements();
  if (bucket_filled_ > 0 && bucket_filled_ + elements > bucket_elements_) reduce_bucket();
  in_bucket_.push_back(&parameter);
  bucket_filled_ += elements;
  if (elements > bucket_elements_) return;
  tape_.stream(2 * traffic(parameter.gradient), type_);
  parameter.gradient.storage = bucket_.storage;
}

void PartitionedUnits::reduce_bucket() {
  if (in_bucket_.empty()) return;
  const double bytes = static_cast<double>(bucket_filled_ * size_of(type_));
  const Tensor own = tape_.empty({part(bucket_filled_)}, type_, Holding::kGradients, 2);
  collective(bytes, ranks_, type_);
  if (state_home_ != Home::kDevice) {
    const double own = bytes / static_cast<double>(ranks_);
    tape_.launch({.sort = StackKernelSort::kToHost, .dtype = type_, .bytes = own});
    // Gradients wait on the drive in fp32.
    if (state_home_ == Home::kDrive) tape_.launch({.sort = StackKernelSort::kToDrive, .dtype = type_, .bytes = own * 4 / static_cast<double>(size_of(type_))});
  }
  for (Parameter* parameter : in_bucket_) parameter->gradient = {};
  in_bucket_.clear();
  bucket_filled_ = 0;
}

void PartitionedUnits::end() {
  reduce_bucket();
  for (Unit& unit : units_) release(unit);
  current_ = nullptr;
}

void PartitionedUnits::update(const Recipe& recipe, OptimizerLoop loop) {
  const double bytes = static_cast<double>(part(trained_) * size_of(type_));
  if (state_home_ != Home::kDevice) {
    for (const Parameter& group : groups_) update_in_host_memory(recipe, group, type_, state_home_);
    if (parameter_home_ == Home::kDrive) tape_.launch({.sort = StackKernelSort::kToDrive, .dtype = type_, .bytes = bytes});
    if (parameter_home_ == Home::kDevice) tape_.launch({.sort = StackKernelSort::kToDevice, .dtype = type_, .bytes = bytes});
    return;
  }
  for (Parameter& group : groups_) {
    group.gradient = tape_.empty(group.value.shape, DType::kFp32, Holding::kGradients);
    step({&group}, recipe, loop);
    group.gradient = {};
  }
  tape_.stream(3 * bytes);
}

Bytes PartitionedUnits::host() const {
  const std::int64_t half = size_of(type_);
  Bytes bytes;
  if (state_home_ == Home::kHost)
    bytes += states_ + Bytes((4 + half) * part(trained_));  // gradients in fp32 and as they came
  if (state_home_ == Home::kDrive) bytes += Bytes(half * part(trained_) + 4 * kSwapBuffers * kSwapBuffer);
  if (parameter_home_ == Home::kHost) bytes += Bytes(part(bytes_));
  if (parameter_home_ == Home::kDrive) bytes += Bytes(half * kSwapBuffers * kSwapBuffer);
  return bytes;
}

Bytes PartitionedUnits::drive() const {
  Bytes bytes;
  if (state_home_ == Home::kDrive) bytes += states_;
  if (parameter_home_ == Home::kDrive) bytes += Bytes(part(bytes_));
  return bytes;
}

}  // namespace plimsoll
