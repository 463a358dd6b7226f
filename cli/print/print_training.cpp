#include "cli/print/print_training.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "formats/text/csv.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

struct Unit {
  double size;
  const char* name;
};

template <std::size_t N>
std::string in_units(double value, const Unit (&units)[N], int digits = 3) {
  for (const Unit& unit : units) {
    if (value >= unit.size) return fmt::format("{:.{}g} {}", value / unit.size, digits, unit.name);
  }
  return fmt::format("{:.{}g} {}", value / units[N - 1].size, digits, units[N - 1].name);
}

std::string stage_lines(const TrainingAnswer& a) {
  std::string text = fmt::format("  {:<16}{:>12}{:>8}{:>14}\n", "stage", "time", "share", "at work");
  for (const TrainingStage& stage : a.stages) {
    if (stage.seconds < 1e-9 * a.seconds && stage.work_seconds < 1e-9 * a.seconds) continue;
    text += fmt::format("  {:<16}{:>12}{:>7.1f}%{:>14}\n", stage.name, duration_text(stage.seconds),
                        100 * stage.seconds / a.seconds, duration_text(stage.work_seconds));
  }
  return text;
}

std::string cost_line(const TrainingAnswer& a) {
  if (!a.cost) return {};
  std::string parts;
  if (a.rent) parts += fmt::format("rent {:.2f}", *a.rent);
  if (a.electricity) parts += fmt::format("{}electricity {:.2f}", parts.empty() ? "" : ", ", *a.electricity);
  return fmt::format("  cost    {:.2f} ({})\n", *a.cost, parts);
}

std::string drive_line(const TrainingAnswer& a) {
  std::string text = fmt::format("  drive   {} written, {} of it checkpoints", decimal_bytes_text(a.drive_written),
                                 decimal_bytes_text(a.drive_checkpoints));
  if (const auto wear = a.wear()) {
    text += fmt::format("; {:.2g} % of the {} that it is rated for", 100 * *wear, decimal_bytes_text(*a.drive_rated));
    if (*wear > 1) text += fmt::format(": it wears out {:.1f} times", *wear);
  }
  return text + "\n";
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds <= 0) return "0";
  constexpr double kDay = 86400;
  static constexpr Unit kUnits[] = {{365.25 * kDay, "years"}, {kDay, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}};
  return in_units(seconds, kUnits);
}

std::string amount_text(double count) {
  if (count < 1e3) return fmt::format("{:.4g}", count);
  static constexpr Unit kUnits[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}};
  return in_units(count, kUnits, 4);
}

std::string decimal_bytes_text(double bytes) {
  if (bytes <= 0) return "0 B";
  static constexpr Unit kUnits[] = {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  return in_units(bytes, kUnits);
}

std::string training_csv(const TrainingAnswer& a) {
  std::string text = "stage,seconds,share,work_seconds,limits\n";
  for (const TrainingStage& stage : a.stages) {
    const bool limits = a.limit.substr(0, a.limit.find(':')) == stage.name;
    text += fmt::format("{},{},{},{},{}\n", csv_field(stage.name), json_number(stage.seconds),
                        json_number(a.seconds > 0 ? stage.seconds / a.seconds : 0), json_number(stage.work_seconds),
                        limits);
  }
  return text;
}

std::string training_text(const TrainingAnswer& a) {
  const std::string amount = a.tokens > 0 ? amount_text(a.tokens) + " tokens" : amount_text(a.samples) + " samples";
  std::string text = fmt::format("  training {} in {} steps{}: {} ({} to {})\n", amount, amount_text(a.steps),
                                 a.epochs && *a.epochs != 1 ? fmt::format(", {:g} epochs", *a.epochs) : "",
                                 duration_text(a.seconds), duration_text(a.seconds_low), duration_text(a.seconds_high));
  text += cost_line(a);
  if (a.energy_kwh) {
    const std::string energy = *a.energy_kwh < 1e4 ? fmt::format("{:.4g} kWh", *a.energy_kwh) : fmt::format("{:.4g} MWh", *a.energy_kwh / 1e3);
    text += fmt::format("  energy  {} at the wall, {:.0f} W on average\n", energy, *a.energy_kwh * 3.6e6 / a.seconds);
  }
  return text + drive_line(a) + stage_lines(a) + fmt::format("  limits it {}\n", a.limit);
}

}  // namespace plimsoll
