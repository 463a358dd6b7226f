#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "cli/commands.h"
#include "core/base/error.h"
#include "core/plan/plan.h"
#include "executor/kernels/choose_matmul_library.h"
#include "executor/tiers/drive.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMatmulTrialMilliseconds = 400;
constexpr const char* kCuda = "not built in: plans for GPUs are made and simulated, runs use the CPU backend";

/// How SSD data would move here; a block is reserved and given back to find out.
std::string drive_text() {
  try {
    std::vector<std::byte> memory(static_cast<std::size_t>(kMiB.count));
    const std::span<std::byte> all(memory);
    Drive drive(kStorageAlignment, true, {});
    drive.start({&all, 1});
    const std::string text = fmt::format("plans may keep data here (--ssd SIZE): {}", drive.describe());
    return drive.warning().empty() ? text : fmt::format("{}; {}", text, drive.warning());
  } catch (const EnvironmentError& error) {
    return error.error().text();
  }
}

void print_text(const ThisComputer& here, const MatmulChoice& matmul) {
  fmt::print("plimsoll {}\n", version());
  fmt::print("cpu       {}: {} cores ({} physical), AVX2 {}, AVX-512 {}\n", here.cpu_model, here.logical_cores,
             here.physical_cores, here.avx2 ? "yes" : "no", here.avx512 ? "yes" : "no");
  fmt::print("memory    {} of {} available to this process\n", to_text(here.memory_available),
             to_text(here.memory_total));
  fmt::print("products  oneDNN {:.0f}, OpenBLAS {:.0f} GFLOP/s on one core in fp32; runs use {}\n",
             matmul.onednn_gflops, matmul.openblas_gflops, to_text(matmul.library));
  fmt::print("cuda      {}\nssd       {}\n", kCuda, drive_text());
}

void print_json(const ThisComputer& here, const MatmulChoice& matmul) {
  const nlohmann::ordered_json object{
      {"format_version", 1},
      {"version", version()},
      {"cpu",
       {{"model", here.cpu_model},
        {"logical_cores", here.logical_cores},
        {"physical_cores", here.physical_cores},
        {"avx2", here.avx2},
        {"avx512", here.avx512}}},
      {"memory", {{"available_bytes", here.memory_available.count}, {"total_bytes", here.memory_total.count}}},
      {"products",
       {{"onednn_gflops", matmul.onednn_gflops},
        {"openblas_gflops", matmul.openblas_gflops},
        {"library", to_text(matmul.library)}}},
      {"cuda", kCuda},
      {"ssd", drive_text()}};
  fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_doctor(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "What this build and this computer can do, and what is missing");
  command->footer("Example: plimsoll doctor");
  command->add_flag("--json", *json, "machine-readable answer");
  command->callback([json, &code] {
    (*json ? print_json : print_text)(probe_this_computer(), choose_matmul_library(kMatmulTrialMilliseconds));
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
