#include "formats/tokenizers/pre_tokenizer.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// GPT-2's words (Radford et al. 2019): contractions, letters, numbers and the rest, each with a space before it.
constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A stretch of a text that matches, or lies between two that do.
struct Stretch {
  TextSpan span;
  bool match = false;
};

Result<std::vector<Stretch>> stretches_of(std::string_view text, const SplitStep& split) {
  const auto found = split.pattern.matches(text);
  if (!found) return fail(found.error());
  std::vector<Stretch> stretches;
  std::size_t at = 0;
  for (const TextSpan& match : *found) {
    if (match.begin > at) stretches.push_back({{at, match.begin}, split.invert});
    stretches.push_back({match, !split.invert});
    at = match.end;
  }
  if (at < text.size()) stretches.push_back({{at, text.size()}, split.invert});
  return stretches;
}

/// True when the stretch `next` becomes one piece with the one before it. A match joins at most one neighbour, so that
/// of three matches in a row the last two stay alone.
bool joins(SplitRule rule, const std::vector<Stretch>& all, std::size_t next) {
  const bool before = all[next - 1].match;
  const bool here = all[next].match;
  switch (rule) {
    case SplitRule::kContiguous: return before == here;
    case SplitRule::kMergedWithPrevious: return here && !before;
    case SplitRule::kMergedWithNext: return before && !here;
    default: return false;
  }
}

void add_pieces(SplitRule rule, const std::vector<Stretch>& stretches, std::size_t offset, std::vector<TextSpan>& spans) {
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const TextSpan& span = stretches[i].span;
    if (rule == SplitRule::kRemoved && stretches[i].match) continue;
    if (i > 0 && joins(rule, stretches, i)) {
      spans.back().end = offset + span.end;
    } else {
      spans.push_back({offset + span.begin, offset + span.end});
    }
  }
}

Result<void> carry_out(const SplitStep& split, Pieces& pieces, bool) {
  std::vector<TextSpan> spans;
  for (const TextSpan& span : pieces.spans) {
    const auto stretches = stretches_of(span.of(pieces.text), split);
    if (!stretches) return fail(stretches.error());
    add_pieces(split.rule, *stretches, span.begin, spans);
  }
  pieces.spans = std::move(spans);
  return {};
}

/// Writes every piece anew.
template <typename Write>
void rewrite(Pieces& pieces, Write write) {
  std::string text;
  for (TextSpan& span : pieces.spans) {
    const std::size_t begin = text.size();
    write(span.of(pieces.text), text);
    span = {begin, text.size()};
  }
  pieces.text = std::move(text);
}

Result<void> carry_out(const PrefixSpace&, Pieces& pieces, bool) {
  rewrite(pieces, [](std::string_view piece, std::string& text) {
    if (!piece.starts_with(' ')) text += ' ';
    text += piece;
  });
  return {};
}

Result<void> carry_out(const Metaspace& step, Pieces& pieces, bool at_start) {
  rewrite(pieces, [&, first = at_start](std::string_view piece, std::string& text) mutable {
    const bool wanted = step.prepend == Metaspace::Prepend::kAlways || (step.prepend == Metaspace::Prepend::kFirst && first);
    if (wanted && !piece.starts_with(' ') && !piece.starts_with(step.mark)) text += step.mark;
    for (const char c : piece) c == ' ' ? text += step.mark : text += c;
    first = false;
  });
  return {};
}

SplitRule read_rule(const JsonNode& node) {
  static const std::vector<std::string> kNames{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  return static_cast<SplitRule>(node.one_of(kNames));
}

}  // namespace

PreTokenizer PreTokenizer::read(const JsonNode& node) {
  PreTokenizer made;
  if (!node.is_null()) made.add(node);
  return made;
}

void PreTokenizer::add(const JsonNode& node) {
  static const std::vector<std::string> kKinds{"ByteLevel", "Split", "Metaspace", "Digits", "Punctuation", "Whitespace",
                                               "WhitespaceSplit", "Sequence"};
  const std::size_t kind = node.at("type").one_of(kKinds);
  if (byte_level_) node.fault("a step after ByteLevel", "only a ByteLevel that comes last is known here");
  switch (kind) {
    case 0: return add_byte_level(node);
    case 1: return add_split(node);
    case 2: return add_metaspace(node);
    case 3: {
      const bool each = node.boolean_or("individual_digits", false);
      return add_pattern(R"(\p{N})", each ? SplitRule::kIsolated : SplitRule::kContiguous);
    }
    case 4: {
      const SplitRule rule = node.has("behavior") ? read_rule(node.at("behavior")) : SplitRule::kIsolated;
      return add_pattern(R"([\p{P}$+<=>^`|~])", rule);
    }
    case 5: return add_pattern(R"(\w+|[^\w\s]+)", SplitRule::kRemoved, true);
    case 6: return add_pattern(R"(\s)", SplitRule::kRemoved);
    default:
      for (const JsonNode& step : node.elements_of("pretokenizers")) add(step);
  }
}

void PreTokenizer::add_pattern(std::string_view pattern, SplitRule rule, bool invert) {
  steps_.emplace_back(SplitStep{Regex::compile(pattern).value(), rule, invert});
}

void PreTokenizer::add_byte_level(const JsonNode& node) {
  if (node.boolean_or("add_prefix_space", true)) steps_.emplace_back(PrefixSpace{});
  if (node.boolean_or("use_regex", true)) add_pattern(kGpt2Words, SplitRule::kIsolated);
  byte_level_ = true;
}

void PreTokenizer::add_split(const JsonNode& node) {
  steps_.emplace_back(SplitStep{read_pattern(node.at("pattern")), read_rule(node.at("behavior")),
                                node.boolean_or("invert", false)});
}

void PreTokenizer::add_metaspace(const JsonNode& node) {
  Metaspace step{.mark = node.text_or("replacement", "\u2581")};
  if (node.has("prepend_scheme")) {
    static const std::vector<std::string> kNames{"always", "first", "never"};
    step.prepend = static_cast<Metaspace::Prepend>(node.at("prepend_scheme").one_of(kNames));
  } else if (!node.boolean_or("add_prefix_space", true)) {
    step.prepend = Metaspace::Prepend::kNever;
  }
  steps_.emplace_back(step);
  if (!node.boolean_or("split", true)) return;
  steps_.emplace_back(SplitStep{Regex::literal(step.mark), SplitRule::kMergedWithNext, false});
}

Result<Pieces> PreTokenizer::apply(std::string text, bool at_start) const {
  Pieces pieces{.text = std::move(text), .spans = {}};
  if (!pieces.text.empty()) pieces.spans.push_back({0, pieces.text.size()});
  for (const Step& step : steps_) {
    const auto done = std::visit([&](const auto& one) { return carry_out(one, pieces, at_start); }, step);
    if (!done) return fail(done.error());
  }
  return pieces;
}

}  // namespace plimsoll
