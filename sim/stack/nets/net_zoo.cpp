#include "sim/stack/nets/net_zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/nearest_names.h"
#include "sim/stack/nets/dit.h"
#include "sim/stack/nets/evoformer.h"
#include "sim/stack/nets/unet.h"

namespace plimsoll {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

DitShape dit(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads};
}

/// What the U-net's checkpoint is called elsewhere.
constexpr std::string_view kOtherNamesOfUnet[] = {"sd1.5", "stable-diffusion-1.5", "stable-diffusion-v1-5/stable-diffusion-v1-5",
                                                  "runwayml/stable-diffusion-v1-5", "stable-diffusion-v1-5"};

std::string known_name(std::string_view name) {
  const std::string key = name_key(name);
  const bool unet = std::ranges::any_of(kOtherNamesOfUnet, [&](std::string_view other) { return name_key(other) == key; });
  return unet ? name_key("sd1.5-unet") : key;
}

bool is_arithmetic(const StackKernel& kernel) {
  return kernel.sort == StackKernelSort::kProduct || kernel.sort == StackKernelSort::kConvolution ||
         kernel.sort == StackKernelSort::kAttention;
}

}  // namespace

const std::vector<NetSpec>& net_zoo() {
  static const std::vector<NetSpec> nets{{"sd1.5-unet", UnetShape{}},    {"dit-xl/2", dit(28, 1152, 16)},
                                         {"dit-l/2", dit(24, 1024, 16)}, {"dit-b/2", dit(12, 768, 12)},
                                         {"dit-s/2", dit(12, 384, 6)},   {"evoformer", EvoformerShape{}}};
  return nets;
}

Result<NetSpec> find_net(std::string_view name) {
  std::vector<std::string> known;
  const std::string key = known_name(name);
  for (const NetSpec& net : net_zoo()) {
    if (name_key(net.name) == key) return net;
    known.push_back(net.name);
  }
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no net is called '{}'", name),
               .where = {},
               .remedy = fmt::format("choose one of {}", fmt::join(known, ", "))});
}

StackModelMaker net_maker(const NetSpec& net, std::int64_t batch, bool flash, bool recompute) {
  return [net, batch, flash, recompute](Tape& tape, DType weights) -> std::unique_ptr<StackModel> {
    return std::visit(Overloaded{[&](const UnetShape& s) -> std::unique_ptr<StackModel> {
                                   return std::make_unique<Unet>(tape, s, batch, flash, weights);
                                 },
                                 [&](const DitShape& s) -> std::unique_ptr<StackModel> {
                                   return std::make_unique<Dit>(tape, s, batch, flash, recompute, weights);
                                 },
                                 [&](const EvoformerShape& s) -> std::unique_ptr<StackModel> {
                                   return std::make_unique<Evoformer>(tape, s, recompute, weights);
                                 }},
                      net.shape);
  };
}

std::int64_t net_parameters(const NetSpec& net) { return model_parameters(net_maker(net, 1, true, false)); }

std::int64_t model_parameters(const StackModelMaker& make) {
  Tape tape;
  const auto model = make(tape, DType::kFp32);
  std::int64_t count = 0;
  for (const Parameter& parameter : tape.parameters()) count += parameter.value.elements();
  return count;
}

double net_multiply_adds(const NetSpec& net) {
  NetSpec whole = net;
  if (auto* trunk = std::get_if<EvoformerShape>(&whole.shape)) trunk->ranks = 1;
  return model_multiply_adds(net_maker(whole, 1, false, false));
}

double model_multiply_adds(const StackModelMaker& make) {
  Tape tape;
  const auto model = make(tape, DType::kFp32);
  tape.without_grad([&] { model->loss(std::nullopt); });
  double flops = 0;
  for (const StackKernel& kernel : tape.kernels()) flops += is_arithmetic(kernel) ? kernel.flops : 0;
  return flops / 2;
}

}  // namespace plimsoll
