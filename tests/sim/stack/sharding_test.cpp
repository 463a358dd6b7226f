#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/stack/replay_log.h"
#include "sim/stack/sharing/chunk_layout.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/training_steps.h"
#include "tests/sim/stack/sharding_case.h"

namespace plimsoll {
namespace {

using namespace sharding_case;

/// Bytes that live when the steps have ended, optimizer states and all.
Bytes resident(const std::string& model, const Recipe& made, const StackSetup& setup) {
  const ModelSpec spec = *resolve_model(model);
  Tape tape;
  std::int64_t bytes = 0;
  const auto rules = module_rules(spec, made, setup, board());
  const StepMarks marks = run_training_steps(tape, spec, made, setup, rules);
  for (std::size_t i = 0; i < marks.last_step; ++i) {
    const StorageEvent& event = tape.log().events()[i];
    if (event.holding == Holding::kWorkspace || event.change == StorageChange::kRenamed) continue;
    bytes += event.change == StorageChange::kBorn ? event.bytes.count : -event.bytes.count;
  }
  return Bytes(bytes);
}

// nanoGPT's loop holds the logits until the next ones are there: 2 · 128 · 2048 elements.
constexpr double kLogits = 524288;

double bytes(Bytes amount) { return static_cast<double>(amount.count); }

}  // namespace

TEST_CASE("Gradient buckets hold every gradient a second time") {
  const Recipe made = recipe(Precision::kFp32);
  const double alone = bytes(resident(kModel, made, nano(1, 0)));
  CHECK(alone == Approx(12 * kParameters + 4 * kLogits).epsilon(0.001));
  CHECK(bytes(resident(kModel, made, nano(8, 0))) - alone == Approx(4 * kParameters).epsilon(0.001));
}

TEST_CASE("LitGPT's head is a matrix of its own though the family ties it to the embedding") {
  StackSetup setup = nano(1, 0);
  setup.holds_logits = false;
  const double tied = bytes(resident(kModel, recipe(Precision::kFp32), setup));
  setup.modules = ModuleStyle::kLitGpt;
  // Weight, gradient and both moments of 2048 rows of 512.
  CHECK(bytes(resident(kModel, recipe(Precision::kFp32), setup)) - tied == Approx(12 * 1048576).epsilon(0.001));
}

TEST_CASE("A redundancy-free optimizer keeps about a rank's share of the states") {
  const Recipe made = recipe(Precision::kFp32);
  const double shared = bytes(resident(kModel, made, nano(4, 1)));
  // 4 of parameters, 4 of buckets, and a quarter of 8.
  CHECK(shared == Approx(10 * kParameters).epsilon(0.03));
}

TEST_CASE("Fully sharded states are a rank's share when a step has ended") {
  for (const ModuleStyle modules : {ModuleStyle::kNanoGpt, ModuleStyle::kTorchTune}) {
    StackSetup setup = nano(8, 3);
    setup.modules = modules;
    const double held = modules == ModuleStyle::kNanoGpt ? 2 * kLogits : 0;
    // fp32 shards and both moments.
    CHECK(bytes(resident(kModel, recipe(Precision::kBf16Mixed), setup)) == Approx(12 * kParameters / 8 + held).epsilon(0.002));
  }
}

TEST_CASE("What FSDP gathers in two bytes keeps fp32 norms, powers and shares where the loop has an autocast region") {
  const auto held = [](int layers, bool autocast, bool written, ModuleStyle modules) {
    StackSetup setup = nano(8, 3);
    setup.modules = modules;
    setup.attention = AttentionKernel::kEager;
    setup.autocasts = autocast;
    setup.written_gelu = written;
    // So many words that the loss is the peak, when every block's results are there.
    Recipe made = recipe(Precision::kBf16Mixed);
    made.micro_batch = 8;
    const std::string model = "gpt:layers=" + std::to_string(layers) + ",hidden=512,heads=8,vocab=50257,positions=128";
    return bytes(predict(model, made, setup).peak.requested);
  };
  const auto block = [&](bool autocast, bool written, ModuleStyle modules) {
    return (held(24, autocast, written, modules) - held(8, autocast, written, modules)) / 16;
  };
  const double rows = 8 * 128 * 512, shares = 8 * 8 * 128 * 128;
  // Two norms keep their inputs in 4 bytes for 2; softmax 4 beside the 2 that a product reads. Of GELU written out over 4 · 512 columns: x 4
  // for 2 (powers are on autocast's list), its tanh and 1 + tanh 4 for 2 each.
  const double wide = 2 * 2 * rows + 4 * shares;
  CHECK(block(true, false, ModuleStyle::kHuggingFace) - block(false, false, ModuleStyle::kHuggingFace) ==
        Approx(wide + 4 * 6 * rows).epsilon(0.02));
  // nanoGPT's is one kernel, that of minGPT is written out: x, tanh, half of x and 1 + tanh are kept for x alone.
  CHECK(block(true, false, ModuleStyle::kNanoGpt) - block(false, false, ModuleStyle::kNanoGpt) == Approx(wide).epsilon(0.02));
  CHECK(block(false, true, ModuleStyle::kNanoGpt) - block(false, false, ModuleStyle::kNanoGpt) == Approx(4 * 6 * rows).epsilon(0.02));
  CHECK(block(true, true, ModuleStyle::kNanoGpt) - block(true, false, ModuleStyle::kNanoGpt) == Approx(4 * 12 * rows).epsilon(0.02));
}

TEST_CASE("An autocast region is around what FSDP gathers for accelerate, Fabric and nanoGPT, and around bf16 weights when it is said") {
  StackSetup setup = nano(8, 3);
  CHECK(autocasts(setup, Precision::kBf16Mixed));
  CHECK_FALSE(autocasts(setup, Precision::kBf16));
  setup.modules = ModuleStyle::kTorchTune;
  CHECK_FALSE(autocasts(setup, Precision::kBf16Mixed));
  setup.autocasts = true;
  CHECK(autocasts(setup, Precision::kBf16));
  setup.half_weights = true;  // apex O2 has none
  CHECK_FALSE(autocasts(setup, Precision::kFp16Mixed));
}

TEST_CASE("No more than a few blocks are gathered at once") {
  // Between 8 and 24 blocks the shards grow by 16 · (12 · 512² + 13 · 512) · 16 / 8 bytes and by nothing else but activations.
  const auto parameters_at = [](int layers, int zero) {
    const std::string model = "gpt:layers=" + std::to_string(layers) + ",hidden=512,heads=8,vocab=2048,positions=128";
    StackSetup setup = nano(8, zero);
    return bytes(predict(model, recipe(Precision::kBf16Mixed), setup).at_peak.parameters);
  };
  const double blocks = 16 * (3145728 + 6656);
  CHECK(parameters_at(24, 3) - parameters_at(8, 3) == Approx(4 * blocks / 8).epsilon(0.03));
  // SHARD_GRAD_OP keeps what was gathered through backward.
  CHECK(parameters_at(24, 2) - parameters_at(8, 2) > 1.4 * blocks);
}

TEST_CASE("Blocks of an encoder and a decoder are gathered and let go as those of a decoder alone are") {
  // FSDP gathers a block at a time, so that of 32 more of either kind each rank has its eighth: 4 · 512² numbers of attention (8 in a
  // decoder's) and 2 · 512 · 2048 of the layers behind it.
  const auto parameters_at = [](int layers, Stack stack) {
    const std::string model = "t5:layers=" + std::to_string(layers) + ",hidden=512,heads=8,ffn=2048,vocab=2048";
    StackSetup setup{.stack = stack, .data_ranks = 8, .zero = 3};
    setup.recomputation = Recomputation::kFull;
    setup.loop = OptimizerLoop::kFused;  // both peaks lie in a backward pass
    return bytes(predict(model, recipe(Precision::kFp32), setup).at_peak.parameters);
  };
  const double blocks = 4.0 * 32 * (3145728 + 4194304);  // in fp32
  CHECK(parameters_at(40, Stack::kPytorch) - parameters_at(8, Stack::kPytorch) == Approx(blocks / 8).epsilon(0.1));
  // DeepSpeed keeps what is needed again within 1e9 elements: these blocks have more.
  const auto wide = [](int layers) {
    const std::string model = "t5:layers=" + std::to_string(layers) + ",hidden=2048,heads=32,head_dim=64,ffn=8192,vocab=2048";
    StackSetup setup{.stack = Stack::kDeepspeed, .data_ranks = 8, .zero = 3};
    setup.recomputation = Recomputation::kFull;
    return bytes(predict(model, recipe(Precision::kBf16Mixed), setup).at_peak.parameters);
  };
  const double more = 2.0 * 16 * 16 * (3145728 + 4194304);  // of 16 more of either kind, four times as wide, in bf16
  CHECK(wide(32) - wide(16) < 0.3 * more);
}

TEST_CASE("DeepSpeed's stages hold what ZeRO's arithmetic says") {
  const Recipe made = recipe(Precision::kBf16Mixed);
  const auto at = [&](int stage) { return bytes(resident(kModel, made, nano(8, stage, Stack::kDeepspeed))); };
  // 2 of weights, 12 of fp32 states over the ranks; stage 3 shares weights and gradients too, beside its bucket of 5e8 elements.
  CHECK(at(1) == Approx((2 + 12.0 / 8) * kParameters + 2 * kLogits).epsilon(0.002));
  CHECK(at(2) == Approx((2 + 12.0 / 8) * kParameters + 2 * kLogits).epsilon(0.002));
  CHECK(at(3) - 1e9 == Approx(16.0 / 8 * kParameters).epsilon(0.05));
}

TEST_CASE("States that wait in host memory are counted there") {
  StackSetup setup = nano(1, 2, Stack::kDeepspeed);
  const Recipe made = recipe(Precision::kFp16Mixed);
  const auto resident_on = [&](Home home) {
    setup.optimizer = home;
    return predict(kModel, made, setup);
  };
  const StackPrediction device = resident_on(Home::kDevice);
  const StackPrediction host = resident_on(Home::kHost);
  const StackPrediction drive = resident_on(Home::kDrive);
  CHECK(bytes(device.at_peak.optimizer) == Approx(12 * kParameters).epsilon(0.01));
  CHECK(host.at_peak.optimizer == Bytes(0));
  CHECK(bytes(host.host - device.host) == Approx(16 * kParameters).epsilon(0.001));
  CHECK(bytes(drive.drive) == Approx(12 * kParameters).epsilon(0.001));
}

TEST_CASE("ZeRO-2's reduction buckets are there beside the loss") {
  // 8 · 128 rows of 65,536 logits: what the loss makes of them is the peak, and two buckets lie beside it.
  Recipe made = recipe(Precision::kFp16Mixed);
  made.micro_batch = 8;
  const auto peak = [&](std::int64_t bucket) {
    StackSetup setup = nano(1, 2, Stack::kDeepspeed);
    setup.reduce_bucket = bucket;
    return bytes(predict("gpt:layers=2,hidden=256,heads=4,vocab=65536,positions=128", made, setup).peak.allocated);
  };
  const std::int64_t mib = 1 << 20;  // the allocator deals in two of them
  CHECK(peak(20 * mib) - peak(10 * mib) == 2 * 2 * 10.0 * mib);
}

TEST_CASE("ZeRO-2 sends a copy of its bucket") {
  // One token a sequence: gradients are all there is beside weights.
  Recipe made = recipe(Precision::kFp16Mixed);
  made.micro_batch = 1;
  made.sequence = 1;
  StackSetup setup = nano(8, 2, Stack::kDeepspeed);
  setup.optimizer = Home::kHost;
  const auto held = [&](std::int64_t bucket) {
    setup.reduce_bucket = bucket;
    return bytes(predict("gpt:layers=8,hidden=1024,heads=8,vocab=64,positions=8", made, setup).at_peak.gradients);
  };
  const double matrix = 4.0 * 1024 * 1024;
  const double block = 12 * 1024 * 1024 + 13 * 1024;
  // Room for sums of the largest matrix, two buckets, and the gradient that the bucket has no room for. Three blocks fit a bucket, and
  // their copy is larger than what one matrix becomes on its way to the host.
  CHECK(held(40'000'000) == Approx(2 * matrix + 2 * 2 * 40e6 + 2 * matrix + 2 * 3 * block).epsilon(0.02));
  // One does, and its copy is gone before a matrix takes 11 bytes a number.
  CHECK(held(13'000'000) == Approx(2 * matrix + 2 * 2 * 13e6 + 2 * matrix + 11 * matrix).epsilon(0.01));
}

TEST_CASE("Gradients that leave for host memory are converted on the GPU, whole matrices at once") {
  // An embedding of 65,536 · 512 numbers that the bucket has room for, beside 8 sequences' worth of nothing.
  Recipe made = recipe(Precision::kFp16Mixed);
  made.micro_batch = 1;
  made.sequence = 16;
  StackSetup setup = nano(1, 2, Stack::kDeepspeed);
  setup.optimizer = Home::kHost;
  setup.reduce_bucket = 40'000'000;
  const double held = bytes(predict("gpt:layers=8,hidden=512,heads=8,vocab=65536,positions=128", made, setup).at_peak.gradients);
  const double embedding = 65536 * 512;
  // Room for a sum in two bytes, two buckets, and of the embedding: 4 and 4 bytes of fp32 with 3 of masks.
  CHECK(held == Approx(2 * embedding + 2 * 2 * 40e6 + 11 * embedding).epsilon(0.01));
}

TEST_CASE("An update that comes one step late works beside the passes, and only the weights' return is left for the end") {
  StackSetup setup = nano(1, 2, Stack::kDeepspeed);
  setup.optimizer = Home::kHost;
  const ModelSpec spec = *resolve_model(kModel);
  const Recipe made = recipe(Precision::kFp16Mixed);
  const auto moved = [&](bool delayed, StackKernelSort sort, bool at_the_end) {
    setup.delayed_update = delayed;
    Tape tape;
    run_training_steps(tape, spec, made, setup, module_rules(spec, made, setup, board()));
    double total = 0;
    for (const StackKernel& kernel : tape.kernels()) {
      if (kernel.sort == sort && (kernel.phase == Phase::kOptimizer) == at_the_end) total += kernel.bytes;
    }
    return total;
  };
  // 28 bytes a parameter of states and gradients, and the two-byte weights.
  CHECK(moved(false, StackKernelSort::kHostUpdate, true) == Approx(30 * kParameters));
  CHECK(moved(false, StackKernelSort::kHostUpdate, false) == 0);
  CHECK(moved(true, StackKernelSort::kHostUpdate, true) == 0);
  CHECK(moved(true, StackKernelSort::kHostUpdate, false) == Approx(30 * kParameters).epsilon(1e-5));
  CHECK(moved(true, StackKernelSort::kToDevice, true) == Approx(2 * kParameters));
  CHECK(moved(true, StackKernelSort::kToDevice, false) == 0);
}

TEST_CASE("What ranks send to each other is listed as collectives") {
  const auto sent = [](const StackSetup& setup, Precision precision) {
    Tape tape;
    const ModelSpec spec = *resolve_model(kModel);
    const Recipe made = recipe(precision);
    run_training_steps(tape, spec, made, setup, module_rules(spec, made, setup, board()));
    double total = 0;
    for (const StackKernel& kernel : tape.kernels()) total += kernel.sort == StackKernelSort::kCollective ? kernel.bytes : 0;
    return total;
  };
  // An all-reduce moves twice what a rank holds; sharding gathers twice and reduces once.
  CHECK(sent(nano(8, 0), Precision::kFp32) == Approx(2 * 4 * kParameters * 7 / 8));
  CHECK(sent(nano(8, 3), Precision::kBf16Mixed) == Approx(3 * 2 * kParameters * 7 / 8).epsilon(0.05));
}

TEST_CASE("Tensors fill chunks one behind the other, and a larger one has its own") {
  const ChunkLayout layout = lay_out({6, 3, 4, 12, 2, 5}, 10);
  CHECK(layout.sizes == std::vector<std::int64_t>{10, 10, 12, 10});
  CHECK(layout.chunk_of == std::vector<std::size_t>{0, 0, 1, 2, 1, 3});
}

TEST_CASE("Gemini's chunks hold 14 bytes a parameter, shared out, gradients in place of parameters") {
  const Recipe made = recipe(Precision::kBf16Mixed);
  for (const std::int64_t ranks : {1, 8}) {
    const double held = bytes(resident(kModel, made, nano(ranks, 3, Stack::kColossalai))) - 2 * kLogits;
    CHECK(held == Approx(14 * kParameters / static_cast<double>(ranks)).epsilon(0.05));
  }
  StackSetup offloaded = nano(1, 3, Stack::kColossalai);
  offloaded.optimizer = Home::kHost;
  offloaded.parameters = Home::kHost;
  const double host = bytes(predict(kModel, made, offloaded).host - predict(kModel, made, nano(1, 3, Stack::kColossalai)).host);
  CHECK(host == Approx(14 * kParameters).epsilon(0.05));
  CHECK(bytes(resident(kModel, made, offloaded)) - 2 * kLogits < 0.01 * kParameters);
}

TEST_CASE("Sharded states that wait in host memory leave the device") {
  StackSetup setup = nano(8, 3);
  setup.parameters = Home::kHost;
  CHECK(bytes(resident(kModel, recipe(Precision::kBf16Mixed), setup)) - 2 * kLogits < 0.01 * kParameters);
}

TEST_CASE("Selective checkpoints keep every other product and attention's results") {
  const auto kept = [](Recomputation recomputation, bool compile) {
    const auto at = [&](int layers) {
      const std::string model = "llama:layers=" + std::to_string(layers) + ",hidden=512,heads=8,ffn=1536,vocab=32768,positions=1024";
      Recipe made = recipe(Precision::kBf16);
      made.micro_batch = 4;
      made.sequence = 1024;
      StackSetup setup;
      setup.modules = ModuleStyle::kTorchTune;
      setup.attention = AttentionKernel::kFlash;
      setup.recomputation = recomputation;
      setup.compile = compile;
      setup.loop = OptimizerLoop::kFused;
      setup.expandable_segments = true;  // blocks are as large as what is asked for
      return predict(model, made, setup).at_peak.activations.count;
    };
    return static_cast<double>(at(12) - at(8)) / 4;
  };
  // 4096 tokens in two bytes: the block's input; and q, v, attention, the gate, the last product (512, 512, 512, 1536, 512), with
  // 8 sums in fp32.
  CHECK(kept(Recomputation::kFull, false) == Approx(4096 * 2 * 512).epsilon(0.01));
  CHECK(kept(Recomputation::kSelective, false) == Approx(4096 * (2 * (512 + 3584) + 4 * 8)).epsilon(0.01));
  // A compiler sees that backward does not read the last product.
  CHECK(kept(Recomputation::kSelective, true) == Approx(4096 * (2 * (512 + 3072) + 4 * 8)).epsilon(0.01));
}

TEST_CASE("Selective checkpoints that do not keep attention's results recompute them") {
  const auto kept = [](bool recomputes, int layers) {
    Recipe made = recipe(Precision::kBf16);
    made.micro_batch = 4;
    made.sequence = 1024;
    StackSetup setup;
    setup.modules = ModuleStyle::kTorchTune;
    setup.attention = AttentionKernel::kFlash;
    setup.recomputation = Recomputation::kSelective;
    setup.compile = true;
    setup.loop = OptimizerLoop::kFused;
    setup.recomputes_attention = recomputes;
    setup.expandable_segments = true;
    const std::string model = "llama:layers=" + std::to_string(layers) + ",hidden=512,heads=8,ffn=1536,vocab=32768,positions=1024";
    return predict(model, made, setup).at_peak.activations.count;
  };
  const auto of_a_layer = [&](bool recomputes) { return static_cast<double>(kept(recomputes, 12) - kept(recomputes, 8)) / 4; };
  // 4096 tokens: attention's result in two bytes, 512 wide, and 8 sums in fp32.
  CHECK(of_a_layer(false) - of_a_layer(true) == Approx(4096 * (2 * 512 + 4 * 8)).epsilon(0.01));
}

TEST_CASE("Ends that are sharded by themselves are gathered one after the other") {
  const auto peak = [](bool separate) {
    Recipe made = recipe(Precision::kBf16Mixed);
    StackSetup setup = nano(8, 3);
    setup.modules = ModuleStyle::kTorchTune;
    setup.separate_ends = separate;
    return predict("llama:layers=2,hidden=256,heads=4,ffn=512,vocab=65536,positions=256", made, setup).peak.reserved;
  };
  // Two tables of 65536 x 256 weights of two bytes: they arrive in one buffer of the gathering stream, or in half of one.
  constexpr double kTable = 65536.0 * 256 * 2;
  CHECK(bytes(peak(false) - peak(true)) > 0.95 * kTable);
}

TEST_CASE("FSDP's shards in host memory are updated there, in twenty passes or in a kernel's seven") {
  const Recipe made = recipe(Precision::kFp32);
  StackSetup setup = nano(4, 3);
  setup.modules = ModuleStyle::kHuggingFace;
  setup.parameters = setup.optimizer = Home::kHost;
  const auto host_bytes = [&](OptimizerLoop loop) {
    setup.loop = loop;
    const StackRun run = run_stack(*resolve_model(kModel), made, setup, board()).value();
    double sum = 0;
    for (const StackKernel& kernel : run.kernels) {
      if (kernel.sort == StackKernelSort::kHostUpdate) sum += kernel.bytes;
    }
    return sum;
  };
  // A quarter of the parameters is a rank's: 4 bytes each of weight, gradient and two moments, of which all but the gradient are written back.
  CHECK(host_bytes(OptimizerLoop::kFused) == Approx(28 * kParameters / 4.0).epsilon(0.01));
  CHECK(host_bytes(OptimizerLoop::kForeach) == Approx(80 * kParameters / 4.0).epsilon(0.01));
}

}  // namespace plimsoll
