// Processes that met without MPI. Ranks are threads here, each with its own end; the last case starts the real program twice.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "executor/collectives/rendezvous.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

/// A port that nobody has now.
std::uint16_t free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(own);
  REQUIRE(::bind(probe, reinterpret_cast<sockaddr*>(&own), size) == 0);
  REQUIRE(::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0);
  ::close(probe);
  return ntohs(own.sin_port);
}

Rendezvous place(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port, int seconds) {
  return {.address = "localhost", .port = port, .rank = rank, .ranks = ranks, .patience = std::chrono::seconds(seconds)};
}

/// Runs `work` on each rank of a job; errors of joining come back by rank.
std::vector<std::string> on_each(std::uint32_t ranks, const std::function<void(Job&)>& work) {
  const std::uint16_t port = free_port();
  std::vector<std::string> errors(ranks);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto job = join_job_at(place(rank, ranks, port, 60));
      if (!job) {
        errors[rank] = job.error().text();
        return;
      }
      work(**job);
      (*job)->leave();
    });
  }
  threads.clear();
  return errors;
}

std::vector<std::byte> bytes_of(std::uint32_t from, std::uint32_t to, std::uint32_t channel, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(7 * from + 3 * to + channel + i);
  return bytes;
}

/// A connection to whoever listens there, tried for a minute.
int call(std::uint16_t port) {
  const int way = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port = htons(port);
  for (int i = 0; i < 6000 && ::connect(way, reinterpret_cast<sockaddr*>(&there), sizeof(there)) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return way;
}

/// A stranger who says something else than a rank would.
void knock(std::uint16_t port, const char* words) {
  const int way = call(port);
  (void)!::send(way, words, std::char_traits<char>::length(words), MSG_NOSIGNAL);
  ::close(way);
}

template <typename Value>
void say(int way, const Value& value) {
  (void)!::send(way, &value, sizeof(value), MSG_NOSIGNAL);
}

/// Comes as rank 1 of 2, says where it runs, and takes nothing in from then on.
int come_and_freeze(std::uint16_t port) {
  struct Words {
    std::uint64_t greeting = 0x706c696d736f6c6c;
    std::uint32_t rank = 1, ranks = 2, address = 0, port = 0;
  };
  struct Told {
    std::uint64_t bytes = 8;
    std::uint32_t channel = 0xffff'fff0, padding = 0;
    char text[8] = {'1', ' ', 'f', 'r', 'o', 'z', 'e', 'n'};
  };
  const int way = call(port);
  say(way, Words{});
  say(way, Told{});
  return way;
}

/// Rank 0 of 2 in a process of its own: sends more than a connection holds, and ends the job when the other is lost.
void send_to_frozen(std::uint16_t port) {
  auto job = join_job_at(place(0, 2, port, 60));
  if (!job) std::_Exit(1);
  (*job)->watch({.silence = std::chrono::seconds(1)}, [&](const Error&) { (*job)->abort(7); });
  const std::vector<std::byte> much(std::size_t{64} << 20);
  const OutgoingBytes out{1, much};
  (*job)->exchange(0, {&out, 1}, {});
  std::_Exit(2);
}

/// Exit code of a child, which is killed after two minutes.
int end_of(pid_t child) {
  int status = 0;
  for (int i = 0; i < 2400; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return -1;
}

}  // namespace

TEST_CASE("what every rank says all hear, by rank; what the first says too") {
  for (const std::uint32_t ranks : {1u, 2u, 5u}) {
    std::vector<std::vector<std::string>> heard(ranks);
    std::vector<std::string> first(ranks);
    const auto errors = on_each(ranks, [&](Job& job) {
      heard[job.rank()] = job.tell_all(std::string(job.rank() * 1000, 'x') + std::to_string(job.rank()));
      first[job.rank()] = job.told_by_first("from " + std::to_string(job.rank()));
    });
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      CHECK(errors[rank] == "");
      REQUIRE(heard[rank].size() == ranks);
      for (std::uint32_t of = 0; of < ranks; ++of) CHECK(heard[rank][of] == std::string(of * 1000, 'x') + std::to_string(of));
      CHECK(first[rank] == "from 0");
    }
  }
}

TEST_CASE("messages of three ranks on three channels at once arrive whole, each channel's in its order") {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::size_t kSizes[] = {1, 70'000, 0, 3'000'000};
  std::atomic<int> wrong = 0;
  on_each(kRanks, [&](Job& job) {
    std::vector<std::jthread> lanes;
    for (std::uint32_t channel = 0; channel < 3; ++channel) {
      lanes.emplace_back([&, channel] {
        for (const std::size_t size : kSizes) {
          std::vector<std::vector<std::byte>> sent(kRanks), arrived(kRanks);
          std::vector<OutgoingBytes> out;
          std::vector<IncomingBytes> in;
          for (std::uint32_t other = 0; other < kRanks; ++other) {
            if (other == job.rank()) continue;
            sent[other] = bytes_of(job.rank(), other, channel, size);
            arrived[other].resize(size);
            out.push_back({other, sent[other]});
            in.push_back({other, arrived[other]});
          }
          job.exchange(channel, out, in);
          for (std::uint32_t other = 0; other < kRanks; ++other) {
            if (other != job.rank() && arrived[other] != bytes_of(other, job.rank(), channel, size)) ++wrong;
          }
        }
      });
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a stranger at the door is sent away, and the job begins all the same") {
  const std::uint16_t port = free_port();
  std::vector<int> sums(2, 0);
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { knock(port, "GET / HTTP/1.1\r\nHost: here\r\n\r\n"); });
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300 * rank));  // the stranger is first
        auto job = join_job_at(place(rank, 2, port, 60));
        if (!job) return;
        for (const std::string& word : (*job)->tell_all(std::to_string(rank + 1))) sums[rank] += std::stoi(word);
        (*job)->leave();
      });
    }
  }
  CHECK(sums == std::vector{3, 3});
}

