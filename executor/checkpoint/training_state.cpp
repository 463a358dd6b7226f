#include "executor/checkpoint/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/base/differing_words.h"
#include "core/graph/optimizer_state.h"
#include "formats/models/half_floats.h"
#include "formats/models/safetensors_checksums.h"
#include "formats/models/safetensors_file.h"
#include "formats/models/safetensors_writer.h"

namespace plimsoll {
namespace {

constexpr std::string_view kFormat = "plimsoll-training-state";
constexpr std::string_view kVersion = "2";
constexpr std::string_view kUnchecked = "1";  ///< the version before, without checksums
constexpr std::size_t kPiece = 1 << 16;       ///< elements
constexpr std::string_view kDamagedRemedy = "resume from another checkpoint of the run";
const std::string kLossScaleKey = "loss_scale";

/// One tensor of the file.
struct Saved {
  TensorKind kind = TensorKind::kParameter;
  GroupId group;
  std::string name;
  std::int64_t elements = 0;
  bool bytes = false;  ///< or numbers of the state's type
};

tl::unexpected<Error> bad(const std::filesystem::path& path, std::string what, std::string remedy = {}) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = path.string(), .remedy = std::move(remedy)});
}

std::string name_of(std::size_t group, std::string_view state) { return fmt::format("group.{}.{}", group, state); }

/// In the order of the file.
std::vector<Saved> saved_tensors(const ModelSpec& spec, const Recipe& recipe) {
  const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
  std::vector<Saved> all;
  for (std::size_t g = 0; g < layout.groups.size(); ++g) {
    const ParameterGroup& group = layout.groups[g];
    if (group.frozen) continue;  // as they were when the training began
    all.push_back({TensorKind::kParameter, GroupId(g), name_of(g, "weights"), group.elements});
    for (const OptimizerState& state : optimizer_states(recipe, group)) {
      all.push_back({state.kind, GroupId(g), name_of(g, to_text(state.kind)), state.elements,
                     state.dtype == DType::kUint8});
    }
  }
  return all;
}

StoredType stored_type(const Recipe& recipe) {
  const DType dtype = state_dtype(recipe.precision);
  return dtype == DType::kFp64 ? StoredType::kF64 : dtype == DType::kBf16 ? StoredType::kBf16 : StoredType::kF32;
}

std::string value_in(const SafetensorsHeader& header, const std::string& key) {
  const auto found = header.metadata.find(key);
  return found == header.metadata.end() ? std::string() : found->second;
}

