#include "formats/text/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace plimsoll {
namespace {

/// Walks a CSV text once; holds the place for errors.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& where) : text_(text), where_(where) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }

  /// The next row; a blank line is a row of one empty field.
  Result<CsvRow> row() {
    CsvRow row;
    row.line = line_;
    while (true) {
      auto field = at_quote() ? quoted_field() : bare_field();
      if (!field) return tl::make_unexpected(field.error());
      row.fields.push_back(std::move(*field));
      if (at_end()) return row;
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      skip_line_end();
      return row;
    }
  }

 private:
  [[nodiscard]] bool at_quote() const { return !at_end() && text_[at_] == '"'; }

  [[nodiscard]] bool at_line_end() const { return text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n"; }

  void skip_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }

  [[nodiscard]] tl::unexpected<Error> refuse(std::size_t line, std::string what) const {
    return fail({.kind = ErrorKind::kInput,
                 .what = std::move(what),
                 .where = fmt::format("{}:{}", where_, line),
                 .remedy = {}});
  }

  Result<std::string> bare_field() {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != ',' && !at_line_end()) {
      if (text_[at_] == '"') return refuse(line_, "a quote within a field that does not start with one");
      if (text_[at_] == '\0') return refuse(line_, "a NUL byte");
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<std::string> quoted_field() {
    const std::size_t opened = line_;
    std::string field;
    for (++at_; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '\0') return refuse(line_, "a NUL byte");
      if (c == '\n') ++line_;
      if (c == '"') {
        if (text_.substr(at_, 2) != "\"\"") break;
        ++at_;
      }
      field += c;
    }
    if (at_end()) return refuse(opened, "a quote that is never closed");
    ++at_;
    if (!at_end() && text_[at_] != ',' && !at_line_end()) return refuse(line_, "text after a closing quote");
    return field;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

bool is_blank(const CsvRow& row) { return row.fields.size() == 1 && row.fields[0].empty(); }

Result<void> check_header(const CsvTable& table) {
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const auto& name = table.header[i];
    const bool repeated = std::find(table.header.begin(), table.header.begin() + static_cast<std::ptrdiff_t>(i),
                                    name) != table.header.begin() + static_cast<std::ptrdiff_t>(i);
    if (name.empty() || repeated) {
      return fail({.kind = ErrorKind::kInput,
                   .what = name.empty() ? "a column without a name" : fmt::format("two columns are named '{}'", name),
                   .where = table.where,
                   .remedy = {}});
    }
  }
  return {};
}

}  // namespace

std::string CsvTable::place(const CsvRow& row) const { return fmt::format("{}:{}", where, row.line); }

Result<CsvTable> read_csv(std::string_view text, std::string where) {
  CsvTable table;
  table.where = std::move(where);
  CsvReader reader(text, table.where);
  while (!reader.at_end()) {
    auto row = reader.row();
    if (!row) return tl::make_unexpected(row.error());
    if (is_blank(*row)) continue;
    if (table.header.empty()) {
      table.header = std::move(row->fields);
      if (auto sound = check_header(table); !sound) return tl::make_unexpected(sound.error());
      continue;
    }
    if (row->fields.size() != table.header.size()) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("{} fields where the header has {}", row->fields.size(), table.header.size()),
                   .where = table.place(*row),
                   .remedy = "put a field with a comma in quotes"});
    }
    table.rows.push_back(std::move(*row));
  }
  if (table.header.empty()) {
    return fail({.kind = ErrorKind::kInput, .what = "an empty table", .where = table.where, .remedy = {}});
  }
  return table;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field(1, '"');
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field += '"';
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

void CsvFields::refuse(std::string_view column, std::string what) {
  if (error_) return;
  error_ = Error{.kind = ErrorKind::kInput,
                 .what = fmt::format("column '{}': {}", column, what),
                 .where = table_.place(row_),
                 .remedy = {}};
}

std::string CsvFields::text(std::string_view column) {
  const auto found = std::find(table_.header.begin(), table_.header.end(), column);
  if (found == table_.header.end()) {
    refuse(column, "missing");
    return {};
  }
  return row_.fields[static_cast<std::size_t>(found - table_.header.begin())];
}

double CsvFields::number(std::string_view column) {
  const auto value = optional_number(column);
  if (!value) refuse(column, "a number is needed");
  return value.value_or(0.0);
}

std::optional<double> CsvFields::optional_number(std::string_view column) {
  const std::string field = text(column);
  if (field.empty()) return std::nullopt;
  const auto value = parse_number(field);
  if (!value) refuse(column, fmt::format("'{}' is no number", field.substr(0, 40)));
  return value;
}

bool CsvFields::has(std::string_view column) const {
  return std::find(table_.header.begin(), table_.header.end(), column) != table_.header.end();
}

}  // namespace plimsoll
