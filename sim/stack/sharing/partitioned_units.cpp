#include "sim/stack/sharing/partitioned_units.h"

#include <algorithm>

#include "sim/stack/optimizer_step.h"
#include "sim/stack/sequence_ranks.h"

namespace plimsoll {
namespace {

// DeepSpeed's defaults, in elements (runtime/zero/config): param_persistence_threshold, max_reuse_distance, max_live_parameters,
// sub_group_size.
constexpr std::int64_t kStays = 100'000;
constexpr std::int64_t kReuseDistance = 1'000'000'000;
constexpr std::int64_t kMostThere = 1'000'000'000;
constexpr std::int64_t kGroup = 1'000'000'000;
constexpr std::size_t kBefore = 0, kBehind = 1;  // units at the model's ends
/// Buffers of states that wait on a drive (buffer_count × buffer_size of the optimizer's swapper).
constexpr std::int64_t kSwapBuffers = 4;
constexpr std::int64_t kSwapBuffer = 100'000'000;

}  // namespace

PartitionedUnits::PartitionedUnits(Tape& tape, const Recipe& recipe, const StackSetup& setup)
    : StateSharing(tape), ranks_(zero_ranks(setup)), parameter_home_(setup.parameters), state_home_(setup.optimizer),
      bucket_elements_(setup.reduce_bucket) {
  units_.resize(2);
  for (Parameter& parameter : tape.parameters()) add(parameter);
  trace_units(units_[kBehind].pieces.empty());
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
  std::size_t index = unit_at_.empty() ? kBefore : kBehind;
  if (!name.empty()) {
    const auto [known, fresh] = unit_at_.emplace(name, units_.size());
    if (fresh) units_.emplace_back();
    index = known->second;
  }
  units_[index].pieces.push_back({.parameter = &parameter});
  units_[index].elements += parameter.value.elements();
}

/// Forward, then backward. A head that is the embedding's table is fetched with it.
void PartitionedUnits::trace_units(bool tied) {
  trace_.push_back(kBefore);
  for (std::size_t i = kBehind + 1; i < units_.size(); ++i) trace_.push_back(i);
  trace_.push_back(tied ? kBefore : kBehind);
  const std::vector<std::size_t> forward = trace_;
  trace_.insert(trace_.end(), forward.rbegin(), forward.rend());
}

std::size_t PartitionedUnits::unit_at(const std::string& place) const {
  const auto found = unit_at_.find(place);
  if (found != unit_at_.end()) return found->second;
  return place == "embedding" ? kBefore : trace_[trace_.size() / 2];
}

std::size_t PartitionedUnits::next_visit(std::size_t unit) const {
  const bool backward = tape_.phase() == Phase::kBackward;
  const std::size_t half = trace_.size() / 2, end = backward ? trace_.size() : half;
  const auto found = [&](std::size_t from) {
    while (from < end && trace_[from] != unit) ++from;
    return from;
  };
  const std::size_t next = found(backward ? std::max(half, here_) : was_backward_ ? 0 : here_);
  return next < end ? next : std::min(found(backward ? half : 0), end - 1);  // a model that runs twice begins anew
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

/// Whether the unit that is left here comes back within so many elements.
bool PartitionedUnits::needed_soon() const {
  std::int64_t passed = 0;
  for (std::size_t at = here_ + 1; at < trace_.size() && passed < kReuseDistance; ++at) {
    if (trace_[at] == trace_[here_]) return true;
    passed += units_[trace_[at]].elements;
  }
  return false;
}

void PartitionedUnits::move(const std::string& place) {
  if (tape_.phase() == Phase::kOptimizer) return;
  const bool backward = tape_.phase() == Phase::kBackward;
  const std::size_t unit = unit_at(place), visit = next_visit(unit);
  const bool stays = began_ && visit == here_ && was_backward_ == backward;
  if (stays) return;
  if (began_ && !needed_soon()) release(units_[trace_[here_]]);
  if (!began_ || visit < here_) forget_fetches();
  began_ = true;
  here_ = visit;
  was_backward_ = backward;
  gather(units_[unit]);
  fetch_ahead();
}

void PartitionedUnits::forget_fetches() {
  ahead_ = {};
  for (Unit& unit : units_) {
    for (Piece& piece : unit.pieces) piece.wanted_at = 0;
  }
}

void PartitionedUnits::gather(Unit& unit) {
  std::int64_t bytes = 0;
  for (Piece& piece : unit.pieces) {
    bytes += fetch(piece);
    piece.wanted_at = std::max(piece.wanted_at, here_);
  }
  send(bytes);
}

/// What is there already is passed over, and kept for the visit that the fetcher has come to.
void PartitionedUnits::fetch_ahead() {
  if (ahead_.at <= here_) ahead_ = {.at = here_ + 1};
  for (; ahead_.at < trace_.size(); ahead_ = {.at = ahead_.at + 1}) {
    Unit& unit = units_[trace_[ahead_.at]];
    std::int64_t bytes = 0;
    for (; ahead_.pieces < unit.pieces.size(); ++ahead_.pieces) {
      Piece& piece = unit.pieces[ahead_.pieces];
      if (!piece.there && there_ >= kMostThere) return send(bytes);
      bytes += fetch(piece);
      piece.wanted_at = ahead_.at;
    }
    send(bytes);
  }
}

std::int64_t PartitionedUnits::fetch(Piece& piece) {
  if (piece.there) return 0;
  piece.there = true;
  there_ += piece.parameter->value.elements();
  piece.parameter->value.storage->return_to_device();
  return piece.parameter->value.bytes().count;
}

/// What is fetched together is one collective.
void PartitionedUnits::send(std::int64_t fetched) {
  if (fetched == 0) return;
  const auto bytes = static_cast<double>(fetched);
  if (parameter_home_ != Home::kDevice) {
    const double own = bytes / static_cast<double>(ranks_);
    if (parameter_home_ == Home::kDrive) tape_.launch({.sort = StackKernelSort::kFromDrive, .dtype = type_, .bytes = own});
    tape_.launch({.sort = StackKernelSort::kToDevice, .dtype = type_, .bytes = own});
  }
  collective(bytes, ranks_, type_);
}

void PartitionedUnits::let_go(Piece& piece) {
  if (!piece.there) return;
  piece.there = false;
  there_ -= piece.parameter->value.elements();
  piece.parameter->value.storage->leave();
}

void PartitionedUnits::release(Unit& unit) {
  for (Piece& piece : unit.pieces) {
    if (piece.wanted_at <= here_) let_go(piece);
  }
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
  for (Unit& unit : units_) {
    for (Piece& piece : unit.pieces) let_go(piece);
  }
  began_ = false;
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
