#include "formats/tokenizers/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/digest.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"
#include "formats/tokenizers/added_tokens.h"
#include "formats/tokenizers/byte_alphabet.h"
#include "formats/tokenizers/decoder.h"
#include "formats/tokenizers/normalizer.h"
#include "formats/tokenizers/post_processor.h"
#include "formats/tokenizers/pre_tokenizer.h"
#include "formats/tokenizers/utf8.h"
#include "formats/tokenizers/word_cache.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestFile{std::int64_t{256} << 20};
constexpr std::string_view kMark = "\u2581";  ///< stands for a space in SentencePiece's vocabularies

struct Entry {
  std::string token;
  bool special = false;
};

/// Vocabulary and added tokens by id.
std::vector<Entry> entries_of(const BpeModel& model, const std::vector<AddedToken>& added) {
  std::vector<Entry> entries;
  const auto put = [&](TokenId id, Entry entry) {
    const auto place = static_cast<std::size_t>(id);
    if (entries.size() <= place) entries.resize(place + 1);
    entries[place] = std::move(entry);
  };
  for (const auto& [token, id] : model.vocabulary()) put(id, {token, false});
  for (const AddedToken& token : added) put(token.id, {token.content, token.special});
  return entries;
}

std::vector<AddedToken> those(const std::vector<AddedToken>& all, bool (*wanted)(const AddedToken&)) {
  std::vector<AddedToken> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), wanted);
  return some;
}

std::vector<AddedToken> normalized(std::vector<AddedToken> tokens, const Normalizer& normalizer) {
  for (AddedToken& token : tokens) token.content = normalizer.apply(token.content).value_or(token.content);
  return tokens;
}

/// What "is a special token written in the text" asks about, and what it does not.
struct Finders {
  AddedTokens before_normalizing;
  AddedTokens after_normalizing;

  Finders(const std::vector<AddedToken>& all, const Normalizer& normalizer)
      : before_normalizing(those(all, [](const AddedToken& token) { return !token.normalized; })),
        after_normalizing(normalized(those(all, [](const AddedToken& token) { return token.normalized; }), normalizer)) {}
};

}  // namespace

struct Tokenizer::Tables {
  BpeModel model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  PostProcessor post_processor;
  TokenDecoder decoder;
  std::vector<Entry> entries;
  TextMap<TokenId> added;
  Finders all;       ///< all added tokens
  Finders ordinary;  ///< those that are not special
  bool cut_at_marks = false;  ///< no token reaches over the place before a mark, so that words can be cached
  std::string digest;
};

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
  const auto text = read_text_file(file, kLargestFile);
  if (!text) {
    Error error = text.error();
    error.remedy = "a tokenizer.json of Hugging Face's tokenizers is needed, or a folder with one";
    return fail(std::move(error));
  }
  return parse(*text, file.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view text, const std::string& where) {
  const auto json = parse_json(text, where);
  if (!json) return fail(json.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode root(*json, "", fault);
  if (!root.has("model")) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "no tokenizer: the key \"model\" is missing",
                 .where = where,
                 .remedy = "a tokenizer.json of Hugging Face's tokenizers is needed"});
  }
  auto model = BpeModel::read((*json)["model"], where);
  if (!model) return fail(model.error());
  const auto read = [&]<typename Part>(const char* key, Part (*reader)(const JsonNode&)) {
    return root.has(key) ? reader(root.at(key)) : reader(JsonNode(nlohmann::json(nullptr), "", fault));
  };
  Normalizer normalizer = read("normalizer", &Normalizer::read);
  PreTokenizer pre_tokenizer = read("pre_tokenizer", &PreTokenizer::read);
  PostProcessor post_processor = read("post_processor", &PostProcessor::read);
  TokenDecoder decoder = read("decoder", &TokenDecoder::read);
  const std::vector<AddedToken> added = read_added_tokens(root);
  if (fault.error) return fail(*fault.error);
  TextMap<TokenId> ids;
  for (const AddedToken& token : added) ids[token.content] = token.id;
  const bool cut = pre_tokenizer.empty() && model->parts_before(kMark);
  std::vector<Entry> entries = entries_of(*model, added);
  return Tokenizer(std::make_shared<const Tables>(
      Tables{std::move(*model), normalizer, std::move(pre_tokenizer), std::move(post_processor), std::move(decoder),
             std::move(entries), std::move(ids), Finders(added, normalizer),
             Finders(those(added, [](const AddedToken& token) { return !token.special; }), normalizer), cut,
             digest_of(text)}));
}

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables)
    : tables_(std::move(tables)), cache_(std::make_unique<WordCache>()) {}
