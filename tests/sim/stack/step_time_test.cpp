#include "sim/stack/step_time.h"

#include <catch2/catch.hpp>

#include <string>

#include "formats/models/resolve_model.h"
#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/kernel_seconds.h"

namespace plimsoll {
namespace {

GpuEntry gpu_named(std::string_view name) { return find_gpu(built_in_gpu_catalogue(), name).value(); }

/// A GPU of round numbers: 100 TFLOP/s of fp16, 1 TB/s for operands, 0.5 TB/s for streams, 1 us a start.
KernelRates round_rates() {
  KernelRates rates{.gpu = gpu_named("A100 40GB SXM4"), .nominal = {}, .products = {}};
  rates.products[DType::kFp16] = 100e12;
  rates.operands = 1e12;
  rates.streams = 0.5e12;
  rates.updates = 0.25e12;
  rates.startup = 1e-6;
  return rates;
}

StackKernel product(std::int64_t m, std::int64_t n, std::int64_t k, DType type = DType::kFp16) {
  const auto volume = static_cast<double>(m * n) * static_cast<double>(k);
  const auto elements = static_cast<double>(m * k + n * k + m * n);
  return {.sort = StackKernelSort::kProduct, .dtype = type, .m = m, .n = n, .k = k, .flops = 2 * volume,
          .bytes = elements * static_cast<double>(size_of(type))};
}

StackTime time_of(const std::string& model, const Recipe& recipe, const StackSetup& setup,
                  std::string_view gpu = "A100 40GB SXM4") {
  return predict_stack(resolve_model(model).value(), recipe, setup, gpu_named(gpu)).value().time;
}

/// A collective of two ranks side by side.
double on_a_node(double bytes, const GpuEntry& gpu) {
  return collective_seconds({.sort = StackKernelSort::kCollective, .bytes = bytes}, {}, gpu, {});
}

Recipe recipe_of(std::int64_t batch, std::int64_t sequence, Precision precision) {
  Recipe recipe;
  recipe.micro_batch = batch;
  recipe.sequence = sequence;
  recipe.precision = precision;
  return with_optimizer(recipe, OptimizerKind::kAdamW);
}

}  // namespace

TEST_CASE("Checkpoints of FSDP's wrapper stop before a block's last product, reentrant and compiled ones do not") {
  StackSetup setup{.modules = ModuleStyle::kMosaic, .recomputation = Recomputation::kFull};
  const Recipe recipe = recipe_of(2, 256, Precision::kBf16Mixed);
  const double early = time_of("gpt2", recipe, setup).hardware_flops;
  setup.recomputation_stops_early = false;
  // 12 blocks, 512 tokens, 3072 inputs and 768 outputs.
  CHECK(time_of("gpt2", recipe, setup).hardware_flops - early == Approx(12.0 * 2 * 512 * 3072 * 768));
  CHECK(stops_early({.modules = ModuleStyle::kTorchTune}));
  CHECK_FALSE(stops_early({.modules = ModuleStyle::kTorchTune, .compile = true}));
  CHECK_FALSE(stops_early({}));
  CHECK_FALSE(stops_early({.stack = Stack::kMegatron, .modules = ModuleStyle::kMegatron}));
}

TEST_CASE("Where masked positions are gathered first, BERT's head sees them alone") {
  StackSetup setup;
  const Recipe recipe = recipe_of(4, 128, Precision::kFp32);
  const double all = time_of("bert-base-uncased", recipe, setup).model_flops;
  setup.predicted_positions = 20;
  // Of 4 sequences 108 positions each less meet a square matrix and one of 30522 outputs, forward and twice backward.
  CHECK(all - time_of("bert-base-uncased", recipe, setup).model_flops == Approx(3.0 * 2 * 4 * 108 * 768 * (768 + 30522)));
}

TEST_CASE("What a step takes of the rate of an architecture's matrix units it does not take of its vector units") {
  const GpuEntry gpu = gpu_named("H100 SXM5 80GB");
  const auto share = [&](DType type, DType measured) {
    const KernelRates rates = kernel_rates(gpu, {}, Precision::kFp32).value();
    return rates.products.at(type) / rates.nominal.at(type) / product_efficiency(gpu, measured)->share;
  };
  CHECK(share(DType::kBf16, DType::kBf16) == Approx(cost_constants().at("stack.product.datacenter.Hopper")));
  CHECK(share(DType::kFp32, DType::kFp32) == Approx(cost_constants().at("stack.product.datacenter")));
}

TEST_CASE("A training step on a board of 70 W multiplies no faster than an inference there, in two bytes alone") {
  const auto at = [](const char* name) { return *kernel_rates(*find_gpu(built_in_gpu_catalogue(), name), StackSetup{}, Precision::kBf16Mixed); };
  const KernelRates l4 = at("L4");
  CHECK(l4.products.at(DType::kBf16) == *sustained_share("L4", DType::kBf16) * l4.nominal.at(DType::kBf16));
  CHECK(l4.products.at(DType::kFp32) ==
        Approx(cost_constants().at("stack.product.professional") * product_efficiency(*find_gpu(built_in_gpu_catalogue(), "L4"), DType::kFp32)->share *
               l4.nominal.at(DType::kFp32)));
  const KernelRates l40s = at("L40S");
  const double alone = product_efficiency(*find_gpu(built_in_gpu_catalogue(), "L40S"), DType::kBf16)->share;
  CHECK(l40s.products.at(DType::kBf16) == Approx(cost_constants().at("stack.product.professional") * alone * l40s.nominal.at(DType::kBf16)));
}

TEST_CASE("Boards of data centres and workstations keep the same share of their products in a step, GeForce boards all of it") {
  const ConstantTable& constants = cost_constants();
  CHECK(constants.at("stack.product.professional") == constants.at("stack.product.datacenter"));
  CHECK(constants.at("stack.product.datacenter.Blackwell DC") == constants.at("stack.product.datacenter.Hopper"));
  CHECK(constants.at("stack.product.geforce") == 1);
}

TEST_CASE("Transformer Engine attends with cuDNN's kernels, and PyTorch of 2026 does on Hopper; older software and other boards do not") {
  const GpuEntry gpu = gpu_named("H100 SXM5 80GB");
  StackSetup setup;
  setup.stack = Stack::kMegatron;
  CHECK(kernel_rates(gpu, setup, Precision::kBf16).value().attention == FusedAttention::kCudnn);
  setup.transformer_engine = false;
  CHECK(kernel_rates(gpu, setup, Precision::kBf16).value().attention == FusedAttention::kFlash);
  CHECK(kernel_rates(gpu, {}, Precision::kBf16).value().attention == FusedAttention::kCudnn);
  StackSetup older;
  older.older_sdpa = true;
  CHECK(kernel_rates(gpu, older, Precision::kBf16).value().attention == FusedAttention::kFlash);
  CHECK(kernel_rates(gpu_named("A100 80GB SXM4"), {}, Precision::kBf16).value().attention == FusedAttention::kFlash);
  StackSetup mosaic;
  mosaic.modules = ModuleStyle::kMosaic;  // calls FlashAttention's own package
  CHECK(kernel_rates(gpu, mosaic, Precision::kBf16).value().attention == FusedAttention::kFlash);
}

TEST_CASE("A stage of a pipeline waits for the others while it fills and drains") {
  StackSetup setup;
  setup.stack = Stack::kMegatron;
  setup.modules = ModuleStyle::kMegatron;
  setup.stages = 4;
  setup.stage = 0;
  Recipe recipe = recipe_of(1, 1024, Precision::kBf16Mixed);
  recipe.accumulate = 8;
  const StackTime time = time_of("gpt2", recipe, setup);
  // The last, whose head makes it the slowest, waits for less than three of its own eight micro-batches' passes; interleaved in three chunks,
  // for a third of it and what chunks send (pipeline_time_test has the arithmetic).
  CHECK(time.bubble > 0);
  CHECK(time.bubble < 3.0 / 8 * (time.forward + time.backward));
  CHECK(time.step == Approx(time.forward + time.backward + time.optimizer + time.bubble));
  CHECK(time.low < time.step);
  CHECK(time.high > time.step);
  setup.chunks = 3;
  const StackTime interleaved = time_of("gpt2", recipe, setup);
  CHECK(interleaved.bubble == Approx(time.bubble / 3).epsilon(0.1));
}

TEST_CASE("Tensor ranks that send nothing beside a backward pass wait for every sum in it") {
  StackSetup setup;
  setup.stack = Stack::kMegatron;
  setup.modules = ModuleStyle::kMegatron;
  setup.tensor_ranks = 4;
  const Recipe recipe = recipe_of(4, 1024, Precision::kBf16Mixed);
  const StackTime beside = time_of("gpt2", recipe, setup);
  setup.overlaps_communication = false;
  const StackTime waits = time_of("gpt2", recipe, setup);
  CHECK(waits.forward == Approx(beside.forward));
  CHECK(waits.backward > beside.backward);
  CHECK(waits.exposed_communication > 1.5 * beside.exposed_communication);
}

TEST_CASE("A kernel takes its start and the longer of arithmetic and traffic") {
  const KernelRates rates = round_rates();
  // 2 · 4096^3 = 137.44e9 FLOPs at 100e12/s: 1374.4 us; 3 · 4096^2 · 2 = 100.7e6 bytes at 1e12/s: 100.7 us.
  CHECK(kernel_seconds(product(4096, 4096, 4096), rates).value() == Approx(1375.4e-6).epsilon(1e-3));
  // One row: 2 · 4096^2 = 33.6e6 FLOPs: 0.34 us; (4096 + 4096^2 + 4096) · 2 = 33.57e6 bytes: 33.57 us.
  CHECK(kernel_seconds(product(1, 4096, 4096), rates).value() == Approx(34.57e-6).epsilon(1e-3));
  // 100e6 bytes: 200 us as a stream, 400 us as an update.
  CHECK(kernel_seconds({.sort = StackKernelSort::kStream, .bytes = 100e6}, rates).value() == Approx(201e-6));
  CHECK(kernel_seconds({.sort = StackKernelSort::kOptimizer, .bytes = 100e6}, rates).value() == Approx(401e-6));
}

TEST_CASE("A rate that nobody knows is an error that names GPU and type") {
  const auto refused = kernel_seconds(product(64, 64, 64, DType::kBf16),
                                      kernel_rates(gpu_named("RTX 2080 Ti"), {}, Precision::kBf16).value());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("RTX 2080 Ti") != std::string::npos);
  CHECK(refused.error().what.find("bf16") != std::string::npos);
}

