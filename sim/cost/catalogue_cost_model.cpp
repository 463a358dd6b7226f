#include "sim/cost/catalogue_cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/update_work.h"
#include "core/platform/cpu_workers.h"
#include "formats/machines/optimizer_rate.h"
#include "sim/cost/efficiencies.h"
#include "sim/cost/kernel_work.h"
#include "sim/cost/uneven_products.h"

namespace plimsoll {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;
// A century; a longer kernel is a mistake in the input, and its nanoseconds would soon overflow.
constexpr double kLongestSeconds = 3.2e9;

tl::unexpected<Error> uncalibrated(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kUncalibrated, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<Cost> checked(double seconds, CostOrigin origin, const std::string& subject) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kLongestSeconds) {
    return uncalibrated(fmt::format("no time can be given for {}", subject), "check its sizes and the machine's rates");
  }
  return cost_of(seconds, origin);
}

/// The catalogue's entry for a processor; a board that nobody catalogued counts as a data-centre one of no
/// architecture.
GpuEntry entry_of(const Processor& processor) {
  for (const auto& gpu : built_in_gpu_catalogue()) {
    if (gpu.name == processor.calibration_name) return gpu;
  }
  GpuEntry unknown;
  unknown.board = GpuBoard::kDatacenter;
  return unknown;
}

/// A CPU backend without products of two-byte types multiplies widened tiles: nearly the rate of fp32.
double half_flops(const Processor& processor, double own) {
  if (own > 0 || processor.kind != ProcessorKind::kCpu) return own;
  return cost_constants().at("cpu.half_product") * processor.fp32_flops;
}

double nominal_flops(const Processor& processor, DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return processor.fp32_flops;
    case DType::kFp16:
      return half_flops(processor, processor.fp16_flops);
    case DType::kBf16:
      return half_flops(processor, processor.bf16_flops);
    case DType::kTf32:
      return processor.tf32_flops;
    case DType::kFp64:
      return processor.kind == ProcessorKind::kCpu ? processor.fp32_flops / 2 : 0.0;
    default:
      return 0.0;
  }
}

/// What products in a step reach of their rate alone: of the board's architecture where that is known, else of its
/// sort.
double step_factor(const GpuEntry& gpu) {
  const std::string sort = fmt::format("step.{}", to_text(gpu.board));
  const std::string own = fmt::format("{}.{}", sort, gpu.architecture);
  return cost_constants().at(cost_constants().has(own) ? own : sort);
}

/// Of one matrix: five of each Newton–Schulz step, the norm's three, and what comes before and after.
constexpr std::int64_t kMuonLaunches = 5 * kNewtonSchulzSteps + 5;

/// Launches that the CUDA backend makes of a kernel: shares of sums, then their sums, and what comes before a gradient.
double launches_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case OpKind::kMuon: return static_cast<double>(kMuonLaunches * kernel.shape.terms);
    case OpKind::kNormBackward:
    case OpKind::kHeadNormBackward: return 4;
    case OpKind::kAttentionBackward:
    case OpKind::kEmbeddingBackward: return 3;
    case OpKind::kHeadNorm:
    case OpKind::kSquaredNorm:
    case OpKind::kCrossEntropy:
    case OpKind::kLoss: return 2;
    default: return 1;
  }
}

double startup_seconds(const Kernel& kernel) { return launches_of(kernel) * cost_constants().at("kernel.startup") * kMicro; }

std::optional<Efficiency> arithmetic_efficiency(const GpuEntry& gpu, const Kernel& kernel, FusedAttention attention) {
  if (sort_of(kernel.kind) == KernelSort::kProduct) {
    auto efficiency = product_efficiency(gpu, kernel.dtype);
    if (!efficiency) return efficiency;
    efficiency->share *= step_factor(gpu);
    if (const auto kept = sustained_share(gpu.name, kernel.dtype)) efficiency->share = std::min(efficiency->share, *kept);
    return efficiency;
  }
  return attention_efficiency(gpu, kernel.dtype, kernel.shape.sequence, kernel.shape.head_dim,
                              sort_of(kernel.kind) == KernelSort::kAttentionBackward, attention);
}

