#include "formats/models/end_tokens.h"

#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr const char* kKey = "eos_token_id";
constexpr Bytes kMostText = 16 * kMiB;

std::set<std::int32_t> read_ends(const JsonNode& ends) {
  if (ends.is_null()) return {};
  const auto number = [](const JsonNode& node) { return static_cast<std::int32_t>(node.integer(0, kMaxInt32)); };
  if (!ends.is_array()) return {number(ends)};
  std::set<std::int32_t> tokens;
  for (const JsonNode& node : ends.elements()) tokens.insert(number(node));
  return tokens;
}

}  // namespace

Result<std::set<std::int32_t>> end_tokens(const std::filesystem::path& folder) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::exists(path)) continue;
    const auto text = read_text_file(path, kMostText);
    if (!text) return fail(text.error());
    const auto document = parse_json(*text, path.string());
    if (!document) return fail(document.error());
    JsonFault fault{.where = path.string(), .error = {}};
    const JsonNode root(*document, "", fault);
    if (!root.has(kKey)) continue;
    std::set<std::int32_t> ends = read_ends(root.at(kKey));
    if (fault.error) return fail(*fault.error);
    if (!ends.empty()) return ends;
  }
  return std::set<std::int32_t>{};
}

}  // namespace plimsoll
