#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/stack/replay_log.h"
#include "sim/stack/training_steps.h"
#include "tests/sim/stack/sharding_case.h"

namespace plimsoll {
namespace {

using namespace sharding_case;

/// Bytes of gradients when most of them live in the last step.
double most_gradients(const std::string& model, const Recipe& made, const StackSetup& setup) {
  const ModelSpec spec = *resolve_model(model);
  Tape tape;
  const auto rules = module_rules(spec, made, setup, board());
  const StepMarks marks = run_training_steps(tape, spec, made, setup, rules);
  std::map<std::uint32_t, std::int64_t> live;  // bytes of gradients by storage
  std::int64_t now = 0, most = 0;
  for (std::size_t i = 0; i < marks.last_step; ++i) {
    const StorageEvent& event = tape.log().events()[i];
    now -= std::exchange(live[event.storage], 0);
    const bool lives = event.change == StorageChange::kBorn || event.change == StorageChange::kRenamed;
    if (lives && event.holding == Holding::kGradients) now += live[event.storage] = event.bytes.count;
    if (i >= marks.steady) most = std::max(most, now);
  }
  return static_cast<double>(most);
}

/// Bytes that collectives of the last step send.
double sent_bytes(const std::string& model, const Recipe& made, const StackSetup& setup) {
  const ModelSpec spec = *resolve_model(model);
  Tape tape;
  const auto rules = module_rules(spec, made, setup, board());
  run_training_steps(tape, spec, made, setup, rules);
  double sent = 0;
  for (const StackKernel& kernel : tape.kernels()) {
    if (kernel.sort == StackKernelSort::kCollective) sent += kernel.bytes;
  }
  return sent;
}

}  // namespace

TEST_CASE("Without reductions between micro-batches every rank keeps whole gradients until a step's last") {
  const auto growth = [](bool whole, int zero, ModuleStyle modules, int accumulate, Precision precision = Precision::kBf16Mixed,
                         std::optional<bool> in_single = {}) {
    StackSetup setup = nano(8, zero);
    setup.modules = modules;
    setup.whole_gradients = whole;
    setup.reduces_in_single = in_single;
    Recipe made = recipe(precision);
    made.accumulate = accumulate;
    const auto most = [&](int layers) {
      return most_gradients("gpt:layers=" + std::to_string(layers) + ",hidden=512,heads=8,vocab=2048,positions=128", made, setup);
    };
    return (most(24) - most(8)) / (16 * (3145728 + 6656));
  };
  for (const int zero : {2, 3}) {
    // 2 bytes a number of what FSDP has gathered, or 4 of a rank's eighth.
    CHECK(growth(true, zero, ModuleStyle::kNanoGpt, 2) == Approx(2).epsilon(0.001));
    CHECK(growth(false, zero, ModuleStyle::kNanoGpt, 2) == Approx(0.5).epsilon(0.001));
    CHECK(growth(true, zero, ModuleStyle::kNanoGpt, 1) == growth(false, zero, ModuleStyle::kNanoGpt, 1));
  }
  // FSDP2 keeps them in the type that it reduces in.
  CHECK(growth(true, 3, ModuleStyle::kTorchTune, 2) == Approx(4).epsilon(0.001));
  CHECK(growth(true, 3, ModuleStyle::kTorchTune, 2, Precision::kBf16) == Approx(2).epsilon(0.001));
  CHECK(growth(true, 3, ModuleStyle::kTorchTune, 2, Precision::kBf16, true) == Approx(4).epsilon(0.001));
  CHECK(growth(true, 3, ModuleStyle::kTorchTune, 2, Precision::kBf16Mixed, false) == Approx(2).epsilon(0.001));
}

TEST_CASE("Without reductions between micro-batches gradients are sent once a step, and SHARD_GRAD_OP gathers once") {
  const auto sent = [](bool whole, int zero) {
    StackSetup setup = nano(8, zero);
    setup.whole_gradients = whole;
    Recipe made = recipe(Precision::kBf16Mixed);
    made.accumulate = 3;
    return sent_bytes(kModel, made, setup);
  };
  // Seven eighths of 2 bytes a number. Of three micro-batches each gathers blocks twice, and the rest once.
  const double blocks = 1.75 * 8 * (3145728 + 6656), rest = 1.75 * kParameters - blocks;
  CHECK(sent(false, 3) == Approx(3 * (2 * blocks + rest) + 3 * (blocks + rest)));
  CHECK(sent(true, 3) == Approx(3 * (2 * blocks + rest) + (blocks + rest)));
  CHECK(sent(false, 2) == Approx(6 * (blocks + rest)));
  CHECK(sent(true, 2) == Approx(2 * (blocks + rest)));
}

TEST_CASE("That gradients stay whole is told where it is taken for granted") {
  const auto told = [](std::optional<bool> whole, int accumulate) {
    StackSetup setup{.modules = ModuleStyle::kHuggingFace, .attention = AttentionKernel::kFlash, .data_ranks = 8, .zero = 3, .whole_gradients = whole};
    Recipe made = recipe(Precision::kBf16Mixed);
    made.accumulate = accumulate;
    const auto lines = predict(kModel, made, setup).assumptions;
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return line.find("--whole-gradients no") != std::string::npos; });
  };
  CHECK(told({}, 2));
  CHECK_FALSE(told({}, 1));
  CHECK_FALSE(told(true, 2));
}

TEST_CASE("Gradients stay whole between micro-batches in the loops of accelerate and Fabric, and where it is said") {
  StackSetup setup{.modules = ModuleStyle::kHuggingFace, .data_ranks = 8, .zero = 3};
  CHECK(keeps_whole_gradients(setup));
  setup.modules = ModuleStyle::kLitGpt;
  CHECK(keeps_whole_gradients(setup));
  setup.whole_gradients = false;
  CHECK_FALSE(keeps_whole_gradients(setup));
  setup = {.modules = ModuleStyle::kTorchTune, .data_ranks = 8, .zero = 3};
  CHECK_FALSE(keeps_whole_gradients(setup));
  setup.whole_gradients = true;
  CHECK(keeps_whole_gradients(setup));
  setup.zero = 1;  // nothing is gathered
  CHECK_FALSE(keeps_whole_gradients(setup));
}

}  // namespace plimsoll
