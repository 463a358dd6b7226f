#pragma once

#include <QCoreApplication>
#include <QString>

namespace plimsoll::gui {

/// The text in the language of the window. Every visible text is a literal in a call of this function: the catalogues are
/// checked against these calls (tests/gui/language_test.cpp).
inline QString say(const char* english) { return QCoreApplication::translate("plimsoll", english); }

/// Marks a text that is said later: `say(label.english)`.
constexpr const char* to_say(const char* english) { return english; }

}  // namespace plimsoll::gui
