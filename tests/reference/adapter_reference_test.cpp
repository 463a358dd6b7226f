#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "executor/checkpoint/adapter_folder.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/merge_adapter.h"
#include "executor/cpu/cpu_executor.h"
#include "executor/kernels/block_codes.h"
#include "formats/models/hf_checkpoint.h"
#include "formats/models/peft_tensors.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/reference/reference_model.h"
#include "tests/support/run_graph.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

// Adapters that PEFT made and computed with (make_adapter_reference.py) against ours, from the very files.
namespace plimsoll::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kAdapted{"gpt2", "llama", "qwen3", "phi"};

fs::path adapter_of(const std::string& name) { return kReferenceData / (name + "-adapter"); }

Recipe adapter_recipe(const std::string& name, Precision precision) {
  const auto found = describe_adapter(adapter_of(name), reference_spec(kReferenceData / name));
  if (!found) FAIL(found.error().text());
  CHECK(found->base == name);
  return {.precision = precision,
          .micro_batch = 2,
          .accumulate = 2,
          .sequence = kReferenceSequence,
          .learning_rate = 3e-3,
          .seed = 7,
          .adapter = found->adapter};
}

void load_both(const std::string& name, const ModelSpec& spec, const Recipe& recipe, const WriteState& write) {
  const auto base = load_weights(kReferenceData / name, spec, recipe.precision, write);
  if (!base) FAIL(base.error().text());
  const auto adapter = load_adapter(adapter_of(name), spec, recipe, write);
  if (!adapter) FAIL(adapter.error().text());
}

std::vector<double> logits_of(const std::string& name, Precision precision) {
  Recipe recipe = adapter_recipe(name, precision);
  recipe.micro_batch = recipe.accumulate = 1;
  const Graph graph = build_training_graph(reference_spec(kReferenceData / name), recipe, {.evaluation = true});
  GraphRun run(graph, 1);
  ReferenceCorpus().read(0, run.values<std::int32_t>(run.find(TensorKind::kTokens)));
  const bool wide = precision == Precision::kFp64;
  load_both(name, graph.spec, recipe, [&](TensorKind kind, GroupId group, const FillState& fill) {
    const TensorId id = run.find(kind, group);
    fill(wide ? std::as_writable_bytes(run.values<double>(id)) : std::as_writable_bytes(run.values<float>(id)));
  });
  run.run(Phase::kForward);
  const TensorId logits = graph.ops.back().operands[0].tensor;
  if (wide) return {run.values<double>(logits).begin(), run.values<double>(logits).end()};
  return {run.values<float>(logits).begin(), run.values<float>(logits).end()};
}

std::unique_ptr<CpuExecutor> executor_of(const std::string& name, Precision precision) {
  const auto plan = lower_to_plan(reference_spec(kReferenceData / name), adapter_recipe(name, precision), tiny_machine(), {});
  REQUIRE(plan);
  auto executor = CpuExecutor::create(*plan, {});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  load_both(name, plan->spec, plan->recipe,
            [&](TensorKind kind, GroupId group, const FillState& fill) { (*executor)->set_state(kind, group, fill); });
  return std::move(*executor);
}

