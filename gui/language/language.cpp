#include "gui/language/language.h"

#include <QApplication>
#include <QFont>
#include <QFontDatabase>
#include <QLocale>

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
      "gui/language/zh_explore.json",
      "gui/language/zh_run.json",
  };
  return kFiles;
}

Result<void> Catalogue::add(std::string_view json, const std::string& where) {
  const auto read = nlohmann::json::parse(json, nullptr, false);
  if (!read.is_object()) return fail({.kind = ErrorKind::kInput, .what = "not a JSON object of texts", .where = where});
  for (const auto& [english, chinese] : read.items()) {
    if (!chinese.is_string()) return fail({.kind = ErrorKind::kInput, .what = "not a text", .where = where + ": " + english});
    texts_.insert(QByteArray::fromStdString(english), QString::fromStdString(chinese.get<std::string>()));
  }
  return {};
}

QString Catalogue::translate(const char* /*context*/, const char* english, const char* /*remark*/, int /*count*/) const {
  return texts_.value(QByteArray::fromRawData(english, static_cast<qsizetype>(qstrlen(english))));
}

Result<void> fill_chinese(Catalogue& catalogue) {
  for (const std::string& file : catalogue_files()) {
    if (const auto added = catalogue.add(embedded_language(file), file); !added) return added;
  }
  return {};
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
