#pragma once

#include <QHash>
#include <QRegularExpression>
#include <QTranslator>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll::gui {

enum class Language { kEnglish, kChinese };

/// "en" or "zh" (also "zh_CN"), else nothing.
std::optional<Language> parse_language(const QString& text);
QString to_text(Language language);

/// The catalogues' names, one for each folder of the window: "gui/language/zh_app.json".
const std::vector<std::string>& catalogue_files();

/// The catalogue of what the planner and the program say, with %1, %2 … for what differs.
inline constexpr const char* kEngineCatalogue = "gui/language/zh_engine.json";

/// Texts by their English, whatever asks for them; Qt's own dialogs find theirs here too.
class Catalogue final : public QTranslator {
 public:
  using QTranslator::QTranslator;

  /// Adds the texts of a JSON object {"English": "中文"}.
  Result<void> add(std::string_view json, const std::string& where);

  /// Adds patterns, for texts of the context "engine".
  Result<void> add_patterns(std::string_view json, const std::string& where);

  QString translate(const char* context, const char* english, const char* remark, int count) const override;
  bool isEmpty() const override { return texts_.isEmpty(); }

  [[nodiscard]] const QHash<QByteArray, QString>& texts() const { return texts_; }

 private:
  struct Pattern {
    QRegularExpression english;
    std::vector<int> numbers;  ///< of the placeholders, in the order of the English text
    QString chinese;
    QString begin, end, within;   ///< its English up to the first placeholder, after the last, and the longest piece
    qsizetype own = 0;            ///< how long its English is without placeholders
    bool only_separates = false;  ///< its English has no letter of its own
    bool says_little = false;     ///< its English has few letters of its own: "%1 on the %2"
  };

  /// What was looked up for one text, so that its parts are looked up once.
  using Known = QHash<QString, QString>;

  [[nodiscard]] QString match(const QString& english, Known& known) const;
  [[nodiscard]] QString search(const QString& english, Known& known, bool by_separators) const;
  [[nodiscard]] QString match_error(const QString& english) const;
  [[nodiscard]] QString match_lines(const QString& english) const;
  [[nodiscard]] bool goes(const Pattern& pattern, const QRegularExpressionMatch& found, Known& known) const;
  static Pattern read_pattern(const QString& english, const QString& chinese);

  QHash<QByteArray, QString> texts_;
  std::vector<Pattern> patterns_;  ///< those that say most first
};

/// Makes the language that of the program, from now on; windows are told by QEvent::LanguageChange.
/// `catalogue` lives as long as the program.
void speak(Language language, Catalogue& catalogue);

/// The catalogue with all texts of the window.
Result<void> fill_chinese(Catalogue& catalogue);

/// Whether a font with Chinese signs is installed; without one they are boxes.
bool can_show_chinese();

}  // namespace plimsoll::gui
