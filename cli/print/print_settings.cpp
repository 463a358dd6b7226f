#include "cli/print/print_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/runs/report_json.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

constexpr std::size_t kShown = 10;

std::string setting_line(const SettingAnswer& one) {
  return fmt::format("  {:>10}{:>12}  {}{}\n", to_text(from_seconds(one.look.step_seconds)), to_text(one.look.device), one.options,
                     one.look.certain ? "" : "  (too close to call)");
}

std::string setting_json(const SettingAnswer& one) {
  const SettingLook& look = one.look;
  JsonLine line;
  line.text("options", one.options).number("step_seconds", look.step_seconds);
  line.number("step_seconds_low", look.step_low).number("step_seconds_high", look.step_high);
  line.integer("device_bytes", look.device.count).integer("host_bytes", look.host.count);
  return line.flag("fits", look.fits).flag("certain", look.certain).str();
}

std::string setting_csv(const SettingAnswer& one, bool best) {
  const SettingLook& look = one.look;
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_field(one.options), json_number(look.step_seconds), json_number(look.step_low),
                     json_number(look.step_high), look.device.count, look.host.count, look.fits, look.certain, best);
}

std::string looked_at(const SettingsAnswer& settings) {
  const std::string coarse = settings.coarse ? fmt::format("{} layouts compared coarsely", settings.settings) : fmt::format("{} settings", settings.settings);
  return fmt::format("{}, {} looked at, {} fit", coarse, settings.looked_at, settings.fitting);
}

}  // namespace

std::string settings_text(const SettingsAnswer& settings) {
  std::string text = fmt::format("  {:<7} {}\n", settings.best.fits ? "best" : "nearest", settings.chosen.options);
  if (settings.floor_seconds > 0) {
    text += fmt::format("  floor   no settings take less than {} (the model's arithmetic at the nominal rate of all GPUs)\n",
                        to_text(from_seconds(settings.floor_seconds)));
  }
  text += fmt::format("  search  {}{}\n", looked_at(settings), settings.front.empty() ? "" : "; fastest first, each needing less than those before:");
  for (std::size_t i = 0; i < std::min(kShown, settings.front.size()); ++i) text += setting_line(settings.front[i]);
  if (settings.front.size() > kShown) text += fmt::format("  and {} others (--csv, --json)\n", settings.front.size() - kShown);
  for (const std::string& reason : settings.refused) text += fmt::format("  left out: {}\n", reason);
  return text;
}

std::string settings_csv(const SettingsAnswer& settings) {
  std::string text = "options,step_seconds,step_seconds_low,step_seconds_high,device_bytes,host_bytes,fits,certain,best\n";
  bool listed = false;
  for (const SettingAnswer& one : settings.front) {
    const bool best = one.options == settings.chosen.options;
    listed = listed || best;
    text += setting_csv(one, best);
  }
  return listed ? text : text + setting_csv(settings.chosen, true);
}

std::string settings_json(const SettingsAnswer& settings) {
  std::vector<std::string> front;
  for (const SettingAnswer& one : settings.front) front.push_back(setting_json(one));
  std::string best = to_json(settings.best);
  while (!best.empty() && best.back() == '\n') best.pop_back();
  return fmt::format("{{\n\"format_version\": 1,\n\"options\": {},\n\"fits\": {},\n\"best\": {},\n\"front\": {},\n\"settings\": {},\n\"looked_at\": {},\n"
                     "\"fitting\": {},\n\"floor_seconds\": {},\n\"left_out\": {}\n}}\n",
                     json_quote(settings.chosen.options), settings.best.fits, best, json_lines(front, 0), settings.settings, settings.looked_at,
                     settings.fitting, settings.floor_seconds > 0 ? json_number(settings.floor_seconds) : "null", json_list(json_texts(settings.refused)));
}

}  // namespace plimsoll
