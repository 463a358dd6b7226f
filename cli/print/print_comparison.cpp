#include "cli/print/print_comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print/print_fit.h"
#include "formats/runs/report_json.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

std::vector<FitAnswer> in_order(const SystemComparison& comparison) {
  std::vector<FitAnswer> all{comparison.own};
  all.insert(all.end(), comparison.published.begin(), comparison.published.end());
  std::stable_sort(all.begin(), all.end(), [](const FitAnswer& a, const FitAnswer& b) {
    return std::pair(!a.fits, a.step_seconds) < std::pair(!b.fits, b.step_seconds);
  });
  return all;
}

/// "8.1 GiB", with a mark where there is less.
std::string space_text(const FitAnswer& answer, std::string_view name) {
  for (const SpaceAnswer& space : answer.memory) {
    if (space.space == name) return to_text(space.peak) + (space.margin() < Bytes(0) ? "!" : "");
  }
  return "-";
}

std::string slower_text(const FitAnswer& answer, const FitAnswer& own) {
  if (answer.strategy.name == own.strategy.name) return "ours";
  if (own.step_seconds <= 0) return "";
  return fmt::format("{:+.1f} %", 100 * (answer.step_seconds / own.step_seconds - 1));
}

std::string line_of(const FitAnswer& a, const FitAnswer& own, std::size_t width) {
  return fmt::format("  {:<{}}{:>5}{:>12}{:>12.1f}{:>12}{:>12}{:>12}  {:<16}{:>10}\n", a.strategy.name, width,
                     a.fits ? "yes" : "no", to_text(from_seconds(a.step_seconds)), a.tokens_per_second, space_text(a, "gpu0"),
                     space_text(a, "host"), space_text(a, "ssd"),
                     fmt::format("{} {:.0f} %", a.bottleneck, 100 * a.bottleneck_busy_fraction), slower_text(a, own));
}

}  // namespace

std::string comparison_text(const SystemComparison& comparison, const Recipe& recipe, const std::string& machine) {
  const std::vector<FitAnswer> all = in_order(comparison);
  std::size_t width = std::string_view("strategy").size();
  for (const FitAnswer& answer : all) width = std::max(width, answer.strategy.name.size());
  FitAnswer own = comparison.own;
  own.alternatives.clear();  // the table says more
  std::string text = fit_text(own, recipe, machine);
  text += fmt::format("  {:<{}}{:>5}{:>12}{:>12}{:>12}{:>12}{:>12}  {:<16}{:>10}\n", "strategy", width, "fits", "step",
                      "tokens/s", "gpu0", "host", "ssd", "limited by", "to ours");
  for (const FitAnswer& answer : all) text += line_of(answer, comparison.own, width);
  for (const LeftOut& left : comparison.left_out) text += fmt::format("  {:<{}}  no plan: {}\n", left.system, width, left.why);
  text += "  ! needs more of this memory than there is\n";
  return text + "  ours is searched for a shorter time beside them; without --strategy all it may be faster\n";
}

std::string comparison_csv(const SystemComparison& comparison) {
  std::string text =
      "strategy,fits,step_seconds,tokens_per_second,gpu0_bytes,host_bytes,ssd_bytes,limited_by,busy_fraction,seconds_over_ours\n";
  const auto bytes = [](const FitAnswer& a, std::string_view name) {
    for (const SpaceAnswer& space : a.memory) {
      if (space.space == name) return std::to_string(space.peak.count);
    }
    return std::string();
  };
  for (const FitAnswer& a : in_order(comparison)) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_field(a.strategy.name), a.fits, json_number(a.step_seconds),
                        json_number(a.tokens_per_second), bytes(a, "gpu0"), bytes(a, "host"), bytes(a, "ssd"),
                        csv_field(a.bottleneck), json_number(a.bottleneck_busy_fraction),
                        json_number(a.step_seconds - comparison.own.step_seconds));
  }
  return text;
}

std::string comparison_json(const SystemComparison& comparison) { return to_json(in_order(comparison)); }

}  // namespace plimsoll
