#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "executor/cuda/kernels/pack.h"
#include "tests/executor/cuda/fibers.h"

namespace plimsoll::test {

/// What a warp's threads show each other, and what they have begun to fetch: one for every block that is played.
struct PlayedWarps {
  static constexpr int kMostThreads = 1024;
  /// A thread's part of a warp's operation. Two of them, taken in turn: who is still reading those of one operation
  /// keeps nobody from the next, and nobody comes to the one after that before all have read.
  struct Shown {
    char operation = 0;
    std::array<cuda::Word, 6> words{};
    const void* row = nullptr;
  };
  struct Fetch {
    void* to;
    const void* from;
    std::size_t bytes;
    bool there;
  };
  struct Thread {
    std::array<Shown, 2> shown;
    int turn = 0;
    std::vector<Fetch> fetches;
  };
  std::vector<Thread> threads = std::vector<Thread>(kMostThreads);
};

/// A thread's view of its block on the host. In the forward order what is fetched comes at once, backward not before it
/// is awaited: a program that reads too early, or fetches over what others still read, gives other bits in one of them.
class PlayedBlock {
 public:
  PlayedBlock(Fibers& fibers, PlayedWarps& warps, Fibers::Order order, int thread, cuda::Index index)
      : fibers_(fibers), warps_(warps), order_(order), thread_(thread), index_(index) {}

  [[nodiscard]] int thread() const { return thread_; }
  [[nodiscard]] cuda::Index index() const { return index_; }
  void sync() const { fibers_.sync(); }

  [[nodiscard]] float from_lane(float value, int bits) const;
  [[nodiscard]] cuda::Word ballot(bool said) const;
  [[nodiscard]] static int first_bit(cuda::Word word) { return std::countr_zero(word); }
  [[nodiscard]] static cuda::Quad read(const void* place);
  static void write(void* place, const cuda::Quad& quad);
  void load(cuda::Word (&words)[4], const void* row) const;
  void load_turned(cuda::Word (&words)[4], const void* row) const;
  void multiply(Bf16, cuda::Sums& sums, const cuda::Word (&left)[4], const cuda::Word* right) const;
  void multiply(Fp16, cuda::Sums& sums, const cuda::Word (&left)[4], const cuda::Word* right) const;

  template <typename T>
  void fetch(T* to, const T* from, bool there) const {
    fetch_bytes({to, from, std::is_same_v<T, float> ? sizeof(float) : 16, there});
  }
  void await() const;

  [[nodiscard]] float exp2(float x) const { return std::exp2(x); }
  template <typename S>
  [[nodiscard]] cuda::Word pack(S, float first, float second) const {
    S low, high;
    cuda::put(low, first);
    cuda::put(high, second);
    return low.bits | cuda::Word{high.bits} << 16;
  }
  template <typename S>
  void put_pair(S* place, float first, float second) const {
    expect_aligned(place, sizeof(cuda::Word));
    cuda::put(place[0], first);
    cuda::put(place[1], second);
  }

 private:
  /// What a device would end the launch for.
  static void expect_aligned(const void* place, std::size_t bytes);
  /// Shows this thread's part to its warp; those of lane 0, 1, … when all have.
  template <typename Fill>
  const PlayedWarps::Thread* show(char operation, const Fill& fill) const;
  [[nodiscard]] const PlayedWarps::Shown& shown(const PlayedWarps::Thread* warp, int lane) const;
  template <typename S>
  void multiply_as(cuda::Sums& sums, const cuda::Word (&left)[4], const cuda::Word* right) const;
  void load_as(bool turned, cuda::Word (&words)[4], const void* row) const;
  void fetch_bytes(const PlayedWarps::Fetch& fetch) const;

  Fibers& fibers_;
  PlayedWarps& warps_;
  Fibers::Order order_;
  int thread_;
  cuda::Index index_;
};

}  // namespace plimsoll::test
