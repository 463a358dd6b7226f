// A job whose processes met by TCP: started by torchrun, or one by one.
#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "executor/collectives/own_word.h"
#include "executor/collectives/rendezvous.h"
#include "executor/collectives/tcp_mesh.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kBeat{250};
constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::milliseconds kLastWord{100};  // to each rank, which may take nothing in any more

// Channels of the job's own, beyond any plan's.
constexpr std::uint32_t kTold = 0xffff'fff0, kWord = 0xffff'fff1, kEnd = 0xffff'fff2;

class TcpJob final : public Job {
 public:
  explicit TcpJob(const Rendezvous& place)
      : rank_(place.rank), ranks_(place.ranks), words_(ranks_), gone_(ranks_, false), mesh_(place) {
    const auto deliver = [this](std::uint32_t from, std::uint32_t channel, std::vector<std::byte> bytes) {
      take_in(from, channel, std::move(bytes));
    };
    mesh_.start(deliver, [this](std::uint32_t from) { note_gone(from); });
  }

  /// A job that was not left has lost a rank, or this one failed: the others would wait for it.
  ~TcpJob() override {
    if (!own_.has_left() && ranks_ > 1) abort(EXIT_FAILURE);
  }
  TcpJob(const TcpJob&) = delete;
  TcpJob& operator=(const TcpJob&) = delete;

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }

  void note_instruction(std::int64_t step) override { own_.begins(step); }
  void note_pause(bool pauses) override { own_.pauses(pauses); }

  void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) override {
    for (const OutgoingBytes& part : out) mesh_.send(part.rank, channel, part.bytes);
    for (const IncomingBytes& part : in) {
      const std::vector<std::byte> message = next_of(part.rank, channel);
      if (message.size() != part.bytes.size()) throw EnvironmentError(wrong_length(part, message.size()));
      std::memcpy(part.bytes.data(), message.data(), message.size());
    }
  }

  std::vector<std::string> tell_all(const std::string& mine) override {
    std::vector<std::string> words(ranks_);
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other != rank_) mesh_.send(other, kTold, std::as_bytes(std::span(mine)));
    }
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other == rank_) continue;
      const std::vector<std::byte> word = next_of(other, kTold);
      words[other].assign(reinterpret_cast<const char*>(word.data()), word.size());
    }
    words[rank_] = mine;
    return words;
  }

  void watch(const JobLimits& limits, std::function<void(const Error&)> on_lost) override {
    const std::vector<RankHome> homes = read_homes(tell_all(home_of_this_process()));
    watcher_ = std::jthread(
        [this, limits, homes, lost = std::move(on_lost)](const std::stop_token& stop) { look_after(limits, homes, lost, stop); });
  }

  void leave() override {
    tell_all({});
    own_.leaves();
    if (watcher_.joinable()) {
      watcher_.request_stop();
      watcher_.join();
    }
    send_word();
    tell_all({});
  }

  [[noreturn]] void abort(int exit_code) override {
    const auto code = static_cast<std::int32_t>(exit_code);
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other != rank_) mesh_.send_soon(other, kEnd, std::as_bytes(std::span(&code, 1)), kLastWord);
    }
    std::_Exit(exit_code);
  }

 private:
  using Line = std::pair<std::uint32_t, std::uint32_t>;  ///< from, channel
  struct LastWord {
    RankWord word;
    bool is_new = false;
    std::uint64_t pieces = 0;  ///< of messages, when it was last looked at
  };

  void take_in(std::uint32_t from, std::uint32_t channel, std::vector<std::byte> bytes) {
    if (channel == kEnd && bytes.size() == sizeof(std::int32_t)) {
      std::int32_t code = 0;
      std::memcpy(&code, bytes.data(), sizeof(code));
      std::_Exit(code);
    }
    const std::scoped_lock lock(mutex_);
    if (channel == kWord && bytes.size() == sizeof(RankWord)) {
      std::memcpy(&words_[from].word, bytes.data(), sizeof(RankWord));
      words_[from].is_new = true;
    } else {
      arrived_[{from, channel}].push_back(std::move(bytes));
    }
    came_.notify_all();
  }

  void note_gone(std::uint32_t from) {
    const std::scoped_lock lock(mutex_);
    gone_[from] = true;
    came_.notify_all();
  }

  std::vector<std::byte> next_of(std::uint32_t from, std::uint32_t channel) {
    std::unique_lock lock(mutex_);
    std::deque<std::vector<std::byte>>& line = arrived_[{from, channel}];
    own_.waits_for(from);
    came_.wait(lock, [&] { return !line.empty() || loss_ || (gone_[from] && !watcher_.joinable()); });
    own_.waits_for(-1);
    if (line.empty()) throw EnvironmentError(loss_ ? *loss_ : ended_early(from));
    std::vector<std::byte> message = std::move(line.front());
    line.pop_front();
    return message;
  }

  static Error ended_early(std::uint32_t rank) {
    return {.kind = ErrorKind::kEnvironment, .what = fmt::format("rank {} ended before the job began", rank), .where = {},
            .remedy = "what it printed says why"};
  }
  static Error wrong_length(const IncomingBytes& part, std::size_t bytes) {
    return {.kind = ErrorKind::kEnvironment,
            .what = fmt::format("rank {} sent {} bytes where {} were expected", part.rank, bytes, part.bytes.size()),
            .where = {},
            .remedy = "start the same program with the same options on all ranks"};
  }

  void look_after(const JobLimits& limits, const std::vector<RankHome>& homes, const std::function<void(const Error&)>& on_lost,
                  const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    RankWatch state(rank_, homes, limits, Clock::now());
    auto beat = Clock::now() - kBeat;
    bool reported = false;
    while (!stop.stop_requested()) {
      const auto now = Clock::now();
      if (now - beat >= kBeat) {
        beat = now;
        send_word();
      }
      state.heard(rank_, own_.now(), now);
      hear(state, now);
      if (const auto loss = state.loss(now); loss && !reported) {
        reported = true;
        report(*loss, on_lost);
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  void hear(RankWatch& state, std::chrono::steady_clock::time_point now) {
    const std::scoped_lock lock(mutex_);
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      const std::uint64_t pieces = mesh_.pieces(other);
      LastWord& of = words_[other];
      if (of.is_new || pieces != of.pieces) state.heard(other, of.word, now);  // no word comes amid a long message
      of = {of.word, false, pieces};
      if (gone_[other]) state.ended(other);
    }
  }

  void report(const Error& loss, const std::function<void(const Error&)>& on_lost) {
    {
      const std::scoped_lock lock(mutex_);
      loss_ = loss;
      came_.notify_all();
    }
    on_lost(loss);
  }

  /// A rank that takes nothing in must not keep this from the others, nor the watch from looking.
  void send_word() {
    const RankWord word = own_.now();
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other != rank_) mesh_.send_soon(other, kWord, std::as_bytes(std::span(&word, 1)), {});
    }
  }

  std::uint32_t rank_, ranks_;
  OwnWord own_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable came_;
  std::map<Line, std::deque<std::vector<std::byte>>> arrived_;
  std::vector<LastWord> words_;
  std::vector<bool> gone_;
  std::optional<Error> loss_;
  TcpMesh mesh_;
  std::jthread watcher_;
};

}  // namespace

Result<std::unique_ptr<Job>> join_job_at(const Rendezvous& place) {
  try {
    return std::unique_ptr<Job>(std::make_unique<TcpJob>(place));
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
