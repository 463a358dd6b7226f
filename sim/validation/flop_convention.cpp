#include "sim/validation/flop_convention.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<FlopConvention, std::string_view>, 6> kConventions{{{FlopConvention::kModelFull, "6N+12Lhs"},
                                                                                   {FlopConvention::kModelCausal, "6N+6Lhs"},
                                                                                   {FlopConvention::kModel, "6N"},
                                                                                   {FlopConvention::kHardwareFull, "8N+16Lhs"},
                                                                                   {FlopConvention::kHardware, "8N"},
                                                                                   {FlopConvention::kMegatron, "megatron"}}};

}  // namespace

double convention_flops(FlopConvention convention, const ModelSpec& spec, double parameters, std::int64_t sequence,
                        double tokens) {
  const auto layers = static_cast<double>(spec.layers);
  const auto hidden = static_cast<double>(spec.hidden);
  const auto length = static_cast<double>(sequence);
  const double attention = layers * hidden * length;
  switch (convention) {
    case FlopConvention::kModelFull: return tokens * (6 * parameters + 12 * attention);
    case FlopConvention::kModelCausal: return tokens * (6 * parameters + 6 * attention);
    case FlopConvention::kModel: return tokens * 6 * parameters;
    case FlopConvention::kHardwareFull: return tokens * (8 * parameters + 16 * attention);
    case FlopConvention::kHardware: return tokens * 8 * parameters;
    case FlopConvention::kMegatron: {
      const double head = static_cast<double>(spec.vocabulary) / (12 * hidden * layers);
      return tokens * 72 * layers * hidden * hidden * (1 + length / (6 * hidden) + head);
    }
  }
  return 0;
}

Result<FlopConvention> parse_flop_convention(std::string_view text) {
  for (const auto& [convention, name] : kConventions) {
    if (name == text) return convention;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no convention of counting FLOPs", text),
               .where = {},
               .remedy = "choose one of 6N+12Lhs, 6N+6Lhs, 6N, 8N+16Lhs, 8N, megatron"});
}

}  // namespace plimsoll
