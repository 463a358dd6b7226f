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
    for (std::uint32_t id = 0; id < count; ++id) {
      const auto known = body.dependencies(body.list.instructions[id]);
      needed_[id].assign(known.begin(), known.end());
      if (serial) needed_[id].push_back(id > 0 ? Dependency{id - 1, 0, true} : Dependency{count - 1, 1, true});
    }
  }

  void run() {
    for (std::uint32_t step = 0; step < ranges_.copies(); ++step) {
      for (std::uint32_t id = 0; id < body_.size(); ++id) visit(step, id);
    }
    write_back();
  }

 private:
  void visit(std::uint32_t step, std::uint32_t id) {
    const Instruction& instruction = body_.list.instructions[id];
    const auto count = static_cast<std::uint32_t>(body_.size());
    order_.begin(instruction.queue, body_.members(instruction));
    for (const Dependency& dependency : needed_[id]) {
      if (dependency.distance <= step) order_.depend((step - dependency.distance) * count + dependency.target);
    }
    // Newest first: being after the newest often means being after the others, too.
    for (const std::uint32_t earlier : conflicts(step, instruction)) {
      if (order_.ordered(earlier, static_cast<std::uint32_t>(order_.size()))) continue;
      order_.depend(earlier);
      needed_[id].push_back({earlier % count, step - earlier / count, true});
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
    for (std::size_t id = 0; id < body_.size(); ++id) {
      std::vector<Dependency>& own = needed_[id];
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
  std::vector<std::vector<Dependency>> needed_;  ///< by instruction
  std::vector<std::uint32_t> found_;
};

}  // namespace

void order_conflicts(const Plan& plan, FlatBody& body, bool serial) {
  if (body.size() != 0) Orderer(plan, body, serial).run();
}

}  // namespace plimsoll
