#include "gui/language/language.h"

#include <QApplication>
#include <QFont>
#include <QFontDatabase>
#include <QLocale>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace plimsoll {
std::string_view embedded_language(std::string_view name);
}

namespace plimsoll::gui {

std::optional<Language> parse_language(const QString& text) {
  if (text == QLatin1String("en") || text.startsWith(QLatin1String("en_"))) return Language::kEnglish;
  if (text == QLatin1String("zh") || text.startsWith(QLatin1String("zh_"))) return Language::kChinese;
  return std::nullopt;
}

QString to_text(Language language) { return language == Language::kEnglish ? QStringLiteral("en") : QStringLiteral("zh"); }

const std::vector<std::string>& catalogue_files() {
  static const std::vector<std::string> kFiles{
      "gui/language/zh_app.json",
      "gui/language/zh_compare.json",
      "gui/language/zh_explore.json",
      "gui/language/zh_pipelines.json",
      "gui/language/zh_run.json",
      "gui/language/zh_timeline.json",
  };
  return kFiles;
}

namespace {

Result<std::vector<std::pair<std::string, std::string>>> read_texts(std::string_view json, const std::string& where) {
  const auto read = nlohmann::json::parse(json, nullptr, false);
  if (!read.is_object()) return fail({.kind = ErrorKind::kInput, .what = "not a JSON object of texts", .where = where});
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [english, chinese] : read.items()) {
    if (!chinese.is_string()) return fail({.kind = ErrorKind::kInput, .what = "not a text", .where = where + ": " + english});
    texts.emplace_back(english, chinese.get<std::string>());
  }
  return texts;
}

const QRegularExpression& placeholder() {
  static const QRegularExpression kPlaceholder(QStringLiteral("%(\\d)"));
  return kPlaceholder;
}

}  // namespace

Result<void> Catalogue::add(std::string_view json, const std::string& where) {
  const auto texts = read_texts(json, where);
  if (!texts) return fail(texts.error());
  for (const auto& [english, chinese] : *texts)
    texts_.insert(QByteArray::fromStdString(english), QString::fromStdString(chinese));
  return {};
}

Catalogue::Pattern Catalogue::read_pattern(const QString& english, const QString& chinese) {
  constexpr qsizetype kFewLetters = 12;
  Pattern pattern{.chinese = chinese};
  QStringList pieces;
  qsizetype at = 0;
  for (auto marks = placeholder().globalMatch(english); marks.hasNext();) {
    const auto mark = marks.next();
    pieces << english.mid(at, mark.capturedStart() - at);
    pattern.numbers.push_back(mark.captured(1).toInt());
    at = mark.capturedEnd();
  }
  pieces << english.mid(at);
  const QString own = pieces.join(QString());
  const auto letters = std::count_if(own.begin(), own.end(), [](QChar sign) { return sign.isLetter(); });
  pattern.only_separates = letters == 0;
  pattern.says_little = letters <= kFewLetters && pieces.size() > 1;
  pattern.begin = pieces.front();
  pattern.end = pieces.back();
  pattern.own = own.size();
  const auto shorter = [](const QString& a, const QString& b) { return a.size() < b.size(); };
  pattern.within = *std::max_element(pieces.begin(), pieces.end(), shorter);
  for (QString& piece : pieces) piece = QRegularExpression::escape(piece);
  pattern.english.setPattern(QRegularExpression::anchoredPattern(pieces.join(QStringLiteral("(.+?)"))));
  pattern.english.setPatternOptions(QRegularExpression::DotMatchesEverythingOption);
  return pattern;
}

Result<void> Catalogue::add_patterns(std::string_view json, const std::string& where) {
  const auto texts = read_texts(json, where);
  if (!texts) return fail(texts.error());
  for (const auto& [english, chinese] : *texts)
    patterns_.push_back(read_pattern(QString::fromStdString(english), QString::fromStdString(chinese)));
  std::stable_sort(patterns_.begin(), patterns_.end(), [](const Pattern& a, const Pattern& b) { return a.own > b.own; });
  return {};
}

namespace {

/// Names, numbers and single words stay as they are in every language; a name may have two words ("one die").
bool is_sentence(const QString& text, bool with_names) {
  static const QRegularExpression kTwo(QStringLiteral("[a-z]{2,} [a-z]{2,}"));
  static const QRegularExpression kThree(QStringLiteral("[a-z]{2,} [a-z]{2,} [a-z]{2,}"));
  return (with_names ? kTwo : kThree).match(text).hasMatch();
}

}  // namespace

