#include "formats/machines/stated_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
/// Two figures that differ by less are one: catalogues round.
constexpr double kSame = 0.02;
constexpr std::string_view kStatedSource = "stated by a machine file";

std::optional<double> positive(const JsonNode& node, std::string_view key) {
  if (!node.has(key)) return std::nullopt;
  const double value = node.at(key).number(0);
  if (value <= 0) node.at(key).fault("a rate must be positive");
  return value;
}

void read_tflops(const JsonNode& node, StatedGpu& gpu) {
  node.allow_only({"fp32", "tf32", "fp16", "bf16"});
  gpu.fp32_tflops = positive(node, "fp32");
  gpu.tf32_tflops = positive(node, "tf32");
  gpu.fp16_tflops = positive(node, "fp16");
  gpu.bf16_tflops = positive(node, "bf16");
  if (gpu.tf32_tflops && !gpu.fp16_tflops) node.fault("\"tf32\" without \"fp16\": units for TF32 multiply fp16, too", "state \"fp16\"");
  if (gpu.bf16_tflops && !gpu.fp16_tflops) node.fault("\"bf16\" without \"fp16\": units for bf16 multiply fp16, too", "state \"fp16\"");
  if (gpu.tf32_tflops && gpu.fp16_tflops && *gpu.tf32_tflops > *gpu.fp16_tflops) {
    node.fault("\"tf32\" is faster than \"fp16\"", "state dense rates, without sparsity");
  }
}

void read_capability(const JsonNode& node, StatedGpu& gpu) {
  if (!node.has("compute_capability")) return;
  gpu.compute_capability = node.at("compute_capability").text();
  const bool has_bf16 = *gpu.compute_capability >= "8" || gpu.compute_capability->size() > 3;
  if (gpu.bf16_tflops && !has_bf16) {
    node.fault(fmt::format("\"bf16\" products and compute capability {}: units for bf16 come with 8.0", *gpu.compute_capability),
               "leave one of them out");
  }
}

std::string usual_capability(const StatedGpu& gpu) {
  if (gpu.compute_capability) return *gpu.compute_capability;
  if (gpu.bf16_tflops) return "8.6";
  return gpu.fp16_tflops ? "7.5" : "6.1";
}

tl::unexpected<Error> incomplete(const std::string& name, std::string_view key, const std::string& where) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("GPU '{}' is not in the catalogue, and \"{}\" is not stated", name, key),
               .where = where,
               .remedy = "state memory, bytes_per_second, multiprocessors and tflops, or name a GPU that plimsoll machines lists"});
}

Result<GpuEntry> entry_of(const std::string& name, const StatedGpu& stated, const std::string& where) {
  if (stated.memory <= Bytes(0)) return incomplete(name, "memory", where);
  if (stated.memory_gbs <= 0) return incomplete(name, "bytes_per_second", where);
  if (stated.multiprocessors <= 0) return incomplete(name, "multiprocessors", where);
  if (!stated.fp32_tflops) return incomplete(name, "tflops.fp32", where);
  GpuEntry gpu;
  gpu.name = name;
  gpu.board = stated.board.value_or(GpuBoard::kGeForce);
  gpu.multiprocessors = stated.multiprocessors;
  gpu.compute_capability = usual_capability(stated);
  gpu.memory = stated.memory;
  gpu.memory_gbs = stated.memory_gbs;
  gpu.fp32_tflops = stated.fp32_tflops;
  gpu.tf32_tflops = stated.tf32_tflops;
  gpu.fp16_tflops = stated.fp16_tflops;
  gpu.bf16_tflops = stated.bf16_tflops;
  gpu.source = kStatedSource;
  return gpu;
}

