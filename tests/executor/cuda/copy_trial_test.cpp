#include "session/probe/copy_trial.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "session/probe/adam_load.h"
#include "tests/executor/cuda/emulated_device.h"

using namespace plimsoll;

TEST_CASE("a trial of copies finds nine rates and leaves nothing behind") {
  test::EmulatedDevice device(8 * kMiB);
  const CopyRates rates = try_copies(device, 1, {.piece = kMiB, .batch_seconds = 0.02, .rounds = 2});
  for (const double rate : {rates.up, rates.down, rates.adam, rates.up_beside_down, rates.down_beside_up, rates.up_beside_adam,
                            rates.adam_beside_up, rates.down_beside_adam, rates.adam_beside_down})
    CHECK(rate > 0);
  CHECK(device.reserved() == Bytes(0));
  CHECK(device.pinned() == 0);
  CHECK(device.blocking_copies() == 0);
}

TEST_CASE("a trial of copies whose memory cannot be pinned gives the device's back") {
  struct Unpinnable final : test::EmulatedDevice {
    using EmulatedDevice::EmulatedDevice;
    void pin(std::span<std::byte>) override { throw EnvironmentError({.kind = ErrorKind::kEnvironment, .what = "no more may be locked", .where = {}, .remedy = {}}); }
  } device(8 * kMiB);
  CHECK_THROWS_AS(try_copies(device, 1, {.piece = kMiB}), EnvironmentError);
  CHECK(device.reserved() == Bytes(0));
}

TEST_CASE("a trial of copies that finds no room on the device pins nothing") {
  test::EmulatedDevice device(kMiB);
  CHECK_THROWS_AS(try_copies(device, 1, {.piece = kMiB}), DeviceFull);
  CHECK(device.pinned() == 0);
}

TEST_CASE("the CPU's Adam works between start and stop, on more threads or one, over as little memory as it is given") {
  for (const std::size_t threads : {1, 3}) {
    for (const Bytes most : {64 * kKiB, 40 * kMiB}) {
      AdamLoad adam(threads, most);
      CHECK(adam.stop() == 0);
      for (int again = 0; again < 2; ++again) {
        adam.start();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // many updates, of which others on this computer may hold some up
        const double rate = adam.stop();
        CHECK(rate > 1e8);  // bytes a second
        CHECK(rate < 1e12);
        CHECK(adam.stop() == rate);
      }
    }
  }
}
