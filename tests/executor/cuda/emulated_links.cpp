#include "tests/executor/cuda/emulated_links.h"

#include <algorithm>
#include <stdexcept>

namespace plimsoll::test {

std::uint64_t LinkHub::send(const Line& line, std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mutex_);
  Traffic& traffic = lines_[line];
  traffic.messages.emplace_back(bytes.begin(), bytes.end());
  return traffic.sent++;
}

std::uint64_t LinkHub::begin_receive(const Line& line) {
  const std::scoped_lock lock(mutex_);
  return lines_[line].begun++;
}

bool LinkHub::has_arrived(const Line& line, std::uint64_t message) {
  const std::scoped_lock lock(mutex_);
  return lines_[line].sent > message;
}

bool LinkHub::may_end_send(const Line& line, std::uint64_t message) {
  const std::scoped_lock lock(mutex_);
  return !rendezvous_ || lines_[line].begun > message;
}

std::vector<std::byte> LinkHub::take(const Line& line) {
  const std::scoped_lock lock(mutex_);
  Traffic& traffic = lines_[line];
  std::vector<std::byte> message = std::move(traffic.messages.front());
  traffic.messages.pop_front();
  return message;
}

void EmulatedLinks::exchange(StreamId stream, std::uint32_t link, std::span<const OutgoingBytes> out,
                             std::span<const IncomingBytes> in) {
  struct Group {
    std::vector<OutgoingBytes> out;
    std::vector<IncomingBytes> in;
    std::vector<std::uint64_t> sent, begun;
    bool has_begun = false;
  };
  auto group = std::make_shared<Group>(Group{{out.begin(), out.end()}, {in.begin(), in.end()}, {}, {}});
  const auto to = [this, link](const OutgoingBytes& part) { return LinkHub::Line{link, rank_, part.rank}; };
  const auto from = [this, link](const IncomingBytes& part) { return LinkHub::Line{link, part.rank, rank_}; };
  const auto ready = [this, group, to, from] {
    if (!group->has_begun) {
      for (const OutgoingBytes& part : group->out) group->sent.push_back(hub_.send(to(part), part.bytes));
      for (const IncomingBytes& part : group->in) group->begun.push_back(hub_.begin_receive(from(part)));
      group->has_begun = true;
    }
    for (std::size_t i = 0; i < group->in.size(); ++i) {
      if (!hub_.has_arrived(from(group->in[i]), group->begun[i])) return false;
    }
    for (std::size_t i = 0; i < group->out.size(); ++i) {
      if (!hub_.may_end_send(to(group->out[i]), group->sent[i])) return false;
    }
    return true;
  };
  device_.put_when_ready(stream, ready, [this, group, from] {
    for (const IncomingBytes& part : group->in) {
      const std::vector<std::byte> message = hub_.take(from(part));
      if (message.size() != part.bytes.size()) throw std::logic_error("a message of another length");
      std::copy(message.begin(), message.end(), part.bytes.begin());
    }
  });
}

}  // namespace plimsoll::test
