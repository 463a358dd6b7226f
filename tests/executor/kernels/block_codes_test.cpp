#include "executor/kernels/block_codes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "executor/kernels/quantized_map.h"

namespace plimsoll::test {
namespace {

constexpr BaseStorage kStorages[] = {BaseStorage::kBf16, BaseStorage::kInt8, BaseStorage::kNf4};

std::vector<float> normal_numbers(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02F);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<std::byte> encoded(BaseStorage storage, const std::vector<float>& values) {
  std::vector<std::byte> place(
      static_cast<std::size_t>(bytes_in(storage, static_cast<std::int64_t>(values.size()), DType::kFp32).count));
  encode(storage, values, place);
  return place;
}

std::vector<float> round_trip(BaseStorage storage, const std::vector<float>& values) {
  const std::vector<std::byte> place = encoded(storage, values);
  std::vector<float> back(values.size());
  decode(storage, place, static_cast<std::int64_t>(values.size()), 0, back);
  return back;
}

float float_at(const std::vector<std::byte>& bytes, std::size_t at) {
  float value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

/// The point below which the share `p` of N(0, 1) lies.
double quantile(double p) {
  double low = -8, high = 8;
  for (int i = 0; i < 200; ++i) (0.5 * std::erfc(-(low + high) / 2 / std::sqrt(2.0)) < p ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

}  // namespace

TEST_CASE("the values of nf4 are the quantiles of N(0, 1) that the paper takes, over the largest") {
  // Appendix E: 8 quantiles from the middle up, 7 down, 0 between them; the outermost share is 1 − (1/32 + 1/30) / 2.
  const double outermost = 1 - (1.0 / 32 + 1.0 / 30) / 2;
  std::vector<double> values{0};
  for (int i = 0; i < 8; ++i) values.push_back(quantile(outermost + (0.5 - outermost) * i / 8));
  for (int i = 0; i < 7; ++i) values.push_back(-quantile(outermost + (0.5 - outermost) * i / 7));
  std::sort(values.begin(), values.end());
  REQUIRE(values.size() == kNf4Values.size());
  const double largest = values.back();
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(static_cast<double>(kNf4Values[i]) == Approx(values[i] / largest).margin(1e-7));
}

TEST_CASE("a matrix takes 16, 8.125 and 4.127 bits an element") {
  constexpr std::int64_t kElements = 4096 * 4096;
  CHECK(bytes_in(BaseStorage::kBf16, kElements, DType::kFp32) == Bytes(2 * kElements));
  CHECK(bytes_in(BaseStorage::kInt8, kElements, DType::kFp32) == Bytes(kElements + kElements / 256 * 4));
  // Two codes a byte, a scale for 64, a factor for 64 · 256, and the mean.
  CHECK(bytes_in(BaseStorage::kNf4, kElements, DType::kFp32) ==
        Bytes(kElements / 2 + kElements / 64 + kElements / (64 * 256) * 4 + 4));
  CHECK(bytes_in(BaseStorage::kCompute, kElements, DType::kFp64) == Bytes(8 * kElements));
}

TEST_CASE("nf4 encodes as the paper says, step by step") {
  const std::vector<float> values = normal_numbers(64 * 700, 1);  // 700 scales: two whole blocks of 256 and a part
  const std::vector<float> back = round_trip(BaseStorage::kNf4, values);
  std::vector<double> scales;
  double mean = 0;
  for (std::size_t block = 0; block < 700; ++block) {
    double most = 0;
    for (std::size_t i = 0; i < 64; ++i) most = std::max(most, std::abs(static_cast<double>(values[64 * block + i])));
    scales.push_back(most);
    mean += most / 700;
  }
  const auto nearest = [](const auto& table, double wanted) {
    return static_cast<double>(*std::min_element(table.begin(), table.end(), [&](float a, float b) {
      return std::abs(static_cast<double>(a) - wanted) < std::abs(static_cast<double>(b) - wanted);
    }));
  };
  for (std::size_t block = 0; block < 700; ++block) {
    double factor = 0;
    for (std::size_t i = block / 256 * 256; i < std::min<std::size_t>(700, block / 256 * 256 + 256); ++i)
      factor = std::max(factor, std::abs(scales[i] - mean));
    const double scale = mean + factor * nearest(quantized_map(true).values, (scales[block] - mean) / factor);
    for (std::size_t i = 64 * block; i < 64 * block + 64; ++i) {
      const double expected = scale * nearest(kNf4Values, static_cast<double>(values[i]) / scales[block]);
      CHECK(static_cast<double>(back[i]) == Approx(expected).epsilon(1e-5).margin(1e-9));
    }
  }
}

TEST_CASE("eight bits err by at most half a step of a block's largest element, four by half their widest gap") {
  const std::vector<float> values = normal_numbers(256 * 40, 2);
  const std::vector<float> eight = round_trip(BaseStorage::kInt8, values), four = round_trip(BaseStorage::kNf4, values);
  for (std::size_t block = 0; block < values.size(); block += 256) {
    float most = 0;
    for (std::size_t i = block; i < block + 256; ++i) most = std::max(most, std::abs(values[i]));
    for (std::size_t i = block; i < block + 256; ++i) {
      CHECK(std::abs(eight[i] - values[i]) <= most / 127 * 0.501F);
      CHECK(std::abs(four[i] - values[i]) <= most * 0.17F);  // −1 … −0.696, and what the scale's own code adds
    }
  }
}

TEST_CASE("zeros and a block's largest element keep their meaning") {
  for (const BaseStorage storage : {BaseStorage::kInt8, BaseStorage::kNf4}) {
    std::vector<float> values(512, 0.0F);
    CHECK(round_trip(storage, values) == values);
    values[300] = -0.75F;
    const std::vector<float> back = round_trip(storage, values);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(back[i] == Approx(values[i]).epsilon(0.01));
  }
}

TEST_CASE("bf16 is exact for what a bf16 checkpoint holds") {
  std::vector<float> values = normal_numbers(1000, 3);
  values = round_trip(BaseStorage::kBf16, values);
  CHECK(round_trip(BaseStorage::kBf16, values) == values);
}

TEST_CASE("a part of a matrix decodes as the whole does, in fp32 and in fp64, at every size") {
  for (const BaseStorage storage : kStorages) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{63}, std::size_t{65}, std::size_t{257}, std::size_t{33000}}) {
      const std::vector<float> values = normal_numbers(count, 4);
      const std::vector<std::byte> place = encoded(storage, values);
      const std::vector<float> whole = round_trip(storage, values);
      for (std::size_t first = 0; first < count; first += 512) {
        std::vector<double> part(std::min<std::size_t>(300, count - first));
        decode(storage, place, static_cast<std::int64_t>(count), static_cast<std::int64_t>(first), part);
        for (std::size_t i = 0; i < part.size(); ++i) REQUIRE(part[i] == static_cast<double>(whole[first + i]));
      }
    }
  }
}

TEST_CASE("of two nf4 codes the first is in the upper half of its byte") {
  std::vector<float> values(64, 0.0F);
  values[0] = 1;   // code 15
  values[1] = -1;  // code 0
  const std::vector<std::byte> place = encoded(BaseStorage::kNf4, values);
  const BlockLayout at = block_layout(BaseStorage::kNf4, 64);
  CHECK(place[static_cast<std::size_t>(at.codes)] == std::byte{0xf0});
  CHECK(float_at(place, static_cast<std::size_t>(at.mean)) == 1.0F);
}

}  // namespace plimsoll::test
