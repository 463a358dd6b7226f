#include "gui/jobs/latest_job.h"

#include <exception>

namespace plimsoll::gui {

LatestJob::LatestJob(QObject* parent) : QObject(parent), thread_([this] { run(); }) {
  connect(this, &LatestJob::delivered, this, &LatestJob::hand_over, Qt::QueuedConnection);
}

LatestJob::~LatestJob() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.reset();
    stop_running();
  }
  changed_.notify_one();
  thread_.join();
}

void LatestJob::stop_running() {
  if (running_) running_->store(true);
}

void LatestJob::start(Work work) {
  auto piece = std::make_unique<Piece>(Piece{std::move(work), std::make_shared<std::atomic<bool>>(false), ++latest_});
  busy_ = true;
  {
    const std::lock_guard lock(mutex_);
    stop_running();
    waiting_ = std::move(piece);
  }
  changed_.notify_one();
}

void LatestJob::cancel() {
  ++latest_;
  busy_ = false;
  const std::lock_guard lock(mutex_);
  stop_running();
  waiting_.reset();
}

void LatestJob::run() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || waiting_; });
    if (ends_) return;
    const std::unique_ptr<Piece> piece = std::move(waiting_);
    running_ = piece->stop;
    lock.unlock();
    perform(*piece);
    lock.lock();
    running_.reset();
  }
}

void LatestJob::perform(const Piece& piece) {
  const auto post = [this, number = piece.number](std::function<void()> what) {
    {
      const std::lock_guard lock(mutex_);
      delivered_.push_back({number, std::move(what)});
    }
    Q_EMIT delivered({});
  };
  try {
    piece.work(piece.stop, post);
  } catch (const std::exception& error) {
    post([this, why = QString::fromUtf8(error.what())] { Q_EMIT broke(why); });
  }
  post([this] {
    busy_ = false;
    Q_EMIT finished();
  });
}

void LatestJob::hand_over() {
  Delivery delivery;
  {
    const std::lock_guard lock(mutex_);
    delivery = std::move(delivered_.front());
    delivered_.pop_front();
  }
  if (delivery.number == latest_) delivery.what();
}

}  // namespace plimsoll::gui
