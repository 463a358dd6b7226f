#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace plimsoll {

/// Buffers for CUPTI's records. CUPTI asks for one within a call of the program, whose time that is: what it takes is zero already,
/// and its pages are there. Buffers that come back are zeroed by the thread that brings them.
class ActivityBuffers {
 public:
  /// 60,000 kernels or so: at 100,000 a second a buffer lasts long enough to be read and given back.
  static constexpr std::size_t kBytes = std::size_t{8} << 20;

  ActivityBuffers() = default;
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// A buffer of zeros; null when there is no memory.
  std::uint8_t* take();
  void give_back(std::uint8_t* buffer);
  /// Makes as many ready as the threads of a training step take together between two collections.
  void make_ready();

 private:
  std::mutex mutex_;
  std::vector<std::uint8_t*> ready_;
};

}  // namespace plimsoll