TEST_CASE("fp16 without matrix units runs at the rate of fp32") {
  const KernelRates pascal = kernel_rates(gpu_named("GTX 1080 Ti"), {}, Precision::kFp16Mixed).value();
  CHECK(pascal.products.at(DType::kFp16) == Approx(pascal.products.at(DType::kFp32)));
}

TEST_CASE("TF32 shortens fp32 training where there are units for it, and nowhere else") {
  const Recipe plain = recipe_of(4, 1024, Precision::kFp32);
  const Recipe tf32 = recipe_of(4, 1024, Precision::kTf32);
  CHECK(time_of("gpt2", tf32, {}).step < 0.6 * time_of("gpt2", plain, {}).step);
  CHECK(time_of("gpt2", tf32, {}, "RTX 2080 Ti").step == Approx(time_of("gpt2", plain, {}, "RTX 2080 Ti").step));
}

TEST_CASE("A phase lasts as long as the slower of GPU and host") {
  StackSetup setup;
  const GpuEntry gpu = gpu_named("A100 40GB SXM4");
  const std::vector<StackKernel> tiny(1000, StackKernel{.sort = StackKernelSort::kStream, .phase = Phase::kForward, .bytes = 8});
  const double eager = step_time(tiny, setup, Precision::kFp32, gpu).value().forward;
  setup.compile = true;
  const double compiled = step_time(tiny, setup, Precision::kFp32, gpu).value().forward;
  const double alone = 1000 * kernel_seconds(tiny.front(), kernel_rates(gpu, setup, Precision::kFp32).value()).value();
  CHECK(eager > compiled);
  CHECK(compiled >= alone);
  // Large kernels hide the host: twice as many take twice as long.
  const StackKernel large{.sort = StackKernelSort::kStream, .phase = Phase::kForward, .bytes = 1e9};
  const double one = step_time({large}, setup, Precision::kFp32, gpu).value().forward;
  CHECK(step_time({large, large}, setup, Precision::kFp32, gpu).value().forward == Approx(2 * one));
}

