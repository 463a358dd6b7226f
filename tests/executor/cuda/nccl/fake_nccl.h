#pragma once

/// What a test asks of the fake, by dlsym: how many communicators were made and how they went, and how many calls of a group's
/// were made outside of one.
struct FakeNcclCounts {
  int made = 0, destroyed = 0, aborted = 0, outside = 0, most_blocks = 0;
};
using FakeNcclCountsFunction = FakeNcclCounts (*)();
/// From now on the end of every group fails.
using FakeNcclBreakFunction = void (*)(bool broken);
