#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "sim/stack/nets/net_shapes.h"
#include "sim/stack/stack_model_maker.h"

namespace plimsoll {

/// A net that no ModelSpec says.
struct NetSpec {
  std::string name;
  std::variant<UnetShape, DitShape, EvoformerShape> shape;
};

/// "sd1.5-unet" (or as its checkpoint is called), "dit-xl/2" and its smaller ones, "evoformer", in any case; unknown names list
/// those that are known.
Result<NetSpec> find_net(std::string_view name);

/// All of them.
const std::vector<NetSpec>& net_zoo();

/// How the net is made on a tape. One sample of an Evoformer is one alignment, whatever `batch` says.
StackModelMaker net_maker(const NetSpec& net, std::int64_t batch, bool flash, bool recompute);

/// Weights of a net, by making it.
std::int64_t net_parameters(const NetSpec& net);
std::int64_t model_parameters(const StackModelMaker& make);

/// Multiplications with an addition of one sample's forward pass, of all that share it: products, convolutions and attention.
double net_multiply_adds(const NetSpec& net);
/// The same of a whole batch of any model that is made on a tape.
double model_multiply_adds(const StackModelMaker& make);

}  // namespace plimsoll
