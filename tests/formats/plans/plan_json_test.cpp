#include "formats/plans/plan_json.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/plan/expand.h"
#include "tests/formats/plans/full_plan.h"
#include "tests/support/random_plan.h"

namespace plimsoll::test {
namespace {

/// The written plan with what stands at `pointer` replaced.
std::string with(const Plan& plan, const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json document = nlohmann::json::parse(write_plan(plan));
  document[nlohmann::json::json_pointer(pointer)] = value;
  return document.dump();
}

std::string without(const Plan& plan, const std::string& pointer, const std::string& key) {
  nlohmann::json document = nlohmann::json::parse(write_plan(plan));
  document[nlohmann::json::json_pointer(pointer)].erase(key);
  return document.dump();
}

/// Reads what must be refused; its error as text.
std::string refusal(const std::string& text) {
  const Result<Plan> plan = read_plan(text, "my.json");
  return plan ? "read without complaint" : plan.error().text();
}

}  // namespace

TEST_CASE("a loss scaling that is not the default is written and read, and a bad one is refused") {
  Plan plan = full_plan();
  for (const LossScaling& scaling : {LossScaling{.start = 4096, .interval = 7}, LossScaling{.start = 0.5, .interval = 0}}) {
    plan.recipe.loss_scaling = scaling;
    CHECK(read_plan(write_plan(plan), "scaled").value().recipe == plan.recipe);
  }
  CHECK_THAT(refusal(with(plan, "/recipe/loss_scale", "much")), Catch::Contains("'much' is no loss scale"));
}

TEST_CASE("read_plan gives back every field that write_plan wrote") {
  const Plan plan = full_plan();
  const Result<Plan> read = read_plan(write_plan(plan), "full");
  REQUIRE((read ? "" : read.error().text()) == "");
  CHECK(read->spec == plan.spec);
  CHECK(read->recipe == plan.recipe);
  CHECK(read->strategy == plan.strategy);
  CHECK(read->kernels == plan.kernels);
  CHECK(read->blocks[0].list == plan.blocks[0].list);
  CHECK(read->blocks[0].slot_count == 3);
  CHECK(read->blocks[0].port_count == 2);
  CHECK(read->bodies[0].calls[0].bindings == plan.bodies[0].calls[0].bindings);
  CHECK(read->bodies[0].calls[0].ports == plan.bodies[0].calls[0].ports);
  CHECK(read->bodies[0].calls[0].layer_stride == -1);
  CHECK(read->bodies[0].calls[0].micro_batch == 4);
  CHECK(read->buffers[3].space == SpaceId(2));
  CHECK(read->buffers[3].slots == 2);
  CHECK(read->state[0].kind == TensorKind::kSecondMoment);
  CHECK(read->state[0].group == GroupId(3));
  CHECK(read->platform.processors[1].bytes_per_second == 1.0 / 3.0);
  CHECK(read->platform.processors[1].bf16_flops == 0.30000000000000004);
  CHECK(read->platform.links[0].latency == Nanoseconds(9000));
  CHECK(read->platform.links[0].path[0].amount == 1.5);
  CHECK_FALSE(read->platform.queues[1].processor.valid());
  CHECK(read->platform.queues[1].demands[0].amount == 0.25);
  CHECK(write_plan(*read) == write_plan(plan));
}

TEST_CASE("kernels of ranks that share experts or sequences, and of two stacks, are read back") {
  for (const OpKind kind :
       {OpKind::kShareRouting, OpKind::kKeysValues, OpKind::kAttentionStep, OpKind::kAttentionStepBackward,
        OpKind::kKeysValuesBackward, OpKind::kDistanceBias, OpKind::kBiasedAttention, OpKind::kCrossAttention,
        OpKind::kDistanceBiasBackward, OpKind::kBiasedAttentionBackward, OpKind::kCrossAttentionBackward}) {
    Plan plan = full_plan();
    plan.kernels[0].kind = kind;
    const Result<Plan> read = read_plan(write_plan(plan), "full");
    REQUIRE((read ? "" : read.error().text()) == "");
    CHECK(read->kernels == plan.kernels);
  }
}

TEST_CASE("a plan keeps the numbers of every optimizer, and AdamW's plan says nothing of the others'") {
  for (int kind = 0; kind <= static_cast<int>(OptimizerKind::kMuon); ++kind) {
    Plan plan = full_plan();
    plan.recipe = with_optimizer(plan.recipe, static_cast<OptimizerKind>(kind));
    const OptimizerRule& rule = rule_of(plan.recipe.optimizer);
    if (rule.momentum > 0) plan.recipe.momentum = 0.75;
    plan.recipe.nesterov = rule.nesterov;
    if (rule.trust > 0) plan.recipe.trust = 0.125;
    plan.recipe.relative_step = !rule.relative_step;
    const Result<Plan> read = read_plan(write_plan(plan), "ruled");
    REQUIRE((read ? "" : read.error().text()) == "");
    CAPTURE(rule.name);
    CHECK(canonical_text(read->recipe) == canonical_text(plan.recipe));
    CHECK(read->recipe.optimizer == plan.recipe.optimizer);
  }
  for (const char* key : {"momentum", "nesterov", "trust", "relative_step"}) CHECK(write_plan(full_plan()).find(key) == std::string::npos);
}

TEST_CASE("random plans survive writing and reading to the byte and to the instruction") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomPlanOptions options;
    options.seed = seed;
    const Plan plan = random_plan(options);
    const std::string text = write_plan(plan);
    const Result<Plan> read = read_plan(text, "random");
    INFO("seed " << seed << " " << (read ? "" : read.error().text()));
    REQUIRE(read);
    CHECK(write_plan(*read) == text);
    const FlatBody before = expand(plan, plan.bodies[0]);
    const FlatBody after = expand(*read, read->bodies[0]);
    CHECK(before.list == after.list);
    CHECK(before.micro_batches == after.micro_batches);
  }
}