Tokenizer::Tokenizer(const Tokenizer& other) : Tokenizer(other.tables_) {}
Tokenizer::Tokenizer(Tokenizer&& other) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (const auto broken = first_invalid_utf8(text)) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the text is not UTF-8: byte {} begins no character", *broken),
                 .where = {},
                 .remedy = {}});
  }
  std::vector<TokenId> tokens;
  const auto add = [&](const std::vector<TokenId>& frame) {
    if (options.frame) tokens.insert(tokens.end(), frame.begin(), frame.end());
  };
  add(tables_->post_processor.before);
  const Finders& finders = options.find_special ? tables_->all : tables_->ordinary;
  for (const TextPart& part : finders.before_normalizing.split(text)) {
    if (part.id) {
      tokens.push_back(*part.id);
      continue;
    }
    const auto done = encode_part(part.span.of(text), part.span.begin == 0, options.find_special, tokens);
    if (!done) return fail(done.error());
  }
  add(tables_->post_processor.after);
  return tokens;
}

Result<void> Tokenizer::encode_part(std::string_view part, bool at_start, bool find_special,
                                    std::vector<TokenId>& out) const {
  const auto text = tables_->normalizer.apply(std::string(part));
  if (!text) return fail(text.error());
  const Finders& finders = find_special ? tables_->all : tables_->ordinary;
  for (const TextPart& piece : finders.after_normalizing.split(*text)) {
    if (piece.id) {
      out.push_back(*piece.id);
      continue;
    }
    const auto done = encode_text(std::string(piece.span.of(*text)), at_start && piece.span.begin == 0, out);
    if (!done) return done;
  }
  return {};
}

Result<void> Tokenizer::encode_text(std::string text, bool at_start, std::vector<TokenId>& out) const {
  const auto pieces = tables_->pre_tokenizer.apply(std::move(text), at_start);
  if (!pieces) return fail(pieces.error());
  for (const TextSpan& span : pieces->spans) {
    std::string_view piece = span.of(pieces->text);
    while (tables_->cut_at_marks) {
      // Cut before a mark that follows something else.
      std::size_t cut = piece.find_first_not_of(kMark);
      if (cut != std::string_view::npos) cut = piece.find(kMark, cut);
      if (cut == std::string_view::npos) break;
      encode_piece(piece.substr(0, cut), out);
      piece.remove_prefix(cut);
    }
    encode_piece(piece, out);
  }
  return {};
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<TokenId>& out) const {
  if (const auto known = cache_->find(piece)) {
    out.insert(out.end(), known->begin(), known->end());
    return;
  }
  const std::size_t begin = out.size();
  if (tables_->pre_tokenizer.byte_level()) {
    tables_->model.encode(to_byte_alphabet(piece), out);
  } else {
    tables_->model.encode(piece, out);
  }
  cache_->insert(piece, std::span(out).subspan(begin));
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, bool keep_special) const {
  std::vector<std::string> texts;
  for (const TokenId id : tokens) {
    if (id < 0 || id >= vocabulary() || (is_special(id) && !keep_special)) continue;
    texts.emplace_back(token_of(id));
  }
  return tables_->decoder.decode(std::move(texts));
}

std::int64_t Tokenizer::vocabulary() const { return static_cast<std::int64_t>(tables_->entries.size()); }

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  const auto added = tables_->added.find(token);
  return added != tables_->added.end() ? std::optional(added->second) : tables_->model.id_of(token);
}

std::string_view Tokenizer::token_of(TokenId id) const {
  return id >= 0 && id < vocabulary() ? std::string_view(tables_->entries[static_cast<std::size_t>(id)].token) : "";
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && id < vocabulary() && tables_->entries[static_cast<std::size_t>(id)].special;
}

const PostProcessor& Tokenizer::frame() const { return tables_->post_processor; }

const std::string& Tokenizer::digest() const { return tables_->digest; }

}  // namespace plimsoll
