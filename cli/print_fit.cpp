#include "cli/print_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace plimsoll {
namespace {

std::string seconds(double value) { return to_text(from_seconds(value)); }

std::string count_text(std::int64_t parameters) {
  const double n = static_cast<double>(parameters);
  if (n >= 1e9) return fmt::format("{:.2f} B", n * 1e-9);
  if (n >= 1e6) return fmt::format("{:.1f} M", n * 1e-6);
  return fmt::format("{:.1f} K", n * 1e-3);
}

std::string memory_lines(const FitAnswer& answer) {
  std::string text =
      fmt::format("  {:<8}{:>12}{:>12}{:>12}   {}\n", "memory", "needs", "usable", "margin", "at the peak");
  for (const SpaceAnswer& space : answer.memory) {
    const auto& by = space.by_category;
    std::string parts;
    const std::pair<const char*, Bytes> shares[] = {{"parameters", by.parameters},
                                                    {"gradients", by.gradients},
                                                    {"optimizer", by.optimizer},
                                                    {"activations", by.activations},
                                                    {"workspace", by.workspace}};
    for (const auto& [name, bytes] : shares) {
      if (bytes < kMiB) continue;
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, to_text(bytes));
    }
    text += fmt::format("  {:<8}{:>12}{:>12}{:>12}   {}\n", space.space, to_text(space.peak), to_text(space.usable),
                        to_text(space.margin()), parts);
  }
  return text;
}

std::string time_lines(const FitAnswer& a) {
  std::string text = fmt::format("  step    {} ({} to {}), {:.1f} tokens/s, {:.2f} TFLOP/s of model arithmetic\n",
                                 seconds(a.step_seconds), seconds(a.step_seconds_low), seconds(a.step_seconds_high),
                                 a.tokens_per_second, a.model_tflops_per_gpu);
  text += fmt::format("          forward {}, backward {}, optimizer {}, exposed transfers {}\n",
                      seconds(a.phases.forward_seconds), seconds(a.phases.backward_seconds),
                      seconds(a.phases.optimizer_seconds), seconds(a.phases.exposed_transfer_seconds));
  text += fmt::format("  limit   {}, busy {:.0f} % of the step", a.bottleneck, 100 * a.bottleneck_busy_fraction);
  if (a.lower_bound_seconds) text += fmt::format("; no plan takes less than {}", seconds(*a.lower_bound_seconds));
  return text + "\n";
}

std::string alternatives_lines(const FitAnswer& answer) {
  if (answer.alternatives.empty()) return {};
  std::string text = answer.fits ? "  also    " : "  nearest ";
  std::size_t shown = 0;
  for (const AlternativeAnswer& other : answer.alternatives) {
    if (shown == 4) break;
    text += shown++ == 0 ? "" : "          ";
    const std::string time = other.step_seconds > 0 ? fmt::format("{} a step, ", seconds(other.step_seconds)) : "";
    text += fmt::format("{}: {}{} on the device\n", other.strategy, time, to_text(other.peak));
  }
  return text;
}

/// Spaces in which this candidate needs more than there is.
std::string short_spaces(const Candidate& candidate, const Platform& platform, std::int64_t parameters) {
  std::string text;
  for (const SpaceNeed& need : candidate.needs) {
    if (need.fits()) continue;
    text += fmt::format("{}{} is short by {} (needs at least {}, usable {}: {:.1f} bytes a parameter)",
                        text.empty() ? "" : "; ", platform.at(need.space).name, to_text(need.needed - need.usable),
                        to_text(need.needed), to_text(need.usable),
                        static_cast<double>(need.needed.count) / static_cast<double>(parameters));
  }
  return text;
}

}  // namespace

std::string fit_text(const FitAnswer& a, const Recipe& recipe, const std::string& machine) {
  std::string text = fmt::format("{} ({} parameters, {}, {} x {} x {} tokens) on {}: {}\n", a.model,
                                 count_text(a.parameters), to_text(recipe.precision), recipe.accumulate,
                                 recipe.micro_batch, recipe.sequence, machine, a.fits ? "FITS" : "DOES NOT FIT");
  text += fmt::format("  plan    {}: {}\n", a.strategy.name, describe(a.strategy));
  text += time_lines(a);
  text += memory_lines(a);
  text += alternatives_lines(a);
  text += fmt::format("  numbers {}: {}\n", a.calibration_kind, a.calibration_source);
  return text;
}

std::string shortfall_text(const SearchResult& search, const Platform& platform, std::int64_t parameters) {
  std::set<std::string> fitting;
  for (const Candidate& candidate : search.candidates) {
    if (candidate.fits()) fitting.insert(candidate.strategy.name);
  }
  std::set<std::string> shown;
  std::string text;
  for (const Candidate& candidate : search.candidates) {  // of those that do not fit, the nearest come first
    if (fitting.count(candidate.strategy.name) == 1 || !shown.insert(candidate.strategy.name).second) continue;
    text +=
        fmt::format("  {} does not fit: {}\n", candidate.strategy.name, short_spaces(candidate, platform, parameters));
  }
  return text;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text = "  assumed\n";
  for (const std::string& note : notes) text += fmt::format("    {}\n", note);
  return text;
}

}  // namespace plimsoll
