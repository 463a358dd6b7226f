#include "executor/cuda/nccl_links.h"

// In place of nccl_links.cpp in a build without NCCL's header.
namespace plimsoll {
namespace {

tl::unexpected<Error> absent() {
  return fail({.kind = ErrorKind::kEnvironment,
               .what = "this program was built without NCCL, so it runs on one GPU only",
               .where = "--backend cuda",
               .remedy = "install the CUDA toolkit and NCCL (nccl.h; apt-get install libnccl-dev), run cmake again, and build"});
}

}  // namespace

Result<std::string> find_nccl() { return absent(); }

Result<std::unique_ptr<DeviceLinks>> open_nccl_links(Device&, const LinkPlan&, std::uint32_t, std::uint32_t, const TellAll&) {
  return absent();
}

}  // namespace plimsoll
