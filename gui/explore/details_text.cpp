#include "gui/explore/details_text.h"

#include "gui/explore/alternatives_model.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"

namespace plimsoll::gui {

QString help_text(const Verdict& verdict) {
  QString text;
  if (!verdict.searched) return text;
  for (const QString& hint : what_would_help(verdict.answer())) text += QStringLiteral("<p>•&nbsp; %1</p>").arg(hint.toHtmlEscaped());
  return text;
}

QString origin_text(const Verdict& verdict, const QStringList& file_notes) {
  const FitAnswer& answer = verdict.answer();
  QString text = QStringLiteral("<p><b>%1</b> %2</p>")
                     .arg(origin_words(answer.calibration_kind), say_engine(answer.calibration_source).toHtmlEscaped());
  if (answer.lower_bound_seconds)
    text += QStringLiteral("<p>%1</p>").arg(say("No plan takes less than %1.").arg(seconds_text(*answer.lower_bound_seconds)));
  const auto list = [&](const QString& heading, const auto& items) {
    text += QStringLiteral("<p>%1</p><ul>").arg(heading);
    for (const std::string& item : items) text += QStringLiteral("<li>%1</li>").arg(say_engine(item).toHtmlEscaped());
    text += QStringLiteral("</ul>");
  };
  std::vector<std::string> of_file;
  for (const QString& note : file_notes) of_file.push_back(note.toStdString());
  if (!of_file.empty()) list(say("From the training file:"), of_file);
  list(say("Assumed:"), verdict.notes);
  return text;
}

}  // namespace plimsoll::gui
