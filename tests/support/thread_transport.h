#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "executor/collectives/transport.h"

namespace plimsoll::test {

/// Ranks that are threads of one process. A message waits in memory until it is fetched; with `rendezvous` its sender waits too.
class ThreadHub {
 public:
  explicit ThreadHub(std::uint32_t ranks, bool rendezvous = false) : rendezvous_(rendezvous) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) ends_.push_back(std::make_unique<End>(*this, rank, ranks));
  }
  [[nodiscard]] Transport& at(std::uint32_t rank) { return *ends_[rank]; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< from, to, channel

  class End final : public Transport {
   public:
    End(ThreadHub& hub, std::uint32_t rank, std::uint32_t ranks) : hub_(hub), rank_(rank), ranks_(ranks) {}
    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
    void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) override {
      for (const OutgoingBytes& part : out) hub_.put({rank_, part.rank, channel}, part.bytes);
      for (const IncomingBytes& part : in) hub_.fetch({part.rank, rank_, channel}, part.bytes);
      for (const OutgoingBytes& part : out) hub_.wait_fetched({rank_, part.rank, channel});
    }

   private:
    ThreadHub& hub_;
    std::uint32_t rank_, ranks_;
  };

  void put(const Key& key, std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    messages_[key].emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  void fetch(const Key& key, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !messages_[key].empty(); });
    const std::vector<std::byte>& message = messages_[key].front();
    std::copy(message.begin(), message.end(), bytes.begin());
    messages_[key].pop_front();
    arrived_.notify_all();
  }
  void wait_fetched(const Key& key) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !rendezvous_ || messages_[key].empty(); });
  }

  bool rendezvous_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Key, std::deque<std::vector<std::byte>>> messages_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace plimsoll::test
