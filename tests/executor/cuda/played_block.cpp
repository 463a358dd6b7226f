#include "tests/executor/cuda/played_block.h"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace plimsoll::test {
namespace {

/// The half of a word that an even or odd element has.
template <typename S>
double element(cuda::Word word, int which) {
  return static_cast<double>(cuda::wide(S{static_cast<std::uint16_t>(word >> (16 * (which % 2)))}));
}

void carry_out(const PlayedWarps::Fetch& fetch) {
  if (fetch.there) {
    std::memcpy(fetch.to, fetch.from, fetch.bytes);
  } else {
    std::memset(fetch.to, 0, fetch.bytes);
  }
}

}  // namespace

template <typename Fill>
const PlayedWarps::Thread* PlayedBlock::show(char operation, const Fill& fill) const {
  PlayedWarps::Thread& own = warps_.threads[static_cast<std::size_t>(thread_)];
  own.turn = 1 - own.turn;
  PlayedWarps::Shown& part = own.shown[static_cast<std::size_t>(own.turn)];
  part.operation = operation;
  fill(part);
  fibers_.sync_warp();
  return &warps_.threads[static_cast<std::size_t>(thread_ / Fibers::kWarp * Fibers::kWarp)];
}

const PlayedWarps::Shown& PlayedBlock::shown(const PlayedWarps::Thread* warp, int lane) const {
  const PlayedWarps::Thread& own = warps_.threads[static_cast<std::size_t>(thread_)];
  const PlayedWarps::Shown& other = warp[lane].shown[static_cast<std::size_t>(own.turn)];
  if (other.operation != own.shown[static_cast<std::size_t>(own.turn)].operation)
    std::abort();  // no unwinding out of a fiber
  return other;
}

float PlayedBlock::from_lane(float value, int bits) const {
  const auto* warp = show('s', [&](PlayedWarps::Shown& part) { part.words[0] = std::bit_cast<cuda::Word>(value); });
  return std::bit_cast<float>(shown(warp, (thread_ % Fibers::kWarp) ^ bits).words[0]);
}

cuda::Word PlayedBlock::ballot(bool said) const {
  const auto* warp = show('b', [&](PlayedWarps::Shown& part) { part.words[0] = said ? 1 : 0; });
  cuda::Word word = 0;
  for (int lane = 0; lane < Fibers::kWarp; ++lane) word |= shown(warp, lane).words[0] << lane;
  return word;
}

cuda::Quad PlayedBlock::read(const void* place) {
  expect_aligned(place, sizeof(cuda::Quad));
  cuda::Quad quad;
  std::memcpy(&quad, place, sizeof(quad));
  return quad;
}

void PlayedBlock::write(void* place, const cuda::Quad& quad) {
  expect_aligned(place, sizeof(quad));
  std::memcpy(place, &quad, sizeof(quad));
}

void PlayedBlock::load(cuda::Word (&words)[4], const void* row) const { load_as(false, words, row); }
void PlayedBlock::load_turned(cuda::Word (&words)[4], const void* row) const { load_as(true, words, row); }

void PlayedBlock::expect_aligned(const void* place, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(place) % bytes != 0) std::abort();  // no unwinding out of a fiber
}

void PlayedBlock::load_as(bool turned, cuda::Word (&words)[4], const void* row) const {
  expect_aligned(row, 16);
  const auto* warp = show(turned ? 't' : 'l', [&](PlayedWarps::Shown& part) { part.row = row; });
  const int lane = thread_ % Fibers::kWarp;
  for (int matrix = 0; matrix < 4; ++matrix) {
    std::uint16_t pair[2];
    for (int i = 0; i < 2; ++i) {
      const int r = turned ? lane % 4 * 2 + i : lane / 4, c = turned ? lane / 4 : lane % 4 * 2 + i;
      std::memcpy(&pair[i], static_cast<const char*>(shown(warp, 8 * matrix + r).row) + 2 * c, 2);
    }
    words[matrix] = pair[0] | cuda::Word{pair[1]} << 16;
  }
}

void PlayedBlock::multiply(Bf16, cuda::Sums& sums, const cuda::Word (&left)[4], const cuda::Word* right) const {
  multiply_as<Bf16>(sums, left, right);
}
void PlayedBlock::multiply(Fp16, cuda::Sums& sums, const cuda::Word (&left)[4], const cuda::Word* right) const {
  multiply_as<Fp16>(sums, left, right);
}

/// The layouts are the PTX ISA's, from where an element is to who has it. Products are exact; a product's sum is
/// rounded once.
template <typename S>
void PlayedBlock::multiply_as(cuda::Sums& sums, const cuda::Word (&left)[4], const cuda::Word* right) const {
  const auto* warp = show('m', [&](PlayedWarps::Shown& part) {
    std::copy_n(left, 4, part.words.begin());
    std::copy_n(right, 2, part.words.begin() + 4);
  });
  const int lane = thread_ % Fibers::kWarp;
  double rows[2][16], columns[2][16];  // of the left operand and of the right one: those of this thread's sums
  for (int k = 0; k < 16; ++k) {
    const auto& of_left = shown(warp, lane / 4 * 4 + k % 8 / 2).words;
    for (int i = 0; i < 2; ++i) {
      const auto& of_right = shown(warp, (lane % 4 * 2 + i) * 4 + k % 8 / 2).words;
      rows[i][k] = element<S>(of_left[static_cast<std::size_t>(i + k / 8 * 2)], k);
      columns[i][k] = element<S>(of_right[static_cast<std::size_t>(4 + k / 8)], k);
    }
  }
  for (int i = 0; i < 4; ++i) {
    double sum = static_cast<double>(sums[i]);
    for (int k = 0; k < 16; ++k) sum += rows[i / 2][k] * columns[i % 2][k];
    sums[i] = static_cast<float>(sum);
  }
}

void PlayedBlock::fetch_bytes(const PlayedWarps::Fetch& fetch) const {
  expect_aligned(fetch.to, fetch.bytes);
  expect_aligned(fetch.from, fetch.bytes);
  if (order_ == Fibers::Order::kForward) return carry_out(fetch);
  warps_.threads[static_cast<std::size_t>(thread_)].fetches.push_back(fetch);
}

void PlayedBlock::await() const {
  std::vector<PlayedWarps::Fetch>& fetches = warps_.threads[static_cast<std::size_t>(thread_)].fetches;
  for (const PlayedWarps::Fetch& fetch : fetches) carry_out(fetch);
  fetches.clear();
}

}  // namespace plimsoll::test
