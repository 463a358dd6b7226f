#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "executor/tiers/block_io.h"

namespace plimsoll {

/// Calls `before` ahead of every transfer of another way; it may sleep or throw.
class TroubleIo final : public BlockIo {
 public:
  using Before = std::function<void(const char* verb, Bytes offset, Bytes bytes)>;

  TroubleIo(std::unique_ptr<BlockIo> inner, Before before) : inner_(std::move(inner)), before_(std::move(before)) {}

  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override {
    before_("reading", offset, Bytes(static_cast<std::int64_t>(into.size())));
    inner_->read(offset, into, look);
  }
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override {
    before_("writing", offset, Bytes(static_cast<std::int64_t>(from.size())));
    inner_->write(offset, from, look);
  }
  [[nodiscard]] std::string name() const override { return inner_->name(); }

  /// For DriveOptions::interpose.
  static std::function<std::unique_ptr<BlockIo>(std::unique_ptr<BlockIo>)> around(Before before) {
    return [before = std::move(before)](std::unique_ptr<BlockIo> inner) {
      return std::make_unique<TroubleIo>(std::move(inner), before);
    };
  }

  /// A drive that serves one transfer after another and takes `each` for every one.
  static Before slow(std::chrono::milliseconds each) {
    return [each, one = std::make_shared<std::mutex>()](const char*, Bytes, Bytes) {
      const std::scoped_lock lock(*one);
      std::this_thread::sleep_for(each);
    };
  }

  /// Fails as the kernel would, once `count`, which every transfer counts down, has reached zero.
  static Before failing_after(std::shared_ptr<std::atomic<int>> count, int problem) {
    return [=](const char* verb, Bytes offset, Bytes bytes) {
      if (count->fetch_sub(1) > 0) return;
      throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                              .what = fmt::format("{} {} bytes at {} of the SSD data failed: {}", verb, bytes.count,
                                                  offset.count, std::strerror(problem)),
                              .where = {},
                              .remedy = "check the drive"});
    };
  }

 private:
  std::unique_ptr<BlockIo> inner_;
  Before before_;
};

/// A drive of memory, which no other program can slow down.
class MemoryIo final : public BlockIo {
 public:
  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override {
    const std::scoped_lock lock(mutex_);
    std::memcpy(into.data(), place(offset, into.size()), into.size());
    if (look) look(offset, into);
  }
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override {
    const std::scoped_lock lock(mutex_);
    std::memcpy(place(offset, from.size()), from.data(), from.size());
    if (look) look(offset, from);
  }
  [[nodiscard]] std::string name() const override { return "memory"; }

  /// For DriveOptions::interpose.
  static std::unique_ptr<BlockIo> instead_of(const std::unique_ptr<BlockIo>&) { return std::make_unique<MemoryIo>(); }

 private:
  std::byte* place(Bytes offset, std::size_t bytes) {
    const auto begin = static_cast<std::size_t>(offset.count);
    if (held_.size() < begin + bytes) held_.resize(begin + bytes);
    return held_.data() + begin;
  }

  std::mutex mutex_;
  std::vector<std::byte> held_;
};

}  // namespace plimsoll