/// What follows `key` in a text of words; empty when it is not there.
std::string word_in(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(" " + key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + 1 + key.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

bool has_checksums(const SafetensorsHeader& header) { return value_in(header, "format_version") != kUnchecked; }

Error with_remedy(Error error) {
  error.remedy = kDamagedRemedy;
  return error;
}

/// That it is a training state of a known version, with a header as it was written.
Result<void> check_kind(const SafetensorsFile& file) {
  const SafetensorsHeader& header = file.header();
  if (value_in(header, "format") != kFormat) {
    return bad(file.path(), "this is no training state", "weights alone are loaded with --init");
  }
  if (const std::string version = value_in(header, "format_version"); version != kVersion && version != kUnchecked) {
    return bad(file.path(), fmt::format("training state of version '{}'; this program reads versions {} and {}", version,
                                        kUnchecked, kVersion));
  }
  if (!has_checksums(header)) return {};
  const auto whole = check_header_checksum(file);
  return whole ? whole : fail(with_remedy(whole.error()));
}

Result<std::int64_t> read_steps(const std::filesystem::path& path, const SafetensorsHeader& header) {
  const std::string text = value_in(header, "steps_done");
  std::int64_t steps = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (problem != std::errc() || end != text.data() + text.size() || steps < 0) {
    return bad(path, fmt::format("'{}' is no number of steps", text));
  }
  return steps;
}

Result<std::int64_t> check_header(const SafetensorsFile& file, const ModelSpec& spec, const Recipe& recipe) {
  if (auto kind = check_kind(file); !kind) return fail(kind.error());
  const SafetensorsHeader& header = file.header();
  const std::filesystem::path& path = file.path();
  if (value_in(header, "numerics_digest") != numerics_digest(spec, recipe)) {
    const std::string theirs = value_in(header, "spec") + " " + value_in(header, "recipe");
    if (const std::string rule = word_in(theirs, "optimizer="); !rule.empty() && rule != to_text(recipe.optimizer)) {
      return bad(path,
                 fmt::format("the training state is of the optimizer {}, and this run's is {}", rule, to_text(recipe.optimizer)),
                 "resume with --optimizer " + rule);
    }
    return bad(path,
               fmt::format("the training state is of another model or recipe; it has {}",
                           differing_words(theirs, canonical_text(spec) + " " + canonical_text(recipe))),
               "resume with the options it was trained with");
  }
  return read_steps(path, header);
}

/// Scale, good steps in a row and updates made, as the file's header has them: always as long, as the header must be.
std::string scale_text(std::span<const std::byte> bytes) {
  LossScale scale;
  std::memcpy(&scale, bytes.data(), sizeof(scale));
  return fmt::format("{:24.17g} {:24.17g} {:24.17g}", scale.scale, scale.good_steps, scale.updates);
}

Result<LossScale> read_scale(const std::filesystem::path& path, const SafetensorsHeader& header) {
  const std::string text = value_in(header, kLossScaleKey);
  LossScale scale;
  const int read = std::sscanf(text.c_str(), "%lf %lf %lf", &scale.scale, &scale.good_steps, &scale.updates);
  if (read != 3 || !(scale.scale > 0) || !(scale.good_steps >= 0) || !(scale.updates >= 0)) {
    return bad(path, fmt::format("'{}' is no loss scale", text), "resume from another checkpoint");
  }
  scale.factor = 1 / scale.scale;
  return scale;
}

Result<void> check_tensors(const std::filesystem::path& path, const SafetensorsHeader& header,
                           const std::vector<Saved>& tensors, StoredType numbers) {
  for (const Saved& tensor : tensors) {
    const StoredType type = tensor.bytes ? StoredType::kU8 : numbers;
    const SafetensorsTensor* stored = header.find(tensor.name);
    if (stored != nullptr && stored->type == type && stored->elements == tensor.elements) continue;
    return bad(path, fmt::format("tensor '{}' of {} elements in {} is missing", tensor.name, tensor.elements, to_text(type)));
  }
  return {};
}

/// Reads one tensor into the state, and compares it with its checksum there.
Result<void> read_tensor(const SafetensorsFile& file, const Saved& tensor, const WriteState& state) {
  const SafetensorsTensor& stored = *file.header().find(tensor.name);
  Result<void> read;
  state(tensor.kind, tensor.group, [&](std::span<std::byte> place) {
    read = file.read_bytes(stored, Bytes(0), place);
    if (read && has_checksums(file.header())) read = check_checksum(file, stored, place);
  });
  return read ? read : fail(with_remedy(read.error()));
}

/// Rounded where they are fp64.
Result<void> read_floats(const SafetensorsFile& file, const SafetensorsTensor& stored, std::span<float> out) {
  if (stored.type != StoredType::kF64) return file.read(stored, 0, out);
  std::vector<double> wide(std::min(kPiece, out.size()));
  for (Bytes at(0); !out.empty();) {
    const std::span piece = std::span(wide).first(std::min(wide.size(), out.size()));
    if (auto read = file.read_bytes(stored, at, std::as_writable_bytes(piece)); !read) return read;
    std::transform(piece.begin(), piece.end(), out.begin(), [](double value) { return static_cast<float>(value); });
    at += Bytes(static_cast<std::int64_t>(piece.size_bytes()));
    out = out.subspan(piece.size());
  }
  return {};
}

/// `scale`: as scale_text makes it; empty where there is none.
SafetensorsPlan plan_file(const ModelSpec& spec, const Recipe& recipe, std::int64_t steps_done,
                          const std::vector<Saved>& tensors, const SaveStateOptions& options,
                          const std::string& scale) {
  SafetensorsPlan plan{.type = stored_type(recipe),
                       .tensors = {},
                       .metadata = {{"format", std::string(kFormat)},
                                    {"format_version", std::string(kVersion)},
                                    {"steps_done", fmt::format("{:020}", steps_done)},  // as long at every step
                                    {"numerics_digest", numerics_digest(spec, recipe)},
                                    {"spec", canonical_text(spec)},
                                    {"recipe", canonical_text(recipe)}},
                       .checksums = true};
  for (const Saved& tensor : tensors) plan.tensors.push_back({tensor.name, {tensor.elements}, tensor.bytes});
  if (!options.base.empty()) plan.metadata[std::string(kTrainingBase)] = options.base;
  if (options.data.exists()) put_mark(options.data, plan.metadata);
  if (!scale.empty()) plan.metadata[kLossScaleKey] = scale;
  return plan;
}

/// The writer takes floats, or doubles; those of two bytes come back to the bits that they were.
Result<void> append(SafetensorsWriter& writer, const std::string& name, std::span<const std::byte> bytes, DType dtype) {
  if (dtype == DType::kFp64)
    return writer.append_doubles(name, {reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double)});
  if (dtype != DType::kBf16) return writer.append(name, {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)});
  std::span rest(reinterpret_cast<const std::uint16_t*>(bytes.data()), bytes.size() / sizeof(std::uint16_t));
  std::vector<float> wide;
  while (!rest.empty()) {
    const std::span piece = rest.first(std::min(kPiece, rest.size()));
    wide.resize(piece.size());
    std::transform(piece.begin(), piece.end(), wide.begin(), float_from_bf16);
    if (auto written = writer.append(name, wide); !written) return written;
    rest = rest.subspan(piece.size());
  }
  return {};
}

}  // namespace