TEST_CASE("Of collectives a phase shows what its kernels do not hide, and the last one") {
  const GpuEntry gpu = gpu_named("A100 40GB SXM4");
  const StackKernel kernel{.sort = StackKernelSort::kStream, .phase = Phase::kBackward, .bytes = 100e9};
  const StackKernel bucket{.sort = StackKernelSort::kCollective, .phase = Phase::kBackward, .bytes = 25e6};
  const double alone = step_time({kernel}, {}, Precision::kFp32, gpu).value().step;
  const StackTime hidden = step_time({kernel, bucket, bucket, bucket}, {}, Precision::kFp32, gpu).value();
  CHECK(hidden.step == Approx(alone + on_a_node(25e6, gpu)));
  CHECK(hidden.exposed_communication == Approx(on_a_node(25e6, gpu)));
  const StackKernel huge{.sort = StackKernelSort::kCollective, .phase = Phase::kBackward, .bytes = 1e12};
  CHECK(step_time({kernel, huge, bucket}, {}, Precision::kFp32, gpu).value().step ==
        Approx(on_a_node(1e12, gpu) + on_a_node(25e6, gpu)));
}

// A block: q, k, v, o of 512², gate, up and down of 512 · 1024, two norms of 512, A and B of 8 · 512: 2,630,656 numbers of two bytes, of
// which another rank has half. The rest: embedding and head of 1000 · 512, a norm of 512: 1,024,512. The last gradients are A's and B's.
TEST_CASE("Where adapters are units of their own kernels wait for every gather of a block") {
  Recipe recipe = recipe_of(4, 1024, Precision::kBf16);
  StackSetup setup{.recomputation = Recomputation::kFull, .data_ranks = 2, .zero = 3};
  setup.narrow_adapters = true;
  const std::string model = "llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000,positions=2048,tied=false";
  const auto exposed = [&] { return time_of(model, recipe, setup, "RTX A5000").exposed_communication; };
  const GpuEntry gpu = gpu_named("RTX A5000");
  const double block = 2'630'656, rest = 1'024'512, adapters = 2 * 8 * 512;
  CHECK(exposed() < 2 * on_a_node(block, gpu));  // everything is trained: the last of each pass, the others beside kernels
  recipe.adapter.rank = 8;
  recipe.adapter.targets = {AdapterTarget::kQuery};
  // Forward and backward gather each of four blocks; beside kernels are the rest's gather and the last reduction.
  CHECK(exposed() == Approx(2 * 4 * on_a_node(block, gpu) + on_a_node(rest, gpu) + on_a_node(adapters, gpu)));
  // From host memory each of these gathers is fed by a copy of the rank's half, which the kernels wait for, too.
  setup.parameters = setup.optimizer = Home::kHost;
  const double pcie = 25.5e9;  // PCIe 4.0 x16, the catalogue's best
  CHECK(time_of(model, recipe, setup, "RTX A5000").exposed_transfer > 2 * 4 * (block / 2) / pcie);
  setup.parameters = setup.optimizer = Home::kDevice;
  setup.modules = ModuleStyle::kLitGpt;  // Fabric wraps blocks alone
  CHECK(exposed() < 2 * on_a_node(block, gpu));
}

