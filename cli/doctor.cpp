#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "executor/kernels/choose_matmul_library.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMatmulTrialMilliseconds = 400;

void examine() {
  const ThisComputer here = probe_this_computer();
  fmt::print("plimsoll {}\n", version());
  fmt::print("cpu       {}: {} cores ({} physical), AVX2 {}, AVX-512 {}\n", here.cpu_model, here.logical_cores, here.physical_cores,
             here.avx2 ? "yes" : "no", here.avx512 ? "yes" : "no");
  fmt::print("memory    {} of {} available to this process\n", to_text(here.memory_available), to_text(here.memory_total));
  const MatmulChoice matmul = choose_matmul_library(kMatmulTrialMilliseconds);
  fmt::print("products  oneDNN {:.0f}, OpenBLAS {:.0f} GFLOP/s on one core in fp32; runs use {}\n", matmul.onednn_gflops,
             matmul.openblas_gflops, to_text(matmul.library));
  fmt::print("cuda      not built in: plans for GPUs are made and simulated, runs use the CPU backend\n");
  fmt::print("ssd       simulated only: strategies with SSD states are planned for other machines and not run here\n");
}

}  // namespace

void add_doctor(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("doctor", "What this build and this computer can do, and what is missing");
  command->footer("Example: plimsoll doctor");
  command->callback([&code] {
    examine();
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
