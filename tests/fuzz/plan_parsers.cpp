// Readers of plans and of what plans are made from: machines, strategies, measurements, profiles of layers, schedules.

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "formats/exporters/read_deepspeed.h"
#include "formats/trainers/training_file.h"
#include "formats/machines/machine_json.h"
#include "formats/machines/machine_parts.h"
#include "formats/machines/machine_probe.h"
#include "formats/plans/chain_json.h"
#include "formats/plans/layer_profile.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/strategy_json.h"
#include "formats/schedules/schedule_file.h"
#include "sim/cost/sample_file.h"
#include "tests/fuzz/parser.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

const std::string kWhere = "file";

void read_plan_file(std::string_view bytes) {
  const auto plan = read_plan(bytes, kWhere);
  if (!has_value(plan)) return;
  for (const Body& body : plan->bodies) {
    require(instruction_count(*plan, body) <= kMaxBodyInstructions, "a body's instructions are bounded");
  }
  require(read_plan(write_plan(*plan), kWhere).has_value(), "what was read can be written and read again");
  std::uint64_t instructions = 0;
  for (const Body& body : plan->bodies) instructions += instruction_count(*plan, body);
  if (instructions < 10'000) static_cast<void>(has_value(verify_plan(*plan)));
}

void read_machine_file(std::string_view bytes) {
  const auto machine = read_machine(bytes, kWhere);
  if (has_value(machine))
    require(read_machine(write_machine(*machine), kWhere).has_value(), "a machine is written as it is read");
  const auto parts = read_machine_parts(bytes, kWhere);
  if (has_value(parts))
    require(read_machine_parts(write_machine_parts(*parts), kWhere).has_value(), "so are its parts");
}

void read_probe_file(std::string_view bytes) {
  const auto probe = read_probe(bytes, kWhere);
  if (has_value(probe))
    require(read_probe(write_probe(*probe), kWhere).has_value(), "a probe is written as it is read");
}

void read_strategy_file(std::string_view bytes) {
  const auto strategy = read_strategy(bytes, kWhere);
  if (!has_value(strategy)) return;
  require(read_strategy(write_strategy(*strategy), kWhere).has_value(), "a strategy is written as it is read");
}

void read_samples(std::string_view bytes) {
  static const Platform platform = tiny_platform();
  static_cast<void>(has_value(read_sample_file(bytes, kWhere, platform)));
}

void read_profile(std::string_view bytes) { static_cast<void>(has_value(read_layer_profile(bytes, kWhere))); }
void read_piper(std::string_view bytes) { static_cast<void>(has_value(read_piper_profile(bytes, kWhere))); }
void read_chain_file(std::string_view bytes) { static_cast<void>(has_value(read_chain(bytes, kWhere))); }

void read_orders_csv(std::string_view bytes) {
  const auto schedule = read_schedule_csv(bytes, kWhere);
  if (has_value(schedule)) static_cast<void>(schedule_csv(*schedule));
}

void read_orders_json(std::string_view bytes) {
  const auto schedule = read_schedule_json(bytes, kWhere);
  if (has_value(schedule)) static_cast<void>(schedule_csv(*schedule));
}

void read_deepspeed_file(std::string_view bytes) {
  static_cast<void>(is_deepspeed(bytes));
  static_cast<void>(has_value(read_deepspeed(bytes, "deepspeed.json")));
}

void read_trainers_file(std::string_view bytes) {
  auto file = read_training_file(bytes, "train.yaml");
  if (has_value(file)) settle(*file);
}

}  // namespace

std::vector<Parser> plan_parsers() {
  return {{"plan", read_plan_file},        {"machine", read_machine_file},
          {"probe", read_probe_file},      {"strategy", read_strategy_file},
          {"samples", read_samples},       {"layer-graph", read_profile},
          {"piper", read_piper},           {"chain", read_chain_file},
          {"orders-csv", read_orders_csv}, {"orders-json", read_orders_json},
          {"deepspeed", read_deepspeed_file}, {"training-file", read_trainers_file}};
}

}  // namespace plimsoll::test
