#include "executor/checkpoint/weights_file.h"

#include <cstring>
#include <vector>

#include "formats/models/hf_weights.h"

namespace plimsoll {
namespace {

/// The weights of a group in fp32, whatever type the state has.
std::vector<float> to_floats(std::span<const std::byte> bytes, DType dtype) {
  std::vector<float> values(bytes.size() / static_cast<std::size_t>(size_of(dtype)));
  if (dtype == DType::kFp32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(double), sizeof(double));
    values[i] = static_cast<float>(value);
  }
  return values;
}

void write_floats(const std::vector<float>& values, DType dtype, GroupId group, const WriteState& state) {
  if (dtype == DType::kFp32) return state(TensorKind::kParameter, group, std::as_bytes(std::span(values)));
  const std::vector<double> wide(values.begin(), values.end());
  state(TensorKind::kParameter, group, std::as_bytes(std::span(wide)));
}

std::filesystem::path weights_in(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? path / "model.safetensors" : path;
}

}  // namespace

Result<void> save_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          StoredType type, const ReadState& state) {
  const std::vector<HfTensor> tensors = hf_tensors(spec);
  SafetensorsPlan plan = plan_hf_file(tensors, type);
  plan.metadata.insert({{"format", "pt"}, {"num_attention_heads", std::to_string(spec.heads)}});
  auto writer = SafetensorsWriter::create(path, std::move(plan));
  if (!writer) return fail(writer.error());
  GroupId held;
  std::vector<float> group;
  for (const HfTensor& tensor : tensors) {
    if (tensor.group != held) {
      held = tensor.group;
      group = to_floats(state(TensorKind::kParameter, held), state_dtype(precision));
    }
    if (auto appended = append_hf_tensor(*writer, tensor, group); !appended) return appended;
  }
  return writer->finish();
}

Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          const WriteState& state) {
  const auto file = SafetensorsFile::open(weights_in(path));
  if (!file) return fail(file.error());
  const std::vector<HfTensor> wanted = hf_tensors(spec);
  const auto stored = match_hf_tensors(wanted, file->header(), file->path().string());
  if (!stored) return fail(stored.error());
  const ParameterLayout layout = lay_out_parameters(spec);
  for (std::size_t g = 0; g < layout.groups.size(); ++g) {
    std::vector<float> group(static_cast<std::size_t>(layout.groups[g].elements));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].group != GroupId(g)) continue;
      if (auto read = read_hf_tensor(*file, (*stored)[i], wanted[i], group); !read) return read;
    }
    write_floats(group, state_dtype(precision), GroupId(g), state);
  }
  return {};
}

}  // namespace plimsoll
