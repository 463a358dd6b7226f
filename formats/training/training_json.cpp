#include "formats/text/json_text.h"
#include "formats/training/training_answer.h"

namespace plimsoll {
namespace {

std::string or_null(const std::optional<double>& value) { return value ? json_number(*value) : "null"; }

std::string stage_json(const TrainingStage& stage, double all) {
  JsonLine line;
  line.text("stage", stage.name).number("seconds", stage.seconds).number("work_seconds", stage.work_seconds);
  return line.number("share", all > 0 ? stage.seconds / all : 0).str();
}

std::string power_json(const PowerPart& part) {
  return JsonLine().text("part", part.name).number("watts", part.watts).text("origin", part.origin).str();
}

}  // namespace

std::string to_json(const TrainingAnswer& a) {
  std::vector<std::string> stages, power;
  for (const TrainingStage& stage : a.stages) stages.push_back(stage_json(stage, a.seconds));
  for (const PowerPart& part : a.power) power.push_back(power_json(part));
  JsonLine line;
  line.number("seconds", a.seconds).raw("cost", or_null(a.cost));
  line.number("seconds_low", a.seconds_low).number("seconds_high", a.seconds_high);
  line.number("tokens", a.tokens).number("samples", a.samples).raw("epochs", or_null(a.epochs)).number("steps", a.steps);
  line.raw("energy_kwh", or_null(a.energy_kwh)).raw("rent", or_null(a.rent)).raw("electricity", or_null(a.electricity));
  line.number("drive_written_bytes", a.drive_written).number("drive_checkpoint_bytes", a.drive_checkpoints);
  line.raw("drive_rated_bytes", or_null(a.drive_rated)).raw("drive_wear", or_null(a.wear())).text("limit", a.limit);
  line.raw("stages", json_list(stages)).raw("power", json_list(power));
  return line.raw("assumed", json_list(json_texts(a.assumed))).str();
}

}  // namespace plimsoll
