#include "tests/gpu/check_runner.h"

// Runs what waits for a GPU: see run_checks.
namespace plimsoll::gpu {

std::vector<Check> all_checks() {
  std::vector<Check> checks;
  for (const auto& some : {value_checks(), training_checks(), update_checks(), link_checks(), memory_checks(), drive_checks(), attention_checks(), logit_checks(),
                           speed_checks(), layer_checks(), prediction_checks()}) {
    checks.insert(checks.end(), some.begin(), some.end());
  }
  return checks;
}

}  // namespace plimsoll::gpu

int main(int count, char** words) {
  using namespace plimsoll;
  return gpu::run_checks({words, words + count}, gpu::all_checks(), [] { return open_cuda_device(); });
}
