#include "tests/support/change_plan.h"

#include <algorithm>

namespace plimsoll::test {
namespace {

/// Draws from tables that may be empty.
class Change {
 public:
  Change(Plan& plan, std::mt19937_64& random) : plan_(plan), random_(random) {}

  void apply() {
    constexpr std::uint32_t kOfLists = 15, kWays = 26;
    Block& block = one_of(plan_.blocks);
    const std::uint32_t way = below(kWays);
    way < kOfLists ? change_list(block, way) : change_tables(way);
  }

 private:
  void change_list(Block& block, std::uint32_t way) {
    InstructionList& list = block.list;
    switch (way) {
      case 1:
        return drop_dependency(list);
      case 2:
        return with(list.dependencies, [&](Dependency& d) { d.target = below(8); });
      case 3:
        return with(list.dependencies, [&](Dependency& d) { d.distance = below(3); });
      case 4:
        return with(list.uses, [&](Use& use) { use.offset = Bytes(256 * (std::int64_t{below(6)} - 1)); });
      case 5:
        return with(list.uses, [&](Use& use) { use.bytes = Bytes(128 * std::int64_t{below(9)}); });
      case 6:
        return with(list.uses, [&](Use& use) { use.access = static_cast<Access>(below(3)); });
      case 7:
        return with(list.uses, [&](Use& use) { use.age = below(4); });
      case 8:
        return with(list.uses, [&](Use& use) { use.target = below(block.slot_count + 1); });
      case 9:
        return with(list.instructions, [&](Instruction& i) { i.queue = QueueId(below(9)); });
      case 10:
        return with(list.instructions, [&](Instruction& i) { i.kind = static_cast<InstructionKind>(below(7)); });
      case 11:
        return with(list.instructions, [&](Instruction& i) { i.phase = static_cast<Phase>(below(4)); });
      case 12:
        return with(list.instructions, [&](Instruction& i) { i.task = static_cast<HostTask>(below(3)); });
      case 13:
        return with(list.instructions, [&](Instruction& i) { i.guard = below(4); });
      case 14:
        return with(list.instructions, [&](Instruction& i) { i.kernel = KernelId(below(plan_.kernels.size() + 1)); });
      default:
        return;  // nothing is changed
    }
  }

  void change_tables(std::uint32_t way) {
    switch (way) {
      case 15:
        return with(plan_.buffers, [&](Buffer& b) { b.offset = Bytes(128 * (std::int64_t{below(24)} - 1)); });
      case 16:
        return with(plan_.buffers, [&](Buffer& b) { b.bytes = Bytes(256 * std::int64_t{below(5)}); });
      case 17:
        return with(plan_.buffers, [&](Buffer& b) { b.slots = below(4); });
      case 18:
        return with(plan_.buffers, [&](Buffer& b) { b.space = SpaceId(below(4)); });
      case 19:
        return with(plan_.buffers, [&](Buffer& b) { b.persistent = !b.persistent; });
      case 20:
        return with(plan_.arenas, [&](Arena& a) { a.bytes = Bytes(256 * std::int64_t{below(20)}); });
      case 21:
        return with(plan_.platform.queues, [&](Queue& q) { q.width = below(4); });
      case 22:
        return with(plan_.platform.links, [&](Link& l) { l.to = SpaceId(below(3)); });
      case 23:
        return with(one_of(one_of(plan_.bodies).calls).bindings,
                    [&](Binding& b) { b.base = BufferId(below(plan_.buffers.size() + 1)); });
      case 24:
        return with(one_of(one_of(plan_.bodies).calls).ports, [&](Port& p) { p.base = below(12); });
      default:
        return with(plan_.platform.spaces, [&](MemorySpace& s) { s.usable = Bytes(256 * std::int64_t{below(40)}); });
    }
  }

  std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(random_() % std::max<std::size_t>(bound, 1));
  }

  template <typename Table>
  typename Table::value_type& one_of(Table& table) {
    return table[below(table.size())];
  }
  template <typename Table, typename Apply>
  void with(Table& table, const Apply& apply) {
    if (!table.empty()) apply(one_of(table));
  }

  void drop_dependency(InstructionList& list) {
    with(list.instructions, [](Instruction& i) {
      if (i.dependency_count > 0) --i.dependency_count;
    });
  }

