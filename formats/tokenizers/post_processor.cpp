#include "formats/tokenizers/post_processor.h"

namespace plimsoll {
namespace {

TokenId read_id(const JsonNode& node) { return static_cast<TokenId>(node.integer(0, (1 << 24) - 1)); }

/// "single" of TemplateProcessing: special tokens around the sequence A.
void read_template(const JsonNode& node, PostProcessor& made) {
  bool seen = false;
  for (const JsonNode& piece : node.elements_of("single")) {
    if (piece.has("Sequence")) {
      if (seen) piece.fault("a template that repeats its text is not known here");
      seen = true;
      continue;
    }
    const std::string name = piece.at("SpecialToken").at("id").text();
    auto& side = seen ? made.after : made.before;
    for (const JsonNode& id : node.at("special_tokens").at(name).elements_of("ids")) side.push_back(read_id(id));
  }
  if (!seen) node.fault("a template without its text");
}

/// ["[SEP]", 102].
TokenId read_pair(const JsonNode& node) {
  const std::vector<JsonNode> pair = node.elements();
  if (pair.size() == 2) return read_id(pair[1]);
  node.fault("expected a token and its id");
  return 0;
}

void read_into(const JsonNode& node, PostProcessor& made) {
  static const std::vector<std::string> kKinds{"ByteLevel", "TemplateProcessing", "RobertaProcessing", "BertProcessing",
                                               "Sequence"};
  switch (node.at("type").one_of(kKinds)) {
    case 0: return;  // moves offsets only
    case 1: return read_template(node, made);
    case 2:
    case 3:
      made.before.push_back(read_pair(node.at("cls")));
      made.after.push_back(read_pair(node.at("sep")));
      return;
    default:
      for (const JsonNode& step : node.elements_of("processors")) read_into(step, made);
  }
}

}  // namespace

PostProcessor PostProcessor::read(const JsonNode& node) {
  PostProcessor made;
  if (!node.is_null()) read_into(node, made);
  return made;
}

}  // namespace plimsoll
