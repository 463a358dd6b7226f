#include "cli/print/print_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/runs/report_json.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

constexpr std::size_t kGpusShown = 6;

/// "48 GiB of RAM", cut to characters that fit a column.
std::size_t widest(const std::vector<const ChangeOutcome*>& shown) {
  std::size_t width = std::string_view("change").size();
  for (const ChangeOutcome* outcome : shown) width = std::max(width, outcome->name.size());
  return width;
}

std::vector<const ChangeOutcome*> shown_of(const HelpAnswer& help, bool all, std::size_t& left_out) {
  std::vector<const ChangeOutcome*> shown;
  std::size_t gpus = 0;
  for (const ChangeOutcome& outcome : help.outcomes) {
    if (!outcome.helps()) continue;
    const bool further = outcome.kind == "GPU" && !outcome.price && ++gpus > kGpusShown;
    if (further && !all) ++left_out;
    else shown.push_back(&outcome);
  }
  return shown;
}

std::string gain_text(const ChangeOutcome& outcome) {
  if (outcome.makes_fit) return "makes it fit";
  return fmt::format("{}{:.2f} x", outcome.at_least ? "≥ " : "", outcome.speed_up);
}

std::string line(const ChangeOutcome& outcome, std::size_t width, bool priced) {
  const std::string step = (outcome.at_least ? "≤ " : "") + to_text(from_seconds(outcome.answer.step_seconds));
  std::string text = fmt::format("  {:<{}}  {:>12}  {:>12}  {:<12}", outcome.name, width, gain_text(outcome), step,
                                 to_text(outcome.effect));
  if (priced) {
    text += fmt::format("  {:>9}  {:>9}", outcome.price ? fmt::format("{:.0f}", *outcome.price) : "",
                        outcome.price_of_speed.value_or(0) > 0 ? fmt::format("{:.0f}", *outcome.price_of_speed) : "");
  }
  while (text.back() == ' ') text.pop_back();
  return text + "\n";
}

std::string useless_lines(const HelpAnswer& help) {
  std::string text;
  for (const ChangeOutcome& outcome : help.outcomes) {
    if (outcome.helps() || outcome.kind == "GPU") continue;
    const std::string how = !outcome.answer.fits ? fmt::format("short of {}", to_text(outcome.answer.short_of))
                                                 : gain_text(outcome);
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", outcome.name, how);
  }
  return text.empty() ? text : "  no help: " + text + "\n";
}

std::string outcome_json(const ChangeOutcome& o) {
  JsonLine line;
  line.text("kind", o.kind).text("change", o.name).text("changes", to_text(o.effect)).flag("fits", o.answer.fits);
  line.flag("helps", o.helps()).flag("makes_it_fit", o.makes_fit);
  line.raw("speed_up", o.speed_up > 0 ? json_number(o.speed_up) : "null").flag("at_least", o.at_least);
  line.raw("step_seconds", o.answer.fits ? json_number(o.answer.step_seconds) : "null");
  line.raw("samples_per_second", o.answer.fits ? json_number(o.answer.samples_per_second) : "null");
  line.integer("short_bytes", o.answer.short_of.count);
  line.raw("price", o.price ? json_number(*o.price) : "null");
  return line.raw("price_of_speed", o.price_of_speed ? json_number(*o.price_of_speed) : "null").str();
}

}  // namespace

std::string changes_text(const HelpAnswer& help, bool all) {
  std::size_t left_out = 0;
  const auto shown = shown_of(help, all, left_out);
  if (shown.empty()) return "  no single change helps\n" + useless_lines(help);
  const bool priced = std::any_of(shown.begin(), shown.end(), [](const ChangeOutcome* o) { return o->price.value_or(0) > 0; });
  const std::size_t width = widest(shown);
  std::string text = fmt::format("  {:<{}}  {:>12}  {:>12}  {:<12}", "change", width, "speed-up", "step", "changes");
  if (priced) text += fmt::format("  {:>9}  {:>9}", "price", "per +100%");
  while (text.back() == ' ') text.pop_back();
  text += "\n";
  for (const ChangeOutcome* outcome : shown) text += line(*outcome, width, priced);
  if (std::any_of(shown.begin(), shown.end(), [](const ChangeOutcome* o) { return o->at_least; })) {
    text += "  ≥ and ≤: with a plan near those known today; fit for the changed machine, or a price (--price-of), "
            "may find a faster one\n";
  }
  if (left_out > 0) text += fmt::format("  and {} other GPUs (--all-changes)\n", left_out);
  text += useless_lines(help);
  for (std::size_t i = 0; i < help.refused.size(); ++i) {
    if (!all && i > 0) return text + fmt::format("  and {} others not planned (--all-changes)\n", help.refused.size() - i);
    text += fmt::format("  not planned: {}\n", help.refused[i]);
  }
  return text;
}

std::string changes_csv(const HelpAnswer& help) {
  std::string text =
      "kind,change,changes,fits,helps,makes_it_fit,speed_up,step_seconds,samples_per_second,short_bytes,price,price_of_"
      "speed,at_least\n";
  for (const ChangeOutcome& o : help.outcomes) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(o.kind), csv_field(o.name), to_text(o.effect),
                    o.answer.fits, o.helps(), o.makes_fit, o.speed_up > 0 ? json_number(o.speed_up) : "",
                    o.answer.fits ? json_number(o.answer.step_seconds) : "",
                    o.answer.fits ? json_number(o.answer.samples_per_second) : "", o.answer.short_of.count,
                    o.price ? json_number(*o.price) : "", o.price_of_speed ? json_number(*o.price_of_speed) : "",
                    o.at_least);
  }
  return text;
}

std::string changes_json(const HelpAnswer& help) {
  std::vector<std::string> changes;
  for (const ChangeOutcome& outcome : help.outcomes) changes.push_back(outcome_json(outcome));
  std::string today = to_json(help.today);
  while (!today.empty() && today.back() == '\n') today.pop_back();
  return fmt::format("{{\n\"format_version\": 1,\n\"today\": {},\n\"changes\": {},\n\"refused\": {}\n}}\n", today,
                     json_lines(changes, 0), json_list(json_texts(help.refused)));
}

}  // namespace plimsoll
