#include "core/plan/order_conflicts.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/plan/access_of.h"
#include "core/plan/byte_ranges.h"
#include "core/plan/happens_before.h"
#include "core/plan/last_uses.h"

namespace plimsoll {
namespace {

/// Lays copies of a body one after another and gives each instruction the dependencies that it still needs.
class Orderer {
 public:
  Orderer(const Plan& plan, FlatBody& body, bool serial)
      : body_(body), ranges_(plan, body), last_(ranges_.element_count()), order_(plan.platform), needed_(body.size()) {
    const auto count = static_cast<std::uint32_t>(body.size());
    links_.reserve(3 * std::size_t{count});
    const std::size_t laid = ranges_.copies() * count;
    order_.reserve(laid, laid);
    for (std::uint32_t id = 0; id < count; ++id) {
      for (const Dependency& known : body.dependencies(body.list.instructions[id])) need(id, known);
      if (serial) need(id, id > 0 ? Dependency{id - 1, 0, true} : Dependency{count - 1, 1, true});
      needed_[id].last_step = last_step_of(body.list.instructions[id]);
    }
  }

  void run() {
    for (std::uint32_t step = 0; step < ranges_.copies(); ++step) {
      for (std::uint32_t id = 0; id < body_.size(); ++id) visit(step, id);
    }
    write_back();
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  struct Link {
    Dependency dependency;
    std::uint32_t next = kNone;
  };
  /// What an instruction needs, in the order in which it was found, and the last step in which it shows a conflict.
  struct Needed {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t last_step = 0;
  };

  void need(std::uint32_t id, const Dependency& dependency) {
    const auto link = static_cast<std::uint32_t>(links_.size());
    links_.push_back({dependency});
    Needed& of = needed_[id];
    (of.first == kNone ? of.first : links_[of.last].next) = link;
    of.last = link;
  }

  [[nodiscard]] std::uint32_t last_step_of(const Instruction& instruction) const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < instruction.use_count; ++i)
      last = std::max(last, ranges_.last_due(instruction.first_use + i));
    return last;
  }

  void visit(std::uint32_t step, std::uint32_t id) {
    const Instruction& instruction = body_.list.instructions[id];
    const auto count = static_cast<std::uint32_t>(body_.size());
    order_.begin(instruction.queue, body_.members(instruction));
    for (std::uint32_t link = needed_[id].first; link != kNone; link = links_[link].next) {
      const Dependency& dependency = links_[link].dependency;
      if (dependency.distance <= step) order_.depend((step - dependency.distance) * count + dependency.target);
    }
    if (step > needed_[id].last_step) {
      order_.end();
      return;
    }
    // Newest first: being after the newest often means being after the others, too.
    for (const std::uint32_t earlier : conflicts(step, instruction)) {
      if (order_.ordered(earlier, static_cast<std::uint32_t>(order_.size()))) continue;
      order_.depend(earlier);
      need(id, {earlier % count, step - earlier / count, true});
    }
    const std::uint32_t position = order_.end();
    for_each_due_use(step, instruction, [&](std::size_t use, Access access) {
      last_.record(ranges_.elements(use, step), access, LastUses::kNothingSettled, position,
                   order_.lane(instruction.queue));
    });
  }

  template <typename Visit>
  void for_each_due_use(std::uint32_t step, const Instruction& instruction, Visit&& visit) const {
    for (std::uint32_t i = 0; i < instruction.use_count; ++i) {
      const std::size_t use = instruction.first_use + i;
      if (ranges_.due(use, step)) visit(use, access_of(instruction, i, body_.list.uses[use]));
    }
  }

  const std::vector<std::uint32_t>& conflicts(std::uint32_t step, const Instruction& instruction) {
    found_.clear();
    for_each_due_use(step, instruction, [&](std::size_t use, Access access) {
      last_.conflicts(ranges_.elements(use, step), access, LastUses::kNothingSettled,
                      [this](std::uint32_t earlier, std::uint32_t) {
                        if (found_.empty() || found_.back() != earlier) found_.push_back(earlier);  // neighbours often agree
                      });
    });
    std::sort(found_.begin(), found_.end(), std::greater<>());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return found_;
  }

  void write_back() {
    std::vector<Dependency>& all = body_.list.dependencies;
    all.clear();
    std::vector<Dependency> own;
    for (std::size_t id = 0; id < body_.size(); ++id) {
      own.clear();
      for (std::uint32_t link = needed_[id].first; link != kNone; link = links_[link].next)
        own.push_back(links_[link].dependency);
      const auto key = [](const Dependency& d) { return std::tuple(d.distance, d.target); };
      std::sort(own.begin(), own.end(), [&key](const Dependency& a, const Dependency& b) { return key(a) < key(b); });
      own.erase(std::unique(own.begin(), own.end()), own.end());
      Instruction& instruction = body_.list.instructions[id];
      instruction.first_dependency = own.empty() ? 0 : static_cast<std::uint32_t>(all.size());
      instruction.dependency_count = static_cast<std::uint32_t>(own.size());
      all.insert(all.end(), own.begin(), own.end());
    }
  }

  FlatBody& body_;
  ByteRanges ranges_;
  LastUses last_;
  HappensBefore order_;
  std::vector<Needed> needed_;  ///< by instruction
  std::vector<Link> links_;
  std::vector<std::uint32_t> found_;
};

}  // namespace

void order_conflicts(const Plan& plan, FlatBody& body, bool serial) {
  if (body.size() != 0) Orderer(plan, body, serial).run();
}

}  // namespace plimsoll
