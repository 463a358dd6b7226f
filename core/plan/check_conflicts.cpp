#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/plan/access_of.h"
#include "core/plan/byte_ranges.h"
#include "core/plan/happens_before.h"
#include "core/plan/last_uses.h"
#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

/// One instruction of one of the copies.
struct Moment {
  std::uint32_t step = 0;
  std::uint32_t id = 0;
};

/// Bytes of an arena that two instructions both use, in words.
std::string shared_bytes(const CheckedBody& checked, Moment a, Moment b) {
  const Plan& plan = checked.plan;
  const auto& instructions = checked.flat.list.instructions;
  const auto first = checked.flat.uses(instructions[a.id]);
  const auto second = checked.flat.uses(instructions[b.id]);
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    for (std::uint32_t j = 0; j < second.size(); ++j) {
      const Access access_a = access_of(instructions[a.id], i, first[i]);
      const Access access_b = access_of(instructions[b.id], j, second[j]);
      if (!writes(access_a) && !writes(access_b)) continue;
      if (a.id == b.id && a.step == b.step && i == j) continue;
      const Buffer& x = plan.buffers[first[i].target];
      const Buffer& y = plan.buffers[second[j].target];
      const Bytes x_begin = x.offset_in(a.step, first[i].age) + first[i].offset;
      const Bytes y_begin = y.offset_in(b.step, second[j].age) + second[j].offset;
      const Bytes begin = std::max(x_begin, y_begin);
      const Bytes end = std::min(x_begin + first[i].bytes, y_begin + second[j].bytes);
      if (x.space != y.space || begin >= end) continue;
      const auto verb = [](Access access) { return writes(access) ? "writes" : "reads"; };
      return fmt::format("bytes [{}, {}) of {}, which one {} as buffer {} and the other {} as buffer {}", begin.count,
                         end.count, plan.platform.at(x.space).name, verb(access_a), x.name, verb(access_b), y.name);
    }
  }
  return "bytes";
}

Error unordered(const CheckedBody& checked, Moment earlier, Moment later) {
  const std::uint32_t distance = later.step - earlier.step;
  const std::string when = distance == 0   ? ""
                           : distance == 1 ? " of the step before"
                                           : fmt::format(" of {} steps before", distance);
  return defect_at(checked, later.id,
                   fmt::format("no path orders it after {}{}; both use {}",
                               name_of(checked.plan, checked.flat.list.instructions[earlier.id], earlier.id), when,
                               shared_bytes(checked, earlier, later)),
                   fmt::format("add a dependency on instruction {} with distance {}", earlier.id, distance));
}

/// Lays copies of a body one after another and asks for a path wherever bytes are used again.
class Prover {
 public:
  Prover(const CheckedBody& checked, VerifyReport& report)
      : checked_(checked),
        body_(checked.flat),
        report_(report),
        ranges_(checked.plan, checked.flat),
        last_(ranges_.element_count()),
        order_(checked.plan.platform),
        awaited_(checked.flat.size(), false) {
    for (const Dependency& dependency : checked.flat.list.dependencies) awaited_[dependency.target] = true;
  }

  Result<void> run() {
    if (ranges_.copies() * body_.size() > kMaxVerifiedInstructions) {
      return fail(
          {.kind = ErrorKind::kDefect,
           .what = fmt::format("{} copies of {} instructions are too many to verify", ranges_.copies(), body_.size()),
           .where = "body " + checked_.body.name,
           .remedy = "let buffers that share bytes have equal numbers of slots"});
    }
    const auto copies = static_cast<std::uint32_t>(ranges_.copies());
    report_.expanded_bodies = std::max(report_.expanded_bodies, copies);
    const auto kept = static_cast<std::size_t>(std::count(awaited_.begin(), awaited_.end(), true));
    order_.reserve(body_.size() * copies, kept * copies);
    for (std::uint32_t step = 0; step < copies; ++step) {
      for (std::uint32_t id = 0; id < body_.size(); ++id) {
        if (!visit({step, id})) return fail(defect_);
      }
    }
    return {};
  }

 private:
  bool visit(Moment now) {
    const Instruction& instruction = body_.list.instructions[now.id];
    const auto count = static_cast<std::uint32_t>(body_.size());
    order_.begin(instruction.queue, body_.members(instruction));
    for (const Dependency& dependency : body_.dependencies(instruction)) {
      if (dependency.distance <= now.step) order_.depend((now.step - dependency.distance) * count + dependency.target);
    }
    bool proved = true;
    for (std::uint32_t i = 0; i < instruction.use_count; ++i) {
      const std::size_t use = instruction.first_use + i;
      if (!ranges_.due(use, now.step)) continue;
      proved = prove(now, use, access_of(instruction, i, body_.list.uses[use])) && proved;
    }
    order_.end(awaited_[now.id]);
    return proved;
  }

  bool prove(Moment now, std::size_t use, Access access) {
    ++report_.checked_uses;
    const ElementSpan span = ranges_.elements(use, now.step);
    const std::uint32_t settled_from = ranges_.repeats(use, now.step) ? now.step * count() : LastUses::kNothingSettled;
    const auto position = static_cast<std::uint32_t>(order_.size());
    std::uint32_t offender = position;
    last_.conflicts(span, access, settled_from, [&](std::uint32_t earlier, std::uint32_t lane) {
      if (earlier == position || order_.ordered_before_open(earlier, lane)) return;
      offender = std::min(offender, earlier);
    });
    if (offender != position) return refuse({offender / count(), offender % count()}, now);
    const QueueId queue = body_.list.instructions[now.id].queue;
    if (last_.record(span, access, settled_from, position, order_.lane(queue))) return true;
    return refuse_self(now);
  }

  bool refuse(Moment earlier, Moment later) {
    defect_ = unordered(checked_, earlier, later);
    return false;
  }

  bool refuse_self(Moment now) {
    defect_ =
        defect_at(checked_, now.id, fmt::format("two of its own uses share {}", shared_bytes(checked_, now, now)));
    return false;
  }

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(body_.size()); }

  const CheckedBody& checked_;
  const FlatBody& body_;
  VerifyReport& report_;
  ByteRanges ranges_;
  LastUses last_;
  HappensBefore order_;
  std::vector<bool> awaited_;  ///< by id: some instruction depends on it
  Error defect_;
};

}  // namespace

Result<void> check_conflicts(const CheckedBody& checked, VerifyReport& report) { return Prover(checked, report).run(); }

}  // namespace plimsoll
