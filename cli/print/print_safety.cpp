#include "cli/print/print_safety.h"

#include <fmt/format.h>

#include "sim/planner/safety_cost.h"

namespace plimsoll {
namespace {

std::string seconds(double value) { return to_text(from_seconds(value)); }

std::string what_is_kept(const SafetyAnswer& a) {
  if (a.safety.durability == Durability::kStep) return "the state of every step";
  return fmt::format("a checkpoint every {} steps", a.every());
}

}  // namespace

void add_safety(const DurabilityFlags& flags, const ModelSpec& spec, const Recipe& recipe, const Platform& platform, FitAnswer& answer) {
  const auto safety = read_safety(flags);
  if (!safety || safety->durability == Durability::kNone) return;
  answer.safety = safety_cost(spec, recipe, *safety, state_on_drive(answer), save_speed(platform), answer.step_seconds);
}

std::string safety_text(const SafetyAnswer& a) {
  std::string text = fmt::format("  safety  {}: {} written", what_is_kept(a), to_text(a.written_each));
  if (a.read_each.count > 0) text += fmt::format(" and {} read", to_text(a.read_each));
  if (a.seconds_each) text += fmt::format(", {}", seconds(*a.seconds_each));
  if (a.step_share) text += fmt::format(", {:.2f} % of the steps' time", 100 * *a.step_share);
  text += fmt::format("; room for {} beside the run file\n          ({})\n", to_text(a.room), a.source);
  if (!a.measured) return text;
  text += fmt::format("          measured: {} times {} in {}", a.measured->times, to_text(a.measured->written_each),
                      seconds(a.measured->seconds_each));
  if (a.seconds_each && a.measured->seconds_each > 0) {
    text += fmt::format(" ({:+.1f} % against the prediction)", 100 * (a.measured->seconds_each - *a.seconds_each) / *a.seconds_each);
  }
  text += "\n";
  if (!a.learned) return text;
  const SafetyAnswer::Learned& l = *a.learned;
  text += fmt::format("          by the first {}: {}; the {} after them took {}", l.from, seconds(l.seconds_each),
                      l.later, seconds(l.later_seconds_each));
  if (l.seconds_each > 0)
    text += fmt::format(" ({:+.1f} %)", 100 * (l.later_seconds_each - l.seconds_each) / l.seconds_each);
  return text + "\n";
}

}  // namespace plimsoll
