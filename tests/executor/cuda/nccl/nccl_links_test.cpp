#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <fmt/format.h>

#include <barrier>
#include <stdexcept>
#include <thread>

#include "executor/cuda/nccl_links.h"
#include "tests/executor/cuda/emulated_device.h"
#include "tests/executor/cuda/nccl/fake_nccl.h"

namespace plimsoll::test {
namespace {

/// The library is loaded by its name, as NCCL would be; one of that name is loaded already.
void* fake() {
  static void* const library = ::dlopen(PLIMSOLL_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(::dlerror());
  return library;
}
FakeNcclCounts counts() { return reinterpret_cast<FakeNcclCountsFunction>(::dlsym(fake(), "fake_nccl_counts"))(); }
void break_groups(bool broken) { reinterpret_cast<FakeNcclBreakFunction>(::dlsym(fake(), "fake_nccl_break"))(broken); }

/// Job::tell_all among threads.
class Ranks {
 public:
  explicit Ranks(std::uint32_t count) : words_(count), all_(count) {}
  TellAll of(std::uint32_t rank) {
    return [this, rank](const std::string& mine) {
      words_[rank] = mine;
      all_.arrive_and_wait();
      std::vector<std::string> told = words_;
      all_.arrive_and_wait();  // before anybody says the next
      return told;
    };
  }

 private:
  std::vector<std::string> words_;
  std::barrier<> all_;
};

TellAll alone() {
  return [](const std::string& mine) { return std::vector{mine}; };
}

std::unique_ptr<DeviceLinks> taken(Result<std::unique_ptr<DeviceLinks>> links) {
  if (!links) throw std::runtime_error(links.error().text());
  return std::move(*links);
}

/// Opens a rank's links, and says who it is to every other rank over the third; what they said.
std::string words_from_others(const LinkPlan& plan, std::uint32_t rank, std::uint32_t count, const TellAll& tell) {
  EmulatedDevice device(kMiB);
  const StreamId stream = device.add_stream();
  const auto links = taken(open_nccl_links(device, plan, rank, count, tell));
  CHECK(device.reserved() == Bytes(0));  // what was tried with is given back
  std::string sent = fmt::format("from {}", rank);
  std::vector<std::string> got(count, std::string(sent.size(), ' '));
  std::vector<OutgoingBytes> out;
  std::vector<IncomingBytes> in;
  for (std::uint32_t other = 0; other < count; ++other) {
    if (other == rank) continue;
    out.push_back({other, std::as_bytes(std::span(sent))});
    in.push_back({other, std::as_writable_bytes(std::span(got[other]))});
  }
  links->exchange(stream, 2, out, in);
  std::string words;
  for (std::uint32_t other = 0; other < count; ++other) words += other == rank ? "" : got[other] + " ";
  return words;
}

}  // namespace

TEST_CASE("ranks connect all links that they are in, whoever else is, and bytes come to whom they are for") {
  const FakeNcclCounts before = counts();
  const LinkPlan plan{.links = {{1, 2}, {0, 1}, {0, 1, 2}, {0, 2}, {1, 2}}, .link_of_queue = {}};
  constexpr std::uint32_t kRanks = 3;
  Ranks ranks(kRanks);
  std::vector<std::string> arrived(kRanks), troubles(kRanks);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          arrived[rank] = words_from_others(plan, rank, kRanks, ranks.of(rank));
        } catch (const std::exception& trouble) {
          troubles[rank] = trouble.what();
        }
      });
    }
  }
  CHECK(troubles == std::vector<std::string>(kRanks));
  CHECK(arrived == std::vector<std::string>{"from 1 from 2 ", "from 0 from 2 ", "from 0 from 1 "});
  const FakeNcclCounts after = counts();
  CHECK(after.made - before.made == 11);
  CHECK(after.destroyed - before.destroyed == 11);
  CHECK(after.aborted == before.aborted);
  CHECK(after.outside == before.outside);
  CHECK(after.most_blocks <= 4);  // none keeps the others, or the plan's kernels, from the device
}

TEST_CASE("after a failure communicators are aborted: what waits for a rank that is gone would be awaited for ever") {
  const FakeNcclCounts before = counts();
  EmulatedDevice device(kMiB);
  const StreamId stream = device.add_stream();
  {
    const auto links = taken(open_nccl_links(device, {.links = {{0}}, .link_of_queue = {}}, 0, 1, alone()));
    break_groups(true);
    std::string bytes = "bytes", got = "     ";
    const OutgoingBytes out{0, std::as_bytes(std::span(bytes))};
    const IncomingBytes in{0, std::as_writable_bytes(std::span(got))};
    try {
      links->exchange(stream, 0, {&out, 1}, {&in, 1});
      FAIL("it did not fail");
    } catch (const EnvironmentError& error) {
      CHECK(error.error().what == "ncclGroupEnd: remote process exited or there was a network error");
      CHECK(error.error().where.starts_with("NCCL 2."));
    }
  }
  break_groups(false);
  CHECK(counts().aborted - before.aborted == 1);
  CHECK(counts().destroyed == before.destroyed);
}

TEST_CASE("what one rank lacks all hear of before any of them waits for it") {
  fake();
  EmulatedDevice device(kMiB);
  const auto links = open_nccl_links(device, {.links = {{0, 1}}, .link_of_queue = {}}, 0, 2, [](const std::string& mine) {
    return std::vector<std::string>{mine, "libnccl.so.2 is not found"};
  });
  REQUIRE(!links);
  CHECK(links.error().what == "rank 1: libnccl.so.2 is not found");
}

}  // namespace plimsoll::test
