#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "formats/exporters/export_target.h"
#include "formats/exporters/kept_operators.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/stack/exported_setup.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

ExportedTraining of_plan(const Strategy& strategy, Family family = Family::kGpt2,
                         Precision precision = Precision::kBf16Mixed) {
  Recipe recipe = small_recipe();
  recipe.precision = precision;
  return exported_training(lower_to_plan(small_model(family), recipe, tiny_platform(), strategy, {}).value()).value();
}

const Strategy kOffload{.name = "offload", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost};
const Strategy kDrive{
    .name = "drive", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd};

std::string refusal(ExportTarget target, const ExportedTraining& training) {
  const auto made = export_training(target, training);
  return made ? "" : made.error().text();
}

std::string text_of(ExportTarget target, const ExportedTraining& training) {
  return export_training(target, training).value().text;
}

}  // namespace

TEST_CASE("what a target cannot move is refused by name, not left out") {
  const ExportedTraining drive = of_plan(kDrive);
  for (const ExportTarget target : {ExportTarget::kFsdp2, ExportTarget::kMegatron, ExportTarget::kGemini,
                                    ExportTarget::kTorchtitan, ExportTarget::kAccelerateFsdp}) {
    INFO(to_text(target));
    CHECK_THAT(refusal(target, drive), Contains("parameters") && Contains("SSD"));
  }
  CHECK(refusal(ExportTarget::kDeepspeed, drive).empty());
  CHECK(refusal(ExportTarget::kAccelerateDeepspeed, drive).empty());
}

TEST_CASE("numbers that a target cannot train by are refused") {
  ExportedTraining late = of_plan(kOffload);
  late.recipe.delay = 1;
  CHECK_THAT(refusal(ExportTarget::kDeepspeed, late), Contains("step before"));
  ExportedTraining eight = of_plan(kOffload);
  eight.recipe.optimizer = OptimizerKind::kAdam8bit;
  for (const ExportTarget target :
       {ExportTarget::kDeepspeed, ExportTarget::kMegatron, ExportTarget::kTorchtitan, ExportTarget::kGemini}) {
    CHECK_THAT(refusal(target, eight), Contains("adam8bit"));
  }
  CHECK_THAT(refusal(ExportTarget::kGemini, of_plan(kOffload, Family::kGpt2, Precision::kFp32)), Contains("two bytes"));
  CHECK_THAT(refusal(ExportTarget::kTorchtitan, of_plan(kOffload, Family::kGpt2, Precision::kFp16Mixed)),
             Contains("fp16"));
}

TEST_CASE("a program's setup goes to that program's own options alone") {
  const auto setup =
      exported_training(small_model(Family::kLlama), small_recipe(), {.stack = Stack::kMegatron, .tensor_ranks = 2});
  REQUIRE(setup);
  CHECK_THAT(refusal(ExportTarget::kDeepspeed, *setup), Contains("setup of megatron") && Contains("--stack deepspeed"));
  CHECK(refusal(ExportTarget::kMegatron, *setup).empty());
  CHECK_FALSE(exported_training(small_model(Family::kLlama), small_recipe(), {.stack = Stack::kLlmc}));
}