TEST_CASE("plan_digest differs when one number of the plan differs") {
  Plan plan = full_plan();
  const std::string digest = plan_digest(plan);
  CHECK(plan_digest(full_plan()) == digest);
  plan.blocks[0].list.uses[0].bytes = Bytes(63);
  CHECK(plan_digest(plan) != digest);
}

TEST_CASE("a written plan keeps one kernel, buffer, instruction or call a line") {
  const std::string text = write_plan(full_plan());
  const auto lines = std::count(text.begin(), text.end(), '\n');
  // 2 braces; 1 version, model, recipe, strategy: 4; the platform's name, its 2 lines, 5 lists of 2 lines and 12
  // entries: 25; kernels 2+2, buffers 2+4, arenas 2+2, state 2+2; blocks 2, a block 2 and its 3 instructions; bodies 2,
  // a body 2 and its call, an empty body 1: 2 + 4 + 25 + 4 + 6 + 4 + 4 + 7 + 6 = 62
  CHECK(lines == 62);
}

TEST_CASE("read_plan names the file, the path and what was expected") {
  const Plan plan = full_plan();
  CHECK(refusal(with(plan, "/format_version", 2)) ==
        "my.json at /format_version: format_version 2 is unknown; this program reads version 1 (update plimsoll, or "
        "write "
        "the file with this version)");
  CHECK(refusal(without(plan, "/buffers/1", "bytes")) == "my.json at /buffers/1: the key \"bytes\" is missing");
  CHECK(refusal(with(plan, "/buffers/1/bytes", -1)) ==
        "my.json at /buffers/1/bytes: expected an integer from 0 to 1152921504606846976, found -1");
  CHECK(refusal(with(plan, "/recipe/beta1", "high")) ==
        "my.json at /recipe/beta1: expected a finite number, found \"high\"");
  const std::string misspelt = refusal(with(plan, "/kernels/0/kind", "attentoin"));
  CHECK(misspelt.find("my.json at /kernels/0/kind: expected one of embedding, class_token, first_token") == 0);
  CHECK(misspelt.find("found \"attentoin\" (did you mean attention") != std::string::npos);
}

