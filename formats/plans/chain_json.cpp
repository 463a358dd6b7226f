#include "formats/plans/chain_json.h"

#include <fmt/format.h>

#include "formats/text/json_node.h"
#include "formats/text/json_text.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr int kChainVersion = 1;
constexpr std::size_t kMostOptions = 1000;

/// Adds sizes up, so that no sum of a planner can overflow.
class SizeLimit {
 public:
  Bytes read(const JsonNode& parent, std::string_view key) {
    const JsonNode node = parent.at(key);
    const Bytes size = node.bytes();
    total_ += size;
    if (total_ > kMaxParsedBytes) {
      node.fault("the sizes add up to more than an exbibyte");
      total_ = Bytes(0);
    }
    return size;
  }

 private:
  Bytes total_;
};

double read_seconds(const JsonNode& parent, std::string_view key) {
  constexpr double kMostSeconds = 1e12;
  const JsonNode node = parent.at(key);
  const double seconds = node.number(0);
  if (seconds > kMostSeconds) node.fault(fmt::format("{} seconds are too long", seconds));
  return seconds;
}

ChainOption read_option(const JsonNode& node, SizeLimit& sizes) {
  node.allow_only(
      {"forward_seconds", "backward_seconds", "saved_bytes", "forward_temporary_bytes", "backward_temporary_bytes"});
  return {.forward_seconds = read_seconds(node, "forward_seconds"),
          .backward_seconds = read_seconds(node, "backward_seconds"),
          .saved = sizes.read(node, "saved_bytes"),
          .forward_temporary = sizes.read(node, "forward_temporary_bytes"),
          .backward_temporary = sizes.read(node, "backward_temporary_bytes")};
}

ChainBlock read_block(const JsonNode& node, SizeLimit& sizes) {
  node.allow_only({"input_bytes", "forward_only_seconds", "forward_only_temporary_bytes", "options"});
  ChainBlock block{.input = sizes.read(node, "input_bytes"),
                   .forward_only_seconds = read_seconds(node, "forward_only_seconds"),
                   .forward_only_temporary = sizes.read(node, "forward_only_temporary_bytes"),
                   .options = {}};
  const JsonNode options = node.at("options");
  for (const JsonNode& option : options.elements()) block.options.push_back(read_option(option, sizes));
  if (block.options.empty()) options.fault("a block without options cannot go backward", "give it at least one");
  if (block.options.size() > kMostOptions) options.fault(fmt::format("more than {} options", kMostOptions));
  return block;
}

}  // namespace

Result<BlockChain> read_chain(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  node.allow_only({"format_version", "output_bytes", "blocks"});
  read_format_version(node, kChainVersion);
  SizeLimit sizes;
  BlockChain chain{.output = sizes.read(node, "output_bytes"), .blocks = {}};
  const JsonNode blocks = node.at("blocks");
  for (const JsonNode& block : blocks.elements()) chain.blocks.push_back(read_block(block, sizes));
  if (chain.blocks.empty()) blocks.fault("a chain without blocks", "the last block is the loss");
  if (chain.blocks.size() > kMostChainBlocks) blocks.fault(fmt::format("more than {} blocks", kMostChainBlocks));
  if (fault.error) return fail(*fault.error);
  return chain;
}

std::string chain_json(const BlockChain& chain) {
  std::vector<std::string> blocks;
  for (const ChainBlock& block : chain.blocks) {
    std::vector<std::string> options;
    for (const ChainOption& option : block.options) {
      JsonLine line;
      line.number("forward_seconds", option.forward_seconds).number("backward_seconds", option.backward_seconds);
      line.integer("saved_bytes", option.saved.count).integer("forward_temporary_bytes", option.forward_temporary.count);
      options.push_back(line.integer("backward_temporary_bytes", option.backward_temporary.count).str());
    }
    JsonLine line;
    line.integer("input_bytes", block.input.count).number("forward_only_seconds", block.forward_only_seconds);
    line.integer("forward_only_temporary_bytes", block.forward_only_temporary.count).raw("options", json_list(options));
    blocks.push_back(line.str());
  }
  JsonLine line;
  line.integer("format_version", kChainVersion).integer("output_bytes", chain.output.count);
  return line.raw("blocks", json_lines(blocks, 0)).str() + "\n";
}

std::string chain_schedule_json(const ChainSchedule& schedule) {
  std::vector<std::string> entries;
  for (const ChainOp& op : schedule) entries.push_back(json_quote(to_text(op)));
  return json_list(entries);
}

}  // namespace plimsoll
