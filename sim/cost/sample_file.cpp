#include "sim/cost/sample_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "formats/text/csv.h"
#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"
#include "sim/cost/shape_fields.h"

namespace plimsoll {
namespace {

constexpr int kVersion = 1;
constexpr double kLongestSeconds = 3.2e9;
constexpr std::string_view kTransfer = "transfer";
constexpr std::string_view kBytes = "bytes=";

/// One measurement as it is written.
struct Row {
  std::string kind, dtype, shape, place;
  double seconds = 0;
};

tl::unexpected<Error> bad(std::string what, const std::string& where, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

template <typename Entry>
std::string names_of(const std::vector<Entry>& entries) {
  std::string names;
  for (const Entry& entry : entries) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  return names;
}

Result<CostKey> transfer(const Row& row, const std::string& where, const Platform& platform) {
  const std::string_view text = row.shape;
  Bytes bytes;
  const bool named = text.starts_with(kBytes);
  const char* const end = text.data() + text.size();
  if (!named || std::from_chars(text.data() + kBytes.size(), end, bytes.count).ptr != end || bytes <= Bytes(0)) {
    return bad(fmt::format("'{}' is no size of a transfer", row.shape), where, "write it as bytes=67108864");
  }
  for (const Link& link : platform.links) {
    if (link.name == row.place) return transfer_key(platform, link, bytes);
  }
  return bad(fmt::format("there is no link '{}'", row.place), where, fmt::format("the machine has {}", names_of(platform.links)));
}

/// The processor that is named, or the one of the queue "compute".
const Processor* processor_at(const std::string& place, const Platform& platform) {
  if (place.empty()) {
    const auto compute = platform.queue("compute");
    return compute ? &platform.at(platform.at(*compute).processor) : nullptr;
  }
  for (const Processor& processor : platform.processors) {
    if (processor.name == place || processor.calibration_name == place) return &processor;
  }
  return nullptr;
}

Result<CostKey> kernel(const Row& row, const std::string& where, const Platform& platform) {
  const auto kind = parse_op_kind(row.kind);
  if (!kind) return bad(fmt::format("'{}' is neither a kernel nor a transfer", row.kind), where);
  const auto dtype = parse_dtype(row.dtype);
  if (!dtype) return bad(fmt::format("'{}' is no type", row.dtype), where, "fp32, tf32, bf16, fp16 and fp64 are");
  const auto shape = parse_shape(row.shape);
  if (!shape) return bad(shape.error().what, where, "write sizes as rows=8192 inputs=768 outputs=3072");
  const Processor* processor = processor_at(row.place, platform);
  if (processor == nullptr) {
    return bad(fmt::format("there is no processor '{}'", row.place), where,
               fmt::format("the machine has {}", names_of(platform.processors)));
  }
  return kernel_key(*processor, {.kind = *kind, .dtype = *dtype, .shape = *shape});
}

Result<Sample> sample_of(const Row& row, const std::string& where, const Platform& platform) {
  if (!(row.seconds > 0) || row.seconds > kLongestSeconds) {
    return bad(fmt::format("{} seconds were not measured", row.seconds), where);
  }
  auto key = row.kind == kTransfer ? transfer(row, where, platform) : kernel(row, where, platform);
  if (!key) return fail(key.error());
  return Sample{.key = std::move(*key), .duration = std::max(Nanoseconds(1), from_seconds(row.seconds)), .plan_digest = {}};
}

Result<std::vector<Sample>> read_csv_samples(std::string_view text, const std::string& where, const Platform& platform) {
  const auto table = read_csv(text, where);
  if (!table) return fail(table.error());
  std::vector<Sample> samples;
  for (const auto& line : table->rows) {
    CsvFields fields(*table, line);
    Row row{.kind = fields.text("kind"), .dtype = fields.text("dtype"), .shape = fields.text("shape"),
            .place = fields.has("place") ? fields.text("place") : std::string(), .seconds = fields.number("seconds")};
    if (fields.error()) return fail(*fields.error());
    auto sample = sample_of(row, table->place(line), platform);
    if (!sample) return fail(sample.error());
    samples.push_back(std::move(*sample));
  }
  return samples;
}

Row read_row(const JsonNode& node) {
  node.allow_only({"kind", "dtype", "shape", "seconds", "place"});
  return {.kind = node.at("kind").text(), .dtype = node.text_or("dtype", ""), .shape = node.at("shape").text(),
          .place = node.text_or("place", ""), .seconds = node.at("seconds").number(0)};
}

Result<std::vector<Sample>> read_json_samples(std::string_view text, const std::string& where, const Platform& platform) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  read_format_version(node, kVersion);
  node.allow_only({"format_version", "samples"});
  std::vector<Sample> samples;
  std::size_t at = 0;
  for (const JsonNode& item : node.elements_of("samples")) {
    const Row row = read_row(item);
    if (fault.error) return fail(*fault.error);
    auto sample = sample_of(row, fmt::format("{}: samples[{}]", where, at++), platform);
    if (!sample) return fail(sample.error());
    samples.push_back(std::move(*sample));
  }
  if (fault.error) return fail(*fault.error);
  return samples;
}

}  // namespace

Result<std::vector<Sample>> read_sample_file(std::string_view text, const std::string& where, const Platform& platform) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  auto samples = json ? read_json_samples(text, where, platform) : read_csv_samples(text, where, platform);
  if (!samples || !samples->empty()) return samples;
  return bad("the file holds no samples", where);
}

}  // namespace plimsoll
