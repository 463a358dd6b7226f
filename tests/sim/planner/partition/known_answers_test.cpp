#include <catch2/catch.hpp>

#include <regex>

#include "formats/plans/layer_profile.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/planner/partition/pipedream_partition.h"
#include "sim/planner/partition/verify_partition.h"

namespace plimsoll {
namespace {

const std::string kData = PLIMSOLL_PROFILE_DATA;

/// "4x4" or "1e10x1e9", innermost first.
std::vector<double> parts_of(const std::string& text) {
  std::vector<double> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    parts.push_back(*parse_number(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

PartitionTask task_of(CsvFields& row) {
  const std::string file = kData + "/pipedream/" + row.text("profile") + ".txt";
  PartitionTask task{.graph = read_layer_profile(*read_text_file(file, kMiB), file)->graph};
  const auto devices = parts_of(row.text("n_machines_per_level")), rates = parts_of(row.text("bandwidth_Bps_per_level"));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    task.levels.push_back({static_cast<std::size_t>(devices[i]), rates[i]});
  }
  task.straight = row.text("flags").find("--straight_pipeline") != std::string::npos;
  return task;
}

/// "L2: [0,17) t=0.5 x3; [17,40) t=0.2 x1 || L1: …" as stages; a level below lists those of all stages one after another.
Partition published_partition(const PartitionTask& task, const std::string& text) {
  const std::vector<LayerId> order = *topological_order(task.graph);
  const std::regex stage(R"(\[(\d+),(\d+)\) t=[0-9.]+ x(\d+))");
  std::vector<std::vector<PartitionStage>> levels;  // outermost first
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(" || ", at), text.size());
    const std::string level = text.substr(at, end - at);
    levels.emplace_back();
    for (std::sregex_iterator found(level.begin(), level.end(), stage), none; found != none; ++found) {
      PartitionStage& added = levels.back().emplace_back();
      added.layers.assign(order.begin() + std::stol((*found)[1]), order.begin() + std::stol((*found)[2]));
      added.replicas = std::stoul((*found)[3]);
    }
    at = std::min(end + 4, text.size());
  }
  Partition partition{.method = PartitionMethod::kPipeDream, .stages = levels.front()};
  if (levels.size() == 1) return partition;
  std::size_t next = 0;
  for (PartitionStage& outer : partition.stages) {
    for (std::size_t held = 0; held < outer.layers.size(); ++next) {
      outer.inner.push_back(levels[1][next]);
      held += levels[1][next].layers.size();
    }
  }
  return partition;
}

}  // namespace

TEST_CASE("pipedream_partition gives the published optimizer's times and, of chains, its stages") {
  const std::string file = kData + "/pipedream/known_answers.csv";
  const auto table = read_csv(*read_text_file(file, kMiB), file);
  REQUIRE(table);
  CHECK(table->rows.size() == 28);
  for (const CsvRow& line : table->rows) {
    CsvFields row(*table, line);
    const PartitionTask task = task_of(row);
    const Ideals ideals(task.graph);
    INFO(row.text("profile") << " " << row.text("scenario"));
    CHECK(static_cast<double>(ideals.count() - 1) == row.number("states"));
    CHECK(ideals.seconds(ideals.last()) == Approx(row.number("single_stage_time_s")).epsilon(1e-12));
    const auto partition = pipedream_partition(task, ideals);
    REQUIRE(partition);
    const auto cost = verify_partition(task, *partition);
    INFO((cost ? "" : cost.error().text()));
    REQUIRE(cost);
    CHECK(cost->slowest_seconds == Approx(row.number("time_per_stage_s")).epsilon(1e-9));
    if (ideals.count() != task.graph.layers.size() + 1) continue;  // its numbers of states are not known
    const auto published = verify_partition(task, published_partition(task, row.text("stages")));
    INFO((published ? "" : published.error().text()));
    REQUIRE(published);
    CHECK(published->slowest_seconds == Approx(row.number("time_per_stage_s")).epsilon(1e-9));
  }
}

TEST_CASE("pipedream_partition gives VGG-16's first 17 layers three of four devices, and cuts where least is moved") {
  const std::string file = kData + "/pipedream/vgg16.txt";
  PartitionTask task{.graph = read_layer_profile(*read_text_file(file, kMiB), file)->graph, .levels = {{4, 1e9}}};
  const Ideals ideals(task.graph);
  const auto partition = pipedream_partition(task, ideals);
  REQUIRE(partition);
  REQUIRE(partition->stages.size() == 2);
  CHECK(partition->stages[0].layers.size() == 17);
  CHECK(partition->stages[0].replicas == 3);
  CHECK(partition->stages[1].replicas == 1);
}

}  // namespace plimsoll
