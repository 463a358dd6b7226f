#include "sim/replay/work_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <optional>

namespace plimsoll {
namespace {

constexpr std::uint8_t kToDevice = 1, kToHost = 2;

bool holds(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return name.find(part) != std::string::npos; });
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Kernels whose time is arithmetic: what cuBLAS, cuDNN, CUTLASS and attention libraries call theirs.
bool computes(const std::string& name) {
  return holds(name, {"gemm", "cutlass", "xmma", "_mma", "nvjet", "conv", "wgrad", "dgrad", "winograd", "flash", "fmha", "attention"}) &&
         !holds(name, {"elementwise", "convert"});
}

enum class Unit { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kUnknown };
constexpr const char* kUnitNames[] = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "untold"};

/// The type that a kernel's name tells.
Unit unit_of(const std::string& name) {
  if (holds(name, {"bf16", "bfloat16"})) return Unit::kBf16;
  if (holds(name, {"e4m3", "e5m2", "fp8"})) return Unit::kFp8;
  if (holds(name, {"tf32"})) return Unit::kTf32;
  if (holds(name, {"f16", "fp16", "hgemm", "h884", "h1688", "h16816", "half"})) return Unit::kFp16;
  if (holds(name, {"s1688"})) return Unit::kTf32;  // fp32 in and out by way of the matrix units
  if (holds(name, {"dgemm", "f64"})) return Unit::kFp64;
  if (holds(name, {"sgemm", "ffma", "f32", "float"})) return Unit::kFp32;
  return Unit::kUnknown;
}

std::optional<double> own_rate_of(const GpuEntry& gpu, Unit unit) {
  switch (unit) {
    case Unit::kFp64: return gpu.fp64_tflops;
    case Unit::kTf32: return gpu.tf32_tflops;
    case Unit::kFp16: return gpu.fp16_tflops;
    case Unit::kBf16: return gpu.bf16_tflops;
    case Unit::kFp8: return gpu.fp8_tflops;
    case Unit::kFp32:
    case Unit::kUnknown: return gpu.fp32_tflops;
  }
  return std::nullopt;
}

/// What a GPU computes with in place of units that it lacks: 8 bits in bf16, the short types of its matrix units in fp32.
Unit next_best(Unit unit) { return unit == Unit::kFp8 ? Unit::kBf16 : unit == Unit::kFp64 ? Unit::kFp64 : Unit::kFp32; }

std::optional<double> rate_of(const GpuEntry& gpu, Unit unit) {
  const auto own = own_rate_of(gpu, unit);
  return own ? own : own_rate_of(gpu, next_best(unit));
}

/// By which arithmetic, and where one of the two lacks its units, by what in their place.
std::string arithmetic_of(const GpuEntry& from, const GpuEntry& to, Unit unit) {
  const auto name = [](Unit of) { return kUnitNames[static_cast<std::size_t>(of)]; };
  std::string text = fmt::format("{} arithmetic", name(unit));
  for (const GpuEntry* gpu : {&from, &to}) {
    if (own_rate_of(*gpu, unit) || next_best(unit) == unit) continue;
    text += fmt::format(" (at {}'s rate on {}, which has no {} units)", name(next_best(unit)), gpu->name, name(unit));
  }
  return text;
}

std::optional<double> slot_of(const GpuEntry& gpu) {
  if (!gpu.pcie_generation || !gpu.pcie_lanes) return std::nullopt;
  double lane = 0.125;  // GB/s before the first generation, doubled by each
  for (int generation = 0; generation < *gpu.pcie_generation; ++generation) lane *= 2;
  return lane * *gpu.pcie_lanes;
}

tl::unexpected<Error> lacks(const std::string& what) {
  return fail({.kind = ErrorKind::kUncalibrated,
               .what = fmt::format("the catalogue has no {} of both GPUs", what),
               .where = "--gpu",
               .remedy = "scale by a factor of your own: --scale kernel=gemm:0.5"});
}

/// By what a piece of work is judged, and how much longer it takes.
struct Judgement {
  std::string by;
  std::optional<double> factor;
};

std::optional<double> ratio(std::optional<double> from, std::optional<double> to) {
  return from && to && *from > 0 && *to > 0 ? std::optional(*from / *to) : std::nullopt;
}

Judgement judge(const DeviceWork& work, const std::string& name, const GpuEntry& from, const GpuEntry& to) {
  const auto memory = ratio(from.memory_gbs, to.memory_gbs);
  if (work.kind == DeviceWorkKind::kCopy && (work.copy_kind == kToDevice || work.copy_kind == kToHost))
    return {"PCIe slot", ratio(slot_of(from), slot_of(to))};
  if (holds(name, {"nccl", "rccl"})) return {"collectives as recorded", 1.0};
  if (work.kind != DeviceWorkKind::kKernel || !computes(name)) return {"memory bandwidth", memory};
  const Unit unit = unit_of(name);
  auto factor = ratio(rate_of(from, unit), rate_of(to, unit));
  if (unit == Unit::kUnknown && factor && memory) factor = std::max(*factor, *memory);
  return {arithmetic_of(from, to, unit), factor};
}

}  // namespace

Result<WorkFactors> factors_on_gpu(const Recording& recording, const GpuEntry& from, const GpuEntry& to) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < recording.names.size(); ++i) names.push_back(lower(recording.names.at(NameId(i))));
  WorkFactors result;
  for (const DeviceWork& work : recording.work) {
    const Judgement judged = judge(work, names[work.name.index], from, to);
    if (!judged.factor) return lacks(judged.by);
    result.factors.push_back(*judged.factor);
    ++result.judged[judged.by];
  }
  return result;
}

Result<WorkFactors> factors_at_bandwidth(const Recording& recording, double gbs) {
  constexpr std::int64_t kLarge = 64 << 10;
  std::array<double, 3> rate{};  // bytes a nanosecond, by direction
  for (const DeviceWork& work : recording.work) {
    if (work.kind != DeviceWorkKind::kCopy || work.copy_kind > kToHost || work.bytes < kLarge || work.end <= work.start) continue;
    rate[work.copy_kind] = std::max(rate[work.copy_kind], static_cast<double>(work.bytes) / static_cast<double>((work.end - work.start).count));
  }
  WorkFactors result;
  for (const DeviceWork& work : recording.work) {
    result.factors.push_back(1);
    const bool host = work.kind == DeviceWorkKind::kCopy && (work.copy_kind == kToDevice || work.copy_kind == kToHost);
    if (!host || rate[work.copy_kind] <= 0 || work.end <= work.start) continue;
    const auto took = static_cast<double>((work.end - work.start).count);
    const double moving = std::min(took, static_cast<double>(work.bytes) / rate[work.copy_kind]);
    result.factors.back() = (took - moving + static_cast<double>(work.bytes) / gbs) / took;
    ++result.judged[work.copy_kind == kToDevice ? "copies to the device" : "copies to the host"];
  }
  if (result.judged.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the trace holds no copy of 64 KiB or more between host and device, so that nobody knows how fast they were",
                 .where = "--bandwidth",
                 .remedy = "scale the copies instead: --scale copy=HtoD:0.5"});
  }
  return result;
}

}  // namespace plimsoll
