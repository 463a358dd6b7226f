#include "tests/session/session_case.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "profiler/probe/this_computer.h"
#include "sim/cost/catalogue_cost_model.h"

namespace plimsoll::test {
namespace {

/// A few thousand letters that are no pure repetition, so that the loss has something to learn.
void write_text(const std::string& path) {
  std::ofstream text(path);
  for (int line = 0; line < 200; ++line) text << "line " << line * line % 97 << " of the text that every run reads\n";
}

}  // namespace

Platform own_machine(std::int64_t threads) {
  ThisComputer computer = probe_this_computer();
  computer.logical_cores = std::max(computer.logical_cores, threads);  // more threads than cores are slow, not wrong
  const AttachedDrive drive{.usable = 64 * kMiB, .read_bytes_per_second = 1e9, .write_bytes_per_second = 1e9};
  const auto platform = computer_platform(
      computer, {.device_memory = 32 * kMiB, .ram = 32 * kMiB, .threads = threads, .drive = drive});
  if (!platform) FAIL(platform.error().text());
  return platform->platform;
}

RunRequest small_request(const TemporaryFolder& folder, Family family, std::int64_t steps) {
  RunRequest request;
  request.spec = small_model(family, 3);
  request.recipe = small_recipe();
  request.recipe.learning_rate = 1e-2;
  request.machine = own_machine();
  request.costs = std::make_shared<CatalogueCostModel>();
  request.warm_up_steps = 0;
  request.schedule.end_step = steps;
  request.data = folder.file("text.txt");
  request.output = folder.file("run.plimsoll");
  request.drive.folder = folder.path();
  write_text(request.data);
  return request;
}

RunRequest without_drive(RunRequest request) {
  Platform& machine = request.machine;
  const SpaceId ssd = *machine.space(SpaceKind::kSsd);
  std::erase_if(machine.links, [&](const Link& link) { return link.from == ssd || link.to == ssd; });
  std::erase_if(machine.queues, [](const Queue& queue) { return queue.kind == QueueKind::kStorage; });
  machine.spaces.pop_back();
  return request;
}

RunRequest with_strategy(RunRequest request, const Strategy& strategy) {
  auto plan = lower_to_plan(request.spec, request.recipe, request.machine, strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  request.plan = std::move(*plan);
  return request;
}

RunOutcome run_to_end(const RunRequest& request) {
  const std::atomic<bool> stop{false};
  auto outcome = run_session(request, {}, stop);
  if (!outcome) FAIL(outcome.error().text());
  return std::move(*outcome);
}

std::vector<double> losses_of(const RunRequest& request) { return losses_of(run_to_end(request)); }

std::vector<double> losses_of(const RunOutcome& outcome) {
  std::vector<double> losses;
  for (const StepSummary& step : outcome.steps) losses.push_back(step.loss);
  return losses;
}

std::vector<Strategy> executable_strategies() {
  std::vector<Strategy> all =
      candidate_strategies(small_model(Family::kGpt2, 3).layers, own_machine(), Precision::kFp32);
  all.push_back(warm_up_strategy());
  all.push_back({.name = "breadth-first", .recompute_every = 2, .parameters = Tier::kHost, .optimizer = Tier::kHost,
                 .gradients = Tier::kSsd, .loop_order = LoopOrder::kBreadthFirst});
  return all;
}

std::vector<std::string> files_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plimsoll::test
