#include "gui/theme/row_table.h"

#include <QHeaderView>
#include <QTableView>

namespace plimsoll::gui {

void make_row_table(QTableView& table, int row_height) {
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setSelectionMode(QAbstractItemView::SingleSelection);
  table.setShowGrid(false);
  table.setFrameShape(QFrame::NoFrame);
  table.setWordWrap(false);
  table.setAlternatingRowColors(true);
  table.setTabKeyNavigation(false);
  table.verticalHeader()->hide();
  table.verticalHeader()->setDefaultSectionSize(row_height);
  table.horizontalHeader()->setHighlightSections(false);
}

}  // namespace plimsoll::gui
