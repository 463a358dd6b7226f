#pragma once

#include <QString>

namespace plimsoll::gui {

/// What a schedule is, in the window's language; of an unknown one nothing.
QString schedule_words(const QString& name);

}  // namespace plimsoll::gui
