// The runner of the GPU checks without a GPU: checks that do what broken ones do.
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/executor/cuda/emulated_device.h"
#include "tests/gpu/check_runner.h"

namespace plimsoll::gpu {
namespace {

std::vector<Check> fake_checks() {
  return {{"passes", "below 1", [](Bench& bench) {
             bench.add("one", 0.5, true, "fine", {{"measured_seconds", 0.25}});
             bench.add("other", 2, false, "not \"fine\"");
           }},
          {"throws", "below 1", [](Bench& bench) {
             bench.add("before", 0.5, true);
             throw std::runtime_error("a check broke");
           }},
          {"crashes", "below 1", [](Bench& bench) {
             bench.add("before", 0.5, true);
             ::raise(SIGSEGV);
           }},
          {"exits", "below 1", [](Bench&) { std::_Exit(3); }},
          {"hangs", "below 1", [](Bench& bench) {
             bench.add("before", 0.5, true);
             while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
           }, 1},
          {"skips", "below 1", [](Bench& bench) { bench.skip("no second GPU"); }},
          {"last", "below 1", [](Bench& bench) { bench.add("", 1.0 / 0.0, true); }}};
}

Result<std::shared_ptr<Device>> open_emulated() {
  if (std::getenv("FAKE_NO_DEVICE") != nullptr) return fail({.kind = ErrorKind::kEnvironment, .what = "no CUDA device"});
  if (std::getenv("FAKE_DEVICE_CRASHES") != nullptr) std::abort();
  return std::shared_ptr<Device>(std::make_shared<test::EmulatedDevice>(kGiB));
}

}  // namespace
}  // namespace plimsoll::gpu

int main(int count, char** words) {
  return plimsoll::gpu::run_checks({words, words + count}, plimsoll::gpu::fake_checks(), plimsoll::gpu::open_emulated);
}