TEST_CASE("read_plan refuses what expand could not bear") {
  const Plan plan = full_plan();
  const std::string instruction = "/blocks/0/instructions/0";
  CHECK(refusal(with(plan, instruction + "/kernel", 2)) ==
        "my.json at " + instruction + "/kernel: there is no kernel 2: the table has 2");
  CHECK(refusal(with(plan, instruction + "/queue", "gpu0.comptue")).find("there is no queue") != std::string::npos);
  CHECK(refusal(with(plan, instruction + "/after/0", 7)).find("names instruction 7") != std::string::npos);
  CHECK(refusal(with(plan, instruction + "/uses/0/0", 3)).find("from 0 to 2") != std::string::npos);
  CHECK(refusal(with(plan, instruction + "/guard", 2)).find("from 0 to 1") != std::string::npos);
  CHECK(refusal(with(plan, "/bodies/0/calls/0/repeat", 1u << 20)).find("body step") != std::string::npos);
  CHECK(refusal(with(plan, "/bodies/0/calls/0/bind/1", nlohmann::json::array({2, 100}))).find("buffer") !=
        std::string::npos);
  CHECK(refusal(with(plan, "/buffers/2/space", "host")).find("refer to the space by its index, 1 or 2") !=
        std::string::npos);
  CHECK(refusal(with(plan, "/model/layers", 1e9)).find("/model") != std::string::npos);
  CHECK(refusal(with(plan, "/buffers/0/slots", 1e9)).find("/buffers/0/slots") != std::string::npos);
  CHECK(refusal(with(plan, "/colour", "red")).find("unknown key \"colour\"") != std::string::npos);
}

TEST_CASE("a hand-written plan may leave out defaults and sizes and may use names everywhere") {
  const std::string text = R"({
    "format_version": 1,
    "platform": {
      "spaces": [{"name": "host", "kind": "host", "capacity": "1GiB"}],
      "processors": [{"name": "cpu", "kind": "cpu", "space": "host"}],
      "resources": [{"name": "dram", "capacity": 25e9}],
      "queues": [{"name": "cpu", "kind": "host_compute", "processor": "cpu", "demands": ["dram"]}]
    },
    "kernels": [{"kind": "add", "shape": {"rows": 256}}],
    "buffers": [
      {"name": "a", "space": "host", "offset": 0, "bytes": "1KiB"},
      {"name": "b", "space": "host", "offset": 1024, "bytes": "1KiB"}
    ],
    "arenas": [{"space": "host", "bytes": "2KiB"}],
    "blocks": [{"name": "sum", "slots": ["x", "y"], "instructions": [
      {"kind": "launch", "queue": "cpu", "kernel": 0, "uses": [["x", "r"], ["x", "r", null, 256], ["y", "w"]]},
      {"kind": "marker", "queue": "cpu", "after": [0, {"instruction": 1, "distance": 1}]}
    ]}],
    "bodies": [{"name": "step", "calls": [{"block": "sum", "bind": ["a", "b"]}]}]
  })";
  const Result<Plan> plan = read_plan(text, "hand");
  REQUIRE((plan ? "" : plan.error().text()) == "");
  CHECK(plan->platform.spaces[0].usable == kGiB);
  CHECK(plan->platform.queues[0].demands[0].amount == 1.0);
  const FlatBody body = expand(*plan, plan->bodies[0]);
  REQUIRE(body.list.uses.size() == 3);
  CHECK(body.list.uses[0] == Use{0, Access::kRead, Bytes(0), Bytes(1024)});
  CHECK(body.list.uses[1] == Use{0, Access::kRead, Bytes(256), Bytes(768)});  // the rest of 1024 bytes after 256
  CHECK(body.list.uses[2] == Use{1, Access::kWrite, Bytes(0), Bytes(1024)});
  CHECK(body.list.dependencies[1] == Dependency{1, 1, true});
  CHECK(body.list.instructions[1].phase == Phase::kForward);
}

TEST_CASE("a key given twice is refused, for nobody could tell which of the two counts") {
  CHECK(refusal(R"({"format_version": 1, "format_version": 1})").find("twice") != std::string::npos);
}

}  // namespace plimsoll::test
