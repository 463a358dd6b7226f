#include "sim/stack/step_timeline.h"

#include <catch2/catch.hpp>

#include "core/model/parameters.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/stack_run.h"

namespace plimsoll {
namespace {

TimedLaunch launch(StackKernelSort sort, Phase phase, double seconds, double dispatch = 0) {
  return {.sort = sort, .phase = phase, .seconds = seconds, .dispatch = dispatch};
}

constexpr auto kStream = StackKernelSort::kStream;
constexpr auto kForward = Phase::kForward;
constexpr auto kBackward = Phase::kBackward;
constexpr auto kUpdate = Phase::kOptimizer;

}  // namespace

TEST_CASE("Kernels run one after another, and wait in proportion where the host is slower") {
  // 3 s of kernels, 6 s of dispatch: the phase lasts 6, each launch is followed by 3 · 3/6 = 1.5 s of waiting.
  const StepTimeline timeline = lay_out_step({launch(kStream, kForward, 1, 3), launch(kStream, kForward, 2, 3)});
  CHECK(timeline.time.step == Approx(6));
  CHECK(timeline.spans[0].end == Approx(1));
  CHECK(timeline.spans[1].start == Approx(2.5));
  CHECK(timeline.spans[1].end == Approx(4.5));
}

TEST_CASE("Copies beside kernels cost what kernels do not hide, and blocking ones their whole time") {
  const TimedLaunch kernel = launch(kStream, kBackward, 4), copy = launch(StackKernelSort::kToHost, kBackward, 3);
  CHECK(lay_out_step({kernel, copy}).time.step == Approx(4));
  CHECK(lay_out_step({kernel, copy, copy}).time.step == Approx(6));
  TimedLaunch blocking = copy;
  blocking.blocking = true;
  const StepTimeline timeline = lay_out_step({kernel, blocking, kernel});
  CHECK(timeline.time.step == Approx(11));
  CHECK(timeline.time.exposed_transfer == Approx(3));
  CHECK(timeline.spans[1].start == Approx(4));
  CHECK(timeline.spans[2].start == Approx(7));
}

TEST_CASE("Collectives are hidden by their own micro-batch's kernels alone, and the last of each micro-batch by none") {
  // Three micro-batches of 4 s forward and 10 s backward. Each sends 3 + 1 s beside its backward pass, of which the last second is waited
  // for; the last micro-batch sends 12 s more, of 16 in all 10 are hidden: 3 · 14 + 1 + 1 + 6.
  const auto collective = StackKernelSort::kCollective;
  std::vector<TimedLaunch> launches;
  for (std::uint32_t micro = 0; micro < 3; ++micro) {
    launches.push_back(launch(kStream, kForward, 4));
    launches.push_back(launch(kStream, kBackward, 10));
    if (micro == 2) launches.push_back(launch(collective, kBackward, 12));
    launches.push_back(launch(collective, kBackward, 3));
    launches.push_back(launch(collective, kBackward, 1));
  }
  const StepTimeline timeline = lay_out_step(launches);
  CHECK(timeline.time.step == Approx(3 * 14 + 1 + 1 + 6));
  CHECK(timeline.time.exposed_communication == Approx(8));
  CHECK(timeline.time.once == Approx(6 - 1));
  CHECK(timeline.spans[4].start == Approx(15));  // the second forward pass waits for the first micro-batch's last second
  CHECK(timeline.spans[3].end <= Approx(15));
  CHECK(timeline.spans.back().end == Approx(timeline.time.step));
  // Passes of one kind, one behind the other, are told apart by their turns; what nobody waits for is hidden whole.
  std::vector<TimedLaunch> passes{launch(kStream, kForward, 4), launch(collective, kForward, 1), launch(kStream, kForward, 4), launch(collective, kForward, 1)};
  CHECK(lay_out_step(passes).time.step == Approx(9));
  passes[2].turn = passes[3].turn = 1;
  CHECK(lay_out_step(passes).time.step == Approx(10));
  passes[1].awaited = passes[3].awaited = false;
  CHECK(lay_out_step(passes).time.step == Approx(8));
}

TEST_CASE("An update in host memory follows its passes, and new weights leave beside it") {
  // 1 s of a kernel, then 2 s of unscaling, then the longer of 5 s of update and 3 s of copies: 8.
  const StepTimeline timeline = lay_out_step({launch(kStream, kUpdate, 1), launch(StackKernelSort::kHostPass, kUpdate, 2),
                                              launch(StackKernelSort::kHostUpdate, kUpdate, 5),
                                              launch(StackKernelSort::kToDevice, kUpdate, 3)});
  CHECK(timeline.time.optimizer == Approx(8));
  CHECK(timeline.time.exposed_transfer == Approx(0));
  CHECK(timeline.spans[1].start == Approx(1));
  CHECK(timeline.spans[2].start == Approx(3));
  CHECK(timeline.spans[3].end <= 8);
}

TEST_CASE("States on a drive are read before an update and written after it") {
  // 4 s read, 2 s update, 6 s written, one after the other, then the same for a second group: 24 s, 20 of them the drive's.
  std::vector<TimedLaunch> launches;
  for (int group = 0; group < 2; ++group) {
    launches.push_back(launch(StackKernelSort::kFromDrive, kUpdate, 4));
    launches.push_back(launch(StackKernelSort::kHostUpdate, kUpdate, 2));
    launches.push_back(launch(StackKernelSort::kToDrive, kUpdate, 6));
  }
  const StepTimeline timeline = lay_out_step(launches);
  CHECK(timeline.time.step == Approx(24));
  CHECK(timeline.time.exposed_transfer == Approx(20));
  // What limits is what is busy for longest: 12 s of writing, 8 of reading, 4 of updates.
  REQUIRE(timeline.time.loads.size() == 5);
  const std::pair<const char*, double> loads[] = {
      {"ssd.write", 12}, {"ssd.read", 8}, {"cpu", 4}, {"compute", 0}, {"launches", 0}};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(std::string(timeline.time.loads[i].resource) == loads[i].first);
    CHECK(timeline.time.loads[i].seconds == Approx(loads[i].second));
  }
  CHECK(timeline.spans[3].start == Approx(12));
}

