#include "executor/kernels/block_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "executor/kernels/quantized_map.h"
#include "formats/models/half_floats.h"

namespace plimsoll {

const std::array<float, 16> kNf4Values{-1.0F,
                                       -0.6961928009986877F,
                                       -0.5250730514526367F,
                                       -0.39491748809814453F,
                                       -0.28444138169288635F,
                                       -0.18477343022823334F,
                                       -0.09105003625154495F,
                                       0.0F,
                                       0.07958029955625534F,
                                       0.16093020141124725F,
                                       0.24611230194568634F,
                                       0.33791524171829224F,
                                       0.44070982933044434F,
                                       0.5626170039176941F,
                                       0.7229568362236023F,
                                       1.0F};

namespace {

using Count = std::int64_t;

float load_float(const std::byte* at) {
  float value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void store_float(std::byte* at, float value) { std::memcpy(at, &value, sizeof(value)); }

float largest(std::span<const float> values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

std::span<const float> block_of(std::span<const float> values, Count block, Count size) {
  const auto first = static_cast<std::size_t>(block * size);
  return values.subspan(first, std::min(static_cast<std::size_t>(size), values.size() - first));
}

void encode_bf16(std::span<const float> values, std::byte* place) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = bf16_from_float(values[i]);
    std::memcpy(place + 2 * i, &bits, sizeof(bits));
  }
}

void encode_int8(std::span<const float> values, std::byte* place) {
  const BlockLayout at = block_layout(BaseStorage::kInt8, static_cast<Count>(values.size()));
  for (Count block = 0; block < at.blocks; ++block) {
    const std::span<const float> from = block_of(values, block, kInt8Block);
    const float factor = largest(from) / 127;
    store_float(place + at.factors + 4 * block, factor);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const float code = factor == 0 ? 0 : std::nearbyint(from[i] / factor);
      place[at.codes + block * kInt8Block + static_cast<Count>(i)] = static_cast<std::byte>(static_cast<std::int8_t>(code));
    }
  }
}

/// One byte for each number, and a factor for each 256 of them: the nearest value of the map beside the largest of a block.
void encode_scales(std::span<const float> scales, std::byte* factors, std::byte* codes) {
  const QuantizedMap& map = quantized_map(true);
  for (std::size_t first = 0; first < scales.size(); first += kNf4Scales) {
    const std::span<const float> block = scales.subspan(first, std::min<std::size_t>(kNf4Scales, scales.size() - first));
    const float most = largest(block);
    store_float(factors + first / kNf4Scales * 4, most);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const float part = most == 0 ? 0 : block[i] / most;
      const auto code = std::upper_bound(map.bounds.begin(), map.bounds.end(), part, std::less_equal<>()) - map.bounds.begin();
      codes[first + i] = static_cast<std::byte>(code);
    }
  }
}

unsigned nf4_code(float part) {
  unsigned code = 0;
  for (std::size_t i = 0; i + 1 < kNf4Values.size(); ++i) code += part > 0.5F * (kNf4Values[i] + kNf4Values[i + 1]) ? 1U : 0U;
  return code;
}

void encode_nf4(std::span<const float> values, std::byte* place) {
  const BlockLayout at = block_layout(BaseStorage::kNf4, static_cast<Count>(values.size()));
  std::vector<float> scales(static_cast<std::size_t>(at.blocks));
  double sum = 0;
  for (Count block = 0; block < at.blocks; ++block) {
    const std::span<const float> from = block_of(values, block, kNf4Block);
    const float scale = largest(from);
    scales[static_cast<std::size_t>(block)] = scale;
    sum += static_cast<double>(scale);
    const auto code = [&](std::size_t i) { return i < from.size() && scale > 0 ? nf4_code(from[i] / scale) : 7U; };  // 7 is 0
    for (std::size_t i = 0; i < from.size(); i += 2) {
      place[at.codes + (block * kNf4Block + static_cast<Count>(i)) / 2] = static_cast<std::byte>(code(i) << 4 | code(i + 1));
    }
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(std::max<Count>(1, at.blocks)));
  store_float(place + at.mean, mean);
  for (float& scale : scales) scale -= mean;
  encode_scales(scales, place + at.factors, place + at.scales);
}

template <typename T>
void decode_bf16(const std::byte* place, Count first, std::span<T> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, place + 2 * (static_cast<std::size_t>(first) + i), sizeof(bits));
    values[i] = static_cast<T>(float_from_bf16(bits));
  }
}

template <typename T>
void decode_int8(const std::byte* place, const BlockLayout& at, Count first, std::span<T> values) {
  const auto* codes = reinterpret_cast<const std::int8_t*>(place + at.codes + first);
  for (Count done = 0; done < static_cast<Count>(values.size()); done += kInt8Block) {
    const float factor = load_float(place + at.factors + 4 * ((first + done) / kInt8Block));
    const Count end = std::min(done + kInt8Block, static_cast<Count>(values.size()));
    for (Count i = done; i < end; ++i)
      values[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<float>(codes[i]) * factor);
  }
}

float scale_of(const std::byte* place, const BlockLayout& at, Count block) {
  const auto code = static_cast<std::size_t>(place[at.scales + block]);
  return quantized_map(true).values[code] * load_float(place + at.factors + 4 * (block / kNf4Scales)) +
         load_float(place + at.mean);
}

template <typename T>
void decode_nf4(const std::byte* place, const BlockLayout& at, Count first, std::span<T> values) {
  const std::byte* codes = place + at.codes + first / 2;
  const auto count = static_cast<Count>(values.size());
  for (Count done = 0; done < count; done += kNf4Block) {
    const float scale = scale_of(place, at, (first + done) / kNf4Block);
    std::array<float, 16> of_block{};
    for (std::size_t i = 0; i < of_block.size(); ++i) of_block[i] = kNf4Values[i] * scale;
    const Count end = std::min(done + kNf4Block, count);
    T* out = values.data();
    for (Count i = done; i + 1 < end; i += 2) {
      const auto pair = static_cast<unsigned>(codes[i / 2]);
      out[i] = static_cast<T>(of_block[pair >> 4]);
      out[i + 1] = static_cast<T>(of_block[pair & 15U]);
    }
    if (end % 2 != 0) out[end - 1] = static_cast<T>(of_block[static_cast<unsigned>(codes[end / 2]) >> 4]);
  }
}

template <typename T>
void decode_any(BaseStorage storage, std::span<const std::byte> place, Count elements, Count first, std::span<T> values) {
  const BlockLayout at = block_layout(storage, elements);
  switch (storage) {
    case BaseStorage::kBf16: return decode_bf16(place.data(), first, values);
    case BaseStorage::kInt8: return decode_int8(place.data(), at, first, values);
    case BaseStorage::kNf4: return decode_nf4(place.data(), at, first, values);
    case BaseStorage::kCompute: break;
  }
}

}  // namespace

void encode(BaseStorage storage, std::span<const float> values, std::span<std::byte> place) {
  switch (storage) {
    case BaseStorage::kBf16: return encode_bf16(values, place.data());
    case BaseStorage::kInt8: return encode_int8(values, place.data());
    case BaseStorage::kNf4: return encode_nf4(values, place.data());
    case BaseStorage::kCompute: break;
  }
}

void decode(BaseStorage storage, std::span<const std::byte> place, std::int64_t elements, std::int64_t first,
            std::span<float> values) {
  decode_any(storage, place, elements, first, values);
}

void decode(BaseStorage storage, std::span<const std::byte> place, std::int64_t elements, std::int64_t first,
            std::span<double> values) {
  decode_any(storage, place, elements, first, values);
}

}  // namespace plimsoll
