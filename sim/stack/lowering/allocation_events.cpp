#include "sim/stack/lowering/allocation_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/stack/lowering/stack_platform.h"

namespace plimsoll {
namespace {

/// Of the kinds that plans have, the last stands for blocks that are awaited, which no kernel of these plans makes.
constexpr std::array<TensorKind, kHoldings> kKinds{TensorKind::kParameter,  TensorKind::kGradient,  TensorKind::kFirstMoment,
                                                   TensorKind::kActivation, TensorKind::kWorkspace, TensorKind::kActivationGradient};

/// Markers of streams, each of which has blocks of its own, stand in these queues: what is gathered, and what is reduced.
constexpr std::array<StepLane, 3> kStreamLanes{StepLane::kCompute, StepLane::kCollectives, StepLane::kCopies};

QueueId queue_of_stream(std::uint8_t stream) { return queue_of(kStreamLanes.at(stream)); }

std::uint8_t stream_of(QueueId queue) {
  const auto found = std::find_if(kStreamLanes.begin(), kStreamLanes.end(), [&](StepLane lane) { return queue_of(lane) == queue; });
  return found == kStreamLanes.end() ? 1 : static_cast<std::uint8_t>(found - kStreamLanes.begin());
}

tl::unexpected<Error> defect(std::string_view body, std::size_t id, std::string what) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = fmt::format("body {}, instruction {}", body, id),
               .remedy = "write the plan again with plimsoll plan --stack"});
}

/// What an allocation marker does, by its uses.
struct Marked {
  std::optional<std::uint32_t> freed;
  std::optional<std::uint32_t> made;
};

Marked marked(const FlatBody& flat, const Instruction& instruction) {
  Marked what;
  for (const Use& use : flat.uses(instruction)) (reads(use.access) ? what.freed : what.made) = use.target;
  return what;
}

/// Follows which buffer stands for which storage while markers are read.
class AllocationReader {
 public:
  explicit AllocationReader(const Plan& plan) : plan_(plan), storage_of_(plan.buffers.size()), there_(plan.buffers.size(), false) {}

  Result<void> read(const Body& body) {
    const FlatBody flat = expand(plan_, body);
    for (std::size_t id = 0; id < flat.size(); ++id) {
      const Instruction& instruction = flat.list.instructions[id];
      if (instruction.kind != InstructionKind::kMarker || instruction.use_count == 0) continue;
      if (auto taken = take(marked(flat, instruction), instruction, body.name, id); !taken) return taken;
    }
    return {};
  }

  std::shared_ptr<StorageLog> log = std::make_shared<StorageLog>();

 private:
  Result<void> take(const Marked& what, const Instruction& instruction, std::string_view body, std::size_t id) {
    if (what.freed && !there_[*what.freed]) {
      return defect(body, id, fmt::format("buffer {} goes and is not there", plan_.buffers[*what.freed].name));
    }
    if (what.made && there_[*what.made]) return defect(body, id, fmt::format("buffer {} comes twice", plan_.buffers[*what.made].name));
    if (what.freed && what.made) {
      storage_of_[*what.made] = storage_of_[*what.freed];
      note(*what.made, StorageChange::kRenamed, instruction);
    } else if (what.freed) {
      note(*what.freed, StorageChange::kDied, instruction);
    } else {
      storage_of_[*what.made] = next_++;
      note(*what.made, StorageChange::kBorn, instruction);
    }
    if (what.freed) there_[*what.freed] = false;
    if (what.made) there_[*what.made] = true;
    return {};
  }

  void note(std::uint32_t buffer, StorageChange change, const Instruction& instruction) {
    log->at(buffer);
    log->note({.storage = storage_of_[buffer], .change = change, .holding = holding_of(plan_.buffers[buffer].category), .stream = stream_of(instruction.queue),
               .bytes = plan_.buffers[buffer].bytes});
  }

  const Plan& plan_;
  std::vector<std::uint32_t> storage_of_;
  std::vector<bool> there_;
  std::uint32_t next_ = 0;
};

}  // namespace

AllocationWriter::AllocationWriter(Plan& plan, const StackRun& run, CachingAllocatorOptions options)
    : plan_(plan), run_(run), allocator_(options), live_(run.log->storages()) {}

