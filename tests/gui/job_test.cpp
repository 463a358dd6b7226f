#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "gui/jobs/latest_job.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

TEST_CASE("of pieces started one after another only the last is heard of") {
  test::start_qt();
  LatestJob job;
  std::vector<int> heard;
  for (int i = 0; i < 20; ++i) {
    job.start([&heard, i](const Stop&, const LatestJob::Deliver& deliver) { deliver([&heard, i] { heard.push_back(i); }); });
  }
  REQUIRE(test::wait_until([&] { return !job.busy(); }));
  CHECK(heard == std::vector<int>{19});
}

TEST_CASE("a new piece stops the one that runs, and the end of a job waits for it") {
  test::start_qt();
  std::atomic<bool> began{false}, stopped{false}, second{false};
  {
    LatestJob job;
    job.start([&](const Stop& stop, const LatestJob::Deliver&) {
      began = true;
      while (!stop->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      stopped = true;
    });
    REQUIRE(test::wait_until([&] { return began.load(); }));
    job.start([&](const Stop&, const LatestJob::Deliver&) { second = true; });
    REQUIRE(test::wait_until([&] { return !job.busy(); }));
    CHECK(second.load());
  }
  CHECK(stopped.load());
}

TEST_CASE("what was cancelled is not heard of") {
  test::start_qt();
  LatestJob job;
  bool heard = false;
  job.start([&](const Stop&, const LatestJob::Deliver& deliver) { deliver([&] { heard = true; }); });
  job.cancel();
  CHECK_FALSE(job.busy());
  test::wait_until([] { return false; }, 0);
  QCoreApplication::processEvents();
  CHECK_FALSE(heard);
}

TEST_CASE("an exception in the background is said on the window's thread, and the job goes on to the next piece") {
  test::start_qt();
  LatestJob job;
  QString why;
  QObject::connect(&job, &LatestJob::broke, [&](const QString& text) { why = text; });
  job.start([](const Stop&, const LatestJob::Deliver&) { throw std::runtime_error("disk full"); });
  REQUIRE(test::wait_until([&] { return !job.busy(); }));
  CHECK(why == "disk full");
  bool done = false;
  job.start([&](const Stop&, const LatestJob::Deliver& deliver) { deliver([&] { done = true; }); });
  REQUIRE(test::wait_until([&] { return !job.busy(); }));
  CHECK(done);
}
