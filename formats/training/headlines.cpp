#include "formats/training/headlines.h"

#include <fmt/format.h>

#include <set>

#include "formats/text/csv.h"
#include "formats/training/embedded_training.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHeadlines = "data/headlines/headlines.csv";
constexpr std::string_view kPage = "data/headlines/page.md";

Headline read_row(CsvFields& fields) {
  Headline headline{.id = fields.text("id"), .section = fields.text("section"), .claim = fields.text("claim"),
                    .source = fields.text("source")};
  headline.published = fields.optional_number("published");
  headline.unit = fields.text("unit");
  headline.figure = fields.text("figure");
  headline.command = split_words(fields.text("command"));
  headline.against = split_words(fields.text("against"));
  headline.note = fields.text("note");
  return headline;
}

}  // namespace

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      open = true;
    } else if (c == ' ' && !quoted) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

Result<std::vector<Headline>> read_headlines(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return fail(table.error());
  std::vector<Headline> headlines;
  std::set<std::string> ids;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    Headline headline = read_row(fields);
    if (headline.id.empty() || !ids.insert(headline.id).second)
      fields.refuse("id", fmt::format("'{}' is empty or repeated", headline.id));
    if (headline.source.empty()) fields.refuse("source", "a claim of nobody's");
    if (headline.command.empty() != headline.figure.empty())
      fields.refuse("figure", "a figure needs a command, and a command a figure");
    if (headline.command.empty() && headline.note.empty()) fields.refuse("note", "what is not simulated needs a reason");
    if (fields.error()) return fail(*fields.error());
    headlines.push_back(std::move(headline));
  }
  return headlines;
}

const std::vector<Headline>& known_headlines() {
  static const std::vector<Headline> headlines = read_headlines(embedded_training(kHeadlines), std::string(kHeadlines)).value();
  return headlines;
}

std::string_view headlines_page() { return embedded_training(kPage); }

}  // namespace plimsoll