TEST_CASE("Megatron's arguments set the environment that its ranks ask for") {
  const auto text = [](const StackSetup& setup) {
    const auto training = exported_training(small_model(Family::kLlama), small_recipe(), setup);
    return export_training(ExportTarget::kMegatron, training.value()).value().text;
  };
  CHECK_THAT(text({.stack = Stack::kMegatron, .tensor_ranks = 2}), Contains("export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
  CHECK_THAT(text({.stack = Stack::kMegatron, .data_ranks = 2, .zero = 2}), Contains("unset CUDA_DEVICE_MAX_CONNECTIONS\n"));
  CHECK_THAT(text({.stack = Stack::kMegatron, .data_ranks = 2}), !Contains("CUDA_DEVICE_MAX_CONNECTIONS"));
}

TEST_CASE("Megatron's arguments are started on nodes of eight GPUs, where those divide them, and stretch Llama 3's positions") {
  const auto text = [](std::int64_t ranks, RopeScaling scaling = {}) {
    ModelSpec spec = small_model(Family::kLlama);
    spec.rope_scaling = scaling;
    return text_of(ExportTarget::kMegatron, exported_training(spec, small_recipe(), {.stack = Stack::kMegatron, .data_ranks = ranks}).value());
  };
  CHECK_THAT(text(8), Contains("# torchrun --nproc-per-node 8 pretrain_gpt.py"));
  CHECK_THAT(text(12), Contains("# torchrun --nproc-per-node 12 pretrain_gpt.py"));
  CHECK_THAT(text(16), Contains("# torchrun --nnodes 2 --nproc-per-node 8 --node-rank $NODE_RANK --master-addr $MASTER_ADDR pretrain_gpt.py"));
  CHECK_THAT(text(1), !Contains("use-rope-scaling"));
  CHECK_THAT(text(1, {.kind = RopeScalingKind::kLlama3, .factor = 32}), Contains("  --use-rope-scaling\n  --rope-scaling-factor 32\n"));
  const std::string other = text(1, {.kind = RopeScalingKind::kLinear, .factor = 4});
  CHECK_THAT(other, !Contains("  --use-rope-scaling\n") && Contains("stretched otherwise"));
}

TEST_CASE("Megatron's arguments say a squared ReLU, and there are none for a plain one") {
  const auto of = [](ActivationKind activation) {
    ModelSpec spec = small_model(Family::kGpt2);
    spec.activation = activation;
    return exported_training(spec, small_recipe(), {.stack = Stack::kMegatron}).value();
  };
  CHECK_THAT(text_of(ExportTarget::kMegatron, of(ActivationKind::kSquaredRelu)), Contains("  --squared-relu\n"));
  CHECK_THAT(refusal(ExportTarget::kMegatron, of(ActivationKind::kRelu)), Contains("its activation"));
}

TEST_CASE("accelerate's kind is DeepSpeed where anything waits elsewhere, FSDP where anything is shared out, else neither") {
  CHECK(parse_export_target("accelerate", of_plan(kDrive)).value() == ExportTarget::kAccelerateDeepspeed);
  CHECK(parse_export_target("accelerate", of_plan({.name = "resident"})).value() == ExportTarget::kAccelerateDdp);
  const auto of = [](std::int64_t ranks, int zero) {
    StackSetup setup{.stack = Stack::kPytorch, .recomputation = Recomputation::kFull};
    setup.data_ranks = ranks;
    setup.zero = zero;
    Recipe recipe = small_recipe();
    recipe.adapter = {16, 32, {AdapterTarget::kQuery}, BaseStorage::kNf4};
    return exported_training(small_model(Family::kLlama), recipe, setup).value();
  };
  CHECK(parse_export_target("accelerate", of(4, 3)).value() == ExportTarget::kAccelerateFsdp);
  const std::string one = text_of(parse_export_target("accelerate", of(1, 0)).value(), of(1, 0));
  CHECK_THAT(one, Contains("distributed_type: \"NO\"") && Contains("num_processes: 1") && Contains("gradient_checkpointing=True") && Contains("loaded in 4 bits"));
  CHECK_THAT(text_of(parse_export_target("accelerate", of(4, 0)).value(), of(4, 0)), Contains("distributed_type: \"MULTI_GPU\"") && Contains("num_processes: 4"));
  CHECK_THAT(refusal(ExportTarget::kAccelerateDdp, of(4, 3)), Contains("every model whole"));
  CHECK_FALSE(parse_export_target("keras", of_plan(kDrive)));
}

TEST_CASE("every block's operators are told by kind and order, a fused product as many times as PyTorch has") {
  const ExportedTraining training = of_plan({.name = "kept", .recompute_every = 1, .kept_outputs = 1}, Family::kLlama);
  const std::vector<KeptSegment> segments = kept_segments(training, *torch_blocks(training.spec));
  REQUIRE(segments.size() == 4);
  // Queries, keys, values, projection, gate, up, down; one kernel of ours made the first three, and one the fifth and
  // sixth.
  REQUIRE(segments[0].kinds[0].kind == "matmul");
  const std::vector<bool>& products = segments[0].kinds[0].keep;
  REQUIRE(products.size() == 7);
  CHECK((products[0] == products[1] && products[1] == products[2] && products[4] == products[5]));
  CHECK(segments[0].kinds[1].keep.size() == 1);
  CHECK(segments[0].kinds[2].keep.empty());  // an RMSNorm is several operators
  std::size_t kept = products[0] + products[3] + products[4] + products[6] + segments[0].kinds[1].keep[0] +
                     segments[0].kinds[3].keep[0];
  CHECK(kept == 1);
}

TEST_CASE("segments of several blocks end with the model") {
  const ExportedTraining training = of_plan({.name = "three", .recompute_every = 3});
  const auto segments = kept_segments(training, *torch_blocks(training.spec));
  REQUIRE(segments.size() == 2);
  CHECK((segments[0].first == 0 && segments[0].last == 2 && segments[1].first == 3 && segments[1].last == 3));
}

TEST_CASE("no name from outside ends the comment that it stands in") {
  ExportedTraining training = of_plan(kOffload);
  training.spec.name = "gpt\nrm -rf x";
  training.origin = "plan\n'x'";
  for (const ExportTarget target :
       {ExportTarget::kAccelerateDeepspeed, ExportTarget::kMegatron, ExportTarget::kTorchCheckpoint}) {
    const std::string text = text_of(target, training);
    CHECK(text.find("\nrm") == std::string::npos);
    CHECK(text.find("\n'x'") == std::string::npos);
  }
}

TEST_CASE("JSON exports carry their notes, all others have them as comments") {
  const ExportedTraining training = of_plan(kOffload);
  CHECK_FALSE(json::parse(text_of(ExportTarget::kDeepspeed, training))["notes"].empty());
  CHECK_FALSE(json::parse(text_of(ExportTarget::kFsdp2, training))["notes"].empty());
  CHECK_FALSE(json::parse(text_of(ExportTarget::kGemini, training))["notes"].empty());
  for (const ExportTarget target :
       {ExportTarget::kAccelerateDeepspeed, ExportTarget::kMegatron, ExportTarget::kTorchtitan}) {
    CHECK_THAT(text_of(target, training), Contains("# note: "));
  }
}

TEST_CASE("one training is one text") {
  for (int target = 0; target <= static_cast<int>(ExportTarget::kTorchtitan); ++target) {
    const auto first = export_training(static_cast<ExportTarget>(target), of_plan(kOffload, Family::kLlama));
    const auto second = export_training(static_cast<ExportTarget>(target), of_plan(kOffload, Family::kLlama));
    REQUIRE(first.has_value() == second.has_value());
    if (first) CHECK(first->text == second->text);
  }
}

}  // namespace plimsoll::test