std::vector<double> losses_of(CpuExecutor& executor) {
  const auto trace = executor.run_steps({.first_step = 0, .steps = 20, .on_step = {}, .stop = nullptr}, ReferenceCorpus());
  REQUIRE(trace);
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

/// All values of all tensors of a checkpoint.
std::vector<double> values_in(const fs::path& folder, const std::vector<HfTensor>& tensors) {
  const auto checkpoint = HfCheckpoint::open(folder);
  REQUIRE(checkpoint);
  const auto stored = checkpoint->match(tensors);
  if (!stored) FAIL(stored.error().text());
  std::vector<double> all;
  for (const auto& [file, tensor] : *stored) {
    std::vector<float> values(static_cast<std::size_t>(tensor.elements));
    REQUIRE(checkpoint->files()[file].read(tensor, 0, values));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

TEST_CASE("logits of a model with adapters are PEFT's: to the rounding of their file in fp64, to a few more in fp32") {
  for (const std::string& name : kAdapted) {
    const std::vector<double> theirs = reference_logits(adapter_of(name));
    const double wide = distance(logits_of(name, Precision::kFp64), theirs);
    const double single = distance(logits_of(name, Precision::kFp32), theirs);
    INFO(name << ": fp64 " << wide << ", fp32 " << single);
    CHECK(distance(reference_logits(kReferenceData / name), theirs) > 0.1);  // the adapters show
    CHECK(wide < 3e-7);
    CHECK(single < 1e-5);
  }
}

TEST_CASE("twenty steps that train adapters alone have the losses of PyTorch's AdamW on PEFT's model") {
  for (const std::string& name : kAdapted) {
    const std::vector<double> theirs = nlohmann::json::parse(std::ifstream(adapter_of(name) / "losses.json"))["losses"];
    const double wide = distance(losses_of(*executor_of(name, Precision::kFp64)), theirs);
    const double single = distance(losses_of(*executor_of(name, Precision::kFp32)), theirs);
    INFO(name << ": fp64 " << wide << ", fp32 " << single);
    CHECK(wide < 1e-12);
    CHECK(single < 3e-4);
  }
}

TEST_CASE("adapters that are read and saved again have PEFT's tensors bit for bit, and its configuration") {
  for (const std::string& name : kAdapted) {
    const TemporaryFolder folder;
    const fs::path saved = folder.file("saved");
    const ModelSpec spec = reference_spec(kReferenceData / name);
    const Recipe recipe = adapter_recipe(name, Precision::kFp32);
    const auto executor = executor_of(name, Precision::kFp32);
    const auto written = save_adapter(saved, spec, recipe, StoredType::kF32, name,
                                      [&](TensorKind kind, GroupId group) { return executor->state(kind, group); });
    if (!written) FAIL(written.error().text());
    CHECK(describe_adapter(saved, spec).value().adapter == recipe.adapter);
    const std::vector<HfTensor> tensors = peft_tensors(spec, recipe.adapter);
    CHECK(values_in(saved / kAdapterWeightsName, tensors) == values_in(adapter_of(name) / kAdapterWeightsName, tensors));
  }
}

TEST_CASE("adapters in pure bf16 are those of their file, each number rounded once") {
  for (const std::string& name : kAdapted) {
    const TemporaryFolder folder;
    const ModelSpec spec = reference_spec(kReferenceData / name);
    const Recipe recipe = adapter_recipe(name, Precision::kBf16);
    const auto executor = executor_of(name, Precision::kBf16);
    const auto written = save_adapter(folder.file("saved"), spec, recipe, StoredType::kF32, name,
                                      [&](TensorKind kind, GroupId group) { return executor->state(kind, group); });
    if (!written) FAIL(written.error().text());
    const std::vector<HfTensor> tensors = peft_tensors(spec, recipe.adapter);
    const std::vector<double> theirs = values_in(adapter_of(name) / kAdapterWeightsName, tensors);
    const std::vector<double> ours = values_in(fs::path(folder.file("saved")) / kAdapterWeightsName, tensors);
    CHECK(ours != theirs);
    for (std::size_t i = 0; i < ours.size(); ++i) REQUIRE(std::abs(ours[i] - theirs[i]) <= std::abs(theirs[i]) / 256);
  }
}

TEST_CASE("a merged model is what merge_and_unload makes, to the last rounding of fp32") {
  for (const std::string& name : kAdapted) {
    const TemporaryFolder folder;
    const ModelSpec spec = reference_spec(kReferenceData / name);
    const auto merged = merge_adapter(kReferenceData / name, spec, adapter_of(name), folder.file("merged"), {});
    if (!merged) FAIL(merged.error().text());
    const std::vector<double> theirs = values_in(adapter_of(name) / "merged", hf_tensors(spec));
    const double difference = distance(values_in(folder.file("merged"), hf_tensors(spec)), theirs);
    INFO(name << ": " << difference);
    CHECK(difference < 1e-7);
  }
}

// A block's scale takes the nearest of 256 values here; bitsandbytes takes that value's lower neighbour for four of the 560
// blocks, whose scales lie within a sixteenth of a step of the middle between both. So none of ours may be farther off.
TEST_CASE("nf4 has the codes of bitsandbytes bit for bit, and its numbers to a rounding of fp32 in 99 of 100 blocks") {
  const auto file = SafetensorsFile::open(kReferenceData / "nf4.safetensors");
  REQUIRE(file);
  const auto floats = [&](const char* name) {
    std::vector<float> values(112 * 320);
    REQUIRE(file->read(*file->header().find(name), 0, values));
    return values;
  };
  const std::vector<float> weights = floats("weights"), theirs = floats("decoded");
  const auto elements = static_cast<std::int64_t>(weights.size());
  std::vector<std::byte> codes(weights.size() / 2);
  REQUIRE(file->read_bytes(*file->header().find("codes"), Bytes(0), codes));
  std::vector<std::byte> ours(static_cast<std::size_t>(bytes_in(BaseStorage::kNf4, elements, DType::kFp32).count));
  encode(BaseStorage::kNf4, weights, ours);
  CHECK(std::equal(codes.begin(), codes.end(), ours.begin() + block_layout(BaseStorage::kNf4, elements).codes));
  std::vector<float> decoded(weights.size());
  decode(BaseStorage::kNf4, ours, elements, 0, decoded);
  std::size_t differing = 0;
  for (std::size_t block = 0; block < decoded.size(); block += 64) {
    float most = 0, scale = 0, our_scale = 0, their_scale = 0;
    for (std::size_t i = block; i < block + 64; ++i) {
      most = std::max(most, std::abs(decoded[i] - theirs[i]));
      scale = std::max(scale, std::abs(weights[i]));
      our_scale = std::max(our_scale, std::abs(decoded[i]));  // the largest element's code is 1 or −1
      their_scale = std::max(their_scale, std::abs(theirs[i]));
    }
    differing += most < 2e-8F ? 0 : 1;  // numbers of up to 0.09
    INFO("block " << block / 64);
    CHECK(std::abs(our_scale - scale) < std::abs(their_scale - scale) + 2e-8F);
  }
  CHECK(differing <= 4);
}

}  // namespace plimsoll::test
