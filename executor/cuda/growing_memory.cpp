#include "executor/cuda/growing_memory.h"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "executor/cuda/find_symbol.h"

namespace plimsoll::cuda {
namespace {

/// What is taken away at once.
constexpr std::size_t kPiece = std::size_t{64} << 20;

/// The functions that we call, as the loader finds them.
struct Functions {
  decltype(&::cuMemGetAllocationGranularity) granularity;
  decltype(&::cuMemAddressReserve) reserve;
  decltype(&::cuMemAddressFree) free;
  decltype(&::cuMemCreate) create;
  decltype(&::cuMemRelease) release;
  decltype(&::cuMemMap) map;
  decltype(&::cuMemUnmap) unmap;
  decltype(&::cuMemSetAccess) allow;
  decltype(&::cuDeviceGet) device;
  decltype(&::cuDeviceGetAttribute) attribute;
};

std::optional<Functions> find_all() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays loaded, as the runtime has it
  Functions f{};
  const bool all = library != nullptr && find_symbol(library, "cuMemGetAllocationGranularity", f.granularity) &&
                   find_symbol(library, "cuMemAddressReserve", f.reserve) && find_symbol(library, "cuMemAddressFree", f.free) &&
                   find_symbol(library, "cuMemCreate", f.create) && find_symbol(library, "cuMemRelease", f.release) &&
                   find_symbol(library, "cuMemMap", f.map) && find_symbol(library, "cuMemUnmap", f.unmap) &&
                   find_symbol(library, "cuMemSetAccess", f.allow) &&
                   find_symbol(library, "cuDeviceGet", f.device) && find_symbol(library, "cuDeviceGetAttribute", f.attribute);
  return all ? std::optional(f) : std::nullopt;
}

/// Whether other PCIe devices can reach memory of this kind.
bool may_be_reached(const Functions& driver, int number) {
  CUdevice device = 0;
  int supported = 0;
  return driver.device(&device, number) == CUDA_SUCCESS &&
         driver.attribute(&supported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device) == CUDA_SUCCESS && supported != 0;
}

std::size_t up_to(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

class MappedMemory final : public GrowingMemory {
 public:
  MappedMemory(const Functions& driver, const CUmemAllocationProp& kind, CUdeviceptr begin, std::size_t addresses, std::size_t granule)
      : driver_(driver), kind_(kind), begin_(begin), addresses_(addresses), granule_(granule) {}
  ~MappedMemory() override {
    shrink(0);
    driver_.free(begin_, addresses_);
  }
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  [[nodiscard]] std::byte* data() const override { return reinterpret_cast<std::byte*>(begin_); }

  [[nodiscard]] std::vector<std::span<std::byte>> pieces_under(std::span<std::byte> range) const override {
    std::vector<std::span<std::byte>> found;
    std::byte* begin = data();
    for (const Piece& piece : pieces_) {
      std::byte* const end = begin + piece.bytes;
      if (begin < range.data() + range.size() && range.data() < end) found.emplace_back(begin, piece.bytes);
      begin = end;
    }
    return found;
  }

  [[nodiscard]] bool resize(std::size_t bytes) override {
    const std::size_t wanted = up_to(bytes, granule_), held = end_;
    if (wanted > addresses_) return false;
    shrink(wanted);
    while (end_ < wanted) {
      if (!add(std::min(kPiece, wanted - end_))) {
        shrink(held);
        return false;
      }
    }
    return allow(held);
  }

 private:
  struct Piece {
    CUmemGenericAllocationHandle handle;
    std::size_t bytes;
  };

  bool add(std::size_t bytes) {
    Piece piece{.handle = 0, .bytes = bytes};
    if (driver_.create(&piece.handle, bytes, &kind_, 0) != CUDA_SUCCESS) return false;
    if (driver_.map(begin_ + end_, bytes, 0, piece.handle, 0) != CUDA_SUCCESS) {
      driver_.release(piece.handle);
      return false;
    }
    pieces_.push_back(piece);
    end_ += bytes;
    return true;
  }

  /// Of what is new since `held`.
  bool allow(std::size_t held) {
    if (end_ <= held) return true;
    const CUmemAccessDesc access{.location = kind_.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (driver_.allow(begin_ + held, end_ - held, &access, 1) == CUDA_SUCCESS) return true;
    shrink(held);
    return false;
  }

  /// Takes away the pieces that lie wholly behind `bytes`.
  void shrink(std::size_t bytes) {
    while (!pieces_.empty() && end_ - pieces_.back().bytes >= bytes) {
      end_ -= pieces_.back().bytes;
      driver_.unmap(begin_ + end_, pieces_.back().bytes);
      driver_.release(pieces_.back().handle);
      pieces_.pop_back();
    }
  }

  Functions driver_;
  CUmemAllocationProp kind_;
  CUdeviceptr begin_;
  std::size_t addresses_, granule_;
  std::vector<Piece> pieces_;
  std::size_t end_ = 0;
};

}  // namespace

std::unique_ptr<GrowingMemory> GrowingMemory::open(int device, std::size_t at_most, bool for_peers) {
  static const std::optional<Functions> kDriver = find_all();
  if (!kDriver) return nullptr;
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  if (for_peers && may_be_reached(*kDriver, device)) kind.allocFlags.gpuDirectRDMACapable = 1;
  std::size_t granule = 0;
  if (kDriver->granularity(&granule, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS || granule == 0) return nullptr;
  const std::size_t addresses = up_to(at_most, granule);
  CUdeviceptr begin = 0;
  if (kDriver->reserve(&begin, addresses, 0, 0, 0) != CUDA_SUCCESS) return nullptr;
  return std::make_unique<MappedMemory>(*kDriver, kind, begin, addresses, granule);
}

}  // namespace plimsoll::cuda