TEST_CASE("Modules with NVLink send faster than boards on PCIe, and a later PCIe faster than an earlier one") {
  CHECK(ring_rate(gpu_named("H100 SXM5 80GB")) > ring_rate(gpu_named("A100 40GB SXM4")));
  CHECK(ring_rate(gpu_named("A100 40GB SXM4")) > 5 * ring_rate(gpu_named("A100 40GB PCIe")));
  CHECK(ring_rate(gpu_named("RTX A6000")) > ring_rate(gpu_named("RTX 3090")));  // from board to board, and through the host
  CHECK(ring_rate(gpu_named("RTX 3090")) == Approx(2 * ring_rate(gpu_named("RTX 2080 Ti"))));  // PCIe 4.0 and 3.0
}

TEST_CASE("GPUs of a node exchange what is stated, from a start of the same length") {
  const GpuEntry gpu = gpu_named("RTX 4090");
  const double start = cost_constants().at("stack.ring.latency") * 1e-6;
  const StackKernel gather{.sort = StackKernelSort::kCollective, .ranks = 2, .bytes = 6e9};
  StackSetup setup{.data_ranks = 2, .zero = 3};
  const auto seconds = [&] {
    return collective_seconds(gather, setup, gpu, place_on_nodes(gpu, gpus_of(setup), {setup.nodes, setup.network, setup.peers}).value());
  };
  CHECK(seconds() == Approx(start + 6e9 / ring_rate(gpu)));
  setup.peers = "12GB/s";
  CHECK(seconds() == Approx(start + 0.5));
}

