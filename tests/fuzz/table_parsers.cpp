// Readers of tables.

#include "formats/machines/constant_table.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/memory_overheads.h"
#include "formats/plans/packing_csv.h"
#include "formats/published/published_rows.h"
#include "formats/published/reading_rules.h"
#include "formats/published/stored_accuracy.h"
#include "formats/training/data_sets.h"
#include "formats/training/headlines.h"
#include "sim/answers/price_list.h"
#include "sim/cost/efficiency_rows.h"
#include "sim/schedule/read_stage_costs.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/parser.h"

namespace plimsoll::test {
namespace {

const std::string kWhere = "table.csv";

void read_packing(std::string_view bytes) {
  const auto packing = read_packing_csv(bytes, kWhere);
  if (!has_value(packing)) return;
  const std::vector<Bytes> offsets(packing->task.size());
  require(!write_packing_csv(*packing, offsets).empty(), "a task that was read can be written");
}

void read_gpus(std::string_view bytes) {
  const auto gpus = read_gpu_catalogue(bytes, kWhere);
  if (has_value(gpus)) static_cast<void>(has_value(find_gpu(*gpus, "A100")));
}

void read_rows(std::string_view bytes) { static_cast<void>(has_value(read_published_rows(bytes, kWhere))); }

void read_rules(std::string_view bytes) {
  static_cast<void>(has_value(read_reading_rules(bytes, kWhere, {"accumulate", "attention", "stack"})));
}

/// The small tables, each of which takes the same bytes.
void read_constants(std::string_view bytes) {
  static_cast<void>(has_value(ConstantTable::read(bytes, kWhere)));
  static_cast<void>(has_value(read_memory_overheads(bytes, kWhere)));
  static_cast<void>(has_value(read_data_sets(bytes, kWhere)));
  static_cast<void>(has_value(read_headlines(bytes, kWhere)));
  static_cast<void>(has_value(read_product_rows(bytes, kWhere)));
  static_cast<void>(has_value(read_bandwidth_rows(bytes, kWhere)));
  static_cast<void>(has_value(read_attention_rows(bytes, kWhere)));
  static_cast<void>(has_value(PriceList::read(bytes, kWhere)));
  static_cast<void>(has_value(read_stage_costs(MemoryFile(bytes).path())));
}

void read_accuracy(std::string_view bytes) { static_cast<void>(has_value(read_stored_accuracy(bytes, kWhere))); }

}  // namespace

std::vector<Parser> table_parsers() {
  return {{"packing", read_packing}, {"gpus", read_gpus},           {"published", read_rows},
          {"rules", read_rules},     {"constants", read_constants}, {"accuracy", read_accuracy}};
}

}  // namespace plimsoll::test
