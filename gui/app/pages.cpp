#include "gui/app/pages.h"

namespace plimsoll::gui {

const std::vector<MakePage>& all_pages() {
  static const std::vector<MakePage> kPages{
  };
  return kPages;
}

}  // namespace plimsoll::gui
