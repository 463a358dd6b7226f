// Readers of what training reads: tokenizers, chat templates, lines of examples, token files, records, images.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/graph/masked_token.h"
#include "executor/data/image_records.h"
#include "executor/data/token_records.h"
#include "executor/data/token_source.h"
#include "formats/chat/chat_template.h"
#include "formats/chat/template_file.h"
#include "formats/corpus/line_example.h"
#include "formats/models/end_tokens.h"
#include "formats/models/hf_config.h"
#include "formats/models/shape_words.h"
#include "formats/tokenizers/tokenizer.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/parser.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

using json = nlohmann::ordered_json;

void read_tokenizer(std::string_view bytes) {
  const auto tokenizer = Tokenizer::parse(bytes, "tokenizer.json");
  if (!has_value(tokenizer)) return;
  for (const std::string_view text : {"a b ab", "", "  <s> \xc3\xa9\xe2\x82\xac\n\n12ab"}) {
    const auto tokens = tokenizer->encode(text);
    if (has_value(tokens)) static_cast<void>(tokenizer->decode(*tokens, true));
  }
}

/// Any text under a small tokenizer that uses most of what there is.
void read_text(std::string_view bytes) {
  static const Tokenizer tokenizer =
      Tokenizer::parse(
          R"({"added_tokens":[{"id":9,"content":"<s>","special":true}],"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\s+|[^\\s]+"},)"
          R"("behavior":"Isolated"},"model":{"type":"BPE","unk_token":"?","vocab":{"a":0,"b":1,"ab":2,"?":3},)"
          R"("merges":["a b"]}})",
          "tokenizer.json")
          .value();
  const auto tokens = tokenizer.encode(bytes);
  if (has_value(tokens)) static_cast<void>(tokenizer.decode(*tokens, true));
  static_cast<void>(has_value(read_line_example(tokenizer, bytes, "line 1", {})));
}

void read_template(std::string_view bytes) {
  static const json messages = json::parse(R"([{"role":"user","content":" a "},{"role":"assistant","content":"b"}])");
  static const json none;
  const auto chat = ChatTemplate::parse(bytes, "chat_template.jinja");
  if (!has_value(chat)) return;
  static_cast<void>(
      has_value(chat->render({.messages = messages, .tools = none, .names = {{"bos_token", "<s>"}}, .prompts = true})));
}

/// A folder with the config of a model, whose other files come and go.
class ModelFolder {
 public:
  explicit ModelFolder(std::string_view config) { write("config.json", config); }
  void write(const char* name, std::string_view bytes) const { std::ofstream(folder_.file(name), std::ios::binary) << bytes; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  void check() const {
    const auto found = read_hf_config(folder_.file("config.json"));
    if (has_value(found)) require(validate(found->spec).has_value(), "a model that was read is a valid one");
  }

 private:
  TemporaryFolder folder_;
};

/// The small files beside a model's weights, each of which has the same bytes.
void read_tokenizer_settings(std::string_view bytes) {
  static const ModelFolder images(R"({"model_type":"vit","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,)"
                                  R"("intermediate_size":16,"image_size":4,"patch_size":2})");
  static const ModelFolder words(R"({"model_type":"bert","architectures":["BertForMaskedLM"],"hidden_size":8,"vocab_size":11,)"
                                 R"("num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":8})");
  images.write("preprocessor_config.json", bytes);
  images.check();
  words.write("tokenizer.json", bytes);
  words.check();
  words.write("tokenizer_config.json", bytes);
  words.write("generation_config.json", bytes);
  static_cast<void>(has_value(read_tokenizer_config(words.path())));
  static_cast<void>(has_value(end_tokens(words.path())));
}

void read_tokens(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto tokens = open_token_source(file.path(), 300, 3);
  if (!has_value(tokens)) return;
  std::int32_t window[4];
  for (const std::int64_t at : {std::int64_t{0}, (*tokens)->size() - 4}) {
    require(at >= 0, "a corpus is as long as a window");
    (*tokens)->read(at, window);
    for (const std::int32_t token : window) require(token_id(token) < 300, "a token is one of the vocabulary");
    static_cast<void>((*tokens)->counted(at, 4));
  }
}

void read_records(std::string_view bytes) {
  static const ModelSpec spec = *parse_shape_words("bert:layers=1,hidden=8,heads=2,vocab=200,classes=3");
  const MemoryFile file(bytes);
  const auto records = TokenRecords::open(file.path(), spec, 8);
  if (!has_value(records)) return;
  for (std::int64_t i = 0; i < records->size(); ++i) {
    const TokenRecord record = records->read(i);
    require(record.tokens.size() <= 8 && record.second <= 8 && record.label < 3, "a record fits its model");
    for (const std::int32_t token : record.tokens) require(token >= 0 && token < 200, "so do its tokens");
  }
}

void read_images(std::string_view bytes) {
  static const ModelSpec spec = *parse_shape_words("vit:layers=1,hidden=8,heads=2,image=4,patch=2,classes=3");
  const MemoryFile file(bytes);
  const auto images = ImageRecords::open(file.path(), spec);
  if (!has_value(images)) return;
  for (std::int64_t i = 0; i < images->size(); ++i)
    require(images->label(i) >= 0 && images->label(i) < 3, "a label is a class");
}

}  // namespace

std::vector<Parser> text_parsers() {
  return {{"tokenizer", read_tokenizer},    {"text", read_text},
          {"chat-template", read_template}, {"tokenizer-config", read_tokenizer_settings},
          {"tokens", read_tokens},          {"records", read_records},
          {"images", read_images}};
}

}  // namespace plimsoll::test
