#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// A denoising U-net with attention to a text (Rombach et al. 2022): levels of residual blocks, half as wide planes from each to
/// the next, and back with what each level left behind.
struct UnetShape {
  std::int64_t latent = 64;  ///< height and width of the latent planes: an eighth of the picture's
  std::int64_t planes = 4;   ///< in and out
  std::vector<std::int64_t> channels{320, 640, 1280, 1280};  ///< of each level; the last one has no attention
  std::int64_t blocks = 2;                                   ///< of a level on the way down; one more on the way up
  std::int64_t heads = 8;
  std::int64_t context = 768;  ///< width of the text's tokens
  std::int64_t context_tokens = 77;
};

/// A diffusion transformer whose blocks are shifted, stretched and weighed by what they are conditioned on (Peebles & Xie 2023,
/// adaLN-Zero).
struct DitShape {
  std::int64_t latent = 32;  ///< height and width of the latent planes: an eighth of the picture's
  std::int64_t patch = 2;
  std::int64_t planes = 4;
  std::int64_t layers = 28;
  std::int64_t hidden = 1152;
  std::int64_t heads = 16;
  std::int64_t classes = 1000;

  [[nodiscard]] std::int64_t tokens() const { return latent / patch * (latent / patch); }
};

/// AlphaFold 2's trunk (Jumper et al. 2021, supplement, algorithm 6): blocks that exchange a stack of aligned sequences
/// [sequences, residues, c_m] and a square of residue pairs [residues, residues, c_z].
struct EvoformerShape {
  std::int64_t blocks = 48;
  std::int64_t sequences = 128;  ///< of the alignment
  std::int64_t residues = 256;
  std::int64_t c_m = 256;
  std::int64_t c_z = 128;
  std::int64_t msa_heads = 8;
  std::int64_t pair_heads = 4;
  std::int64_t outer = 32;  ///< width of the outer products' factors
  std::int64_t chunk = 0;   ///< rows that attention takes at once; 0: all
  std::int64_t ranks = 1;   ///< devices that share one alignment, cut by sequences or residues (FastFold); of one of them is told
};

}  // namespace plimsoll
