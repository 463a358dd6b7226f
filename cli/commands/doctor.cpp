#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/commands.h"
#include "cli/inputs/probe_cache.h"
#include "core/base/error.h"
#include "core/plan/plan.h"
#include "executor/collectives/job.h"
#include "executor/cuda/cufile_library.h"
#include "executor/cuda/device.h"
#include "executor/cuda/nccl_links.h"
#include "executor/kernels/choose_matmul_library.h"
#include "executor/tiers/drive.h"
#include "executor/tiers/drive_folder.h"
#include "executor/tiers/locked_memory.h"
#include "profiler/cupti/activity_capture.h"
#include "profiler/probe/gpu_readiness.h"
#include "profiler/probe/installed_gpus.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMatmulTrialMilliseconds = 400;

/// What this build has of CUDA, and what this computer has; without a device, what is missing.
std::string cuda_text() {
  const auto device = open_cuda_device();
  if (!device) return fmt::format("{}; {}", cuda_build(), device.error().text());
  const DeviceInfo info = (*device)->info();
  return fmt::format("{}; {} (sm_{}{}), {} of {} free, {}", cuda_build(), info.name, info.major, info.minor, to_text(info.free),
                     to_text(info.total), info.software);
}

/// How SSD data would move there; a megabyte is reserved and given back to find out.
std::string drive_text(const std::string& folder) {
  const auto usable = check_drive_folder(folder, kMiB);
  if (!usable) return usable.error().text();
  try {
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(kStorageAlignment.count, kMiB.count)), &std::free);
    const std::span<std::byte> all(memory.get(), static_cast<std::size_t>(kMiB.count));
    Drive drive(kMiB, true, {.folder = folder});
    drive.start({&all, 1});
    const std::string text = fmt::format("plans may keep data in '{}' (--ssd SIZE): {}, {} free", folder,
                                         drive.describe(), to_text(usable->free));
    return drive.warning().empty() ? text : fmt::format("{}; {}", text, drive.warning());
  } catch (const EnvironmentError& error) {
    return error.error().text();
  }
}

/// What may be pinned, which registered buffers need.
std::string locked_text() {
  const auto limit = locked_memory_limit();
  if (!limit) return "no limit on locked memory: SSD buffers of any size are registered";
  return fmt::format("{} may be locked (ulimit -l): larger SSD buffers move unregistered, which costs CPU time",
                     to_text(*limit));
}

/// What a GPU run and a profile need here.
std::vector<Finding> findings_here() {
  return gpu_readiness({.root = {},
                        .toolkits = {},
                        .capture_built_in = capture_is_built_in(),
                        .capture_text = capture_build_text(),
                        .may_administer = ::geteuid() == 0,
                        .locked_limit = locked_memory_limit(),
                        .cufile = cuda::find_cufile(),
                        .nvidia_fs = cuda::has_nvidia_fs()});
}

std::string ranks_text() {
  const std::string started =
      has_job_support() ? "mpirun -n 2 plimsoll run MODEL --pp 2 ..., or any launcher that says RANK (docs/ranks.md)"
                        : "built without MPI: any launcher that says RANK starts them (docs/ranks.md), and with "
                          "apt-get install libopenmpi-dev openmpi-bin and ./setup mpirun too";
  const auto nccl = find_nccl();
  return fmt::format("{}; between GPUs {}", started, nccl ? *nccl : nccl.error().text());
}

/// What was measured of the drive, or how to measure it.
std::string drive_rates_text(const ThisComputer& here) {
  const KnownProbe known = find_probe(here);
  if (!known.probe || !known.probe->drive) return "not measured: plimsoll machines --probe --ssd-folder FOLDER";
  const ProbedDrive& drive = *known.probe->drive;
  return fmt::format("'{}' reads {:.2f} and writes {:.2f} GB/s alone, {:.2f} and {:.2f} GB/s at once (measured {}, its cache full)", drive.folder,
                     drive.read.median * 1e-9, drive.write.median * 1e-9, drive.mixed_read.median * 1e-9,
                     drive.mixed_write.median * 1e-9, known.probe->date);
}

