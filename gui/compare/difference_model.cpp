#include "gui/compare/difference_model.h"

#include <QLocale>

#include <algorithm>
#include <cmath>

#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/timeline/time_ticks.h"

namespace plimsoll::gui {
namespace {

QString duration(std::int64_t ns) { return QString::fromStdString(duration_text(static_cast<double>(ns))); }

QString signed_duration(std::int64_t ns) { return (ns > 0 ? QStringLiteral("+") : QString()) + duration(ns); }

}  // namespace

DifferenceModel::DifferenceModel(Rows rows, QObject* parent)
    : QAbstractTableModel(parent), rows_(rows), theme_(light_theme()) {}

void DifferenceModel::show_steps(SharedSteps steps) {
  beginResetModel();
  steps_ = std::move(steps);
  endResetModel();
}

void DifferenceModel::apply_theme(const Theme& theme) {
  theme_ = theme;
  colours_ = work_colours(theme);
  retranslate();
}

void DifferenceModel::retranslate() {
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
  Q_EMIT headerDataChanged(Qt::Horizontal, 0, kColumns - 1);
}

int DifferenceModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() || steps_ == nullptr) return 0;
  return static_cast<int>(rows_ == Rows::kClasses ? steps_->classes.size() : steps_->ops.size());
}

int DifferenceModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

DifferenceModel::Line DifferenceModel::line(int row) const {
  const auto at = static_cast<std::size_t>(row);
  const Timeline& timeline = *steps_->first;
  if (rows_ == Rows::kClasses) {
    const MatchedClass& sum = steps_->classes[at];
    return {QString::fromStdString(sum.name), sum.paint, static_cast<qlonglong>(sum.first_count), static_cast<qlonglong>(sum.second_count),
            sum.first_total, sum.second_total};
  }
  const MatchedOp& op = steps_->ops[at];
  QString name = QString::fromStdString(timeline.name_of(op.instruction));
  const std::int32_t layer = timeline.body.list.instructions[op.instruction].layer;
  if (layer >= 0) name += say(" · layer %1").arg(layer);
  return {name, timeline.labels[op.instruction].paint, op.instruction, op.instruction, op.first_duration, op.second_duration};
}

QString DifferenceModel::text(const Line& line, int column) const {
  switch (column) {
    case kName: return line.name;
    case kCountOrId: {
      if (rows_ == Rows::kOps) return QStringLiteral("#%1").arg(line.number);
      const QString first = QLocale().toString(line.number);
      return line.number == line.second_number ? first : QStringLiteral("%1 → %2").arg(first, QLocale().toString(line.second_number));
    }
    case kFirst: return duration(line.first);
    case kSecond: return duration(line.second);
    case kDifference: return signed_duration(line.second - line.first);
    default: {
      if (line.first == 0) return QStringLiteral("–");
      const double share = 100.0 * static_cast<double>(line.second - line.first) / static_cast<double>(line.first);
      return signed_text(share, QLocale().toString(std::abs(share), 'f', 1) + QStringLiteral(" %"));
    }
  }
}

QVariant DifferenceModel::value(const Line& line, int column) const {
  switch (column) {
    case kName: return line.name;
    case kCountOrId: return line.number;
    case kFirst: return static_cast<qlonglong>(line.first);
    case kSecond: return static_cast<qlonglong>(line.second);
    case kDifference: return static_cast<qlonglong>(line.second - line.first);
    default: return line.first == 0 ? 0.0 : static_cast<double>(line.second - line.first) / static_cast<double>(line.first);
  }
}

QVariant DifferenceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || steps_ == nullptr) return {};
  const Line shown = line(index.row());
  if (role == Qt::DisplayRole) return text(shown, index.column());
  if (role == Qt::UserRole) return value(shown, index.column());
  if (role == Qt::DecorationRole && index.column() == kName) return QColor::fromRgb(colours_[shown.paint]);
  if (role == Qt::TextAlignmentRole && index.column() != kName) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
  const bool slower = shown.second > shown.first;
  if (role == Qt::ForegroundRole && index.column() == kDifference && shown.second != shown.first) {
    return slower ? theme_.bad : theme_.good;
  }
  return {};
}

QVariant DifferenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((section == kName ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName: return rows_ == Rows::kClasses ? say("Kind of work") : say("Operation");
    case kCountOrId: return rows_ == Rows::kClasses ? say("Count") : say("Instruction");
    case kFirst: return say("First");
    case kSecond: return say("Second");
    case kDifference: return say("Second − first");
    default: return say("Change");
  }
}

}  // namespace plimsoll::gui
