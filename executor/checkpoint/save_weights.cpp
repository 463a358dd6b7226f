#include "executor/checkpoint/save_weights.h"

#include <fmt/format.h>

#include <vector>

#include "executor/checkpoint/new_folder.h"
#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_folder.h"
#include "formats/models/hf_weights.h"
#include "formats/text/write_text_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

/// Shows the weights of a group as floats, whatever type the state has; one group at a time.
class GroupReader {
 public:
  GroupReader(const ReadState& state, DType dtype) : state_(state), dtype_(dtype) {}

  std::span<const float> values(GroupId group) {
    if (group == held_) return values_;
    held_ = group;
    const std::span<const std::byte> bytes = state_(TensorKind::kParameter, group);
    if (dtype_ == DType::kFp32) return values_ = {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
    const std::span wide(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
    narrowed_.assign(wide.begin(), wide.end());
    return values_ = narrowed_;
  }

 private:
  const ReadState& state_;
  DType dtype_;
  GroupId held_;
  std::span<const float> values_;
  std::vector<float> narrowed_;  ///< fp64 states only
};

Result<void> write_file(const fs::path& path, const ModelSpec& spec, const std::vector<HfTensor>& tensors, StoredType type,
                        GroupReader& groups) {
  SafetensorsPlan plan = plan_hf_file(tensors, type);
  plan.metadata["num_attention_heads"] = std::to_string(spec.heads);
  auto writer = SafetensorsWriter::create(path, std::move(plan));
  if (!writer) return fail(writer.error());
  for (const HfTensor& tensor : tensors) {
    if (auto appended = append_hf_tensor(*writer, tensor, groups.values(tensor.group)); !appended) return appended;
  }
  return writer->finish();
}

Result<void> write_shards(const fs::path& folder, const ModelSpec& spec, const SaveOptions& options, GroupReader& groups) {
  const std::vector<HfShard> shards = divide_into_shards(hf_tensors(spec), options.type, options.shard_limit);
  for (const HfShard& shard : shards) {
    if (auto written = write_file(folder / shard.file, spec, shard.tensors, options.type, groups); !written) return written;
  }
  if (shards.size() > 1) write_text_file(folder / kShardIndexName, shard_index(shards, options.type));
  return {};
}

}  // namespace

bool saves_one_file(const fs::path& path) { return path.extension() == ".safetensors"; }

Result<void> check_save(const fs::path& path, const ModelSpec& spec) {
  if (saves_one_file(path)) return {};
  if (const auto config = write_hf_config(spec); !config) return fail(config.error());
  return check_new_folder(path);
}

Result<void> save_weights(const fs::path& path, const ModelSpec& spec, Precision precision, const SaveOptions& options,
                          const ReadState& state) {
  GroupReader groups(state, state_dtype(precision));
  if (saves_one_file(path)) return write_file(path, spec, hf_tensors(spec), options.type, groups);
  const auto config = write_hf_config(spec, {.type = options.type, .origin = options.origin});
  if (!config) return fail(config.error());
  NewFolder folder(path);
  write_text_file(folder.path() / kConfigName, *config);
  copy_tokenizer(options.origin, folder.path());
  if (auto written = write_shards(folder.path(), spec, options, groups); !written) return written;
  folder.finish();
  return {};
}

}  // namespace plimsoll