TEST_CASE("a rank that takes nothing in any more is lost, however much is on its way to it") {
  const std::uint16_t port = free_port();
  const pid_t first = ::fork();
  if (first == 0) send_to_frozen(port);
  const int frozen = come_and_freeze(port);
  CHECK(end_of(first) == 7);
  ::close(frozen);
}

TEST_CASE("one that stops amid its greeting is sent away, and the job begins all the same") {
  const std::uint16_t port = free_port();
  int half = -1;
  std::vector<std::string> words;
  {
    std::jthread first([&] {
      auto job = join_job_at(place(0, 2, port, 60));
      if (!job) return;
      words = (*job)->tell_all("a");
      (*job)->leave();
    });
    half = call(port);
    say(half, std::uint64_t{0x706c696d736f6c6c});
    auto job = join_job_at(place(1, 2, port, 60));
    REQUIRE(job);
    (*job)->tell_all("b");
    (*job)->leave();
  }
  ::close(half);
  CHECK(words == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a rank's patience with those behind it begins when all have come to the first") {
  const std::uint16_t port = free_port();
  std::atomic<int> joined = 0;
  {
    std::vector<std::jthread> threads;
    struct Coming {
      std::uint32_t rank;
      int milliseconds, patience;
    };
    for (const Coming& one : {Coming{0, 0, 60}, Coming{1, 0, 3}, Coming{2, 4500, 60}}) {  // when the second's 3 s are over
      threads.emplace_back([&, one] {
        std::this_thread::sleep_for(std::chrono::milliseconds(one.milliseconds));
        auto job = join_job_at(place(one.rank, 3, port, one.patience));
        if (!job) return;
        ++joined;
        (*job)->leave();
      });
    }
  }
  CHECK(joined == 3);
}

TEST_CASE("who does not come is named after the patience, and who comes twice at once") {
  const std::uint16_t port = free_port();
  const auto early = join_job_at(place(0, 3, port, 1));
  REQUIRE(!early);
  CHECK(early.error().what == "after 1 s ranks 1, 2 have not come");
  const auto alone = join_job_at(place(1, 3, port, 1));
  REQUIRE(!alone);
  CHECK(alone.error().what.find("rank 1 does not reach rank 0") == 0);
  std::string error;
  {
    std::jthread other([&] { (void)join_job_at(place(2, 2, port, 5)); });
    const auto odd = join_job_at(place(0, 2, port, 5));
    REQUIRE(!odd);
    error = odd.error().what;
  }
  CHECK(error == "somebody came as rank 2 of 2, where 2 ranks are expected once each");
}

TEST_CASE("the program on two ranks that the environment names has the losses of one") {
  const TemporaryFolder folder;
  const std::string options = " run gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32 --data " PLIMSOLL_DATA
                              "/texts/us-constitution.txt --batch 2 --seq 32 --matmul onednn --cpu-cores 1 --device-memory 64MiB "
                              "--ram 64MiB --steps 3 --warm-up-steps 0 --json -q";
  const auto answer = [&](const std::string& command) {
    const test::ChildEnd end = test::run_child({"/bin/sh", "-c", command}, folder.path());
    INFO(end.err);
    REQUIRE(end.code == 0);
    return nlohmann::json::parse(end.out);
  };
  const std::string program = PLIMSOLL_PROGRAM;
  const auto one = answer(program + options + " --accumulate 2 --strategy resident -o one.plimsoll");
  const std::string meeting = "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(free_port()) + "; ";
  const std::string both = program + options + " --pp 2 --micro-batches 2";
  const auto two = answer(meeting + "RANK=1 " + both + " > other.json & RANK=0 " + both);
  CHECK(two["losses"] == one["losses"]);
  CHECK(two["ranks"].size() == 2);
}

TEST_CASE("a job of another size is told of the command of the launcher that started it") {
  const TemporaryFolder folder;
  const std::pair<std::string, std::string> launchers[] = {
      {"", "  RANK=0..3 WORLD_SIZE=4 plimsoll run ..."},
      {"TORCHELASTIC_RUN_ID=none LOCAL_WORLD_SIZE=2 ", "  torchrun --no-python --nproc-per-node 4 plimsoll run ..."},
      {"TORCHELASTIC_RUN_ID=none LOCAL_WORLD_SIZE=1 ", "  RANK=0..3 WORLD_SIZE=4 plimsoll run ..."}};
  const std::string both = PLIMSOLL_PROGRAM " run any --data any --pp 4";
  for (const auto& [words, told] : launchers) {
    const std::string meeting = words + "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(free_port()) + " ";
    const std::string command = meeting + "RANK=1 " + both + " 2> other & " + meeting + "RANK=0 " + both;
    const test::ChildEnd end = test::run_child({"/bin/sh", "-c", command}, folder.path());
    INFO(end.err);
    CHECK(end.code == 2);
    CHECK(end.err.find(told) != std::string::npos);
  }
}

}  // namespace plimsoll
