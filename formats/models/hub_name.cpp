#include "formats/models/hub_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

namespace plimsoll {
namespace {

// Words behind which a model has the sizes of the one before them.
constexpr std::string_view kTunes[] = {"instruct", "it", "pt", "chat", "base", "hf", "thinking", "sft", "dpo", "abliterated"};
constexpr std::string_view kStored[] = {"unsloth", "bnb", "4bit", "8bit", "gguf", "awq", "gptq", "int4", "int8", "fp8", "bf16", "fp16", "mlx"};

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return low;
}

std::vector<std::string> words_of(std::string_view name) {
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));  // npos + 1 is 0
  std::vector<std::string> words(1);
  for (const char c : lower(name)) {
    if (c == '-' || c == '_' || c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.front() == "meta") words.erase(words.begin());
  return words;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "")); }

bool is_stored_type(std::string_view word) { return std::ranges::find(kStored, word) != std::end(kStored); }

/// A release's year and month, or month and day, tells fine-tunes apart as the words do.
bool is_date(std::string_view word) {
  return word.size() == 4 && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool changes_no_size(std::string_view word) {
  return is_stored_type(word) || is_date(word) || std::ranges::find(kTunes, word) != std::end(kTunes);
}

/// The one model that has this name, or an alias, behind its organization.
const ZooModel* model_of(const std::vector<std::string>& words) {
  const std::string key = joined(words);
  const auto same = [&](const std::string& name) { return joined(words_of(name)) == key; };
  const ZooModel* found = nullptr;
  for (const ZooModel& model : built_in_zoo()) {
    if (!same(model.name) && std::ranges::none_of(model.aliases, same)) continue;
    if (found != nullptr) return nullptr;
    found = &model;
  }
  return found;
}

const ZooModel* shortened_match(std::vector<std::string> words) {
  const ZooModel* found = model_of(words);
  while (found == nullptr && words.size() > 1 && changes_no_size(words.back())) {
    words.pop_back();
    found = model_of(words);
  }
  if (found != nullptr) return found;
  std::erase_if(words, changes_no_size);
  return words.empty() ? nullptr : model_of(words);
}

}  // namespace

std::optional<HubMatch> match_hub_name(std::string_view name) {
  if (name.size() > 200) return std::nullopt;
  const std::vector<std::string> words = words_of(name);
  const ZooModel* found = shortened_match(words);
  if (found == nullptr) return std::nullopt;
  std::string note = fmt::format("'{}' is taken to have the sizes of {}", name, found->name);
  if (std::ranges::any_of(words, is_stored_type)) {
    note += "; however its weights are stored, they are trained decoded unless --lora 16 --base-bits 4 (or 8) says that they stay so, or beside adapters a name that ends with bnb-4bit";
  }
  return HubMatch{.model = *found, .note = std::move(note)};
}

}  // namespace plimsoll
