#pragma once

#include <QObject>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace plimsoll::gui {

/// Whether a piece of work is still wanted; asked from its thread.
using Stop = std::shared_ptr<const std::atomic<bool>>;

/// Works in the background, one piece at a time, of which only the latest counts: a new piece stops the one before and
/// takes the place of one that waits. Used from the window's thread.
class LatestJob final : public QObject {
  Q_OBJECT

 public:
  /// Runs `what` on the window's thread, unless another piece was started meanwhile.
  using Deliver = std::function<void(std::function<void()> what)>;
  /// Runs on the job's thread. Looks at `stop` often enough, and hands over what it found with `deliver`.
  using Work = std::function<void(const Stop& stop, const Deliver& deliver)>;

  explicit LatestJob(QObject* parent = nullptr);
  /// Stops what runs and waits for it.
  ~LatestJob() override;

  void start(Work work);
  /// Nothing is wanted any more.
  void cancel();
  /// Whether a piece runs or waits.
  [[nodiscard]] bool busy() const { return busy_; }

 Q_SIGNALS:
  /// The latest piece came to its end.
  void finished();
  /// The latest piece was broken off by an exception: no memory, a disk that failed.
  void broke(const QString& why);
  /// The job's thread has put something into `delivered_`.
  void delivered(QPrivateSignal);

 private:
  struct Piece {
    Work work;
    std::shared_ptr<std::atomic<bool>> stop;
    std::uint64_t number = 0;
  };

  void run();
  void perform(const Piece& piece);
  void stop_running();
  void hand_over();

  /// What the piece of that number found, for the window's thread.
  struct Delivery {
    std::uint64_t number = 0;
    std::function<void()> what;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Piece> waiting_;
  std::shared_ptr<std::atomic<bool>> running_;
  std::deque<Delivery> delivered_;
  bool ends_ = false;
  std::uint64_t latest_ = 0;  ///< of the window's thread
  bool busy_ = false;         ///< likewise
  std::thread thread_;
};

}  // namespace plimsoll::gui
