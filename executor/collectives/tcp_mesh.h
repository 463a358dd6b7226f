#pragma once

#include <cstddef>
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

 private:
  void meet_as_first(const Rendezvous& place);
  void meet(const Rendezvous& place);

  std::uint32_t rank_;
  std::vector<Socket> peers_;  ///< by rank; the own one is not open
  std::vector<std::unique_ptr<std::mutex>> writing_;
  std::vector<std::jthread> readers_;
};

}  // namespace plimsoll
