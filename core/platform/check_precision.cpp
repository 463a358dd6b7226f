#include "core/platform/check_precision.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// Of matrix units that read this type; 1 where any unit will do.
double product_flops(const Processor& gpu, DType type) {
  switch (type) {
    case DType::kFp16: return gpu.fp16_flops;
    case DType::kBf16: return gpu.bf16_flops;
    case DType::kTf32: return gpu.tf32_flops;
    default: return 1;
  }
}

}  // namespace

Result<void> check_precision(const Processor& processor, Precision precision) {
  const DType type = product_dtype(precision);
  if (processor.kind == ProcessorKind::kCpu) {
    if (type != DType::kTf32) return {};
    return refuse("tf32 is a format of a GPU's matrix units, and this is a CPU", "use --precision fp32");
  }
  if (product_flops(processor, type) > 0) return {};
  const std::string_view name = processor.calibration_name.empty() ? processor.name : processor.calibration_name;
  const bool half = type != DType::kFp16 && processor.fp16_flops > 0;
  return refuse(fmt::format("{} has no matrix units for {}, or none whose rate is known", name, to_text(type)),
                half ? "use --precision fp16-mixed, or fp32" : "use --precision fp32");
}

}  // namespace plimsoll