TEST_CASE("Over nodes a collective goes at its adapters' rate, step by step from node to node") {
  const GpuEntry gpu = gpu_named("A100 80GB SXM4");
  const StackSetup setup{.data_ranks = 16, .zero = 3, .network = "4x100Gb/s@20us"};
  const NodePlacement placed = place_on_nodes(gpu, gpus_of(setup), {setup.nodes, setup.network, setup.peers}).value();
  CHECK(placed.nodes() == 2);
  // Eight GPUs have 4 x 12.5 GB/s together, of which large messages reach a share; an all-gather steps to the other node once.
  const double rate = 50e9 * cost_constants().at("collective.network"), start = cost_constants().at("stack.ring.latency") * 1e-6;
  StackKernel gather{.sort = StackKernelSort::kCollective, .ranks = 16, .bytes = 9e9};
  CHECK(collective_seconds(gather, setup, gpu, placed) == Approx(start + 20e-6 + 9e9 / rate));
  gather.rounds = 2;
  CHECK(collective_seconds(gather, setup, gpu, placed) == Approx(start + 40e-6 + 9e9 / rate));
  // Tensor ranks stand side by side on a node; data ranks that they part have an adapter's share each.
  const StackKernel inside{.sort = StackKernelSort::kCollective, .among = Among::kTensor, .ranks = 8, .bytes = 9e9};
  const StackSetup cut{.stack = Stack::kMegatron, .data_ranks = 2, .tensor_ranks = 8};
  CHECK(collective_seconds(inside, cut, gpu, placed) == Approx(start + 9e9 / ring_rate(gpu)));
  const StackKernel apart{.sort = StackKernelSort::kCollective, .ranks = 2, .bytes = 9e9};
  CHECK(collective_seconds(apart, cut, gpu, placed) == Approx(start + 20e-6 + 9e9 / (rate / 8)));
}

TEST_CASE("Where nobody says of nodes, the answer says what it took; a network that nobody states is refused") {
  const Recipe recipe = recipe_of(1, 512, Precision::kBf16);
  const StackSetup setup{.data_ranks = 16, .zero = 3};
  const auto many = predict_stack(resolve_model("gpt2").value(), recipe, setup, gpu_named("A100 80GB SXM4")).value();
  REQUIRE(many.assumptions.size() == 2);
  CHECK(many.assumptions[0] == usual_nodes_text(8));
  CHECK(many.assumptions[1].find("network of 25 GB/s a GPU assumed") == 0);
  CHECK_FALSE(predict_stack(resolve_model("gpt2").value(), recipe, setup, gpu_named("RTX 4090")));
  StackSetup said = setup;
  said.nodes = 1;
  CHECK(predict_stack(resolve_model("gpt2").value(), recipe, said, gpu_named("RTX 4090")).value().assumptions.empty());
}

TEST_CASE("More sequences, longer ones and checkpoints take longer") {
  StackSetup setup;
  double before = 0;
  for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
    const double seconds = time_of("gpt2", recipe_of(batch, 1024, Precision::kBf16Mixed), setup).step;
    CHECK(seconds > before);
    before = seconds;
  }
  const double half = time_of("gpt2", recipe_of(8, 512, Precision::kBf16Mixed), setup).step;
  CHECK(half < time_of("gpt2", recipe_of(8, 1024, Precision::kBf16Mixed), setup).step);
  const double whole = time_of("gpt2", recipe_of(8, 1024, Precision::kBf16Mixed), setup).step;
  setup.recomputation = Recomputation::kFull;
  CHECK(time_of("gpt2", recipe_of(8, 1024, Precision::kBf16Mixed), setup).step > 1.15 * whole);
}

TEST_CASE("A step's interval holds the step and is wider where the GPU was not measured") {
  const Recipe recipe = recipe_of(4, 512, Precision::kFp16Mixed);
  const StackTime known = time_of("gpt2", recipe, {}, "RTX 3090");
  CHECK(known.low < known.step);
  CHECK(known.step < known.high);
  const StackTime unknown = time_of("gpt2", recipe, {}, "RTX 2060 6GB");
  CHECK(unknown.high / unknown.step > known.high / known.step);
}

TEST_CASE("Kernels of 2020 take longer than today's") {
  StackSetup legacy;
  legacy.legacy_kernels = true;
  const Recipe recipe = recipe_of(8, 512, Precision::kFp16Mixed);
  CHECK(time_of("bert-base-uncased", recipe, legacy).step > 1.1 * time_of("bert-base-uncased", recipe, {}).step);
}

TEST_CASE("Modules in two bytes beside fp32 copies are faster than autocast") {
  StackSetup half;
  half.half_weights = true;
  const Recipe recipe = recipe_of(8, 512, Precision::kFp16Mixed);
  CHECK(time_of("bert-base-uncased", recipe, half).step < time_of("bert-base-uncased", recipe, {}).step);
}

}  // namespace plimsoll
