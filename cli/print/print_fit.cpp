#include "cli/print/print_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/runs/collisions.h"
#include "formats/text/csv.h"

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

/// Of a program that allocates while it runs: the numbers that are all called its memory.
std::string allocator_lines(const FitAnswer& answer) {
  std::string text;
  for (const SpaceAnswer& s : answer.memory) {
    if (!s.peak_requested || !s.peak_device) continue;
    text += fmt::format("  {:<8}requested {}, allocated {}, reserved {}, process {}, device {}\n", s.space,
                        to_text(*s.peak_requested), to_text(s.peak_allocated), to_text(s.peak_reserved),
                        to_text(s.peak_process), to_text(*s.peak_device));
    text += fmt::format("          most at {}; {}\n", s.peak_at, s.certain ? "certain" : "too close to call");
  }
  return text;
}

/// Where the step's time goes; what is exposed is part of the passes, but a pipeline's waiting is not.
std::string phase_line(const FitAnswer& a) {
  const FitAnswer::Phases& phases = a.phases;
  std::string text = fmt::format("          forward {}, backward {}, optimizer {}, exposed transfers {}", seconds(phases.forward_seconds),
                                 seconds(phases.backward_seconds), seconds(phases.optimizer_seconds), seconds(phases.exposed_transfer_seconds));
  if (phases.exposed_communication_seconds > 0) text += fmt::format(", exposed communication {}", seconds(phases.exposed_communication_seconds));
  if (a.bubble_fraction > 0) text += fmt::format("; the pipeline waits {}", seconds(a.bubble_fraction * a.step_seconds));
  return text + "\n";
}

/// What most of the step goes to: the busiest resource, or a pipeline's waiting.
std::string limit_text(const FitAnswer& a) {
  const std::string busiest = fmt::format("{}, busy {:.0f} % of the step", a.bottleneck, 100 * a.bottleneck_busy_fraction);
  if (a.bubble_fraction <= a.bottleneck_busy_fraction) return busiest;
  return fmt::format("waiting for other stages of the pipeline, {:.0f} % of the step (more micro-batches a step fill it); {}", 100 * a.bubble_fraction, busiest);
}

std::string time_lines(const FitAnswer& a, bool of_images) {
  std::string text = fmt::format("  step    {} ({} to {}), {:.1f} {}/s, {:.2f} TFLOP/s of model arithmetic\n",
                                 seconds(a.step_seconds), seconds(a.step_seconds_low), seconds(a.step_seconds_high),
                                 of_images ? a.samples_per_second : a.tokens_per_second,
                                 of_images ? "images" : "tokens", a.model_tflops_per_gpu);
  text += phase_line(a);
  if (a.redo) {
    text += fmt::format("          {} when no step clips, {} when every step does ({:.0f} % taken to clip)\n",
                        seconds(a.redo->step_seconds_never), seconds(a.redo->step_seconds_always),
                        100 * a.redo->probability);
  }
  text += "  limit   " + limit_text(a);
  if (a.lower_bound_seconds) {
    text += fmt::format("; no plan takes less than {}", seconds(*a.lower_bound_seconds));
    const double ratio = *a.lower_bound_seconds > 0 ? a.step_seconds / *a.lower_bound_seconds : 1;
    text += ratio > 2 ? fmt::format(" (this one {:.1f} times that)", ratio)
                      : fmt::format(" (this one {:.1f} % more)", 100 * (ratio - 1));
  }
  if (a.lower_bound_peak) {
    text += fmt::format("\n  floor   {} of device memory for this plan's kernels in their order", to_text(*a.lower_bound_peak));
  }
  return text + "\n";
}

std::string short_text(std::string_view space, Bytes needed, Bytes usable, std::int64_t parameters) {
  return fmt::format("{} short by {} (needs {}, usable {}: {:.1f} bytes a parameter)", space, to_text(needed - usable),
                     to_text(needed), to_text(usable), static_cast<double>(needed.count) / static_cast<double>(parameters));
}

std::string adapter_line(const AdapterAnswer& a) {
  std::string text = fmt::format(
      "  adapter rank {} beside {}: {} parameters trained; gradients and optimizer states {} instead of {}", a.adapter.rank,
      to_text(a.adapter.targets), count_text(a.trained_parameters), to_text(a.training), to_text(a.whole_training));
  if (a.adapter.base != BaseStorage::kCompute) {
    text += fmt::format("; frozen model {} ({}) instead of {}", to_text(a.base), to_text(a.adapter.base), to_text(a.whole_base));
  }
  return text + "\n";
}

/// Demands that collide: "optimizer 3.44 GiB and parameters 2.33 GiB".
std::string collision_lines(const FitAnswer& answer) {
  std::string text;
  for (const CollisionAnswer& collision : collisions_of(answer)) {
    std::string demands;
    for (const auto& demand : collision.demands) {
      demands += fmt::format("{}{} {}", demands.empty() ? "" : " and ", demand.what, to_text(demand.bytes));
    }
    text += fmt::format("  why     {} alone {} more than {}'s {}\n", demands, collision.demands.size() == 1 ? "is" : "are",
                        collision.space, to_text(collision.usable));
  }
  return text;
}

