#include "executor/collectives/tcp_mesh.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/base/error.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGreeting = 0x706c696d736f6c6c;  // "plimsoll": whoever calls by mistake says something else
constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 40;
constexpr std::chrono::seconds kGreetingTime{5};
constexpr std::size_t kPiece = std::size_t{1} << 20;  // a sender lives while pieces of its message come

/// What a rank says when it comes, and before each message.
struct Hello {
  std::uint64_t greeting = kGreeting;
  std::uint32_t rank = 0, ranks = 0;
};
struct Header {
  std::uint64_t bytes = 0;
  std::uint32_t channel = 0, padding = 0;
};
/// Where a rank's own door is, as rank 0 saw it.
struct Door {
  std::uint32_t address = 0;  ///< in the network's order, as the port
  std::uint32_t port = 0;
};

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename Value>
std::span<std::byte> place_of(Value& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

[[noreturn]] void fail_at(const Rendezvous& place, std::string what, std::string remedy) {
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = std::move(what),
                          .where = fmt::format("{}:{}", place.address, place.port),
                          .remedy = std::move(remedy)});
}

void prepare(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// Reads that bring nothing for so long fail; 0: they wait.
void limit_reads(const Socket& socket, std::chrono::seconds most) {
  const timeval time{static_cast<time_t>(most.count()), 0};
  ::setsockopt(socket.handle(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
}

/// Listens on a port, or on any that is free where it is 0.
Socket listen_on(const Rendezvous& place, std::uint16_t port) {
  Socket door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(door.handle(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_ANY);
  own.sin_port = htons(port);
  const bool open = ::bind(door.handle(), reinterpret_cast<sockaddr*>(&own), sizeof(own)) == 0 &&
                    ::listen(door.handle(), static_cast<int>(place.ranks)) == 0;
  if (!open)
    fail_at(place, fmt::format("rank {} cannot listen on port {}: {}", place.rank, port, std::strerror(errno)),
            "take another MASTER_PORT that is free");
  return door;
}

/// The next who comes, or nobody until then; `from` is where it came from. One that says nothing, or half of what it should,
/// must not keep the others waiting: its reads are limited until it is known.
Socket accept_until(const Socket& door, Clock::time_point end, sockaddr_in& from) {
  pollfd wait{door.handle(), POLLIN, 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) return Socket();
  socklen_t size = sizeof(from);
  Socket come(::accept4(door.handle(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
  limit_reads(come, kGreetingTime);
  prepare(come);
  return come;
}

Socket connect_to(const sockaddr_in& where) {
  Socket way(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(way.handle(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0) return Socket();
  prepare(way);
  return way;
}

sockaddr_in address_of(const Rendezvous& place) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  if (status != 0)
    fail_at(place, fmt::format("no computer is known as '{}': {}", place.address, ::gai_strerror(status)),
            "MASTER_ADDR names the computer of rank 0");
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof(address));
  ::freeaddrinfo(found);
  return address;
}

}  // namespace

Socket::~Socket() {
  if (handle_ >= 0) ::close(handle_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

bool Socket::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(handle_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Socket::read(std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t taken = ::recv(handle_, bytes.data(), bytes.size(), 0);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(taken));
  }
  return true;
}

void Socket::shut() const {
  if (is_open()) ::shutdown(handle_, SHUT_RDWR);
}

TcpMesh::TcpMesh(const Rendezvous& place) : rank_(place.rank), peers_(place.ranks), pieces_(place.ranks) {
  for (std::uint32_t i = 0; i < place.ranks; ++i) writing_.push_back(std::make_unique<std::timed_mutex>());
  if (place.ranks == 1) return;
  if (rank_ == 0) meet_as_first(place);
  else meet(place);
}

TcpMesh::~TcpMesh() {
  for (const Socket& peer : peers_) peer.shut();
}

/// Rank 0 waits for all, and tells each where the others' doors are.
void TcpMesh::meet_as_first(const Rendezvous& place) {
  const Socket door = listen_on(place, place.port);
  const Clock::time_point end = Clock::now() + place.patience;
  std::vector<Door> doors(place.ranks);
  for (std::uint32_t come = 1; come < place.ranks;) {
    sockaddr_in from{};
    Socket peer = accept_until(door, end, from);
    if (Clock::now() >= end) {
      std::vector<std::uint32_t> missing;
      for (std::uint32_t rank = 1; rank < place.ranks; ++rank) {
        if (!peers_[rank].is_open()) missing.push_back(rank);
      }
      fail_at(place, fmt::format("after {} s ranks {} have not come", place.patience.count(), fmt::join(missing, ", ")),
              "start WORLD_SIZE processes, each with a RANK of its own and the same MASTER_ADDR and MASTER_PORT");
    }
    Hello hello;
    Door own;
    if (!peer.is_open() || !peer.read(place_of(hello)) || hello.greeting != kGreeting || !peer.read(place_of(own))) continue;
    if (hello.ranks != place.ranks || hello.rank == 0 || hello.rank >= place.ranks || peers_[hello.rank].is_open())
      fail_at(place,
              fmt::format("somebody came as rank {} of {}, where {} ranks are expected once each", hello.rank, hello.ranks,
                          place.ranks),
              "give every process a RANK of its own and all the same WORLD_SIZE");
    limit_reads(peer, {});
    doors[hello.rank] = {from.sin_addr.s_addr, own.port};
    peers_[hello.rank] = std::move(peer);
    ++come;
  }
  for (std::uint32_t rank = 1; rank < place.ranks; ++rank) {
    if (!peers_[rank].write(std::as_bytes(std::span(doors)))) fail_at(place, fmt::format("rank {} has gone again", rank), {});
  }
}

/// A rank calls rank 0, then those before it, and opens to those behind it.
void TcpMesh::meet(const Rendezvous& place) {
  const Socket door = listen_on(place, 0);
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  ::getsockname(door.handle(), reinterpret_cast<sockaddr*>(&own), &size);
  const Clock::time_point end = Clock::now() + place.patience;
  const sockaddr_in first = address_of(place);
  const Hello hello{.rank = rank_, .ranks = place.ranks};
  while (!(peers_[0] = connect_to(first)).is_open()) {
    if (Clock::now() >= end)
      fail_at(place, fmt::format("rank {} does not reach rank 0: {}", rank_, std::strerror(errno)),
              "start rank 0 on the computer that MASTER_ADDR names, and let MASTER_PORT through");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::vector<Door> doors(place.ranks);
  limit_reads(peers_[0], place.patience + kGreetingTime);
  if (!peers_[0].write(bytes_of(hello)) || !peers_[0].write(bytes_of(Door{0, own.sin_port})) ||
      !peers_[0].read(std::as_writable_bytes(std::span(doors))))
    fail_at(place, fmt::format("rank 0 has turned rank {} away, or gone", rank_), "what rank 0 says tells why");
  limit_reads(peers_[0], {});
  for (std::uint32_t rank = 1; rank < rank_; ++rank) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = doors[rank].address;
    where.sin_port = static_cast<in_port_t>(doors[rank].port);
    peers_[rank] = connect_to(where);
    if (!peers_[rank].is_open() || !peers_[rank].write(bytes_of(hello)))
      fail_at(place, fmt::format("rank {} does not reach rank {}: {}", rank_, rank, std::strerror(errno)),
              "let the computers of the job connect to each other on any port");
  }
  await_later(place, door);
}

/// All have come to rank 0 by now, however long that took.
void TcpMesh::await_later(const Rendezvous& place, const Socket& door) {
  const Clock::time_point end = Clock::now() + place.patience;
  for (std::uint32_t come = rank_ + 1; come < place.ranks;) {
    sockaddr_in from{};
    Socket peer = accept_until(door, end, from);
    Hello other;
    const bool said = peer.is_open() && peer.read(place_of(other)) && other.greeting == kGreeting;
    if (said && other.ranks == place.ranks && other.rank > rank_ && other.rank < place.ranks && !peers_[other.rank].is_open()) {
      limit_reads(peer, {});
      peers_[other.rank] = std::move(peer);
      ++come;
    } else if (Clock::now() >= end) {
      fail_at(place, fmt::format("not all ranks have reached rank {}", rank_),
              "let the computers of the job connect to each other on any port");
    }
  }
}

void TcpMesh::start(Deliver deliver, Closed closed) {
  for (std::uint32_t from = 0; from < peers_.size(); ++from) {
    if (!peers_[from].is_open()) continue;
    readers_.emplace_back([this, from, deliver, closed] {
      try {
        while (take_in(from, deliver)) continue;
      } catch (const std::bad_alloc&) {  // no room for what it sends: as if it were gone
        peers_[from].shut();
      }
      closed(from);
    });
  }
}

bool TcpMesh::take_in(std::uint32_t from, const Deliver& deliver) {
  Header header;
  if (!peers_[from].read(place_of(header)) || header.bytes >= kLongestMessage) return false;
  std::vector<std::byte> bytes(static_cast<std::size_t>(header.bytes));
  for (std::size_t done = 0; done < bytes.size(); done += kPiece) {
    if (!peers_[from].read(std::span(bytes).subspan(done, std::min(kPiece, bytes.size() - done)))) return false;
    ++pieces_[from];
  }
  deliver(from, header.channel, std::move(bytes));
  return true;
}

bool TcpMesh::write(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes) const {
  return peers_[to].write(bytes_of(Header{.bytes = bytes.size(), .channel = channel})) && peers_[to].write(bytes);
}

bool TcpMesh::send(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes) {
  const std::scoped_lock lock(*writing_[to]);
  return write(to, channel, bytes);
}

bool TcpMesh::send_soon(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes,
                        std::chrono::milliseconds patience) {
  const std::unique_lock lock(*writing_[to], patience);
  pollfd room{peers_[to].handle(), POLLOUT, 0};
  return lock.owns_lock() && ::poll(&room, 1, static_cast<int>(patience.count())) == 1 && write(to, channel, bytes);
}

}  // namespace plimsoll
