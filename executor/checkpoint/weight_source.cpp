#include "executor/checkpoint/weight_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/kernels/store_tensor.h"
#include "formats/models/hf_weights.h"
#include "formats/models/peft_config.h"
#include "formats/models/peft_tensors.h"

namespace plimsoll {
namespace {

template <typename T>
std::span<T> as(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// fp64 states take one tensor beside them.
Result<void> read_wide(const SafetensorsFile& file, const SafetensorsTensor& stored, HfTensor wanted, std::span<double> group) {
  std::vector<float> values(static_cast<std::size_t>(wanted.elements()));
  const std::span place = group.subspan(static_cast<std::size_t>(wanted.offset), values.size());
  wanted.offset = 0;
  if (auto read = read_hf_tensor(file, stored, wanted, values); !read) return read;
  std::copy(values.begin(), values.end(), place.begin());
  return {};
}

/// Some writers store a tied head as well. One that is not the embedding is no tied head, whatever config.json says.
template <typename T>
Result<void> check_spare_head(const SafetensorsFile& from, const SafetensorsTensor& head, std::span<const T> embedding) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  std::vector<float> values;
  bool same = true;
  for (std::int64_t first = 0; same && first < head.elements; first += kPiece) {
    values.resize(static_cast<std::size_t>(std::min(kPiece, head.elements - first)));
    if (auto read = from.read(head, first, values); !read) return read;
    same =
        std::equal(values.begin(), values.end(), embedding.begin() + first, [](float a, T b) { return static_cast<T>(a) == b; });
  }
  if (same) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' differs from the token embedding, which the config says is the head too", head.name),
               .where = from.path().string(),
               .remedy = "set tie_word_embeddings to false in config.json, or take the tensor away"});
}

}  // namespace

WeightSource::WeightSource(HfCheckpoint checkpoint, std::vector<HfTensor> wanted, std::vector<CheckpointTensor> stored)
    : checkpoint_(std::move(checkpoint)), wanted_(std::move(wanted)), stored_(std::move(stored)) {}

Result<WeightSource> WeightSource::open(const std::filesystem::path& path, const ModelSpec& spec, HeadWeights head) {
  if (const auto known = check_hf_names(spec); !known) return fail(known.error());
  auto checkpoint = HfCheckpoint::open(path);
  if (!checkpoint) return fail(checkpoint.error());
  std::vector<HfTensor> wanted = hf_tensors(spec);
  std::erase_if(wanted, [&, of_head = lay_out_parameters(spec).head()](const HfTensor& tensor) {
    return head == HeadWeights::kMayBeNew && tensor.group == of_head && find_hf_tensor(tensor, checkpoint->header()) == nullptr;
  });
  auto stored = checkpoint->match(wanted);
  if (!stored) return fail(stored.error());
  WeightSource source(std::move(*checkpoint), std::move(wanted), std::move(*stored));
  const bool masked = spec.head == HeadKind::kMaskedToken;
  if (spec.tied_head) source.spare_head_ = source.checkpoint_.find(masked ? "cls.predictions.decoder.weight" : "lm_head.weight");
  return source;
}

Result<WeightSource> WeightSource::open_adapter(const std::filesystem::path& folder, const ModelSpec& spec,
                                                const AdapterSpec& adapter) {
  auto checkpoint = HfCheckpoint::open(folder / kAdapterWeightsName);
  if (!checkpoint) return fail(checkpoint.error());
  std::vector<HfTensor> wanted = peft_tensors(spec, adapter);
  auto stored = checkpoint->match(wanted);
  if (!stored) return fail(stored.error());
  return WeightSource(std::move(*checkpoint), std::move(wanted), std::move(*stored));
}

Result<void> WeightSource::read_group(GroupId group, DType dtype, std::span<std::byte> place) const {
  const bool wide = dtype == DType::kFp64;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (wanted_[i].group != group) continue;
    const auto& [file, stored] = stored_[i];
    const SafetensorsFile& from = checkpoint_.files()[file];
    const auto read = wide ? read_wide(from, stored, wanted_[i], as<double>(place))
                           : read_hf_tensor(from, stored, wanted_[i], as<float>(place));
    if (!read) return read;
  }
  if (group != GroupId(0) || !spare_head_) return {};
  const auto& [file, head] = *spare_head_;
  const SafetensorsFile& from = checkpoint_.files()[file];
  return wide ? check_spare_head<double>(from, head, as<double>(place)) : check_spare_head<float>(from, head, as<float>(place));
}

Result<void> WeightSource::read_tensor(GroupId id, const ParameterTensor& tensor, std::span<float> values) const {
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    HfTensor part = wanted_[i];
    if (part.group != id || part.offset < tensor.offset || part.offset >= tensor.offset + tensor.elements()) continue;
    part.offset -= tensor.offset;
    const auto& [file, stored] = stored_[i];
    if (auto read = read_hf_tensor(checkpoint_.files()[file], stored, part, values); !read) return read;
  }
  return {};
}

Result<void> WeightSource::read_stored(GroupId id, const ParameterGroup& group, DType compute, std::span<std::byte> place) const {
  std::vector<float> values;
  for (const ParameterTensor& tensor : group.tensors) {
    values.resize(static_cast<std::size_t>(tensor.elements()));
    if (auto read = read_tensor(id, tensor, values); !read) return read;
    store_tensor(values, stored_tensor(group, tensor, compute), tensor.storage, place);
  }
  return {};
}

}  // namespace plimsoll