/// What only separates ("%1: %2") or says little ("%1 on the %2") counts where its parts are known, too.
bool Catalogue::goes(const Pattern& pattern, const QRegularExpressionMatch& found, Known& known) const {
  if (!found.hasMatch()) return false;
  if (!pattern.only_separates && !pattern.says_little) return true;
  for (int part = 1; part <= found.lastCapturedIndex(); ++part) {
    const QString text = found.captured(part);
    if (is_sentence(text, pattern.only_separates) && match(text, known).isEmpty()) return false;
  }
  return true;
}

QString Catalogue::match(const QString& english, Known& known) const {
  const auto before = known.constFind(english);
  if (before != known.constEnd()) return *before;
  const QString text = search(english, known, true);
  known.insert(english, text);
  return text;
}

/// What a pattern's placeholders stood for is looked up in turn.
QString Catalogue::search(const QString& english, Known& known, bool by_separators) const {
  for (const Pattern& pattern : patterns_) {
    if (pattern.only_separates && !by_separators) continue;
    if (!english.startsWith(pattern.begin) || !english.endsWith(pattern.end) || !english.contains(pattern.within)) continue;
    const auto found = pattern.english.match(english);
    if (!goes(pattern, found, known)) continue;
    QString text;
    qsizetype at = 0;
    for (auto marks = placeholder().globalMatch(pattern.chinese); marks.hasNext();) {
      const auto mark = marks.next();
      const auto number = std::find(pattern.numbers.begin(), pattern.numbers.end(), mark.captured(1).toInt());
      const QString part = found.captured(static_cast<int>(number - pattern.numbers.begin()) + 1);
      const QString chinese = part == english ? QString() : match(part, known);
      text += pattern.chinese.mid(at, mark.capturedStart() - at) + (chinese.isEmpty() ? part : chinese);
      at = mark.capturedEnd();
    }
    return text + pattern.chinese.mid(at);
  }
  return {};
}

namespace {

/// Where the bracket that the text ends with was opened; -1 where it does not end with one.
qsizetype last_bracket(const QString& text) {
  int depth = 0;
  for (qsizetype at = text.size() - 1; at > 0 && text.endsWith(')'); --at) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  return -1;
}

}  // namespace

/// "what (remedy)": each of them by itself, where that is known.
QString Catalogue::match_error(const QString& english) const {
  constexpr qsizetype kLongest = 4000;  // what is longer quotes a file, and would take long
  if (english.size() > kLongest) return {};
  Known known;
  const qsizetype bracket = last_bracket(english);
  if (bracket < 2) return match(english, known);
  const QString what = search(english.left(bracket - 1), known, false);
  const QString remedy = match(english.mid(bracket + 1).chopped(1), known);
  return what.isEmpty() || remedy.isEmpty() ? match(english, known) : QStringLiteral("%1（%2）").arg(what, remedy);
}

/// A remedy may stand in a line of its own.
QString Catalogue::match_lines(const QString& english) const {
  QStringList lines = english.split('\n');
  if (lines.size() == 1) return match_error(english);
  for (QString& line : lines) {
    const QString known = match_error(line.trimmed());
    if (!known.isEmpty()) line = known;
  }
  return lines.join('\n');
}

QString Catalogue::translate(const char* context, const char* english, const char* /*remark*/, int /*count*/) const {
  if (context != nullptr && qstrcmp(context, "engine") == 0) return match_lines(QString::fromUtf8(english));
  return texts_.value(QByteArray::fromRawData(english, static_cast<qsizetype>(qstrlen(english))));
}

Result<void> fill_chinese(Catalogue& catalogue) {
  for (const std::string& file : catalogue_files()) {
    if (const auto added = catalogue.add(embedded_language(file), file); !added) return added;
  }
  return catalogue.add_patterns(embedded_language(kEngineCatalogue), kEngineCatalogue);
}

namespace {

/// Signs that the desktop's font lacks come from a plain Chinese one, where one of these is installed, in its regular weight.
void prefer_chinese_font() {
  QFont font = QApplication::font();
  QStringList families{font.family()};
  for (const char* family : {"Noto Sans CJK SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Microsoft YaHei", "PingFang SC"}) {
    families << QString::fromLatin1(family);
  }
  font.setFamilies(families);
  QApplication::setFont(font);
}

}  // namespace

void speak(Language language, Catalogue& catalogue) {
  const bool chinese = language == Language::kChinese;
  QLocale::setDefault(chinese ? QLocale(QLocale::Chinese, QLocale::China) : QLocale(QLocale::English, QLocale::UnitedStates));
  QCoreApplication::removeTranslator(&catalogue);
  if (chinese) QCoreApplication::installTranslator(&catalogue);
  prefer_chinese_font();
}

bool can_show_chinese() { return !QFontDatabase::families(QFontDatabase::SimplifiedChinese).isEmpty(); }

}  // namespace plimsoll::gui