TEST_CASE("ZeRO-Offload's update takes what 28 bytes a parameter and the new weights take of host memory") {
  // GPT of 10 blocks of 1024: 12 · 1024² · 10 + … ≈ 128 M parameters; fp16: 30 bytes of update and 8 of unscaling each.
  const ModelSpec spec = *resolve_model("gpt:layers=10,hidden=1024,heads=16,vocab=1024,positions=128");
  Recipe recipe;
  recipe.sequence = 128;
  recipe.micro_batch = 1;
  recipe.precision = Precision::kFp16Mixed;
  StackSetup setup{.stack = Stack::kDeepspeed, .zero = 2, .optimizer = Home::kHost};
  setup.dram_gbs = 100;
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "V100 SXM2 32GB");
  const double seconds = predict_stack(spec, recipe, setup, gpu)->time.optimizer;
  const double parameters = static_cast<double>(parameter_count(spec));
  CHECK(seconds == Approx(38 * parameters / (0.58 * 100e9)).epsilon(0.02));
  setup.dram_gbs = 200;
  CHECK(predict_stack(spec, recipe, setup, gpu)->time.optimizer == Approx(seconds / 2).epsilon(0.02));
}

TEST_CASE("Gemini's automatic placement takes no longer than all chunks in host memory, and fills more of the GPU") {
  const ModelSpec spec = *resolve_model("gpt:layers=24,hidden=1024,heads=16,vocab=50304,positions=1024");
  Recipe recipe;
  recipe.sequence = 1024;
  recipe.micro_batch = 2;
  recipe.precision = Precision::kFp16Mixed;
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "RTX 2080 Ti");
  const StackSetup waiting{.stack = Stack::kColossalai, .parameters = Home::kHost, .optimizer = Home::kHost};
  const StackSetup placed{.stack = Stack::kColossalai, .automatic_placement = true};
  const auto host = predict_stack(spec, recipe, waiting, gpu), automatic = predict_stack(spec, recipe, placed, gpu);
  REQUIRE(host);
  REQUIRE(automatic);
  CHECK(automatic->time.step < host->time.step);
  CHECK(automatic->peak.allocated > host->peak.allocated);
  CHECK(automatic->host < host->host);
  CHECK(automatic->fits);
}

