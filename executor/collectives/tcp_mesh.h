#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "executor/collectives/rendezvous.h"

namespace plimsoll {

/// An open socket, closed at its end.
class Socket {
 public:
  explicit Socket(int handle = -1) : handle_(handle) {}
  ~Socket();
  Socket(Socket&& other) noexcept : handle_(other.handle_) { other.handle_ = -1; }
  Socket& operator=(Socket&& other) noexcept;

  [[nodiscard]] int handle() const { return handle_; }
  [[nodiscard]] bool is_open() const { return handle_ >= 0; }
  /// All of it; false: the other side is gone.
  [[nodiscard]] bool write(std::span<const std::byte> bytes) const;
  [[nodiscard]] bool read(std::span<std::byte> bytes) const;
  /// Both sides' reads end.
  void shut() const;

 private:
  int handle_;
};

/// A connection between each two processes of a job. A thread a peer takes in what comes, so no sender waits for a receiver.
class TcpMesh {
 public:
  using Deliver = std::function<void(std::uint32_t from, std::uint32_t channel, std::vector<std::byte> bytes)>;
  using Closed = std::function<void(std::uint32_t from)>;

  /// Meets all others. Throws EnvironmentError that says who is missing.
  explicit TcpMesh(const Rendezvous& place);
  ~TcpMesh();
  TcpMesh(const TcpMesh&) = delete;
  TcpMesh& operator=(const TcpMesh&) = delete;

  /// From now on what arrives is delivered, from a thread a peer, in the order in which that peer sent it.
  void start(Deliver deliver, Closed closed);
  /// False: that rank is gone. Any thread may call.
  bool send(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes);
  /// The same of a few bytes, which do not wait longer for a message that is on its way, or for a rank that takes nothing in.
  /// False too when they were not sent.
  bool send_soon(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes, std::chrono::milliseconds patience);
  /// Pieces of messages that have come from that rank: while their number grows it lives.
  [[nodiscard]] std::uint64_t pieces(std::uint32_t from) const { return pieces_[from]; }

 private:
  void meet_as_first(const Rendezvous& place);
  void meet(const Rendezvous& place);
  void await_later(const Rendezvous& place, const Socket& door);
  /// One message; false: no more come.
  bool take_in(std::uint32_t from, const Deliver& deliver);
  [[nodiscard]] bool write(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes) const;

  std::uint32_t rank_;
  std::vector<Socket> peers_;  ///< by rank; the own one is not open
  std::vector<std::atomic<std::uint64_t>> pieces_;
  std::vector<std::unique_ptr<std::timed_mutex>> writing_;
  std::vector<std::jthread> readers_;
};

}  // namespace plimsoll
