#pragma once

#include <memory>
#include <vector>

#include "gui/app/page.h"

namespace plimsoll::gui {

using MakePage = std::unique_ptr<Page> (*)(const PageContext&);

/// The window's pages in the order of the rail. A page is a factory function in a header of its own folder and a line in
/// pages.cpp.
const std::vector<MakePage>& all_pages();

}  // namespace plimsoll::gui
