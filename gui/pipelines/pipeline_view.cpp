#include "gui/pipelines/pipeline_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "gui/pipelines/pipeline_painter.h"

namespace plimsoll::gui {
namespace {

constexpr double kZoomStep = 0.8;
constexpr double kPanShare = 0.15;
constexpr double kLeast = 18;
constexpr double kTallest = 64;

}  // namespace

PipelineView::PipelineView(QWidget* parent) : QAbstractScrollArea(parent), theme_(light_theme()) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
}

TimeBounds PipelineView::bounds() const {
  return {0, pipeline_ == nullptr ? 1.0 : std::max(static_cast<double>(pipeline_->timing.makespan.count), 1.0)};
}

PipelineRows PipelineView::rows() const {
  const double ranks = pipeline_ == nullptr ? 1 : static_cast<double>(pipeline_->schedule.ranks());
  const double room = viewport()->height() - PipelinePainter::kTop - 8;
  const double height = std::clamp(std::floor(room / ranks), kLeast, kTallest);
  return {PipelinePainter::kTop - static_cast<double>(verticalScrollBar()->value()), height, height > 24 ? 5.0 : 2.0};
}

void PipelineView::lay_out_view() {
  const double width = std::max(viewport()->width() - PipelinePainter::kGutter - PipelinePainter::kColumns, 60);
  scale_ = whole_ ? fitted(bounds(), PipelinePainter::kGutter, width) : resized(scale_, PipelinePainter::kGutter, width);
  const std::size_t ranks = pipeline_ == nullptr ? 0 : pipeline_->schedule.ranks();
  const double needed = PipelinePainter::kTop + rows().height * static_cast<double>(ranks) + 8;
  verticalScrollBar()->setRange(0, std::max(static_cast<int>(needed) - viewport()->height(), 0));
  verticalScrollBar()->setPageStep(viewport()->height());
  viewport()->update();
}

void PipelineView::show_pipeline(SharedPipeline pipeline) {
  pipeline_ = std::move(pipeline);
  whole_ = true;
  lay_out_view();
}

void PipelineView::apply_theme(const Theme& theme) {
  theme_ = theme;
  viewport()->update();
}

void PipelineView::retranslate() { viewport()->update(); }

void PipelineView::show_all() {
  whole_ = true;
  lay_out_view();
}

void PipelineView::set_scale(const TimeScale& scale) {
  const TimeScale held = held_within(scale, bounds());
  whole_ = held.span() >= bounds().end * 0.999;
  scale_ = held;
  viewport()->update();
}

void PipelineView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), theme_.panel);
  if (pipeline_ == nullptr) return;
  PipelinePainter(painter, *pipeline_, theme_, scale_, rows(), viewport()->size()).paint(pointer_);
}

void PipelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  lay_out_view();
}

void PipelineView::scrollContentsBy(int /*dx*/, int /*dy*/) { viewport()->update(); }

void PipelineView::wheelEvent(QWheelEvent* event) {
  constexpr double kNotch = 120;
  const QPoint turn = event->angleDelta();
  const double notches = (turn.y() != 0 ? turn.y() : turn.x()) / kNotch;
  if (event->position().x() < scale_.left) return QAbstractScrollArea::wheelEvent(event);
  if ((event->modifiers() & Qt::ShiftModifier) != 0) {
    set_scale(panned(scale_, -notches * scale_.width * kPanShare));
  } else {
    set_scale(zoomed(scale_, std::pow(kZoomStep, notches), event->position().x()));
  }
  event->accept();
}

void PipelineView::mousePressEvent(QMouseEvent* event) { last_ = event->position(); }

void PipelineView::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() != Qt::NoButton) set_scale(panned(scale_, last_.x() - event->position().x()));
  last_ = event->position();
  pointer_ = event->position();
  viewport()->update();
}

void PipelineView::keyPressEvent(QKeyEvent* event) {
  const double centre = scale_.left + scale_.width / 2;
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus: return set_scale(zoomed(scale_, kZoomStep, centre));
    case Qt::Key_S:
    case Qt::Key_Minus: return set_scale(zoomed(scale_, 1 / kZoomStep, centre));
    case Qt::Key_A:
    case Qt::Key_Left: return set_scale(panned(scale_, -scale_.width * kPanShare));
    case Qt::Key_D:
    case Qt::Key_Right: return set_scale(panned(scale_, scale_.width * kPanShare));
    case Qt::Key_Home: return show_all();
    default: QAbstractScrollArea::keyPressEvent(event);
  }
}

bool PipelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    pointer_.reset();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace plimsoll::gui