void print_findings(const ThisComputer& here) {
  fmt::print("rates     {}\n", drive_rates_text(here));
  for (const Finding& finding : findings_here()) {
    fmt::print("{:<9} {}{}\n", finding.subject.substr(0, finding.subject.find(' ')),
               finding.state == FindingState::kGood ? "" : fmt::format("{}: ", to_text(finding.state)), finding.text);
    if (!finding.remedy.empty()) fmt::print("          -> {}\n", finding.remedy);
  }
}

nlohmann::ordered_json findings_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings_here())
    list.push_back({{"subject", finding.subject}, {"state", to_text(finding.state)}, {"text", finding.text}, {"remedy", finding.remedy}});
  return list;
}

void print_text(const ThisComputer& here, const MatmulChoice& matmul, const std::string& folder) {
  fmt::print("plimsoll {}\n", version());
  fmt::print("cpu       {}: {} cores ({} physical), AVX2 {}, AVX-512 {}\n", here.cpu_model, here.logical_cores,
             here.physical_cores, here.avx2 ? "yes" : "no", here.avx512 ? "yes" : "no");
  if (!here.topology.caches.empty()) fmt::print("caches    {}\n", caches_text(here.topology));
  fmt::print("numa      {}\n", numa_text(here.topology.numa_nodes));
  for (const GpuPart& gpu : here.gpus) fmt::print("gpu       {}\n", gpu_text(gpu));
  if (here.gpus.empty()) fmt::print("gpu       none in a PCIe slot\n");
  fmt::print("memory    {} of {} available to this process\n", to_text(here.memory_available),
             to_text(here.memory_total));
  fmt::print("products  oneDNN {:.0f}, OpenBLAS {:.0f} GFLOP/s on one core in fp32; runs use {}\n",
             matmul.onednn_gflops, matmul.openblas_gflops, to_text(matmul.library));
  fmt::print("locked    {}\n", locked_text());
  fmt::print("cuda      {}\nssd       {}\n", cuda_text(), drive_text(folder));
  fmt::print("ranks     {}\n", ranks_text());
  print_findings(here);
}

nlohmann::ordered_json numa_json(const std::vector<NumaPart>& nodes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NumaPart& node : nodes) list.push_back({{"memory", node.memory.count}, {"cores", node.cores}});
  return list;
}

void print_json(const ThisComputer& here, const MatmulChoice& matmul, const std::string& folder) {
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
  for (const GpuPart& gpu : here.gpus) gpus.push_back(gpu_text(gpu));
  const nlohmann::ordered_json object{
      {"format_version", 1},
      {"version", version()},
      {"cpu",
       {{"model", here.cpu_model},
        {"logical_cores", here.logical_cores},
        {"physical_cores", here.physical_cores},
        {"avx2", here.avx2},
        {"avx512", here.avx512}}},
      {"topology", nlohmann::ordered_json::parse(write_topology(here.topology))},
      {"numa_nodes", numa_json(here.topology.numa_nodes)},
      {"gpus", gpus},
      {"memory", {{"available_bytes", here.memory_available.count}, {"total_bytes", here.memory_total.count}}},
      {"products",
       {{"onednn_gflops", matmul.onednn_gflops},
        {"openblas_gflops", matmul.openblas_gflops},
        {"library", to_text(matmul.library)}}},
      {"cuda", cuda_text()},
      {"ranks", ranks_text()},
      {"locked_memory", locked_text()},
      {"ssd", drive_text(folder)},
      {"ssd_rates", drive_rates_text(here)},
      {"checks", findings_json()}};
  fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_doctor(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  auto folder = std::make_shared<std::string>(".");
  CLI::App* command = app.add_subcommand("doctor", "What this build and this computer can do, and what is missing");
  command->footer("Example: plimsoll doctor");
  command->add_flag("--json", *json, "machine-readable answer");
  command->add_option("--ssd-folder", *folder, "tell whether SSD data could go there")->capture_default_str();
  command->callback([json, folder, &code] {
    (*json ? print_json : print_text)(probe_this_computer(), choose_matmul_library(kMatmulTrialMilliseconds), *folder);
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
