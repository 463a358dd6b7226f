#include "sim/planner/lowered_steps.h"

#include <algorithm>

#include "sim/planner/step_lowering.h"

namespace plimsoll {
namespace {

/// What of a platform a step without a drive is written and ordered by: where it works, and how wide the queues are.
std::optional<std::vector<std::int64_t>> places_of(const Platform& platform) {
  const auto places = Places::find(platform, Strategy{});
  if (!places) return std::nullopt;
  std::vector<std::int64_t> words{places->device.index, places->host.index};
  for (const QueueId queue : {places->compute, places->h2d, places->d2h, places->cpu, places->data, places->report}) {
    words.push_back(queue.index);
    words.push_back(platform.at(queue).width);
  }
  const Processor& computes = platform.at(platform.at(places->compute).processor);
  words.push_back(computes.kind == ProcessorKind::kCpu ? computes.cores : 0);  // who run a kernel together
  return words;
}

Bytes room_of(const Platform& platform) {
  const auto host = platform.space(SpaceKind::kHost);
  return host ? platform.at(*host).usable : Bytes(0);
}

bool uses_drive(const Strategy& s) {
  return std::max({s.optimizer, s.parameters, s.gradients, s.activations}) == Tier::kSsd;
}

}  // namespace

std::shared_ptr<BareStep> BareStep::of(const Plan& plan, const FlatBody& body) {
  auto bare = std::make_shared<BareStep>();
  bare->kernels = plan.kernels;
  InstructionList& list = bare->body.list;
  list.instructions = body.list.instructions;
  list.dependencies = body.list.dependencies;
  list.members = body.list.members;
  for (Instruction& instruction : list.instructions) {
    const auto first = static_cast<std::uint32_t>(list.uses.size());
    const auto keep = [&](std::uint32_t use) {
      list.uses.push_back(body.list.uses[instruction.first_use + use]);
      list.uses.back().target = plan.buffers[list.uses.back().target].space.index;
    };
    if (instruction.kind != InstructionKind::kLaunch) {
      for (std::uint32_t use = 0; use < instruction.use_count; ++use) keep(use);
    } else if (instruction.guard != kNoGuard) {
      keep(instruction.guard);
      instruction.guard = 0;
    }
    instruction.first_use = first;
    instruction.use_count = static_cast<std::uint32_t>(list.uses.size()) - first;
  }
  return bare;
}

void BareStep::order_as(const FlatBody& ordered) {
  body.list.dependencies = ordered.list.dependencies;
  for (std::size_t i = 0; i < body.size(); ++i) {
    body.list.instructions[i].first_dependency = ordered.list.instructions[i].first_dependency;
    body.list.instructions[i].dependency_count = ordered.list.instructions[i].dependency_count;
  }
}

LoweredSteps::LoweredSteps(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                           std::shared_ptr<std::atomic<std::int64_t>> room)
    : spec_(spec), recipe_(recipe), platform_(platform), room_(std::move(room)) {}

std::shared_ptr<const Graph> LoweredSteps::graph() {
  std::call_once(built_, [&] {
    graph_ = graph_on(spec_, recipe_, platform_);
    if (graph_) outline_ = std::make_shared<const StepOutline>(*graph_);
  });
  return graph_;
}

std::shared_ptr<const StepOutline> LoweredSteps::outline() {
  graph();
  return outline_;
}

/// Named one by one, so that a strategy with one more does not compile. Its name decides nothing.
LoweredSteps::Choices LoweredSteps::choices_of(const Strategy& strategy, const Platform& platform) {
  const auto& [name, recompute_every, kept_outputs, parameters, device_parameter_blocks, optimizer, gradients,
               activations, activation_blocks, host_activation_blocks, loop_order, update_in_backward,
               device_state_blocks, host_state_blocks, device_update_blocks, staging_slots, overlap] = strategy;
  const auto number = [](auto choice) { return static_cast<std::int64_t>(choice); };
  Choices choices{recompute_every,
                  kept_outputs,
                  number(parameters),
                  device_parameter_blocks,
                  number(optimizer),
                  number(gradients),
                  number(activations),
                  activation_blocks,
                  host_activation_blocks,
                  number(loop_order),
                  number(update_in_backward),
                  device_state_blocks,
                  host_state_blocks,
                  device_update_blocks,
                  staging_slots,
                  number(overlap)};
  const auto read = platform.queue("ssd.read"), write = platform.queue("ssd.write");
  const auto drive = platform.space(SpaceKind::kSsd);
  if (!uses_drive(strategy) || !read || !write || !drive) return choices;
  const SpaceId device = *platform.space(SpaceKind::kDevice);  // a step has places there
  const std::int64_t ways = (platform.link(*drive, device) ? 1 : 0) + (platform.link(device, *drive) ? 2 : 0);
  const std::array<std::int64_t, 6> drives{number(drive->index),          number(read->index),  platform.at(*read).width,
                                           number(write->index), platform.at(*write).width, ways};
  std::copy(drives.begin(), drives.end(), choices.end() - static_cast<std::ptrdiff_t>(drives.size()));
  return choices;
}

LoweredSteps::Placement LoweredSteps::placement_of(const Strategy& strategy, const Platform& platform,
                                                   std::uint64_t digest) {
  const auto read = platform.queue("ssd.read"), write = platform.queue("ssd.write");
  if (!uses_drive(strategy) || !read || !write) return {digest, 0, 0};
  return {digest, platform.at(*read).width, platform.at(*write).width};
}

bool LoweredSteps::takes_room(const BareStep& step) {
  const auto size = static_cast<std::int64_t>(step.body.size());
  if (room_->fetch_sub(size) >= size) return true;
  room_->fetch_add(size);
  return false;
}

std::optional<WrittenStep> LoweredSteps::written(const Strategy& strategy, const Platform& platform) const {
  const Choices choices = choices_of(strategy, platform);
  const std::scoped_lock lock(mutex_);
  const auto found = written_.find(choices);
  return found == written_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<PlacedStep> LoweredSteps::placed(const Strategy& strategy, const Platform& platform,
                                               std::uint64_t digest) const {
  const Placement placement = placement_of(strategy, platform, digest);
  const Bytes room = room_of(platform);
  const std::scoped_lock lock(mutex_);
  const auto found = placed_.find(placement);
  if (found == placed_.end()) return std::nullopt;
  for (const PlacedStep& known : found->second) {
    if (known.placed_for.holds(room)) return known;
  }
  return std::nullopt;
}

void LoweredSteps::keep(const Strategy& strategy, const Platform& platform, WrittenStep written,
                        std::optional<PlacedStep> placed) {
  if (written.step && !takes_room(*written.step)) {
    written.step = nullptr;
    if (placed) placed->step = nullptr;
  }
  const std::uint64_t digest = written.digest;
  const Choices choices = choices_of(strategy, platform);
  const Placement placement = placement_of(strategy, platform, digest);
  const std::scoped_lock lock(mutex_);
  WrittenStep& known = written_[choices];
  if (!known.step) known = std::move(written);
  if (!placed) return;
  std::vector<PlacedStep>& places = placed_[placement];
  const Bytes room = room_of(platform);
  const auto same = std::find_if(places.begin(), places.end(), [&](const PlacedStep& one) { return one.placed_for.holds(room); });
  if (same == places.end()) places.push_back(std::move(*placed));
  else if (!same->step) *same = std::move(*placed);
}

std::shared_ptr<LoweredSteps> SharedSteps::of(const ModelSpec& spec, const Recipe& recipe, const Platform& platform) {
  auto places = places_of(platform);
  if (!places) return nullptr;
  const std::scoped_lock lock(mutex_);
  for (const Known& one : known_) {
    if (one.places == *places && one.recipe == recipe && one.spec == spec) return one.steps;
  }
  known_.push_back({spec, recipe, std::move(*places), std::make_shared<LoweredSteps>(spec, recipe, platform, room_)});
  return known_.back().steps;
}

}  // namespace plimsoll