/// Figures of the catalogue beside those that were stated; the first that differs is an error.
Result<void> check_against(const GpuEntry& known, const StatedGpu& stated, const std::string& where) {
  const std::pair<std::string_view, std::pair<double, double>> figures[] = {
      {"memory", {static_cast<double>(stated.memory.count), static_cast<double>(known.memory.count)}},
      {"bytes_per_second", {stated.memory_gbs * kGiga, known.memory_gbs * kGiga}},
      {"multiprocessors", {static_cast<double>(stated.multiprocessors), static_cast<double>(known.multiprocessors)}},
      {"tflops.fp32", {stated.fp32_tflops.value_or(0), known.fp32_tflops.value_or(0)}},
      {"tflops.tf32", {stated.tf32_tflops.value_or(0), known.tf32_tflops.value_or(0)}},
      {"tflops.fp16", {stated.fp16_tflops.value_or(0), known.fp16_tflops.value_or(0)}},
      {"tflops.bf16", {stated.bf16_tflops.value_or(0), known.bf16_tflops.value_or(0)}}};
  for (const auto& [key, values] : figures) {
    if (values.first <= 0 || std::abs(values.first - values.second) <= kSame * values.second) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("\"{}\" is {} here, and {} of the {} in the catalogue", key, values.first, values.second, known.name),
                 .where = where,
                 .remedy = "leave the figure out, or give the GPU a name of its own"});
  }
  return {};
}

}  // namespace

std::optional<StatedGpu> read_stated_gpu(const JsonNode& node) {
  constexpr std::string_view kKeys[] = {"memory", "bytes_per_second", "multiprocessors", "tflops", "board", "compute_capability"};
  if (std::none_of(std::begin(kKeys), std::end(kKeys), [&](std::string_view key) { return node.has(key); })) return std::nullopt;
  StatedGpu gpu;
  if (node.has("memory")) gpu.memory = node.at("memory").bytes();
  gpu.memory_gbs = positive(node, "bytes_per_second").value_or(0) / kGiga;
  gpu.multiprocessors = node.integer_or("multiprocessors", 0, 1, 1 << 16);
  if (node.has("tflops")) read_tflops(node.at("tflops"), gpu);
  if (node.has("board")) {
    gpu.board = parse_gpu_board(node.at("board").text());
    if (!gpu.board) node.at("board").fault("no sort of board", "choose geforce, laptop, professional or datacenter");
  }
  read_capability(node, gpu);
  return gpu;
}

std::string write_stated_gpu(const std::optional<StatedGpu>& gpu) {
  if (!gpu) return {};
  JsonLine tflops;
  const std::pair<std::string_view, std::optional<double>> rates[] = {
      {"fp32", gpu->fp32_tflops}, {"tf32", gpu->tf32_tflops}, {"fp16", gpu->fp16_tflops}, {"bf16", gpu->bf16_tflops}};
  for (const auto& [key, rate] : rates) {
    if (rate) tflops.number(key, *rate);
  }
  std::string text;
  if (gpu->memory > Bytes(0)) text += fmt::format(", \"memory\": {}", gpu->memory.count);
  if (gpu->memory_gbs > 0) text += fmt::format(", \"bytes_per_second\": {}", gpu->memory_gbs * kGiga);
  if (gpu->multiprocessors > 0) text += fmt::format(", \"multiprocessors\": {}", gpu->multiprocessors);
  text += fmt::format(", \"tflops\": {}", tflops.str());
  if (gpu->board) text += fmt::format(", \"board\": {}", json_quote(to_text(*gpu->board)));
  if (gpu->compute_capability) text += fmt::format(", \"compute_capability\": {}", json_quote(*gpu->compute_capability));
  return text;
}

Result<GpuEntry> gpu_of(const std::string& name, const std::optional<StatedGpu>& stated, const std::string& where) {
  auto known = find_gpu(built_in_gpu_catalogue(), name);
  if (!stated) return known;
  if (!known) return entry_of(name, *stated, where);
  if (const auto same = check_against(*known, *stated, where); !same) return fail(same.error());
  return known;
}

std::vector<std::string> extrapolation_notes(const GpuEntry& gpu) {
  if (gpu.source != kStatedSource) return {};
  return {fmt::format("{} is not in the catalogue: its figures are the machine file's, the shares of them that kernels reach are those of "
                      "similar boards (extrapolated), and what its driver takes is assumed",
                      gpu.name)};
}

}  // namespace plimsoll
