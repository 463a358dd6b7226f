#include "executor/checkpoint/save_weights.h"

#include <fmt/format.h>

#include <vector>

#include "executor/checkpoint/group_values.h"
#include "executor/checkpoint/new_folder.h"
#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_folder.h"
#include "formats/models/hf_weights.h"
#include "formats/text/write_text_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

Result<void> write_file(const fs::path& path, const ModelSpec& spec, const std::vector<HfTensor>& tensors, StoredType type,
                        GroupValues& groups) {
  SafetensorsPlan plan = plan_hf_file(tensors, type);
  plan.metadata["num_attention_heads"] = std::to_string(spec.heads);
  auto writer = SafetensorsWriter::create(path, std::move(plan));
  if (!writer) return fail(writer.error());
  for (const HfTensor& tensor : tensors) {
    const std::span<const float> values = groups.of(tensor.group);
    if (values.empty()) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("the weights of '{}' are not there", tensor.name),
                   .where = path.string()});
    }
    if (auto appended = append_hf_tensor(*writer, tensor, values); !appended) return appended;
  }
  return writer->finish();
}

Result<void> write_shards(const fs::path& folder, const ModelSpec& spec, const SaveOptions& options, GroupValues& groups) {
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
  if (saves_one_file(path)) return check_hf_names(spec);
  if (const auto config = write_hf_config(spec); !config) return fail(config.error());
  return check_new_folder(path);
}

Result<void> save_weights(const fs::path& path, const ModelSpec& spec, Precision precision, const SaveOptions& options,
                          const ReadState& state) {
  if (const auto known = check_hf_names(spec); !known) return known;
  GroupValues groups(state, state_dtype(precision));
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
