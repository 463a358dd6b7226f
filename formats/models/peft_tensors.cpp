#include "formats/models/peft_tensors.h"

#include <algorithm>
#include <string_view>

#include "core/model/adapter_parts.h"

namespace plimsoll {
namespace {

constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kSuffix = ".weight";

/// The name of the module whose weight holds those rows.
std::string module_of(const std::vector<HfTensor>& model, const ParameterLayout& layout, std::int64_t layer,
                      const AdapterPart& part) {
  const GroupId block = layout.block(layer);
  const std::int64_t offset = layout.at(block).find(part.weight)->offset + part.first * part.inputs;
  const auto weight = std::find_if(model.begin(), model.end(),
                                   [&](const HfTensor& tensor) { return tensor.group == block && tensor.offset == offset; });
  return weight->name.substr(0, weight->name.size() - kSuffix.size());
}

HfTensor tensor_of(std::string name, GroupId group, const ParameterTensor& of) {
  return {.name = std::move(name), .shape = {of.rows, of.columns}, .group = group, .offset = of.offset, .rows = of.rows,
          .columns = of.columns};
}

std::string last_names(const std::string& module, int count) {
  std::size_t at = module.size();
  while (count-- > 0 && at != std::string::npos) at = module.rfind('.', at - 1);
  return at == std::string::npos ? module : module.substr(at + 1);
}

}  // namespace

std::string peft_module(AdapterTarget target, const ModelSpec& spec) {
  const std::vector<HfTensor> model = hf_tensors(spec);
  const ParameterLayout layout = lay_out_parameters(spec);
  std::string module;
  int sharing = 0;
  for (const AdapterPart& part : adapter_parts(spec)) {
    if (part.target == target) module = module_of(model, layout, 0, part);
  }
  for (const AdapterPart& part : adapter_parts(spec)) {
    sharing += last_names(module_of(model, layout, 0, part), 1) == last_names(module, 1) ? 1 : 0;
  }
  return last_names(module, sharing > 1 ? 2 : 1);
}

std::vector<HfTensor> peft_tensors(const ModelSpec& spec, const AdapterSpec& adapter) {
  const std::vector<HfTensor> model = hf_tensors(spec);
  const ParameterLayout layout = lay_out_parameters(spec, adapter);
  std::vector<HfTensor> tensors;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const GroupId group = layout.adapter(layer);
    for (const AdapterPart& part : adapter_parts(spec)) {
      if (!adapter.has(part.target)) continue;
      const std::string module = std::string(kPrefix) + module_of(model, layout, layer, part);
      const ParameterGroup& of = layout.at(group);
      tensors.push_back(tensor_of(module + ".lora_A.weight", group, *of.find(ParameterRole::kAdapterA, part.target)));
      tensors.push_back(tensor_of(module + ".lora_B.weight", group, *of.find(ParameterRole::kAdapterB, part.target)));
    }
  }
  return tensors;
}

}  // namespace plimsoll