TEST_CASE("PatrickStar's chunks go back to host memory to make room, forward too, so that its steps are longer than Gemini's") {
  const ModelSpec spec = *resolve_model("gpt:layers=24,hidden=1024,heads=16,vocab=50304,positions=1024");
  Recipe recipe;
  recipe.sequence = 1024;
  recipe.micro_batch = 1;
  recipe.precision = Precision::kFp16Mixed;
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "RTX 2080 Ti");
  StackSetup setup{.stack = Stack::kColossalai, .automatic_placement = true};
  setup.device_memory = 5 * kGiB;
  const auto gemini = predict_stack(spec, recipe, setup, gpu);
  setup.manager = ChunkManager::kPatrickStar;
  const auto patrickstar = predict_stack(spec, recipe, setup, gpu);
  REQUIRE(gemini);
  REQUIRE(patrickstar);
  CHECK(patrickstar->time.step > gemini->time.step);
  CHECK(patrickstar->time.forward >= gemini->time.forward);
}

TEST_CASE("PatrickStar's warm-up needs host memory for all chunks but a tenth of the GPU, in nine tenths of what there is") {
  const ModelSpec spec = *resolve_model("gpt:layers=24,hidden=1024,heads=16,vocab=50304,positions=1024");
  Recipe recipe;
  recipe.sequence = 1024;
  recipe.precision = Precision::kFp16Mixed;
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 40GB SXM4");
  StackSetup setup{.stack = Stack::kColossalai, .automatic_placement = true};
  // The GPU alone would hold everything: Gemini asks for no host memory worth naming.
  const Bytes gemini = predict_stack(spec, recipe, setup, gpu)->host;
  setup.manager = ChunkManager::kPatrickStar;
  const auto patrickstar = predict_stack(spec, recipe, setup, gpu);
  const double chunks = 14 * static_cast<double>(parameter_count(spec));
  const double warm_up = 0.09 * static_cast<double>(patrickstar->usable.count);
  CHECK(static_cast<double>(patrickstar->host.count) >= (chunks - warm_up) / 0.9);
  CHECK(patrickstar->host > gemini);
  setup.host_memory = patrickstar->host - Bytes(1);
  CHECK_FALSE(predict_stack(spec, recipe, setup, gpu)->fits);
  setup.host_memory = patrickstar->host;
  CHECK(predict_stack(spec, recipe, setup, gpu)->fits);
}

TEST_CASE("ZenFlow sends 1.13 times the gradients, and hides its updates behind the step") {
  const ModelSpec spec = *resolve_model("gpt:layers=10,hidden=1024,heads=16,vocab=1024,positions=1024");
  Recipe recipe;
  recipe.sequence = 1024;
  recipe.micro_batch = 8;
  recipe.precision = Precision::kBf16Mixed;
  recipe.clip = 0;
  StackSetup setup{.stack = Stack::kDeepspeed, .zero = 2, .optimizer = Home::kHost};
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 40GB SXM4");
  const double offloaded = predict_stack(spec, recipe, setup, gpu)->time.step;
  setup.selected_share = 0.1;
  const auto run = run_stack(spec, recipe, setup, gpu);
  REQUIRE(run);
  double copied = 0;
  for (const StackKernel& kernel : run->kernels) {
    if (kernel.sort == StackKernelSort::kToHost || kernel.sort == StackKernelSort::kToDevice) copied += kernel.bytes;
  }
  // (1 − 0.1) · 2 bytes of gradients, and a quarter of as many bytes of weights: 1.125 of the gradients' bytes.
  CHECK(copied == Approx(1.125 * 2 * static_cast<double>(parameter_count(spec))).epsilon(0.001));
  CHECK(predict_run(*run, recipe, setup, gpu)->time.step < offloaded);
}

}  // namespace plimsoll