std::string change_lines(const FitAnswer& answer) {
  std::string text;
  for (const ChangeAnswer& change : changes_of(answer)) {
    text += fmt::format("  {:<8}{} ({}, {}{} a step)\n", text.empty() ? "to fit" : "or", change.what, change.strategy,
                        change.at_most ? "≤ " : "", seconds(change.step_seconds));
  }
  return text;
}

/// "stays the fastest when …", and whether it would still fit.
std::string margin_line(const MarginAnswer& m) {
  std::string text = fmt::format("  margin  estimates off by {:g} %: ", m.percent);
  if (m.against.empty()) {
    text += "nothing else fits";
  } else if (m.loss <= 0) {
    text += fmt::format("it stays the fastest, by {:.1f} % before {} at worst ({})", -100 * m.loss, m.against, m.where);
  } else {
    text += fmt::format("{} would be {:.1f} % faster at worst ({})", m.against, 100 * m.loss / (1 + m.loss), m.where);
  }
  return text + (m.fits ? "; it still fits" : "; it would not fit if memory were off by as much") + "\n";
}

/// What of a plan that does not fit is missing.
std::string missing_lines(const FitAnswer& answer) {
  std::string text;
  for (const SpaceAnswer& space : answer.memory) {
    if (space.margin() >= Bytes(0)) continue;
    text += fmt::format("  {}\n", short_text(space.space, space.peak, space.usable, answer.parameters));
  }
  return text;
}

std::string reason(const AlternativeAnswer& other, const FitAnswer& answer) {
  if (!other.fits()) {
    std::string text;
    for (const ShortSpaceAnswer& s : other.short_of) {
      text += (text.empty() ? "" : "; ") + short_text(s.space, s.needed, s.usable, answer.parameters);
    }
    return text;
  }
  const double percent = 100 * other.slower_seconds / answer.step_seconds;
  const std::string by =
      percent < 0.05 ? "as fast" : fmt::format("slower by {} ({:.1f} %)", seconds(other.slower_seconds), percent);
  return fmt::format("{}, limited by {} ({:.0f} % busy)", by, other.limited_by, 100 * other.busy_fraction);
}

/// One line for the best plan of each other family: its step, what it needs of the device, and why it was not taken.
std::string rejected_lines(const FitAnswer& answer) {
  if (answer.alternatives.empty()) return {};
  std::size_t width = std::string_view("rejected").size();
  for (const AlternativeAnswer& other : answer.alternatives) width = std::max(width, other.strategy.size());
  std::string text = fmt::format("  {:<{}}{:>12}{:>12}   why\n", "rejected", width, "step", "device");
  for (const AlternativeAnswer& other : answer.alternatives) {
    text += fmt::format("  {:<{}}{:>12}{:>12}   {}\n", other.strategy, width, seconds(other.step_seconds), to_text(other.peak),
                        reason(other, answer));
  }
  return text;
}

}  // namespace

std::string fit_text(const FitAnswer& a, const Recipe& recipe, const std::string& machine, bool of_images) {
  const bool sparse = a.active_parameters < a.parameters;
  const std::string active = sparse ? fmt::format(", {} active for a token", count_text(a.active_parameters)) : "";
  const std::string sample = of_images ? " images" : fmt::format(" x {} tokens", recipe.sequence);
  std::string text = fmt::format("{} ({} parameters{}, {}, {} x {}{}) on {}: {}\n", a.model, count_text(a.parameters),
                                 active, to_text(recipe.precision), recipe.accumulate, recipe.micro_batch, sample,
                                 machine, a.fits ? "FITS" : "DOES NOT FIT");
  text += a.setup.empty() ? fmt::format("  plan    {}: {}\n", a.strategy.name, describe(a.strategy))
                          : fmt::format("  stack   {}: {}\n", a.stack, a.setup);
  if (a.adapter) text += adapter_line(*a.adapter);
  text += time_lines(a, of_images);
  text += memory_lines(a);
  text += allocator_lines(a);
  if (a.margin) text += margin_line(*a.margin);
  text += missing_lines(a);
  text += collision_lines(a);
  text += change_lines(a);
  text += rejected_lines(a);
  text += fmt::format("  numbers {}: {}\n", a.calibration_kind, a.calibration_source);
  return text;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text = "  assumed\n";
  for (const std::string& note : notes) text += fmt::format("    {}\n", note);
  return text;
}

std::string memory_csv(const FitAnswer& answer) {
  std::string text =
      "space,needs_bytes,usable_bytes,margin_bytes,parameters,gradients,optimizer,activations,workspace,framework\n";
  for (const SpaceAnswer& space : answer.memory) {
    const SpaceAnswer::ByCategory& by = space.by_category;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_field(space.space), space.peak.count, space.usable.count,
                        space.margin().count, by.parameters.count, by.gradients.count, by.optimizer.count,
                        by.activations.count, by.workspace.count, by.framework.count);
  }
  return text;
}

}  // namespace plimsoll
