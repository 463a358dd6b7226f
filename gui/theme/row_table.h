#pragma once

class QTableView;

namespace plimsoll::gui {

/// Makes it a table of rows of that many pixels to choose one from: no grid, every other row shaded, the tab key goes on to what
/// is beside it.
void make_row_table(QTableView& table, int row_height);

}  // namespace plimsoll::gui
