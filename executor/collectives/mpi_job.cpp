// The job as MPI sees it. Every call of MPI is here.
#include <fmt/format.h>
#include <mpi.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "executor/collectives/job.h"
#include "executor/collectives/own_word.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kBeat{250};
constexpr std::chrono::milliseconds kLook{50};
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;  // counts of MPI are 32 bits

class MpiJob final : public Job {
 public:
  MpiJob() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given);
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    rank_ = static_cast<std::uint32_t>(number);
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    ranks_ = static_cast<std::uint32_t>(number);
    threads_ = given == MPI_THREAD_MULTIPLE;
    MPI_Comm_dup(MPI_COMM_WORLD, &messages_);
    MPI_Comm_dup(MPI_COMM_WORLD, &words_);
  }

  /// A job that was not left has lost a rank, or this one failed: the others would wait for it.
  ~MpiJob() override {
    if (!own_.has_left() && ranks_ > 1) abort(EXIT_FAILURE);
    MPI_Comm_free(&messages_);
    MPI_Comm_free(&words_);
    MPI_Finalize();
  }

  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  [[nodiscard]] bool has_threads() const { return threads_; }
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }

  void note_instruction(std::int64_t step) override { own_.begins(step); }
  void note_pause(bool pauses) override { own_.pauses(pauses); }

  void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) override {
    std::vector<MPI_Request> requests;
    const int tag = static_cast<int>(channel);
    for (const IncomingBytes& part : in) {
      for (std::size_t at = 0; at < part.bytes.size(); at += kLongestMessage) {
        const std::size_t length = std::min(kLongestMessage, part.bytes.size() - at);
        MPI_Irecv(part.bytes.data() + at, static_cast<int>(length), MPI_BYTE, static_cast<int>(part.rank), tag, messages_,
                  &requests.emplace_back());
      }
    }
    for (const OutgoingBytes& part : out) {
      for (std::size_t at = 0; at < part.bytes.size(); at += kLongestMessage) {
        const std::size_t length = std::min(kLongestMessage, part.bytes.size() - at);
        MPI_Isend(part.bytes.data() + at, static_cast<int>(length), MPI_BYTE, static_cast<int>(part.rank), tag, messages_,
                  &requests.emplace_back());
      }
    }
    wait(requests,
         in.empty() ? (out.empty() ? -1 : static_cast<std::int64_t>(out[0].rank)) : static_cast<std::int64_t>(in[0].rank));
  }

  std::vector<std::string> tell_all(const std::string& mine) override {
    std::vector<int> lengths(ranks_), begins(ranks_);
    const int own = static_cast<int>(mine.size());
    MPI_Allgather(&own, 1, MPI_INT, lengths.data(), 1, MPI_INT, messages_);
    int sum = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      begins[i] = sum;
      sum += lengths[i];
    }
    std::string all(static_cast<std::size_t>(sum), '\0');
    MPI_Allgatherv(mine.data(), own, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR, messages_);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      words.push_back(all.substr(static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(lengths[i])));
    }
    return words;
  }

  void watch(const JobLimits& limits, std::function<void(const Error&)> on_lost) override {
    const std::vector<RankHome> homes = read_homes(tell_all(home_of_this_process()));
    watcher_ = std::jthread(
        [this, limits, homes, lost = std::move(on_lost)](const std::stop_token& stop) { look_after(limits, homes, lost, stop); });
  }

  void leave() override {
    own_.leaves();
    MPI_Barrier(words_);
    if (watcher_.joinable()) {
      watcher_.request_stop();
      watcher_.join();
    }
    MPI_Barrier(words_);
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  /// Sleeps between looks: there may be more ranks than cores. A thread that wakes up takes the core from the one that computes
  /// (become_prompt); one that yielded would have given it away for a slice of that one, milliseconds.
  void wait(std::vector<MPI_Request>& requests, std::int64_t whom) {
    using Microseconds = std::chrono::microseconds;
    int done = 0;
    for (int look = 0; done == 0; ++look) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) break;
      if (lost_) throw EnvironmentError(loss());
      if (look == 100) own_.waits_for(whom);
      if (look >= 5) std::this_thread::sleep_for(look < 200 ? Microseconds(20) : Microseconds(200));
    }
    own_.waits_for(-1);
  }

  Error loss() {
    const std::scoped_lock lock(mutex_);
    return loss_;
  }

  /// One word to and from each other rank is on its way at a time, so that one that reads no more fills no memory.
  struct Line {
    RankWord sent, arriving, heard;
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  };

  void look_after(const JobLimits& limits, const std::vector<RankHome>& homes, const std::function<void(const Error&)>& on_lost,
                  const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    RankWatch state(rank_, homes, limits, Clock::now());
    std::vector<Line> lines(ranks_);
    auto beat = Clock::now() - kBeat;
    while (!stop.stop_requested()) {
      const auto now = Clock::now();
      const bool due = now - beat >= kBeat;
      if (due) beat = now;
      state.heard(rank_, own_.now(), now);
      for (std::uint32_t other = 0; other < ranks_; ++other) {
        if (other == rank_) continue;
        if (due) speak(lines[other], other);
        if (listen(lines[other], other)) state.heard(other, lines[other].heard, now);
        if (homes[other].host == homes[rank_].host && ::kill(static_cast<pid_t>(homes[other].process), 0) != 0 && errno == ESRCH)
          state.ended(other);
      }
      const auto loss = state.loss(now);
      if (loss && !lost_) {
        {
          const std::scoped_lock lock(mutex_);
          loss_ = *loss;
        }
        lost_ = true;
        on_lost(*loss);
      }
      std::this_thread::sleep_for(kLook);
    }
    for (Line& line : lines) drop(line);
  }

  void speak(Line& line, std::uint32_t other) {
    int sent = 1;
    if (line.send != MPI_REQUEST_NULL) MPI_Test(&line.send, &sent, MPI_STATUS_IGNORE);
    if (sent == 0) return;
    line.sent = own_.now();
    MPI_Isend(&line.sent, sizeof(RankWord), MPI_BYTE, static_cast<int>(other), 0, words_, &line.send);
  }

  /// Whether a word arrived; `heard` holds it.
  bool listen(Line& line, std::uint32_t other) {
    int arrived = 0;
    if (line.receive != MPI_REQUEST_NULL) MPI_Test(&line.receive, &arrived, MPI_STATUS_IGNORE);
    if (arrived != 0) line.heard = line.arriving;
    if (line.receive == MPI_REQUEST_NULL) {  // also after one arrived
      MPI_Irecv(&line.arriving, sizeof(RankWord), MPI_BYTE, static_cast<int>(other), 0, words_, &line.receive);
    }
    return arrived != 0;
  }

  static void drop(Line& line) {
    if (line.receive != MPI_REQUEST_NULL) {
      MPI_Cancel(&line.receive);
      MPI_Wait(&line.receive, MPI_STATUS_IGNORE);
    }
    if (line.send != MPI_REQUEST_NULL) MPI_Wait(&line.send, MPI_STATUS_IGNORE);  // words are short: they left long ago
  }

  std::uint32_t rank_ = 0, ranks_ = 1;
  bool threads_ = false;
  MPI_Comm messages_ = MPI_COMM_NULL, words_ = MPI_COMM_NULL;
  OwnWord own_;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  Error loss_;
  std::jthread watcher_;
};

}  // namespace

bool has_job_support() { return true; }

Result<std::unique_ptr<Job>> join_job() {
  auto job = std::make_unique<MpiJob>();
  if (job->has_threads()) return std::unique_ptr<Job>(std::move(job));
  job->leave();
  return fail({.kind = ErrorKind::kEnvironment,
               .what = "this MPI does not let several threads call it at once",
               .where = {},
               .remedy = "build with Open MPI: apt-get install libopenmpi-dev openmpi-bin"});
}

}  // namespace plimsoll