Result<Bytes> save_training_state(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                                  std::int64_t steps_done, const ReadState& state, const SaveStateOptions& options) {
  const std::vector<Saved> tensors = saved_tensors(spec, recipe);
  const std::string scale =
      scales_loss(recipe.precision) ? scale_text(state(TensorKind::kScalar, GroupId(0))) : std::string();
  auto writer =
      SafetensorsWriter::create(path, plan_file(spec, recipe, steps_done, tensors, options, scale), options.place);
  if (!writer) return fail(writer.error());
  for (const Saved& tensor : tensors) {
    const std::span<const std::byte> bytes = state(tensor.kind, tensor.group);
    auto written = tensor.bytes ? writer->append_bytes(tensor.name, bytes)
                                : append(*writer, tensor.name, bytes, state_dtype(recipe.precision));
    if (!written) return fail(written.error());
  }
  if (auto finished = writer->finish(); !finished) return fail(finished.error());
  return writer->size();
}

Result<Bytes> training_state_bytes(const ModelSpec& spec, const Recipe& recipe, const SaveStateOptions& options) {
  const LossScale none;  // its text is as long as any
  const std::string scale =
      scales_loss(recipe.precision) ? scale_text(std::as_bytes(std::span(&none, 1))) : std::string();
  return size_of_safetensors(plan_file(spec, recipe, 0, saved_tensors(spec, recipe), options, scale));
}

Result<std::int64_t> check_training_state(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  if (auto kind = check_kind(*file); !kind) return fail(kind.error());
  if (has_checksums(file->header())) {
    if (auto whole = check_all_checksums(*file); !whole) return fail(with_remedy(whole.error()));
  }
  return read_steps(path, file->header());
}

Result<std::int64_t> steps_in_training_state(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  if (auto kind = check_kind(*file); !kind) return fail(kind.error());
  return read_steps(path, file->header());
}

Result<std::int64_t> load_training_state(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                                         const WriteState& state) {
  const auto file = SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  const std::vector<Saved> tensors = saved_tensors(spec, recipe);
  const auto steps_done = check_header(*file, spec, recipe);
  if (!steps_done) return steps_done;
  if (auto whole = check_tensors(path, file->header(), tensors, stored_type(recipe)); !whole) return fail(whole.error());
  if (scales_loss(recipe.precision)) {
    const auto scale = read_scale(path, file->header());
    if (!scale) return fail(scale.error());
    state(TensorKind::kScalar, GroupId(0), [&](std::span<std::byte> place) { std::memcpy(place.data(), &*scale, sizeof(*scale)); });
  }
  for (const Saved& tensor : tensors) {
    if (auto read = read_tensor(*file, tensor, state); !read) return fail(read.error());
  }
  return steps_done;
}

Result<void> check_data_of_training_state(const std::filesystem::path& path, const DataMark& data) {
  const auto file = SafetensorsFile::open(path);
  if (!file || !check_kind(*file)) return {};
  return check_same_data(path.string(), file->header().metadata, data);
}

Result<void> load_trained_weights(const std::filesystem::path& path, const ModelSpec& spec, const WriteState& state) {
  const auto file = SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  if (auto kind = check_kind(*file); !kind) return kind;
  if (const std::string base = value_in(file->header(), std::string(kTrainingBase)); !base.empty()) {
    return bad(path, "it holds adapters alone, beside the weights of " + base,
               "save them with --save FOLDER and join them: plimsoll merge " + base + " FOLDER -o MERGED");
  }
  const ParameterLayout layout = lay_out_parameters(spec);
  for (std::size_t g = 0; g < layout.groups.size(); ++g) {
    const SafetensorsTensor* stored = file->header().find(name_of(g, "weights"));
    if (stored == nullptr || stored->elements != layout.groups[g].elements) {
      return bad(path, fmt::format("'{}' of {} elements is missing", name_of(g, "weights"), layout.groups[g].elements));
    }
    Result<void> read;
    state(TensorKind::kParameter, GroupId(g),
          [&](std::span<std::byte> place) {
            read = read_floats(*file, *stored, {reinterpret_cast<float*>(place.data()), place.size() / sizeof(float)});
          });
    if (!read) return read;
  }
  return {};
}

}  // namespace plimsoll