std::uint32_t AllocationWriter::add_buffer(const StorageEvent& event, Bytes offset) {
  const auto index = static_cast<std::uint32_t>(plan_.buffers.size());
  plan_.buffers.push_back({.name = fmt::format("{} #{}", run_.places[event.place].what, index), .space = kStackDevice,
                           .offset = offset, .bytes = event.bytes, .category = kind_of(event.holding)});
  highest_ = std::max(highest_, offset + event.bytes);
  return index;
}

Use AllocationWriter::whole(std::uint32_t buffer, Access access) const {
  return {.target = buffer, .access = access, .offset = {}, .bytes = plan_.buffers[buffer].bytes};
}

void AllocationWriter::mark(FlatBody& body, const StorageEvent& event, std::vector<Use> uses) {
  const Place& place = run_.places[event.place];
  body.list.instructions.push_back({.kind = InstructionKind::kMarker, .phase = place.phase, .queue = queue_of_stream(event.stream),
                                    .layer = layer_of(place.what), .first_use = static_cast<std::uint32_t>(body.list.uses.size()),
                                    .use_count = static_cast<std::uint32_t>(uses.size())});
  body.list.uses.insert(body.list.uses.end(), uses.begin(), uses.end());
  body.micro_batches.push_back(0);
}

void AllocationWriter::write_next(FlatBody& body) {
  const StorageEvent& event = run_.log->events()[next_++];
  if (event.bytes == Bytes(0)) return;
  Live& own = live_[event.storage];
  if (event.change == StorageChange::kBorn) {
    const auto block = allocator_.allocate(event.bytes, event.stream);
    if (!block) return;  // without a limit there is always one
    own = {.block = *block, .buffer = add_buffer(event, allocator_.address(*block)), .there = true};
    mark(body, event, {whole(own.buffer, Access::kWrite)});
    count(event.holding, allocator_.block_size(own.block));
    held_.requested += event.bytes;
  } else if (own.there && event.change == StorageChange::kRenamed) {
    const std::uint32_t before = own.buffer;
    const Holding held_as = holding_of(plan_.buffers[before].category);
    count(held_as, Bytes(0) - allocator_.block_size(own.block));
    count(event.holding, allocator_.block_size(own.block));
    if (held_as == Holding::kAwaited) held_.requested += event.bytes;
    if (event.holding == Holding::kAwaited) held_.requested -= event.bytes;
    own.buffer = add_buffer(event, plan_.buffers[before].offset);
    mark(body, event, {whole(before, Access::kRead), whole(own.buffer, Access::kWrite)});
  } else if (own.there) {
    mark(body, event, {whole(own.buffer, Access::kRead)});
    const Holding held_as = holding_of(plan_.buffers[own.buffer].category);
    count(held_as, Bytes(0) - allocator_.block_size(own.block));
    if (held_as != Holding::kAwaited) held_.requested -= event.bytes;
    allocator_.free(own.block);
    own.there = false;
  }
}

HeldMemory AllocationWriter::held() const {
  HeldMemory now = held_;
  now.allocated = allocator_.allocated() - held_.blocks[static_cast<std::size_t>(Holding::kAwaited)];
  now.reserved = allocator_.reserved();
  return now;
}

bool allocates_while_running(const Plan& plan) {
  for (const Block& block : plan.blocks) {
    const auto& list = block.list.instructions;
    if (std::any_of(list.begin(), list.end(), [](const Instruction& i) { return i.kind == InstructionKind::kMarker && i.use_count > 0; })) {
      return true;
    }
  }
  return false;
}

Result<std::shared_ptr<StorageLog>> read_allocations(const Plan& plan) {
  AllocationReader reader(plan);
  for (const Body& body : plan.bodies) {
    if (auto read = reader.read(body); !read) return fail(read.error());
  }
  return reader.log;
}

Holding holding_of(TensorKind kind) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  return found == kKinds.end() ? Holding::kActivations : static_cast<Holding>(found - kKinds.begin());
}

TensorKind kind_of(Holding holding) { return kKinds[static_cast<std::size_t>(holding)]; }

std::int32_t layer_of(const std::string& place) {
  const auto space = place.rfind(' ');
  if (space == std::string::npos) return -1;
  std::int32_t number = -1;
  const auto read = std::from_chars(place.data() + space + 1, place.data() + place.size(), number);
  return read.ec == std::errc() && read.ptr == place.data() + place.size() ? number : -1;
}

}  // namespace plimsoll
