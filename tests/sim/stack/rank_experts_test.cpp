#include "sim/stack/megatron/rank_experts.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/node_placement.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/stack_run.h"
#include "tests/sim/stack/megatron_case.h"

namespace plimsoll {
namespace {

// Eight experts, two a token; R = 4096 rows of the stream, h = 1024, f = 2048.
constexpr std::int64_t kShared = 512;  // columns of a shared expert
constexpr std::int64_t kRows = 4096, kHidden = 1024, kInner = 2048, kExpert = 3 * kHidden * kInner;

ModelSpec mixture(int layers) {
  return *resolve_model("mixtral:layers=" + std::to_string(layers) + ",hidden=1024,heads=16,kv_heads=16,ffn=2048,vocab=32768,positions=1024");
}

Recipe recipe() { return megatron_recipe(4, 1024, 1); }

StackSetup megatron(std::int64_t expert_ranks, std::int64_t data_ranks) {
  StackSetup setup = megatron_setup(AttentionKernel::kFlash);
  setup.deterministic = false;
  setup.data_ranks = data_ranks;
  setup.expert_ranks = expert_ranks;
  return setup;
}

GpuEntry board() { return *find_gpu(built_in_gpu_catalogue(), "H100 SXM5 80GB"); }

StackPrediction predict(const ModelSpec& spec, const Recipe& made, const StackSetup& setup) {
  const auto prediction = predict_stack(spec, made, setup, board());
  if (!prediction) FAIL(prediction.error().what);
  return *prediction;
}

/// What one more layer adds to the activations at the peak.
double kept_by_a_layer(const StackSetup& setup) {
  const auto at = [&](int layers) { return predict(mixture(layers), recipe(), setup).at_peak.activations.count; };
  return static_cast<double>(at(8) - at(4)) / 4;
}

std::string refusal(const ModelSpec& spec, const StackSetup& setup) {
  const auto prediction = predict_stack(spec, recipe(), setup, board());
  REQUIRE_FALSE(prediction);
  return prediction.error().what;
}

}  // namespace

TEST_CASE("Ranks of experts that are said as they are anyway change nothing") {
  StackSetup said = megatron(4, 4);
  const StackPrediction plain = predict(mixture(2), recipe(), said);
  said.expert_tensor_ranks = 1;
  CHECK(predict(mixture(2), recipe(), said).peak.process == plain.peak.process);
}

// Of a layer 4 h² + 8 h elements are matrices within blocks, and 8 experts' 3 h f: with 4 ranks of experts a rank has two. Muon has one state where
// Adam has two of each such element: dense ones over all 4 ranks, (4 h² + 8 h) / 4 · 4 B a layer; experts' whole, 2 · 3 h f · 4 B.
TEST_CASE("Muon leaves out a state of a rank's own experts' matrices, and of its share of the others") {
  StackSetup shared = megatron(4, 4);
  shared.zero = 1;
  Recipe adam = recipe(), muon = recipe();
  adam.optimizer = OptimizerKind::kAdam;
  muon.optimizer = OptimizerKind::kMuon;
  const auto states = [&](const Recipe& made) { return predict(mixture(2), made, shared).at_peak.optimizer.count; };
  const double dense = 4.0 * kHidden * kHidden + 8.0 * kHidden, experts = 2.0 * kExpert;
  CHECK(static_cast<double>(states(adam) - states(muon)) == Approx(2 * 4 * (dense / 4 + experts)).epsilon(0.01));
}

TEST_CASE("A layer of experts keeps the rows that come, what both products read, and numbers a token") {
  // In two bytes: attention's half keeps x, its norm, queries to values (3), the result, and the stream behind it, 7 Rh; the router its
  // input, Rh. P = 2 R rows come: they themselves (Ph), gate and up (2 Pf), what the second product reads (Pf).
  // A token's numbers: sums of attention 4 · 16, roots of norms 2 · 4; choices' places 2 · 8 twice and shares 2 · 4; all experts' shares
  // 8 · 2 with two masks 8 · 2, the rows' shares 2 · 2.
  const double rows = kRows, arriving = 2 * rows;
  const double kept = 2 * 8 * rows * kHidden + 2 * arriving * (kHidden + 3 * kInner) + rows * (64 + 8 + 32 + 8 + 32 + 4);
  CHECK(kept_by_a_layer(megatron(4, 4)) == Approx(kept).epsilon(1e-3));
  StackSetup setup = megatron(4, 4);
  setup.gathers_tokens = true;  // the same rows; all tokens lie in a buffer that stays
  CHECK(kept_by_a_layer(setup) == Approx(kept).epsilon(2e-3));
  setup.adds_in_order = true;  // the second product's rows, too
  CHECK(kept_by_a_layer(setup) == Approx(kept + 2 * arriving * kHidden).epsilon(2e-3));
}

TEST_CASE("An expert that every token passes through is a dense layer of its width beside the mixture") {
  // S = 512 columns. Its input is the router's, kept once. In two bytes: gate and up (2 RS) and what the second product reads (RS); a number a
  // token that weights the result keeps it (Rh) and itself (R).
  const auto with = [](int layers, bool gated, std::int64_t width = kShared) {
    ModelSpec spec = mixture(layers);
    spec.experts.shared_width = width;
    spec.experts.shared_gate = gated;
    return spec;
  };
  const auto kept = [&](bool gated, const StackSetup& setup) {
    const auto at = [&](int layers) { return predict(with(layers, gated), recipe(), setup).at_peak.activations.count; };
    return static_cast<double>(at(8) - at(4)) / 4;
  };
  const double rows = kRows, own = 2 * 3 * rows * kShared, plain = kept_by_a_layer(megatron(4, 4));
  CHECK(kept(false, megatron(4, 4)) - plain == Approx(own).epsilon(1e-3));
  CHECK(kept(true, megatron(4, 4)) - plain == Approx(own + 2 * rows * kHidden + 2 * rows).epsilon(1e-3));
  // Tensor ranks cut it as they cut dense layers; every rank of experts has all of it: 3 h S elements ÷ 2, in two bytes, four layers.
  StackSetup cut = megatron(2, 2);
  cut.tensor_ranks = 2;
  cut.sequence_parallel = true;
  const auto weights = [&](const ModelSpec& spec) { return predict(spec, recipe(), cut).at_peak.parameters.count; };
  CHECK(weights(with(4, false)) - weights(mixture(4)) == 2 * 4 * 3 * kHidden * kShared / 2);
  CHECK(weights(with(4, true)) - weights(with(4, false)) == 2 * 4 * kHidden);
  CHECK(refusal(with(4, false, 511), cut).find("511 columns of the shared expert") != std::string::npos);
}

TEST_CASE("Shares of all experts are kept as such, in place of the softmax of the chosen, and so are scores by a sigmoid") {
  // Eight numbers of fp32 a token in place of two. By a sigmoid also the two chosen and their sum, in two bytes.
  const auto kept = [](bool plain, bool sigmoid) {
    const auto at = [&](int layers) {
      ModelSpec spec = mixture(layers);
      spec.experts.plain_gates = plain;
      spec.experts.sigmoid_scores = sigmoid;
      return predict(spec, recipe(), megatron(4, 4)).at_peak.activations.count;
    };
    return static_cast<double>(at(8) - at(4)) / 4;
  };
  CHECK(kept(true, false) - kept(false, false) == Approx(4.0 * (8 - 2) * kRows).epsilon(0.02));
  CHECK(kept(false, true) - kept(true, false) == Approx(2.0 * 3 * kRows).epsilon(0.02));
}

TEST_CASE("Experts are shared out over their ranks, and their states over fewer copies") {
  // Four of the eight leave one rank with two: 6 · 3 h f fewer elements in each of four layers.
  const auto whole = predict(mixture(4), recipe(), megatron(1, 8)).at_peak, shared = predict(mixture(4), recipe(), megatron(4, 8)).at_peak;
  CHECK(whole.parameters.count - shared.parameters.count == 2 * 4 * 6 * kExpert);
  CHECK(whole.gradients.count - shared.gradients.count == 4 * 4 * 6 * kExpert);
  CHECK(whole.optimizer.count - shared.optimizer.count == 12 * 4 * 6 * kExpert);
  // The distributed optimizer: eight data ranks share what all have, 8 ÷ 4 = 2 the experts.
  StackSetup setup = megatron(4, 8);
  setup.zero = 1;
  const double experts = 4 * 2 * kExpert, others = static_cast<double>(shared.parameters.count) / 2 - experts;
  CHECK(static_cast<double>(predict(mixture(4), recipe(), setup).at_peak.optimizer.count) == Approx(12 * (others / 8 + experts / 2)).margin(4096));
  // Two instances of it: four and one.
  setup.optimizer_instances = 2;
  CHECK(static_cast<double>(predict(mixture(4), recipe(), setup).at_peak.optimizer.count) == Approx(12 * (others / 4 + experts)).margin(4096));
}

TEST_CASE("Tokens travel to their experts and back in both passes, while kernels wait") {
  const auto run = run_stack(mixture(4), recipe(), megatron(4, 4), board());
  REQUIRE(run);
  int exchanges = 0;
  for (const StackKernel& kernel : run->kernels) {
    if (kernel.among != Among::kExperts) continue;
    CHECK(kernel.blocking);
    CHECK(kernel.pairs);
    CHECK(kernel.ranks == 4);
    CHECK(kernel.bytes == Approx(2.0 * 2 * kRows * kHidden * 3 / 4));  // two rows a token in two bytes, three quarters of them elsewhere
    ++exchanges;
  }
  CHECK(exchanges == 4 * 4);
}

TEST_CASE("An all-to-all leaves a node through each rank's own adapter") {
  const StackSetup setup = megatron(16, 16);
  const auto placed = place_on_nodes(board(), 16, {.nodes = {}, .network = "50GB/s", .peers = {}});
  REQUIRE(placed);
  // Of 15 GB seven stay, at NVLink's rate, and eight go out at what one adapter reaches: these take longer.
  const StackKernel kernel{.sort = StackKernelSort::kCollective, .among = Among::kExperts, .pairs = true, .ranks = 16, .bytes = 15e9};
  CHECK(collective_seconds(kernel, setup, board(), *placed) == Approx(8e9 / placed->network->rate).epsilon(1e-3));
}

TEST_CASE("Peaks of Megatron's tests of experts are met where routers are even") {
  // NVIDIA/Megatron-LM, tests/functional_tests/test_cases/moe: gpt3_mcore_te_tp2_pp1_resume_torch_dist_te_8experts2parallel_dist_optimizer and
  // gpt3_mcore_te_tp2_pp1_te_8experts2parallel_ddp_average_in_collective on H100: Sinkhorn routing evens choices out.
  ModelSpec spec = *resolve_model("gpt:layers=12,hidden=512,heads=8,vocab=50304,positions=1024,experts=8,gating=switch,capacity=0,router_loss=0");
  spec.qkv_bias = spec.projection_bias = spec.mlp_bias = false;
  StackSetup setup = megatron(2, 4);
  setup.tensor_ranks = 2;
  setup.sequence_parallel = setup.deterministic = setup.gathers_tokens = setup.adds_in_order = true;
  setup.zero = 1;
  setup.dropout = 0.1;
  setup.grouped_experts = false;
  const auto error = [&](double bytes) { return std::abs(static_cast<double>(predict(spec, recipe(), setup).peak.allocated.count) - bytes); };
  CHECK(error(2159231488.0) < std::min(0.005 * 2159231488.0, 8.0 * 1048576));
  setup.grouped_experts = true;
  setup.attention = AttentionKernel::kEager;
  CHECK(error(3300554752.0) < std::min(0.005 * 3300554752.0, 8.0 * 1048576));
}

TEST_CASE("A peak of Megatron's tests with a shared expert is met within what an uneven router leaves") {
  // NVIDIA/Megatron-LM, tests/functional_tests/test_cases/moe: gpt3_moe_mcore_te_tp4_ep2_etp2_pp2_resume_torch_dist_dist_optimizer_1node on four
  // GB200: tokens go to the two largest of eight logits, which nothing evens out.
  ModelSpec spec = *resolve_model("gpt:layers=12,hidden=512,heads=8,vocab=50304,positions=1024,experts=8,top-k=2,expert_ffn=1024,shared_ffn=512,"
                                  "router_loss=0,capacity=0,bias=false");
  StackSetup setup = megatron(2, 1);
  setup.tensor_ranks = 4;
  setup.expert_tensor_ranks = 2;
  setup.sequence_parallel = setup.deterministic = setup.adds_in_order = setup.wide_gates = true;
  setup.zero = 1;
  setup.dropout = 0.1;
  const auto told = predict_stack(spec, recipe(), setup, *find_gpu(built_in_gpu_catalogue(), "B200 SXM 180GB"));
  REQUIRE(told);
  CHECK(static_cast<double>(told->peak.allocated.count) == Approx(1620705792.0).epsilon(0.01));
}

TEST_CASE("Ranks that do not divide experts, and mixtures of another kind, are refused by name") {
  CHECK(refusal(mixture(4), megatron(3, 3)).find("8 experts do not divide by 3") != std::string::npos);
  CHECK(refusal(mixture(4), megatron(8, 4)).find("4 ranks of a stage do not divide by 8") != std::string::npos);
  CHECK(refusal(*resolve_model("gpt2"), megatron(2, 2)).find("no experts") != std::string::npos);
  StackSetup tensor = megatron(2, 2);
  tensor.tensor_ranks = 2;
  CHECK(refusal(mixture(4), tensor).find("sequence parallelism") != std::string::npos);
  StackSetup narrow = megatron(2, 2);
  narrow.fp8.scaling = Fp8Scaling::kCurrent;
  CHECK(refusal(mixture(4), narrow).find("fp8") != std::string::npos);
  ModelSpec bounded = mixture(4);
  bounded.experts.capacity = 1.25;
  CHECK(refusal(bounded, megatron(2, 2)).find("bounded capacity") != std::string::npos);
}

}  // namespace plimsoll
