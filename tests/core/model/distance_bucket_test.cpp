#include "core/model/distance_bucket.h"

#include <catch2/catch.hpp>

namespace plimsoll {

TEST_CASE("an encoder's near distances have a bucket each in either direction, farther ones share by their logarithm") {
  // Of 32 buckets 16 are a direction's, 8 of them near. Beyond, 8 + ⌊8 · ln(d / 8) / ln(128 / 8)⌋: d = 11 gives 8 +
  // ⌊0.92⌋, 12 gives 8 + ⌊1.17⌋, 16 exactly 8 + 2, 127 gives 8 + ⌊7.98⌋, and 15 is the last.
  const DistanceBuckets buckets{.count = 32};
  for (std::int64_t distance = 0; distance < 8; ++distance) CHECK(buckets.of(-distance) == distance);
  CHECK(buckets.of(-8) == 8);
  CHECK(buckets.of(-11) == 8);
  CHECK(buckets.of(-12) == 9);
  CHECK(buckets.of(-16) == 10);
  CHECK(buckets.of(-127) == 15);
  CHECK(buckets.of(-100000) == 15);
  for (std::int64_t distance = 1; distance < 200; ++distance) CHECK(buckets.of(distance) == 16 + buckets.of(-distance));
}

TEST_CASE("a decoder has all buckets for what was before, and the first for what it never sees") {
  // 16 of 32 are near; beyond, 16 + ⌊16 · ln(d / 16) / ln 8⌋: 18 gives 16 + ⌊0.91⌋, 19 gives 16 + ⌊1.32⌋.
  const DistanceBuckets buckets{.count = 32, .causal = true};
  for (std::int64_t distance = 0; distance <= 16; ++distance) CHECK(buckets.of(-distance) == distance);
  CHECK(buckets.of(-18) == 16);
  CHECK(buckets.of(-19) == 17);
  CHECK(buckets.of(-127) == 31);
  CHECK(buckets.of(-128) == 31);
  CHECK(buckets.of(5) == 0);
}

TEST_CASE("every number of buckets that a model may have, odd ones too, is enough for all distances") {
  for (std::int64_t count = kFewestBuckets; count <= kMostBuckets; ++count) {
    for (const bool causal : {false, true}) {
      const DistanceBuckets buckets{.count = count, .causal = causal};
      std::int64_t before = 0;
      for (std::int64_t distance = 0; distance < 600; ++distance) {
        const std::int64_t bucket = buckets.of(-distance), ahead = buckets.of(distance);
        if (bucket < before || bucket >= count || ahead < 0 || ahead >= count)
          FAIL(count << " buckets, distance " << distance);
        before = bucket;
      }
    }
  }
}

}  // namespace plimsoll
