#include "core/model/conv_net.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll {

std::string_view to_text(ConvNetKind kind) {
  switch (kind) {
    case ConvNetKind::kNone: return "none";
    case ConvNetKind::kResNet: return "resnet";
    case ConvNetKind::kVgg: return "vgg";
    case ConvNetKind::kDenseNet: return "densenet";
  }
  return "?";
}

std::string canonical_text(const ConvNet& net) {
  if (net.kind == ConvNetKind::kNone) return {};
  return fmt::format(" conv={} depths={} bottleneck={} width={} groups={} batch_norm={} growth={}", to_text(net.kind),
                     fmt::join(net.depths, ","), net.bottleneck, net.width, net.groups, net.batch_norm, net.growth);
}

}  // namespace plimsoll
