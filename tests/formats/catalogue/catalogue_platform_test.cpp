#include "formats/machines/catalogue_platform.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

using namespace plimsoll;

namespace {

GpuEntry gpu(std::string_view name) { return *find_gpu(built_in_gpu_catalogue(), name); }

Platform platform_of(std::string_view name, const MachineOptions& options = {}) {
  const auto described = gpu_platform(gpu(name), options);
  REQUIRE(described);
  return described->platform;
}

const MemorySpace& space(const Platform& platform, SpaceKind kind) { return platform.at(*platform.space(kind)); }

double capacity(const Platform& platform, std::string_view resource) {
  const auto found = std::find_if(platform.resources.begin(), platform.resources.end(),
                                  [&](const Resource& r) { return r.name == resource; });
  REQUIRE(found != platform.resources.end());
  return found->capacity;
}

const Link& link(const Platform& platform, SpaceKind from, SpaceKind to) {
  return platform.at(*platform.link(*platform.space(from), *platform.space(to)));
}

double demand(const Platform& platform, const std::vector<Demand>& demands, std::string_view resource) {
  double sum = 0;
  for (const auto& d : demands) sum += platform.at(d.resource).name == resource ? d.amount : 0.0;
  return sum;
}

bool mentions(const std::vector<std::string>& lines, std::string_view text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("an RTX 2060 leaves 5583 MiB to a plan, and 4983 MiB beside a desktop") {
  // 6144 − 401 (never visible) = 5743; context: 30 SMs · 4.5 = 135, at least 160; 5743 − 160 = 5583 = 5.45 GiB.
  CHECK(space(platform_of("RTX 2060 6GB"), SpaceKind::kDevice).usable == 5583 * kMiB);
  // 5583 − 600 = 4983 = 4.87 GiB; 4.7 and 4.88 GiB were the most that ran beside a Linux desktop.
  CHECK(space(platform_of("RTX 2060 6GB", {.desktop = true}), SpaceKind::kDevice).usable == 4983 * kMiB);
}

TEST_CASE("an A100-80 leaves what is visible less its context") {
  // 81920 − 870 − 481 = 80569 MiB.
  CHECK(space(platform_of("A100 80GB SXM4"), SpaceKind::kDevice).usable == 80569 * kMiB);
}

TEST_CASE("a cap lowers capacity and usable memory, never raises them") {
  const auto capped = space(platform_of("RTX 2060 6GB", {.device_memory = 4 * kGiB}), SpaceKind::kDevice);
  CHECK(capped.capacity == 4 * kGiB);
  CHECK(capped.usable == 4 * kGiB);
  const auto loose = space(platform_of("RTX 2060 6GB", {.device_memory = 6 * kGiB}), SpaceKind::kDevice);
  CHECK(loose.usable == 5583 * kMiB);
  const auto beyond = gpu_platform(gpu("RTX 2060 6GB"), {.device_memory = 8 * kGiB});
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().kind == ErrorKind::kInput);
}

TEST_CASE("an RTX 2060 copies at 12.3 GB/s one way and 17.7 GB/s both ways together") {
  const auto platform = platform_of("RTX 2060 6GB");
  // 16 lanes · 0.984375 GB/s · 0.78 = 12.285 GB/s; both ways 2 · 0.72 · 12.285 = 17.6904 GB/s.
  CHECK(link(platform, SpaceKind::kHost, SpaceKind::kDevice).bytes_per_second == Approx(12.285e9));
  CHECK(link(platform, SpaceKind::kDevice, SpaceKind::kHost).bytes_per_second == Approx(12.285e9));
  CHECK(capacity(platform, "pcie.total") == Approx(17.6904e9));
  CHECK(link(platform, SpaceKind::kHost, SpaceKind::kDevice).latency == Nanoseconds(10000));
}

TEST_CASE("a link runs at the lower generation and the fewer lanes of board and slot") {
  const auto rate = [](std::string_view name, const MachineOptions& options) {
    return link(platform_of(name, options), SpaceKind::kHost, SpaceKind::kDevice).bytes_per_second;
  };
  // Generation 3, 8 lanes: 8 · 0.984375 · 0.78 = 6.1425 GB/s (a laptop's 2060 measured 6.1 and 6.3).
  CHECK(rate("RTX 2060 6GB", {.pcie_lanes = 8}) == Approx(6.1425e9));
  CHECK(rate("RTX 2060 6GB Max-Q", {}) == Approx(6.1425e9));
  CHECK(rate("RTX 2060 6GB", {.pcie_generation = 4}) == Approx(12.285e9));
  CHECK(rate("RTX 3090", {.pcie_generation = 3}) == Approx(12.285e9));
  // Generation 4, 16 lanes: 31.5 · 0.81 = 25.515 GB/s; generation 5: 63 · 0.88 = 55.44 GB/s.
  CHECK(rate("RTX 3090", {}) == Approx(25.515e9));
  CHECK(rate("H100 SXM5 80GB", {}) == Approx(55.44e9));
  CHECK(rate("GH200 96GB HBM3", {}) == Approx(300e9));
}

TEST_CASE("copies draw on their direction, on both directions together and on host memory") {
  const auto platform = platform_of("RTX 3090");
  const auto& path = link(platform, SpaceKind::kHost, SpaceKind::kDevice).path;
  CHECK(demand(platform, path, "pcie.h2d") == 1.0);
  CHECK(demand(platform, path, "pcie.d2h") == 0.0);
  CHECK(demand(platform, path, "pcie.total") == 1.0);
  CHECK(demand(platform, path, "dram") == 1.0);
}

TEST_CASE("drives that read and write at once share their time") {
  const auto platform =
      platform_of("RTX 2060 6GB", {.ssd = 1024 * kGiB, .ssd_read_gbs = 4.0, .ssd_write_gbs = 2.0, .ssd_count = 2});
  // Two drives: 8 GB/s read alone, 4 GB/s written alone; in one second 4 GB read (4/4 = 1 drive-second) and 2 GB
  // written (2/2 = 1 drive-second) take all of 2.
  CHECK(capacity(platform, "ssd.total") == 2.0);
  const auto& read = link(platform, SpaceKind::kSsd, SpaceKind::kHost);
  const auto& write = link(platform, SpaceKind::kHost, SpaceKind::kSsd);
  CHECK(read.bytes_per_second == Approx(8e9));
  CHECK(write.bytes_per_second == Approx(4e9));
  CHECK(4e9 * demand(platform, read.path, "ssd.total") + 2e9 * demand(platform, write.path, "ssd.total") ==
        Approx(2.0));
  CHECK(platform.at(*platform.queue("ssd.read")).width == 4);
  CHECK(platform.at(*platform.queue("ssd.write")).kind == QueueKind::kStorage);
}

TEST_CASE("drives behind one uplink together move no more than it does") {
  const auto platform = platform_of("RTX 2060 6GB", {.ssd = 1024 * kGiB, .ssd_read_gbs = 4.0, .ssd_write_gbs = 2.0, .ssd_count = 3,
                                                     .ssd_uplink_gbs = 7.0});
  const auto& read = link(platform, SpaceKind::kSsd, SpaceKind::kHost);
  const auto& write = link(platform, SpaceKind::kHost, SpaceKind::kSsd);
  CHECK(capacity(platform, "ssd.uplink") == 7e9);
  CHECK(read.bytes_per_second == Approx(7e9));   // not 3 x 4
  CHECK(write.bytes_per_second == Approx(6e9));  // 3 x 2
  CHECK(demand(platform, read.path, "ssd.uplink") == 1.0);
  CHECK(demand(platform, write.path, "ssd.uplink") == 1.0);
}

TEST_CASE("a drive that reaches the GPU does so at the slower rate of the two, over the GPU's link and past host memory") {
  // PCIe 3.0 x16 has 12.3 GB/s one way; four drives read 4 x 3.5 = 14 and write 4 x 1.7 = 6.8 GB/s.
  const MachineOptions options{.ssd = 1024 * kGiB, .ssd_read_gbs = 3.5, .ssd_write_gbs = 1.7, .ssd_count = 4, .direct_storage = true};
  const auto platform = platform_of("RTX 2060 6GB", options);
  const Link &read = link(platform, SpaceKind::kSsd, SpaceKind::kDevice), &write = link(platform, SpaceKind::kDevice, SpaceKind::kSsd);
  CHECK(read.bytes_per_second == Approx(link(platform, SpaceKind::kHost, SpaceKind::kDevice).bytes_per_second));
  CHECK(read.bytes_per_second < 14e9);
  CHECK(write.bytes_per_second == Approx(6.8e9));
  CHECK(read.latency == link(platform, SpaceKind::kSsd, SpaceKind::kHost).latency);
  for (const char* resource : {"ssd.read", "pcie.h2d", "pcie.total"}) CHECK(demand(platform, read.path, resource) == 1.0);
  for (const char* resource : {"ssd.write", "pcie.d2h", "pcie.total"}) CHECK(demand(platform, write.path, resource) == 1.0);
  CHECK(demand(platform, read.path, "ssd.total") == Approx(1 / 3.5e9));
  CHECK(demand(platform, read.path, "dram") + demand(platform, write.path, "dram") == 0.0);
  MachineOptions without = options;
  without.direct_storage = false;
  CHECK(platform_of("RTX 2060 6GB", without).links.size() + 2 == platform.links.size());
}

TEST_CASE("direct storage is refused without a drive, under another system than Linux, and for other makers' boards") {
  const auto refusal = [](std::string_view name, const MachineOptions& options) {
    const auto described = gpu_platform(gpu(name), options);
    return described ? std::string() : described.error().text();
  };
  const MachineOptions options{.ssd = 1024 * kGiB, .direct_storage = true};
  MachineOptions no_drive = options, windows = options;
  no_drive.ssd.reset();
  windows.os = OperatingSystem::kWsl2;
  using Catch::Contains;
  CHECK_THAT(refusal("A100 80GB SXM4", no_drive), Contains("there is no drive") && Contains("--ssd"));
  CHECK_THAT(refusal("A100 80GB SXM4", windows), Contains("wsl2") && Contains("--os linux"));
  CHECK_THAT(refusal("MI300X", options), Contains("cuFile") && Contains("MI300X"));
  CHECK(refusal("A100 80GB SXM4", options).empty());
  CHECK(mentions(gpu_platform(gpu("RTX 3090"), options)->defaults, "copies through the host on others"));
  CHECK_FALSE(mentions(gpu_platform(gpu("A100 80GB SXM4"), options)->defaults, "copies through the host on others"));
}

TEST_CASE("a machine without a drive has no SSD space, link or queue") {
  const auto platform = platform_of("RTX 2060 6GB");
  CHECK(platform.spaces.size() == 2);
  CHECK_FALSE(platform.space(SpaceKind::kSsd));
  CHECK_FALSE(platform.queue("ssd.read"));
}

TEST_CASE("the queues have the names, kinds and demands that plans rely on") {
  const auto platform = platform_of("RTX 2060 6GB", {.cpu_cores = 8, .dram_gbs = 40.0});
  struct Expected {
    const char* name;
    QueueKind kind;
    const char* processor;
    double cores;
  };
  const Expected expected[] = {
      {"compute", QueueKind::kCompute, "gpu0", 0}, {"h2d", QueueKind::kCopy, "gpu0", 0},
      {"d2h", QueueKind::kCopy, "gpu0", 0},        {"cpu", QueueKind::kHostCompute, "cpu", 8},
      {"data", QueueKind::kHostWork, "cpu", 1},    {"report", QueueKind::kHostWork, "cpu", 1},
  };
  for (const auto& e : expected) {
    INFO(e.name);
    const auto id = platform.queue(e.name);
    REQUIRE(id);
    const auto& queue = platform.at(*id);
    CHECK(queue.kind == e.kind);
    CHECK(queue.width == 1);
    CHECK(platform.at(queue.processor).name == e.processor);
    CHECK(demand(platform, queue.demands, "cores") == e.cores);
  }
  // The optimizer runs at 0.75 of 40 GB/s.
  CHECK(demand(platform, platform.at(*platform.queue("cpu")).demands, "dram") == Approx(30e9));
}

TEST_CASE("every default that was taken is said, and none that was given") {
  const auto bare = gpu_platform(gpu("RTX 2060 6GB"), {.ssd = 1024 * kGiB});
  REQUIRE(bare);
  CHECK(mentions(bare->defaults, "PCIe 3.0 x16 (catalogue): 12.3 GB/s one way"));
  CHECK(mentions(bare->defaults, "16.00 GiB of RAM assumed"));
  CHECK(mentions(bare->defaults, "6 CPU cores assumed"));
  CHECK(mentions(bare->defaults, "46 GB/s DRAM assumed (dual-channel DDR4-3200"));
  CHECK(mentions(bare->defaults, "SSD 3.5/1.7 GB/s assumed; writes after the drive's cache is full"));
  const auto full = gpu_platform(gpu("RTX 2060 6GB"), {.ram = 32 * kGiB,
                                                       .ssd = 1024 * kGiB,
                                                       .ssd_read_gbs = 5.0,
                                                       .ssd_write_gbs = 3.0,
                                                       .pcie_generation = 3,
                                                       .pcie_lanes = 16,
                                                       .cpu_cores = 8,
                                                       .dram_gbs = 50.0});
  REQUIRE(full);
  for (const auto* word : {"RAM assumed", "cores assumed", "DRAM assumed", "SSD", "(catalogue)"}) {
    INFO(word);
    CHECK_FALSE(mentions(full->defaults, word));
  }
}

TEST_CASE("host memory keeps 2 GiB or a sixteenth for the system") {
  CHECK(space(platform_of("RTX 2060 6GB", {.ram = 16 * kGiB}), SpaceKind::kHost).usable == 14 * kGiB);
  CHECK(space(platform_of("RTX 2060 6GB", {.ram = 64 * kGiB}), SpaceKind::kHost).usable == 60 * kGiB);
  const auto tiny = gpu_platform(gpu("RTX 2060 6GB"), {.ram = 1 * kGiB});
  REQUIRE_FALSE(tiny);
  CHECK(tiny.error().kind == ErrorKind::kInfeasible);
}

TEST_CASE("options out of range are refused by name") {
  const MachineOptions cases[] = {
      {.ram = Bytes(-1)},          {.ssd = Bytes(0)},   {.pcie_generation = 9},
      {.pcie_lanes = 3},           {.cpu_cores = 0},    {.dram_gbs = -1.0},
      {.ssd_read_gbs = 3.0},       {.ssd_count = 0},    {.ssd = kGiB, .ssd_write_gbs = 0.0},
      {.device_memory = Bytes(0)}, {.dram_gbs = 1e300},
  };
  for (const auto& options : cases) {
    const auto described = gpu_platform(gpu("RTX 2060 6GB"), options);
    REQUIRE_FALSE(described);
    CHECK(described.error().kind == ErrorKind::kInput);
  }
}

TEST_CASE("every board of the catalogue makes a platform whose links carry positive rates") {
  for (const auto& entry : built_in_gpu_catalogue()) {
    INFO(entry.name);
    const auto described = gpu_platform(entry, {.ssd = 1024 * kGiB});
    REQUIRE(described);
    const auto& platform = described->platform;
    CHECK(platform.links.size() == 4);
    for (const auto& l : platform.links) CHECK(l.bytes_per_second > 0);
    for (const auto& s : platform.spaces) CHECK((s.usable > Bytes(0) && s.usable <= s.capacity));
  }
}
TEST_CASE("Windows and WSL2 leave a program less of a GPU than Linux, and a pinned share of RAM") {
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB");
  const auto usable = [&](OperatingSystem os, SpaceKind kind) {
    const auto described = gpu_platform(gpu, {.ram = 32 * kGiB, .os = os});
    REQUIRE(described);
    return described->platform.at(*described->platform.space(kind)).usable;
  };
  // 6144 MiB less 401 never visible and 160 of context; under Windows less 1024 of the display driver and 160.
  CHECK(usable(OperatingSystem::kLinux, SpaceKind::kDevice) == 5583 * kMiB);
  CHECK(usable(OperatingSystem::kWindows, SpaceKind::kDevice) == 4960 * kMiB);
  CHECK(usable(OperatingSystem::kWsl2, SpaceKind::kDevice) == 4960 * kMiB);
  CHECK(usable(OperatingSystem::kLinux, SpaceKind::kHost) == 30 * kGiB);
  CHECK(usable(OperatingSystem::kWindows, SpaceKind::kHost) == 16 * kGiB);
}

TEST_CASE("what Windows does beyond a GPU's memory, several GPUs, and another maker's are said in words") {
  const auto said = [](const char* name, const MachineOptions& options) {
    const auto described = gpu_platform(*find_gpu(built_in_gpu_catalogue(), name), options);
    REQUIRE(described);
    std::string all;
    for (const std::string& words : described->defaults) all += words + "\n";
    return all;
  };
  CHECK_THAT(said("RTX 2060 6GB", {.os = OperatingSystem::kWindows}), Catch::Contains("counts as not fitting"));
  CHECK_THAT(said("RTX 3090", {.gpus = 2}), Catch::Contains("2 GPUs, joined by NVLink (112 GB/s"));
  CHECK_THAT(said("RTX 4090", {.gpus = 2}), Catch::Contains("joined by host memory"));
  CHECK_THAT(said("RX 7900 XTX", {}), Catch::Contains("simulated only"));
  CHECK_FALSE(gpu_platform(*find_gpu(built_in_gpu_catalogue(), "RTX 4090"), {.gpus = 0}));
}