  Plan& plan_;
  std::mt19937_64& random_;
};

bool copies(const Instruction& i) {
  return i.kind == InstructionKind::kCopy || i.kind == InstructionKind::kRead || i.kind == InstructionKind::kWrite;
}

/// A copy that is turned round may find a link the other way; a read or write of a file cannot be.
bool moves_files(const Instruction& i) { return i.kind == InstructionKind::kRead || i.kind == InstructionKind::kWrite; }

/// How one instruction is broken; false where the way does not apply to it.
class Breakage {
 public:
  Breakage(PlanWriter& writer, std::uint32_t id)
      : plan_(writer.plan()),
        list_(writer.body().list),
        i_(list_.instructions[id]),
        id_(id),
        size_(writer.body().size()) {}

  const char* apply(std::uint32_t way) {
    constexpr std::uint32_t kOfUses = 3, kOfKinds = 8;
    if (way < kOfUses) return break_dependency(way);
    return way < kOfKinds ? break_use(way) : break_kind(way);
  }

 private:
  const char* break_dependency(std::uint32_t way) {
    switch (way) {
      case 0:
        return depend({id_, 0, true}), "depends on itself";
      case 1:
        return id_ + 1 < size_ ? (depend({id_ + 1, 0, true}), "depends on what comes later") : nullptr;
      default:
        return depend({static_cast<std::uint32_t>(size_), 1, true}), "depends on nothing that is there";
    }
  }

  const char* break_use(std::uint32_t way) {
    if (i_.use_count == 0) return nullptr;
    constexpr Bytes kVast(std::int64_t{1} << 62);
    switch (way) {
      case 3:
        return use().bytes = buffer().bytes + Bytes(1), "uses more than its buffer";
      case 4:
        return use().offset = buffer().bytes, use().bytes = Bytes(256), "uses bytes behind its buffer";
      case 5:
        return use().offset = Bytes(-256), "uses bytes before its buffer";
      case 6:
        return use().age = buffer().slots, "uses a slot that is gone";
      default:
        return use().bytes = use().offset = kVast, "overflows";
    }
  }

  /// What only some kinds of instructions have.
  const char* break_kind(std::uint32_t way) {
    const bool launch = i_.kind == InstructionKind::kLaunch, host = i_.kind == InstructionKind::kHostWork;
    switch (way) {
      case 8:
        return copies(i_) ? (second().bytes = use().bytes + Bytes(256), "copies unequal sizes") : nullptr;
      case 9:
        return moves_files(i_) ? (std::swap(use().target, second().target), "reads what it should write") : nullptr;
      case 10:
        return launch ? (use().target = elsewhere(), use().offset = Bytes(0), "uses memory elsewhere") : nullptr;
      case 11:
        return launch ? (i_.kernel = KernelId(plan_.kernels.size()), "launches no kernel") : nullptr;
      case 12:
        return launch ? (i_.queue = QueueId(1), "launches on a copy queue") : nullptr;
      case 13:
        return (launch || host) ? (i_.guard = i_.use_count, "has a guard that is no use") : nullptr;
      case 14:
        return host ? (flip(), "turns its access round") : nullptr;
      default:
        return i_.queue = QueueId(plan_.platform.queues.size()), "runs on no queue";
    }
  }

  Use& use() { return list_.uses[i_.first_use]; }
  Use& second() { return list_.uses[i_.first_use + 1]; }
  const Buffer& buffer() { return plan_.buffers[use().target]; }

  void depend(Dependency dependency) {
    std::vector<Dependency> own(list_.dependencies.begin() + i_.first_dependency,
                                list_.dependencies.begin() + i_.first_dependency + i_.dependency_count);
    own.push_back(dependency);
    i_.first_dependency = static_cast<std::uint32_t>(list_.dependencies.size());
    i_.dependency_count = static_cast<std::uint32_t>(own.size());
    list_.dependencies.insert(list_.dependencies.end(), own.begin(), own.end());
  }

  /// A buffer of another space.
  std::uint32_t elsewhere() {
    std::uint32_t other = 0;
    while (plan_.buffers[other].space == buffer().space) ++other;
    use().bytes = std::min(use().bytes, plan_.buffers[other].bytes);
    use().age = 0;
    return other;
  }

  void flip() { use().access = use().access == Access::kRead ? Access::kWrite : Access::kRead; }

  Plan& plan_;
  InstructionList& list_;
  Instruction& i_;
  std::uint32_t id_;
  std::size_t size_;
};

}  // namespace

Plan changed_plan(Plan plan, std::mt19937_64& random) {
  Change(plan, random).apply();
  return plan;
}

BrokenBody break_instruction(PlanWriter lawful, std::uint32_t id, std::uint32_t way) {
  BrokenBody broken{.writer = std::move(lawful), .instruction = id, .how = {}};
  if (const char* how = Breakage(broken.writer, id).apply(way)) broken.how = how;
  return broken;
}

}  // namespace plimsoll::test