bool is_matrix_work(const Kernel& kernel) {
  const auto sort = sort_of(kernel.kind);
  return sort != KernelSort::kStreaming && sort != KernelSort::kOptimizer;
}

std::string no_rate(const Processor& processor, const Kernel& kernel) {
  return fmt::format("{} ({}) has no known {} rate for {}", processor.name, processor.calibration_name,
                     to_text(kernel.dtype), to_text(kernel));
}

/// What a product in two bytes reaches whose rows are no whole number of 16 bytes: those of x, and those of y where they lie.
std::optional<double> uneven_flops(const GpuEntry& gpu, const Kernel& kernel) {
  if (sort_of(kernel.kind) != KernelSort::kProduct || size_of(kernel.dtype) != 2) return {};
  const std::int64_t columns = kernel.shape.stride > 0 ? kernel.shape.stride : kernel.shape.outputs;
  return uneven_product_flops(gpu, row_unit(kernel.shape.inputs, columns));
}

Result<Cost> gpu_matrix_cost(const Processor& processor, const Kernel& kernel, FusedAttention attention) {
  const GpuEntry gpu = entry_of(processor);
  const auto work = work_of(kernel);
  const double peak = nominal_flops(processor, kernel.dtype);
  const auto efficiency = arithmetic_efficiency(gpu, kernel, attention);
  if (peak <= 0 || !efficiency) return uncalibrated(no_rate(processor, kernel), "choose another precision");
  const double even = efficiency->share * peak;
  const double arithmetic = work.flops / std::min(even, uneven_flops(gpu, kernel).value_or(even));
  const double traffic = work.bytes / (cost_constants().at("memory.product") * processor.bytes_per_second);
  return checked(startup_seconds(kernel) + std::max(arithmetic, traffic), efficiency->origin, to_text(kernel));
}

/// The widest type that a GPU's matrix units have of those in which Muon's products are written.
DType orthogonalizing_dtype(const Processor& processor) {
  if (processor.bf16_flops > 0) return DType::kBf16;
  return processor.fp16_flops > 0 ? DType::kFp16 : DType::kFp32;
}

/// Muon's products before its update streams; 0 of other kernels.
double orthogonalizing_seconds(const Processor& processor, const Kernel& kernel) {
  if (kernel.kind != OpKind::kMuon) return 0;
  const double flops = newton_schulz_flops(kernel.shape);
  if (processor.kind == ProcessorKind::kCpu) {
    const double assumed = static_cast<double>(processor.cores) * cost_constants().at("cpu.core_flops");
    return flops / (cost_constants().at("cpu.product") * (processor.fp32_flops > 0 ? processor.fp32_flops : assumed));
  }
  const DType dtype = orthogonalizing_dtype(processor);
  const GpuEntry gpu = entry_of(processor);
  const auto efficiency = product_efficiency(gpu, dtype);
  return flops / (efficiency.value_or(Efficiency{.share = 1}).share * step_factor(gpu) * nominal_flops(processor, dtype));
}

Result<Cost> gpu_streaming_cost(const Processor& processor, const Kernel& kernel) {
  const auto efficiency = memory_efficiency(entry_of(processor));
  const auto work = work_of(kernel);
  const double products = orthogonalizing_seconds(processor, kernel);
  if (products > 0) {
    const double traffic = work.bytes / (efficiency.share * processor.bytes_per_second);
    return checked(startup_seconds(kernel) + products + traffic, CostOrigin::kExtrapolated, to_text(kernel));
  }
  const double arithmetic = processor.fp32_flops > 0 ? work.flops / processor.fp32_flops : 0.0;
  const double traffic = work.bytes / (efficiency.share * processor.bytes_per_second);
  return checked(startup_seconds(kernel) + std::max(arithmetic, traffic), efficiency.origin, to_text(kernel));
}

std::string_view cpu_share(KernelSort sort) {
  switch (sort) {
    case KernelSort::kProduct:
      return "cpu.product";
    case KernelSort::kAttentionForward:
    case KernelSort::kAttentionBackward:
      return "cpu.attention";
    default:
      return "cpu.vector";
  }
}

