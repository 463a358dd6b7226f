#include "sim/stack/sharing/unit_sharding.h"

#include <algorithm>

#include "sim/stack/optimizer_step.h"

namespace plimsoll {
namespace {

constexpr std::uint8_t kGatherStream = 1;
constexpr std::uint8_t kReduceStream = 2;

}  // namespace

UnitSharding::UnitSharding(Tape& tape, UnitShardingOptions options) : StateSharing(tape), options_(options) {
  units_.emplace_back();
  // A head that is the embedding's table leaves one unit for both.
  const auto is_head = [](const Parameter& parameter) { return parameter.name == "output.weight"; };
  options_.separate_ends = options_.separate_ends && std::any_of(tape.parameters().begin(), tape.parameters().end(), is_head);
  for (Parameter& parameter : tape.parameters()) add(parameter);
  for (Unit& unit : units_) make_shards(unit);
  tape.on_move([this](const std::string& place) { move(place); });
}

std::string UnitSharding::unit_of(const std::string& parameter) const {
  const std::string block = block_of(parameter);
  if (!block.empty() || !options_.separate_ends) return block;
  return parameter.starts_with("final norm") || parameter.starts_with("output") ? "head" : "embedding";
}

void UnitSharding::add(Parameter& parameter) {
  const std::string name = unit_of(parameter.name);
  std::size_t index = 0;
  if (!name.empty()) {
    const auto [known, fresh] = unit_at_.emplace(name, units_.size());
    if (fresh) units_.emplace_back();
    index = known->second;
  }
  Unit& unit = units_[index];
  unit.parameters.push_back(&parameter);
  unit.bytes += parameter.value.bytes().count;
  if (parameter.trained) unit.trained += parameter.value.elements();
}

void UnitSharding::make_shards(Unit& unit) {
  const auto shard = [&](std::int64_t elements, DType dtype, bool trained, std::int64_t hidden) {
    Parameter& made = shards_.emplace_back();
    made.value = options_.offloads ? Tensor{.storage = nullptr, .shape = {share(elements)}, .dtype = dtype}
                                   : tape_.empty({share(elements)}, dtype, Holding::kParameters);
    made.trained = trained;
    made.hidden_matrices = share(hidden);
    shards_of_[&unit].push_back(&made);
  };
  std::map<DType, std::int64_t> trained;
  std::int64_t hidden = 0;
  std::map<DType, std::int64_t> frozen;
  for (const Parameter* parameter : unit.parameters) {
    const DType own = parameter->value.dtype;
    if (parameter->trained) hidden += parameter->hidden_matrices;
    const DType type = parameter->trained ? options_.state_type.value_or(own) : own;
    if (options_.flat) {
      (parameter->trained ? trained : frozen)[type] += parameter->value.elements();
    } else {
      shard(parameter->value.elements(), type, parameter->trained, parameter->hidden_matrices);
    }
  }
  for (const auto& [type, elements] : trained) shard(elements, type, true, hidden);
  for (const auto& [type, elements] : frozen) shard(elements, type, false, 0);
  if (!options_.flat) return;
  unit.flat = tape_.log().make_absent(Bytes(unit.bytes), Holding::kParameters, kGatherStream);
  for (Parameter* parameter : unit.parameters) parameter->value.storage = unit.flat;
}

void UnitSharding::move(const std::string& place) {
  if (tape_.phase() == Phase::kOptimizer) return;
  const auto found = unit_at_.find(place);
  if (found == unit_at_.end() && options_.separate_ends) return;  // the loss, between two visits of the head
  Unit& unit = units_[found == unit_at_.end() ? 0 : found->second];
  if (current_ == &unit) return;
  const bool backward = tape_.phase() == Phase::kBackward;
  if (current_ != nullptr && is_block(*current_)) {
    if (backward) leave(*current_);
    // The last block comes first in backward: nothing would be won.
    const bool last = !options_.flat && current_ == &units_.back();
    if (!backward && !options_.keeps_after_forward && !last) release(*current_);
  }
  current_ = &unit;
  gather(unit);
  const bool ahead = backward && !options_.adapters_apart;
  if (ahead && is_block(unit) && found->second > 1) request(units_[found->second - 1]);
}

/// All-gathers on its own stream: into the flat parameter, or a buffer.
void UnitSharding::request(Unit& unit) {
  if (unit.gathered || unit.arriving) return;
  if (retired_ == &unit) retired_ = nullptr;
  if (options_.flat) unit.flat->rename(Holding::kParameters);
  const bool copies = options_.state_type || options_.offloads;
  const bool waited_for = options_.adapters_apart && is_block(unit);
  if (options_.offloads) {
    tape_.launch({.sort = StackKernelSort::kToDevice, .dtype = DType::kBf16, .blocking = waited_for, .bytes = static_cast<double>(unit.bytes / options_.ranks)});
  }
  const Tensor own = copies ? tape_.empty({unit.bytes / options_.ranks}, kMaskType, Holding::kWorkspace, kGatherStream) : Tensor{};
  if (options_.flat) {
    unit.flat->return_to_device();
    unit.gathered = true;
  } else {
    unit.arriving = tape_.empty({unit.bytes}, kMaskType, Holding::kWorkspace, kGatherStream);
  }
  collective(static_cast<double>(unit.bytes), options_.ranks, DType::kBf16, 1, waited_for);
}

void UnitSharding::gather(Unit& unit) {
  if (unit.gathered) return;
  request(unit);
  if (options_.flat) return;
  last_arrived_ = {};
  for (Parameter* parameter : unit.parameters) parameter->value.storage->return_to_device();
  tape_.stream(2 * static_cast<double>(unit.bytes), DType::kBf16);
  unit.gathered = true;
  Tensor arrived = std::exchange(unit.arriving, {});
  if (tape_.phase() == Phase::kForward) last_arrived_ = std::move(arrived);
}

void UnitSharding::release(Unit& unit) {
  if (!unit.gathered) return;
  unit.gathered = false;
  if (!options_.flat) {
    for (Parameter* parameter : unit.parameters) parameter->value.storage->leave();
    return;
  }
  // At most two units are under way: the memory of the one before this is free by now.
  if (retired_ != nullptr && retired_ != &unit) retired_->flat->leave();
  retired_ = &unit;
  // Published peaks of frozen blocks (PyTorch 2.2) have two of them allocated while one is computed again.
  if (!options_.adapters_apart) unit.flat->rename(Holding::kAwaited);
}

void UnitSharding::leave(Unit& unit) {
  const bool goes = !stays_gathered();
  if (goes && !options_.flat) release(unit);  // FSDP2 lets go before it joins gradients, FullyShardedDataParallel behind that
  reduce(unit);
  if (goes) release(unit);
}

void UnitSharding::reduce(Unit& unit) {
  bool any = false;
  for (const Parameter* parameter : unit.parameters) any = any || parameter->gradient;
  if (!any) return;
  if (options_.flat) {
    reduce_flat(unit);
  } else {
    reduce_each(unit);
  }
}

Tensor UnitSharding::join_gradients(Unit& unit, DType type, Holding holding, double passes) {
  Tensor joined = tape_.empty({unit.trained}, type, holding);
  tape_.stream(passes * traffic(joined), type);
  for (Parameter* parameter : unit.parameters) parameter->gradient = {};
  return joined;
}

void UnitSharding::keep_whole(Unit& unit, Tensor joined) {
  if (unit.whole) tape_.stream(3 * traffic(joined), joined.dtype);
  if (!unit.whole) unit.whole = std::move(joined);
}

void UnitSharding::reduce_flat(Unit& unit) {
  const DType type = unit.parameters.front()->value.dtype;
  Tensor whole = join_gradients(unit, type, Holding::kGradients, 2);
  if (!stays_gathered()) release(unit);
  if (options_.whole_gradients) {
    keep_whole(unit, std::move(whole));
    if (!reduces_) return;
    whole = std::exchange(unit.whole, {});
  }
  last_reduced_ = std::move(whole);
  collective(traffic(last_reduced_), options_.ranks, type);
  last_reduced_.storage->rename(Holding::kAwaited);
  const Tensor part = tape_.empty({share(unit.trained)}, type, Holding::kGradients, kReduceStream);
  hand_out(unit, part);
}

/// A rank's part of the sum becomes the shards' gradients: as it is, cast, or copied to host memory.
void UnitSharding::hand_out(Unit& unit, const Tensor& part) {
  if (options_.offloads) {
    tape_.launch({.sort = StackKernelSort::kToHost, .dtype = part.dtype, .bytes = traffic(part)});
    const DType kept = options_.state_type.value_or(part.dtype);
    if (options_.flat) sent_.push_back(kept == part.dtype ? part : tape_.empty(part.shape, kept, Holding::kGradients, kReduceStream));
    return;
  }
  for (Parameter* shard : shards_of_[&unit]) {
    if (!shard->trained || shard->gradient) continue;
    const bool same = shard->value.dtype == part.dtype;
    shard->gradient = shard->value;
    shard->gradient.storage = same ? part.storage : tape_.empty(shard->value.shape, shard->value.dtype, Holding::kGradients, kReduceStream).storage;
  }
}

void UnitSharding::reduce_each(Unit& unit) {
  last_reduced_ = {};
  const DType type = options_.reduces_in_fp32 ? DType::kFp32 : unit.parameters.front()->value.dtype;
  if (options_.whole_gradients) {
    keep_whole(unit, join_gradients(unit, type, Holding::kGradients, 1.5));
    if (!reduces_) return;
  }
  Tensor input = join_gradients(unit, type, Holding::kWorkspace, 1.5);
  unit.whole = {};
  last_reduced_ = std::move(input);
  collective(traffic(last_reduced_), options_.ranks, type);
  const Tensor part = tape_.empty({share(unit.trained)}, type, Holding::kGradients, kReduceStream);
  hand_out(unit, part);
}

void UnitSharding::begin(bool last_micro_batch) {
  reduces_ = last_micro_batch || !options_.whole_gradients;
  current_ = nullptr;
}

/// The model's own unit asks for the last block before anything goes back.
void UnitSharding::begin_backward() {
  const bool blocks = units_.size() > 1;
  if (options_.flat && blocks) request(units_.back());
}

void UnitSharding::end() {
  if (current_ != nullptr && is_block(*current_)) leave(*current_);
  leave(units_.front());
  // What was kept through forward, and what waited for the last kernels.
  if (!stays_gathered()) {
    for (Unit& unit : units_) release(unit);
  }
  if (retired_ != nullptr) retired_->flat->leave();
  retired_ = nullptr;
  last_reduced_ = {};
  last_arrived_ = {};
  sent_.clear();
  current_ = nullptr;
}

Bytes UnitSharding::host() const {
  if (!options_.offloads) return {};
  Bytes bytes;
  for (const Parameter& shard : shards_) {
    bytes += shard.value.bytes();
    if (shard.trained) bytes += shard.value.bytes() + state_bytes(shard, options_.optimizer);
  }
  return bytes;
}

void UnitSharding::update(const Recipe& recipe, OptimizerLoop loop) {
  if (options_.offloads) return update_on_host(recipe, loop);
  step(with_gradients(shards_), recipe, loop);
  for (Parameter& shard : shards_) shard.gradient = {};
}

void UnitSharding::update_on_host(const Recipe& recipe, OptimizerLoop loop) {
  double gradients = 0, updated = 0;
  for (const Parameter& shard : shards_) {
    if (!shard.trained) continue;
    const auto value = static_cast<double>(shard.value.bytes().count);
    gradients += value;
    updated += 3 * value + 2 * static_cast<double>(state_bytes(shard, options_.optimizer).count);
  }
  if (updated == 0) return;
  // The norm reads gradients, clipping reads and writes them.
  if (recipe.clip > 0) tape_.launch({.sort = StackKernelSort::kHostPass, .dtype = DType::kFp32, .bytes = 3 * gradients});
  tape_.launch({.sort = StackKernelSort::kHostUpdate, .dtype = DType::kFp32, .bytes = update_passes(loop) * updated});
}

}  // namespace plimsoll
