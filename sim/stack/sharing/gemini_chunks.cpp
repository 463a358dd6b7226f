#include "sim/stack/sharing/gemini_chunks.h"

#include "sim/stack/optimizer_step.h"

namespace plimsoll {
namespace {

/// Of the room that weights leave, what PatrickStar gives to states (margin_use_ratio).
constexpr double kMarginUse = 0.8;
constexpr std::int64_t kSingle = 4;  ///< bytes of an fp32 element

}  // namespace

GeminiChunks::GeminiChunks(Tape& tape, const Recipe& recipe, const StackSetup& setup)
    : StateSharing(tape),
      optimizer_(recipe.optimizer),
      manager_(setup.manager),
      warm_up_room_(setup.warm_up_room),
      ranks_(setup.data_ranks),
      parameter_home_(setup.parameters),
      state_home_(setup.optimizer) {
  std::vector<Parameter*> parameters;
  for (Parameter& parameter : tape.parameters()) {
    parameters.push_back(&parameter);
    type_ = parameter.value.dtype;
  }
  make_chunks(parameters, setup.chunk_room);
  tape.on_move([this](const std::string& place) { move(place); });
}

void GeminiChunks::make_chunks(const std::vector<Parameter*>& parameters, Bytes room) {
  std::vector<std::int64_t> sizes;
  for (const Parameter* parameter : parameters) sizes.push_back(parameter->value.elements());
  const ChunkLayout layout = search_chunks(sizes);
  for (const std::int64_t elements : layout.sizes) {
    Chunk& chunk = chunks_.emplace_back();
    chunk.elements = elements;
    chunk.master.value = {.storage = nullptr, .shape = {part(elements)}, .dtype = DType::kFp32};
    chunk.master.hidden_matrices = hidden_share(part(elements), tape_.parameters());
  }
  place_chunks(room);
  for (Chunk& chunk : chunks_) {
    const std::int64_t elements = chunk.elements;
    chunk.gathered = tape_.log().make_absent(Bytes(elements * size_of(type_)), Holding::kParameters);
    if (stays(chunk)) chunk.gathered->return_to_device();
    if (!stays(chunk) && chunk.parameter_home == Home::kDevice)
      chunk.shard = tape_.empty({part(elements)}, type_, Holding::kParameters);
    if (chunk.state_home == Home::kDevice) chunk.master.value = tape_.empty({part(elements)}, DType::kFp32, Holding::kOptimizer);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t place = layout.chunk_of[i];
    Chunk& chunk = chunks_[place];
    chunk.parameters.push_back(parameters[i]);
    parameters[i]->value.storage = chunk.gathered;
    chunks_at_[block_of(parameters[i]->name)].insert(place);
    parameters[i]->after_gradient = [this, &chunk](Parameter& ready) { take(chunk, ready); };
  }
}

void GeminiChunks::place_chunks(Bytes room) {
  const auto stay = [&](Home home, std::int64_t bytes) {
    if (home == Home::kDevice || Bytes(bytes) > room) return home;
    room -= Bytes(bytes);
    return Home::kDevice;
  };
  for (Chunk& chunk : chunks_) chunk.parameter_home = stay(parameter_home_, size_of(type_) * part(chunk.elements));
  if (is_patrickstar()) room = Bytes(static_cast<std::int64_t>(kMarginUse * static_cast<double>(room.count)));
  for (Chunk& chunk : chunks_) chunk.state_home = stay(state_home_, states_of(chunk).count);
}

Bytes GeminiChunks::states_of(const Chunk& chunk) const {
  return chunk.master.value.bytes() + state_bytes(chunk.master, optimizer_);
}

void GeminiChunks::move(const std::string& place) {
  if (tape_.phase() == Phase::kOptimizer) return;
  const std::string unit = chunks_at_.contains(place) ? place : std::string();
  if (!in_use_.empty() && unit == current_) return;
  current_ = unit;
  const Places& needed = chunks_at_[unit];
  for (const std::size_t used : in_use_) {
    // A chunk with gradients of tensors that were used waits for the others.
    const bool filling = tape_.phase() == Phase::kBackward && chunks_[used].awaited > 0;
    if (!needed.contains(used) && !filling) release(chunks_[used]);
  }
  std::erase_if(in_use_, [this](std::size_t used) { return !chunks_[used].gathered->is_there(); });
  for (const std::size_t one : needed) gather(one);
}

void GeminiChunks::gather(std::size_t place) {
  in_use_.insert(place);
  Chunk& chunk = chunks_[place];
  if (chunk.gathered->is_there()) return;
  const double bytes = static_cast<double>(chunk.elements * size_of(type_));
  if (chunk.parameter_home != Home::kDevice) {
    // In backward the chunk that makes room is full of gradients, which leave when they are complete.
    if (is_patrickstar() && tape_.phase() == Phase::kForward) carry(StackKernelSort::kToHost, chunk, size_of(type_), true);
    carry(StackKernelSort::kToDevice, chunk, size_of(type_), true);
  }
  chunk.gathered->return_to_device();
  collective(bytes, ranks_, type_);
}

void GeminiChunks::release(Chunk& chunk) {
  if (!stays(chunk)) chunk.gathered->leave();
}

void GeminiChunks::take(Chunk& chunk, Parameter& parameter) {
  tape_.stream(2 * traffic(parameter.gradient), type_);
  parameter.gradient = {};
  if (chunk.awaited == 0) chunk.awaited = chunk.parameters.size();
  if (--chunk.awaited > 0) return;
  const double bytes = static_cast<double>(chunk.elements * size_of(type_));
  collective(bytes, ranks_, type_);
  if (is_patrickstar() ? chunk.parameter_home != Home::kDevice : chunk.state_home != Home::kDevice) {
    carry(StackKernelSort::kToHost, chunk, size_of(type_), is_patrickstar());
  }
}

void GeminiChunks::carry(StackKernelSort sort, const Chunk& chunk, std::int64_t size, bool blocking) {
  tape_.launch({.sort = sort, .dtype = type_, .blocking = blocking, .bytes = static_cast<double>(size * part(chunk.elements))});
}

void GeminiChunks::end() {
  for (Chunk& chunk : chunks_) release(chunk);
  in_use_.clear();
  current_.clear();
}

void GeminiChunks::update(const Recipe& recipe, OptimizerLoop loop) {
  std::vector<Parameter*> masters;
  for (Chunk& chunk : chunks_) {
    if (chunk.state_home != Home::kDevice) {
      const bool returns = chunk.parameter_home == Home::kDevice;
      if (returns && is_patrickstar()) carry(StackKernelSort::kToHost, chunk, size_of(type_), true);
      update_in_host_memory(recipe, chunk.master, type_, chunk.state_home);
      if (returns) carry(StackKernelSort::kToDevice, chunk, is_patrickstar() ? kSingle : size_of(type_), is_patrickstar());
      continue;
    }
    chunk.master.gradient = chunk.master.value;  // gradients lie where the parameters were
    masters.push_back(&chunk.master);
  }
  if (!masters.empty()) step(masters, recipe, loop);
  for (Chunk& chunk : chunks_) chunk.master.gradient = {};
}

Bytes GeminiChunks::host() const {
  Bytes bytes;
  for (const Chunk& chunk : chunks_) {
    if (is_patrickstar()) {
      bytes += states_of(chunk) + Bytes(size_of(type_) * part(chunk.elements));
      continue;
    }
    if (chunk.state_home == Home::kHost) bytes += states_of(chunk);
    if (chunk.parameter_home != Home::kDevice) bytes += Bytes(size_of(type_) * part(chunk.elements));
  }
  return std::max(Bytes(0), bytes - warm_up_room_);
}

}  // namespace plimsoll
