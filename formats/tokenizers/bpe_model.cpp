#include "formats/tokenizers/bpe_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "formats/text/json_node.h"
#include "formats/text/json_text.h"
#include "formats/tokenizers/merge_symbols.h"
#include "formats/tokenizers/utf8.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;  ///< far above any vocabulary

tl::unexpected<Error> bad(const std::string& where, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

/// The options that change tokens; those that are not carried out are refused.
struct BpeOptions {
  std::string unknown;
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};

BpeOptions read_options(const JsonNode& node) {
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (node.has(key) && !node.at(key).is_null() && !node.at(key).text().empty()) {
      node.at(key).fault("a mark at the ends of words is not known here");
    }
  }
  const auto is_given = [&](std::string_view key) { return node.has(key) && !node.at(key).is_null(); };
  if (is_given("dropout") && node.at("dropout").number() != 0) {
    node.at("dropout").fault("tokens drawn at random are not known here", "set dropout to null");
  }
  return {.unknown = is_given("unk_token") ? node.at("unk_token").text() : "",
          .fuse_unknown = node.boolean_or("fuse_unk", false),
          .byte_fallback = node.boolean_or("byte_fallback", false),
          .ignore_merges = node.boolean_or("ignore_merges", false)};
}

/// The kind that a file without "type" has: those are old, and tell it by their keys.
Result<void> check_kind(const nlohmann::json& model, const std::string& where) {
  if (!model.is_object()) return bad(where + " at /model", "expected an object");
  const auto type = model.find("type");
  const bool merges = model.contains("merges");
  const std::string kind = type != model.end() && type->is_string() ? type->get<std::string>() : merges ? "BPE" : "unknown";
  if (kind == "BPE") return {};
  return bad(where + " at /model/type", fmt::format("a tokenizer of the kind {} is not known here", json_quote(kind)),
             "byte-pair encoding (BPE) is");
}

}  // namespace

Result<BpeModel> BpeModel::read(const nlohmann::json& model, const std::string& where) {
  if (const auto known = check_kind(model, where); !known) return fail(known.error());
  JsonFault fault{.where = where, .error = {}};
  const BpeOptions options = read_options(JsonNode(model, "/model", fault));
  if (fault.error) return fail(*fault.error);
  BpeModel made;
  if (const auto read = made.read_vocabulary(model, where); !read) return fail(read.error());
  if (const auto read = made.read_merges(model, where); !read) return fail(read.error());
  made.fuse_unknown_ = options.fuse_unknown;
  made.whole_first_ = options.ignore_merges;
  if (!options.unknown.empty()) {
    made.unknown_ = made.id_of(options.unknown);
    if (!made.unknown_) return bad(where + " at /model/unk_token", "a token that the vocabulary does not hold");
  }
  for (int byte = 0; options.byte_fallback && byte < 256; ++byte) {
    const auto id = made.id_of(fmt::format("<0x{:02X}>", byte));
    if (!id) return bad(where + " at /model/vocab", fmt::format("byte_fallback needs the token <0x{:02X}>", byte));
    made.of_byte_.push_back(*id);
  }
  return made;
}

Result<void> BpeModel::read_vocabulary(const nlohmann::json& model, const std::string& where) {
  const auto vocabulary = model.find("vocab");
  if (vocabulary == model.end() || !vocabulary->is_object() || vocabulary->empty()) {
    return bad(where + " at /model/vocab", "expected an object of tokens and their ids");
  }
  ids_.reserve(vocabulary->size());
  std::set<TokenId> taken;
  for (const auto& [token, id] : vocabulary->items()) {
    const bool usable = id.is_number_unsigned() && id.get<std::uint64_t>() < static_cast<std::uint64_t>(kMostTokens);
    if (!usable) return bad(where + " at /model/vocab", fmt::format("the token {} has no usable id", json_quote(token)));
    const auto number = id.get<TokenId>();
    if (!taken.insert(number).second) return bad(where + " at /model/vocab", fmt::format("two tokens of the id {}", number));
    ids_.emplace(token, number);
  }
  return {};
}

Result<void> BpeModel::read_merges(const nlohmann::json& model, const std::string& where) {
  const auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array()) return bad(where + " at /model/merges", "expected an array");
  merges_ = PairTable(merges->size());
  std::int32_t rank = 0;
  for (const nlohmann::json& merge : *merges) {
    const std::string place = fmt::format("{} at /model/merges/{}", where, rank);
    std::string left;
    std::string right;
    if (merge.is_string()) {
      const auto& pair = merge.get_ref<const std::string&>();
      const std::size_t space = pair.find(' ');
      if (space == std::string::npos || pair.find(' ', space + 1) != std::string::npos) {
        return bad(place, "expected two tokens with one space between them");
      }
      left = pair.substr(0, space);
      right = pair.substr(space + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else {
      return bad(place, "expected two tokens");
    }
    if (const auto added = add_merge(left, right, rank++, place); !added) return added;
  }
  return {};
}

Result<void> BpeModel::add_merge(const std::string& left, const std::string& right, std::int32_t rank,
                                 const std::string& where) {
  const auto first = id_of(left);
  const auto second = id_of(right);
  const auto joined = id_of(left + right);
  if (!first || !second || !joined) {
    const std::string& missing = !first ? left : !second ? right : left + right;
    return bad(where, fmt::format("the token {} is not in the vocabulary", json_quote(missing)));
  }
  merges_.insert(*first, *second, {rank, *joined});
  return {};
}

std::optional<TokenId> BpeModel::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void BpeModel::append_unknown(std::string_view character, std::vector<TokenId>& symbols, bool& after_unknown) const {
  if (!of_byte_.empty()) {
    for (const char byte : character) symbols.push_back(of_byte_[static_cast<unsigned char>(byte)]);
    after_unknown = false;
  } else if (unknown_) {
    if (!fuse_unknown_ || !after_unknown) symbols.push_back(*unknown_);
    after_unknown = true;
  }
}

std::vector<TokenId> BpeModel::symbols_of(std::string_view piece) const {
  std::vector<TokenId> symbols;
  symbols.reserve(piece.size());
  bool after_unknown = false;
  for (std::size_t at = 0; at < piece.size();) {
    const std::string_view character = piece.substr(at, utf8_length(piece[at]));
    if (const auto id = id_of(character)) {
      symbols.push_back(*id);
      after_unknown = false;
    } else {
      append_unknown(character, symbols, after_unknown);
    }
    at += character.size();
  }
  return symbols;
}

void BpeModel::encode(std::string_view piece, std::vector<TokenId>& out) const {
  if (whole_first_) {
    if (const auto whole = id_of(piece)) return out.push_back(*whole);
  }
  std::vector<TokenId> symbols = symbols_of(piece);
  merge_symbols(merges_, symbols);
  out.insert(out.end(), symbols.begin(), symbols.end());
}

bool BpeModel::parts_before(std::string_view mark) const {
  if (!id_of(mark)) return false;
  for (const auto& [token, id] : ids_) {
    for (std::size_t at = token.find(mark); at != std::string::npos; at = token.find(mark, at + 1)) {
      if (at > 0 && (at < mark.size() || token.compare(at - mark.size(), mark.size(), mark) != 0)) return false;
    }
  }
  return true;
}

}  // namespace plimsoll
