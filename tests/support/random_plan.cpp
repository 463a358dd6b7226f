#include "tests/support/random_plan.h"

#include <array>
#include <random>

#include "core/plan/order_conflicts.h"
#include "tests/support/direct_ways.h"

namespace plimsoll::test {
namespace {

/// A random number below `bound`, the same on every standard library (its distributions are not).
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

constexpr std::array<const char*, 3> kSpaces{"gpu0", "host", "ssd"};
constexpr std::size_t kGpu = 0, kHost = 1, kSsd = 2;
constexpr Bytes kPart{256};

struct Recipe {
  OpKind kind;
  Phase phase;
  std::array<Access, 3> operands;
  std::size_t count;
};

constexpr auto kR = Access::kRead;
constexpr auto kW = Access::kWrite;
constexpr auto kRw = Access::kReadWrite;
constexpr std::array<Recipe, 5> kLaunches{{{OpKind::kAdd, Phase::kForward, {kR, kR, kW}, 3},
                                           {OpKind::kActivation, Phase::kForward, {kR, kW, kR}, 2},
                                           {OpKind::kRopeBackward, Phase::kBackward, {kRw, kR, kR}, 1},
                                           {OpKind::kAccumulate, Phase::kBackward, {kR, kRw, kR}, 2},
                                           {OpKind::kLinearBackwardInput, Phase::kBackward, {kR, kR, kW}, 3}}};

class Scribe {
 public:
  explicit Scribe(const RandomPlanOptions& options) : options_(options), draw_(options.seed) {}

  PlanWriter write() {
    if (options_.direct) out_.plan().platform = with_direct_ways(out_.plan().platform);
    for (std::size_t space = 0; space < (options_.ssd ? 3u : 2u); ++space) add_buffers(space);
    while (out_.body().size() < options_.instructions) add_instruction();
    if (options_.ordered) order_conflicts(out_.plan(), out_.body());
    return out_;
  }

 private:
  /// Buffers of 1 to 4 parts; with `overlaps` two of three lie somewhere in the first bytes of the arena.
  void add_buffers(std::size_t space) {
    std::int64_t next = 0;
    for (std::uint32_t i = 0; i < options_.buffers_per_space; ++i) {
      const Bytes bytes((1 + draw_.below(4)) * kPart.count);
      const std::uint32_t slots = 1 + draw_.below(options_.max_slots);
      const bool anywhere = options_.overlaps && draw_.chance(66);
      const Bytes offset(anywhere ? draw_.below(12) * kPart.count : next);
      std::string name = std::string(kSpaces[space]) + "." + std::to_string(i);
      const BufferId id = out_.buffer(std::move(name), kSpaces[space], offset, bytes, slots);
      next = std::max(next, (offset + out_.plan().at(id).extent()).count);
      buffers_[space].push_back(id);
    }
  }

  /// A random range of a random slot of a random buffer of the space: `bytes` long, or (negative) of any whole number of
  /// parts.
  BufferUse any_use(std::size_t space, Access access, Bytes bytes = Bytes(-1)) {
    while (true) {
      const BufferId id = buffers_[space][draw_.below(buffers_[space].size())];
      const std::int64_t parts = out_.plan().at(id).bytes.count / kPart.count;
      const std::int64_t wanted =
          bytes.count < 0 ? 1 + draw_.below(static_cast<std::size_t>(parts)) : bytes.count / kPart.count;
      if (wanted > parts) continue;
      const std::int64_t first = draw_.below(static_cast<std::size_t>(parts - wanted + 1));
      const std::uint32_t age = draw_.below(out_.plan().at(id).slots);
      return {id, access, Bytes(first * kPart.count), Bytes(wanted * kPart.count), age};
    }
  }

