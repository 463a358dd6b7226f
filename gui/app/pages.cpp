#include "gui/app/pages.h"

#include "gui/compare/compare_page.h"
#include "gui/explore/explore_page.h"
#include "gui/pipelines/pipeline_page.h"
#include "gui/run/run_page.h"
#include "gui/timeline/timeline_page.h"

namespace plimsoll::gui {

const std::vector<MakePage>& all_pages() {
  static const std::vector<MakePage> kPages{
      make_explore_page,
      make_timeline_page,
      make_compare_page,
      make_run_page,
      make_pipeline_page,
  };
  return kPages;
}

}  // namespace plimsoll::gui
