#include "executor/checkpoint/adapter_folder.h"

#include <fmt/format.h>

#include "core/base/differing_words.h"
#include "executor/checkpoint/group_values.h"
#include "executor/checkpoint/new_folder.h"
#include "executor/checkpoint/weight_source.h"
#include "formats/models/hf_weights.h"
#include "formats/models/peft_tensors.h"
#include "formats/text/write_text_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> bad(const fs::path& folder, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = folder.string(), .remedy = std::move(remedy)});
}

}  // namespace

Result<PeftConfig> describe_adapter(const fs::path& folder, const ModelSpec& spec) {
  if (const auto takes = takes_adapters(spec); !takes) return fail(takes.error());
  if (!fs::exists(folder / kAdapterConfigName)) {
    return bad(folder, fmt::format("there is no {} in it", kAdapterConfigName), "name a folder that PEFT or --save wrote");
  }
  if (!fs::exists(folder / kAdapterWeightsName)) {
    return bad(folder, fmt::format("there is no {} in it", kAdapterWeightsName),
               "adapters are read from safetensors only; let PEFT save it again with safe_serialization");
  }
  const auto header = read_safetensors_header(folder / kAdapterWeightsName);
  if (!header) return fail(header.error());
  auto config = read_peft_config(folder, spec, *header);
  if (!config) return config;
  if (const auto valid = validate(config->adapter, spec); !valid) return fail(valid.error());
  const auto source = WeightSource::open_adapter(folder, spec, config->adapter);
  if (!source) {
    Error error = source.error();
    error.remedy = fmt::format("the adapter is for another model than {}, or its configuration for another adapter", spec.name);
    return fail(std::move(error));
  }
  return config;
}

Result<void> load_adapter(const fs::path& folder, const ModelSpec& spec, const Recipe& recipe, const WriteState& state) {
  const auto source = WeightSource::open_adapter(folder, spec, recipe.adapter);
  if (!source) return fail(source.error());
  const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
  const DType type = state_dtype(recipe.precision);
  const bool narrow = size_of(type) == 2;  // rounded tensor by tensor
  Result<void> read;
  for (std::int64_t layer = 0; layer < spec.layers && read; ++layer) {
    const GroupId group = layout.adapter(layer);
    state(TensorKind::kParameter, group, [&](std::span<std::byte> place) {
      read = narrow ? source->read_stored(group, layout.at(group), type, place) : source->read_group(group, type, place);
    });
  }
  return read;
}

Result<void> save_adapter(const fs::path& folder, const ModelSpec& spec, const Recipe& recipe, StoredType type,
                          const std::string& base, const ReadState& state) {
  if (const auto known = check_hf_names(spec); !known) return known;
  GroupValues groups(state, state_dtype(recipe.precision));
  NewFolder made(folder);
  write_text_file(made.path() / kAdapterConfigName, write_peft_config({recipe.adapter, base}, spec));
  const std::vector<HfTensor> tensors = peft_tensors(spec, recipe.adapter);
  auto writer = SafetensorsWriter::create(made.path() / kAdapterWeightsName, plan_hf_file(tensors, type));
  if (!writer) return fail(writer.error());
  for (const HfTensor& tensor : tensors) {
    if (auto appended = append_hf_tensor(*writer, tensor, groups.of(tensor.group)); !appended) return appended;
  }
  if (auto finished = writer->finish(); !finished) return finished;
  made.finish();
  return {};
}

}  // namespace plimsoll