  /// Whether the two share bytes in some step.
  [[nodiscard]] bool may_share(const BufferUse& a, const BufferUse& b) const {
    const Buffer& first = out_.plan().at(a.buffer);
    const Buffer& second = out_.plan().at(b.buffer);
    if (first.space != second.space) return false;
    for (std::uint32_t step = 0; step < first.slots * second.slots; ++step) {
      const Bytes x = first.offset_in(step, a.age) + a.offset;
      const Bytes y = second.offset_in(step, b.age) + b.offset;
      if (x < y + b.bytes && y < x + a.bytes) return true;
    }
    return false;
  }

  /// Uses of one instruction may not share bytes when one writes: no order can repair that.
  [[nodiscard]] bool alone(const std::vector<BufferUse>& uses, const BufferUse& added) const {
    for (const BufferUse& use : uses) {
      if ((writes(use.access) || writes(added.access)) && may_share(use, added)) return false;
    }
    return true;
  }

  std::vector<Dependency> some_dependencies() {
    std::vector<Dependency> dependencies;
    const auto next = static_cast<std::uint32_t>(out_.body().size());
    if (next > 0 && draw_.chance(20)) dependencies.push_back(after(draw_.below(next)));
    if (draw_.chance(5)) dependencies.push_back(after(draw_.below(options_.instructions), 1 + draw_.below(2)));
    return dependencies;
  }

  void add_instruction() {
    const std::uint32_t kind = draw_.below(100);
    if (kind < 35) return add_launch("compute", kGpu);
    if (kind < 50) return add_launch("cpu", kHost);
    if (kind < 62) return add_copy(InstructionKind::kCopy, "h2d", kHost, kGpu);
    if (kind < 74) return add_copy(InstructionKind::kCopy, "d2h", kGpu, kHost);
    if (kind < 78) return add_host_work(HostTask::kLoadTokens, Access::kWrite);
    if (kind < 82) return add_host_work(HostTask::kReportLoss, Access::kRead);
    if (kind < 85 || !options_.ssd) return void(out_.marker("cpu", some_dependencies()));
    const std::size_t memory = options_.direct && draw_.chance(50) ? kGpu : kHost;
    if (kind < 94) return add_copy(InstructionKind::kRead, "ssd.read", kSsd, memory);
    add_copy(InstructionKind::kWrite, "ssd.write", memory, kSsd);
  }

  void add_launch(const char* queue, std::size_t space) {
    const Recipe& recipe = kLaunches[draw_.below(kLaunches.size())];
    std::vector<BufferUse> uses;
    for (std::size_t i = 0; i < recipe.count; ++i) {
      const BufferUse use = any_use(space, recipe.operands[i]);
      if (!alone(uses, use)) return;
      uses.push_back(use);
    }
    std::uint32_t guard = kNoGuard;
    if (options_.guards && draw_.chance(10)) {
      const BufferUse flag = any_use(space, Access::kRead, kPart);
      if (!alone(uses, flag)) return;
      guard = static_cast<std::uint32_t>(uses.size());
      uses.push_back(flag);
    }
    out_.launch(queue, recipe.kind, recipe.phase, uses, some_dependencies(), guard);
  }

  void add_copy(InstructionKind kind, const char* queue, std::size_t from, std::size_t to) {
    const BufferUse source = any_use(from, Access::kRead);
    const auto largest = out_.plan().at(buffers_[to].front()).bytes;
    const Bytes bytes = std::min(source.bytes, largest);
    BufferUse shortened = source;
    shortened.bytes = bytes;
    out_.copy(kind, queue, shortened, any_use(to, Access::kWrite, bytes), some_dependencies());
  }

  void add_host_work(HostTask task, Access access) {
    out_.host_work(task, {any_use(kHost, access)}, some_dependencies());
  }

  RandomPlanOptions options_;
  Draw draw_;
  PlanWriter out_;
  std::array<std::vector<BufferId>, 3> buffers_;
};

}  // namespace

PlanWriter random_body(const RandomPlanOptions& options) { return Scribe(options).write(); }

Plan random_plan(const RandomPlanOptions& options) { return random_body(options).finish(5); }

}  // namespace plimsoll::test