/// Bytes a second of memory that a kernel's workers reach. A norm has one stream where an update has seven.
double cpu_memory_rate(const Processor& processor, OpKind kind) {
  const double updating = optimizer_rate(static_cast<double>(processor.cores), processor.bytes_per_second);
  if (kind == OpKind::kSquaredNorm) return cost_constants().at("cpu.norm") * updating;
  return sort_of(kind) == KernelSort::kOptimizer ? updating : cost_constants().at("cpu.memory") * processor.bytes_per_second;
}

Result<Cost> cpu_cost(const Processor& processor, const Kernel& kernel) {
  const auto& constants = cost_constants();
  const auto sort = sort_of(kernel.kind);
  const auto work = critical_work(kernel, workers_of(processor.calibration_name));
  const double peak = nominal_flops(processor, is_matrix_work(kernel) ? kernel.dtype : DType::kFp32);
  if (is_matrix_work(kernel) && peak <= 0)
    return uncalibrated(no_rate(processor, kernel), "run it on the GPU, or calibrate");
  const bool optimizer = sort == KernelSort::kOptimizer;
  const double traffic = work.bytes / cpu_memory_rate(processor, kernel.kind);
  // The optimizer's share of DRAM bandwidth was measured with its arithmetic in it.
  const double arithmetic = peak > 0 && !optimizer ? work.flops / (constants.at(cpu_share(sort)) * peak) : 0.0;
  const double products = orthogonalizing_seconds(processor, kernel);
  return checked(constants.at("cpu.startup") * kMicro + products + std::max(arithmetic, traffic), CostOrigin::kExtrapolated,
                 to_text(kernel));
}

/// PCIe rates are measured ones; drives and this computer's own copies are assumed.
CostOrigin origin_of(const Platform& platform, const Link& link) {
  const bool to_gpu = std::any_of(platform.processors.begin(), platform.processors.end(), [&](const Processor& p) {
    return p.kind == ProcessorKind::kGpu && (p.space == link.from || p.space == link.to);
  });
  return to_gpu ? CostOrigin::kCatalogue : CostOrigin::kExtrapolated;
}

}  // namespace

Result<Cost> CatalogueCostModel::kernel(const Processor& processor, const Kernel& kernel) const {
  if (processor.bytes_per_second <= 0) {
    return uncalibrated(fmt::format("the memory bandwidth of {} is unknown", processor.name),
                        "describe it in the machine");
  }
  if (processor.kind == ProcessorKind::kCpu) return cpu_cost(processor, kernel);
  return is_matrix_work(kernel) ? gpu_matrix_cost(processor, kernel, attention_) : gpu_streaming_cost(processor, kernel);
}

Result<Cost> CatalogueCostModel::transfer(const Platform& platform, const Link& link, Bytes bytes) const {
  if (link.bytes_per_second <= 0 || bytes < Bytes(0)) {
    return uncalibrated(fmt::format("no time is known for {} over {}", to_text(bytes), link.name),
                        "give the link a rate");
  }
  const double seconds = to_seconds(link.latency) + static_cast<double>(bytes.count) / link.bytes_per_second;
  return checked(seconds, origin_of(platform, link), fmt::format("{} over {}", to_text(bytes), link.name));
}

Result<Cost> CatalogueCostModel::host_work(const Processor&, HostTask task, Bytes bytes) const {
  const std::string key = fmt::format("host_work.{}", to_text(task));
  if (!cost_constants().has(key) || bytes < Bytes(0)) {
    return uncalibrated(fmt::format("no time is known for the host task {} over {}", to_text(task), to_text(bytes)));
  }
  const double copying = static_cast<double>(bytes.count) / (cost_constants().at("host_work.copy_rate") * kGiga);
  return checked(cost_constants().at(key) * kMicro + copying, CostOrigin::kExtrapolated, std::string(to_text(task)));
}

Nanoseconds CatalogueCostModel::issue_overhead(const Platform&, QueueKind queue) const {
  return from_seconds(cost_constants().at(fmt::format("issue.{}", to_text(queue))) * kMicro);
}

std::string CatalogueCostModel::source() const { return "catalogue: published efficiencies (data/calibration)"; }

}  // namespace plimsoll
