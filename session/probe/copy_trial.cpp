#include "session/probe/copy_trial.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "executor/cpu/arena.h"
#include "formats/machines/spread.h"
#include "session/probe/adam_load.h"

namespace plimsoll {
namespace {

enum class Way : std::uint8_t { kUp, kDown };
Way other(Way way) { return way == Way::kUp ? Way::kDown : Way::kUp; }

constexpr std::int64_t kMostPieces = 256;

/// A piece of the device's memory and one of pinned memory for each way, and its stream.
class Pieces {
 public:
  Pieces(Device& device, Bytes piece) : device_(device), piece_(piece), host_(2 * piece), memory_(device.reserve(2 * piece)) {
    std::fill_n(host_.data(), (2 * piece).count, std::byte{1});
    try {
      device.pin(pages());
      pinned_ = true;
      for (StreamId& stream : streams_) stream = device.add_stream();
      begin_ = device.add_event();
      end_ = device.add_event();
    } catch (const EnvironmentError&) {
      let_go();
      throw;
    }
  }
  ~Pieces() { let_go(); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// Seconds of `count` copies that way; the other one is kept busy as long, unless it is half as fast again.
  double seconds(Way way, bool other_busy, std::int64_t count) {
    for (std::int64_t i = 0; other_busy && i < 2 + count / 2; ++i) copy(other(way));
    device_.record(stream(way), begin_);
    for (std::int64_t i = 0; i < count; ++i) {
      copy(way);
      if (other_busy) copy(other(way));
    }
    device_.record(stream(way), end_);
    device_.synchronize();
    return to_seconds(device_.between(begin_, end_));
  }

 private:
  [[nodiscard]] StreamId stream(Way way) const { return streams_[static_cast<std::size_t>(way)]; }
  [[nodiscard]] std::span<std::byte> pages() const { return {host_.data(), static_cast<std::size_t>(host_.size().count)}; }
  /// A device that failed keeps nothing.
  void let_go() {
    try {
      device_.synchronize();
      if (pinned_) device_.unpin(pages());
      device_.release(memory_);
    } catch (const EnvironmentError&) {
    }
  }
  void copy(Way way) {
    const std::int64_t at = way == Way::kUp ? 0 : piece_.count;
    std::byte *const here = host_.data() + at, *const there = memory_ + at;
    device_.copy(stream(way), way == Way::kUp ? there : here, way == Way::kUp ? here : there, piece_);
  }

  Device& device_;
  Bytes piece_;
  HostArena host_;
  std::byte* memory_;
  bool pinned_ = false;
  std::array<StreamId, 2> streams_;
  DeviceEventId begin_, end_;
};

class Trial {
 public:
  Trial(Device& device, std::size_t threads, const CopyTrialOptions& options)
      : pieces_(device, options.piece), adam_(threads, options.memory), options_(options) {
    for (const Way way : {Way::kUp, Way::kDown}) {
      pieces_.seconds(way, false, 1);
      const double one = std::max(1e-9, pieces_.seconds(way, false, 1));
      count_ = std::max(count_, static_cast<std::int64_t>(std::min<double>(kMostPieces, std::ceil(options.batch_seconds / one))));
    }
  }

  CopyRates round() {
    CopyRates found{.up = rate(Way::kUp, false), .down = rate(Way::kDown, false)};
    found.up_beside_down = rate(Way::kUp, true);
    found.down_beside_up = rate(Way::kDown, true);
    adam_.start();
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.batch_seconds));
    found.adam = adam_.stop();
    adam_.start();
    found.up_beside_adam = rate(Way::kUp, false);
    found.adam_beside_up = adam_.stop();
    adam_.start();
    found.down_beside_adam = rate(Way::kDown, false);
    found.adam_beside_down = adam_.stop();
    return found;
  }

 private:
  double rate(Way way, bool other_busy) {
    return static_cast<double>((options_.piece * count_).count) / std::max(1e-9, pieces_.seconds(way, other_busy, count_));
  }

  Pieces pieces_;
  AdamLoad adam_;
  CopyTrialOptions options_;
  std::int64_t count_ = 1;
};

}  // namespace

CopyRates try_copies(Device& device, std::size_t threads, const CopyTrialOptions& options) {
  Trial trial(device, threads, options);
  std::vector<CopyRates> rounds;
  for (int i = 0; i < options.rounds; ++i) rounds.push_back(trial.round());
  CopyRates medians;
  for (double CopyRates::* const each :
       {&CopyRates::up, &CopyRates::down, &CopyRates::adam, &CopyRates::up_beside_down, &CopyRates::down_beside_up,
        &CopyRates::up_beside_adam, &CopyRates::adam_beside_up, &CopyRates::down_beside_adam, &CopyRates::adam_beside_down}) {
    std::vector<double> found;
    for (const CopyRates& round : rounds) found.push_back(round.*each);
    medians.*each = spread_of(std::move(found)).median;
  }
  return medians;
}

}  // namespace plimsoll
