#include "formats/tokenizers/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "formats/tokenizers/utf8.h"
#include "formats/tokenizers/white_space.h"

namespace plimsoll {
namespace {

utf8proc_option_t options_of(UnicodeForm form) {
  int options = UTF8PROC_STABLE;
  options |= form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Result<std::string> carry_out(UnicodeForm form, std::string text) {
  if (is_ascii(text)) return text;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                               static_cast<utf8proc_ssize_t>(text.size()), &made, options_of(form));
  if (length < 0) {
    return fail({.kind = ErrorKind::kInput, .what = utf8proc_errmsg(length), .where = {}, .remedy = {}});
  }
  text.assign(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length));
  std::free(made);  // the library's allocator is malloc
  return text;
}

Result<std::string> carry_out(const PrependText& step, std::string text) {
  return text.empty() ? text : step.text + text;
}

Result<std::string> carry_out(const ReplaceText& step, std::string text) {
  return replace_all(std::move(text), step.pattern, step.content);
}

Result<std::string> carry_out(const StripText& step, std::string text) {
  std::size_t begin = 0;
  while (step.left && begin < text.size() && is_white_space(utf8_at(text, begin))) begin += utf8_length(text[begin]);
  std::size_t end = text.size();
  while (step.right && end > begin) {
    std::size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_white_space(utf8_at(text, last))) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

}  // namespace

Regex read_pattern(const JsonNode& node) {
  if (node.has("String")) return Regex::literal(node.at("String").text());
  const JsonNode expression = node.at("Regex");
  auto compiled = Regex::compile(expression.text());
  if (compiled) return *compiled;
  expression.fault(compiled.error().what);
  return Regex::literal({});
}

Result<std::string> replace_all(std::string text, const Regex& pattern, std::string_view content) {
  const auto found = pattern.matches(text);
  if (!found) return fail(found.error());
  if (found->empty()) return text;
  std::string written;
  written.reserve(text.size());
  std::size_t at = 0;
  for (const TextSpan& match : *found) {
    written.append(text, at, match.begin - at).append(content);
    at = match.end;
  }
  return written.append(text, at);
}

Normalizer Normalizer::read(const JsonNode& node) {
  Normalizer normalizer;
  if (!node.is_null()) normalizer.add(node);
  return normalizer;
}

void Normalizer::add(const JsonNode& node) {
  static const std::vector<std::string> kKinds{"NFC", "NFD", "NFKC", "NFKD", "Prepend", "Replace", "Strip", "Sequence"};
  switch (node.at("type").one_of(kKinds)) {
    case 0: steps_.emplace_back(UnicodeForm::kNfc); break;
    case 1: steps_.emplace_back(UnicodeForm::kNfd); break;
    case 2: steps_.emplace_back(UnicodeForm::kNfkc); break;
    case 3: steps_.emplace_back(UnicodeForm::kNfkd); break;
    case 4: steps_.emplace_back(PrependText{node.at("prepend").text()}); break;
    case 5: steps_.emplace_back(ReplaceText{read_pattern(node.at("pattern")), node.at("content").text()}); break;
    case 6: steps_.emplace_back(StripText{node.boolean_or("strip_left", true), node.boolean_or("strip_right", true)}); break;
    default:
      for (const JsonNode& step : node.elements_of("normalizers")) add(step);
  }
}

Result<std::string> Normalizer::apply(std::string text) const {
  for (const Step& step : steps_) {
    auto done = std::visit([&](const auto& one) { return carry_out(one, std::move(text)); }, step);
    if (!done) return done;
    text = std::move(*done);
  }
  return text;
}

}  // namespace plimsoll
