#pragma once

#include <QString>

namespace plimsoll::gui {

/// The plimsoll program that reaches hardware for the window: the one beside the window's own file, else on the PATH;
/// empty when there is none.
QString find_engine();

}  // namespace plimsoll::gui
