#pragma once

#include <cstdint>
#include <optional>

#include "core/base/quantity.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// How feature maps of a convolutional net wait between their last use in the forward pass and their first one in the backward
/// pass (Gist, Jain et al., ISCA 2018).
enum class MapEncoding : std::uint8_t {
  kPlain,     ///< as they are
  kLossless,  ///< signs as bits, places of maxima in as few bits as they need, zeros left out
  kFp16,      ///< and numbers rounded to 16 bits ("delayed precision reduction")
  kFp10,      ///< to 10 bits, three in four bytes
  kFp8,
};

/// What is encoded, and what of a map that a ReLU made is taken to be zero.
struct MapCompression {
  MapEncoding encoding = MapEncoding::kPlain;
  /// Half: what a ReLU makes of numbers that lie evenly around zero. Trained nets have more (Gist saw over 80 % in VGG-16).
  double relu_zeros = 0.5;

  [[nodiscard]] bool exists() const { return encoding != MapEncoding::kPlain; }
  bool operator==(const MapCompression&) const = default;
};

/// What the backward pass reads of a map, and what is known of its numbers.
struct FeatureMap {
  std::int64_t elements = 0;
  DType dtype = DType::kFp32;
  bool numbers_read = false;  ///< by a convolution, a norm, a linear layer
  bool signs_read = false;    ///< by the ReLU that made it
  double zeros = 0;           ///< share of its numbers
};

/// How a map waits.
struct WaitingMap {
  Bytes bytes;           ///< 0: nothing is kept
  bool decoded = false;  ///< whether it has to be made whole again before it is read
  double traffic = 0;    ///< bytes that are read and written to encode it, and as many at most to decode it
};

/// Nothing where the map waits as it is: its encoding would be no smaller. Sparse maps are stored as rows of 256 columns (section
/// 4.2: one byte a column index), 4 bytes a row and a number with its index for each that is not zero; what is dense and lossless waits
/// as it is.
std::optional<WaitingMap> encode_map(const FeatureMap& map, const MapCompression& compression);

/// Bits that say which of a window's cells was the largest: 4 for 3 x 3 (section 4.1).
std::int64_t bits_of_place(std::int64_t kernel);

/// Zeros among the maxima of windows, if zeros are scattered at random: zeros^(kernel²). Real ones stand together, so this is the least.
double zeros_of_maxima(double zeros, std::int64_t kernel);

}  // namespace plimsoll
