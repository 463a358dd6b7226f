#include "executor/checkpoint/load_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/differing_words.h"
#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_weights.h"

namespace plimsoll {
namespace {

/// The tensors of a checkpoint that make up one model.
struct Source {
  HfCheckpoint checkpoint;
  std::vector<HfTensor> wanted;
  std::vector<CheckpointTensor> stored;  ///< of each wanted one
  std::optional<CheckpointTensor> spare_head;  ///< a tied head that is stored all the same
};

Result<Source> open_source(const std::filesystem::path& path, const ModelSpec& spec) {
  auto checkpoint = HfCheckpoint::open(path);
  if (!checkpoint) return fail(checkpoint.error());
  std::vector<HfTensor> wanted = hf_tensors(spec);
  auto stored = checkpoint->match(wanted);
  if (!stored) return fail(stored.error());
  Source source{.checkpoint = std::move(*checkpoint), .wanted = std::move(wanted), .stored = std::move(*stored), .spare_head = {}};
  if (spec.tied_head) source.spare_head = source.checkpoint.find("lm_head.weight");
  return source;
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

template <typename T>
std::span<T> as(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// Some writers store a tied head as well. One that is not the embedding is no tied head, whatever config.json says.
template <typename T>
Result<void> check_spare_head(const Source& source, std::span<const T> embedding) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  const auto& [file, head] = *source.spare_head;
  const SafetensorsFile& from = source.checkpoint.files()[file];
  std::vector<float> values;
  bool same = head.shape == source.wanted.front().shape;
  for (std::int64_t first = 0; same && first < head.elements; first += kPiece) {
    values.resize(static_cast<std::size_t>(std::min(kPiece, head.elements - first)));
    if (auto read = from.read(head, first, values); !read) return read;
    same = std::equal(values.begin(), values.end(), embedding.begin() + first, [](float a, T b) { return static_cast<T>(a) == b; });
  }
  if (same) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "'lm_head.weight' differs from the token embedding, which the config says is the head too",
               .where = from.path().string(),
               .remedy = "set tie_word_embeddings to false in config.json, or take the tensor away"});
}

Result<void> check_spare_head(const Source& source, DType dtype, std::span<std::byte> place) {
  if (!source.spare_head) return {};
  if (dtype == DType::kFp64) return check_spare_head<double>(source, as<double>(place));
  return check_spare_head<float>(source, as<float>(place));
}

Result<void> read_group(const Source& source, GroupId group, DType dtype, std::span<std::byte> place) {
  for (std::size_t i = 0; i < source.wanted.size(); ++i) {
    const HfTensor& wanted = source.wanted[i];
    if (wanted.group != group) continue;
    const auto& [file, stored] = source.stored[i];
    const SafetensorsFile& from = source.checkpoint.files()[file];
    const auto read = dtype == DType::kFp64 ? read_wide(from, stored, wanted, as<double>(place))
                                            : read_hf_tensor(from, stored, wanted, as<float>(place));
    if (!read) return read;
  }
  return group == GroupId(0) ? check_spare_head(source, dtype, place) : Result<void>{};
}

}  // namespace

Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          const WriteState& state) {
  const auto source = open_source(path, spec);
  if (!source) return fail(source.error());
  const std::size_t groups = lay_out_parameters(spec).groups.size();
  Result<void> read;
  for (std::size_t g = 0; g < groups && read; ++g) {
    state(TensorKind::kParameter, GroupId(g),
          [&](std::span<std::byte> place) { read = read_group(*source, GroupId(g), state_dtype(precision), place); });
  }
  return read;
}

Result<void> check_weights(const std::filesystem::path& path, const ModelSpec& spec) {
  const auto source = open_source(path, spec);
  if (!source) return fail(source.error());
  const std::filesystem::path config = source->checkpoint.path().parent_path() / kConfigName;
  if (!std::filesystem::exists(config)) return {};
  const auto theirs = read_hf_config(config);
  if (!theirs) return fail(theirs.error());
  const std::string different = differing_words(canonical_text(theirs->spec), canonical_text(spec));
  if (different.empty()) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("the weights are another model's: their config.json has {}", different),
               .where = path.string(),
               .remedy = fmt::format("train {} as it is, or take config.json away", config.parent_path().string())});
}

}  // namespace plimsoll
