#pragma once

#include <QCoreApplication>
#include <QString>

#include <string>

namespace plimsoll::gui {

/// What the planner or the program said, in the window's language where its pattern is known ("%1 CPU cores assumed"), else
/// as it is.
inline QString say_engine(const std::string& english) { return QCoreApplication::translate("engine", english.c_str()); }

}  // namespace plimsoll::gui
