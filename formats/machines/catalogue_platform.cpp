#include "formats/machines/catalogue_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/machines/constant_table.h"
#include "formats/machines/host_link.h"
#include "formats/machines/memory_overheads.h"
#include "formats/machines/optimizer_rate.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

Bytes scaled(Bytes bytes, double share) {
  return Bytes(static_cast<std::int64_t>(std::floor(static_cast<double>(bytes.count) * share)));
}

/// Collects what the machine is made of while its parts are added; `options` are valid.
class CataloguePlatform {
 public:
  CataloguePlatform(const GpuEntry& gpu, const MachineOptions& options) : gpu_(gpu), options_(options) {}

  Result<DescribedPlatform> build() {
    described_.platform.name = gpu_.name;
    if (is_simulated_only(gpu_)) {
      note(fmt::format("{} is simulated only, from published figures: plimsoll has no kernels for it", gpu_.name));
    }
    if (auto added = add_device_memory(); !added) return tl::make_unexpected(added.error());
    if (auto added = add_host_memory(); !added) return tl::make_unexpected(added.error());
    add_processors();
    add_pcie();
    add_queues();
    if (options_.ssd) add_drives();
    if (options_.gpus > 1) note_further_gpus();
    return std::move(described_);
  }

 private:
  Platform& platform() { return described_.platform; }
  void note(std::string words) { described_.defaults.push_back(std::move(words)); }

  [[nodiscard]] std::string board_key(std::string_view item) const {
    return fmt::format("{}.{}", item, to_text(gpu_.board));
  }

  [[nodiscard]] std::string_view words_of(std::string_view item) const {
    if (item == "carve_out") return "never visible to a program";
    if (item == "context") return is_simulated_only(gpu_) ? "HIP context (ROCm)" : "CUDA context";
    return item == "desktop" ? "kept for the desktop" : "kept by the display driver";
  }

  Result<void> add_device_memory() {
    Bytes usable = gpu_.memory;
    for (const MemoryOverhead* row : overheads_of(gpu_, options_.os, options_.desktop)) {
      const Bytes bytes = overhead_bytes(*row, gpu_);
      note(fmt::format("{} of {}: {} ({})", to_text(bytes), gpu_.name, words_of(row->item), row->conditions));
      usable -= bytes;
    }
    if (options_.os != OperatingSystem::kLinux) {
      note("what a program takes beyond that spills into host memory without an error, many times slower: it counts as not "
           "fitting");
    }
    const Bytes capacity = options_.device_memory.value_or(gpu_.memory);
    usable = std::min(usable, capacity);
    if (usable <= Bytes(0)) return nothing_left("the GPU's memory");
    gpu_space_ = add_space(platform(), "gpu0", SpaceKind::kDevice, capacity, usable);
    return {};
  }

  Result<void> add_host_memory() {
    const auto& defaults = machine_defaults();
    const Bytes assumed = kGiB * static_cast<std::int64_t>(defaults.at(board_key("ram")));
    const bool guest = options_.os == OperatingSystem::kWsl2;
    const Bytes ram = options_.ram.value_or(guest ? scaled(assumed, defaults.at("ram.wsl2")) : assumed);
    if (!options_.ram) note(fmt::format("{} of RAM assumed{}", to_text(ram), guest ? " for the virtual machine" : ""));
    const Bytes reserved = left_to_system(ram);
    note(
        fmt::format("{} of RAM left to the operating system, the driver and the program (assumed)", to_text(reserved)));
    if (ram <= reserved) return nothing_left("RAM");
    host_ = add_space(platform(), "host", SpaceKind::kHost, ram, std::min(ram - reserved, pinnable(ram)));
    return {};
  }

  /// A plan's memory is pinned, so that what cannot be pinned is of no use to it.
  Bytes pinnable(Bytes ram) {
    if (options_.os == OperatingSystem::kLinux) return ram;
    const Bytes most = scaled(ram, machine_defaults().at(fmt::format("pinned.{}", to_text(options_.os))));
    note(fmt::format("at most {} of RAM can be pinned under {}, and copies to the GPU need pinned memory", to_text(most),
                     to_text(options_.os)));
    return most;
  }

  [[nodiscard]] Result<void> nothing_left(std::string_view what) const {
    return fail({.kind = ErrorKind::kInfeasible,
                 .what = fmt::format("nothing of {} is left for a plan on {}", what, gpu_.name),
                 .where = {},
                 .remedy = "describe a machine with more memory"});
  }

  void add_processors() {
    add_gpu();
    const auto& defaults = machine_defaults();
    const double dram_gbs = options_.dram_gbs.value_or(defaults.at(board_key("dram")));
    const double assumed = std::max(defaults.at(board_key("cores")), cores_for_memory(dram_gbs * kGiga));
    const double cores = options_.cpu_cores ? *options_.cpu_cores : assumed;
    if (!options_.cpu_cores) note(fmt::format("{} CPU cores assumed", cores));
    if (!options_.dram_gbs) {
      note(fmt::format("{} GB/s DRAM assumed ({})", dram_gbs, defaults.entry(board_key("dram")).origin));
    }
    dram_ = add_resource(platform(), "dram", dram_gbs * kGiga);
    cores_ = add_resource(platform(), "cores", cores);
    cpu_ = add_processor(platform(), {.name = "cpu",
                                      .kind = ProcessorKind::kCpu,
                                      .space = host_,
                                      .cores = static_cast<std::int64_t>(cores),
                                      .bytes_per_second = dram_gbs * kGiga,
                                      .calibration_name = fmt::format("cpu with {} cores", cores)});
  }

  void add_gpu() {
    gpu0_ = add_processor(platform(), {.name = "gpu0",
                                       .kind = ProcessorKind::kGpu,
                                       .space = gpu_space_,
                                       .cores = gpu_.multiprocessors,
                                       .bytes_per_second = gpu_.memory_gbs * kGiga,
                                       .fp32_flops = gpu_.fp32_tflops.value_or(0) * kTera,
                                       .fp16_flops = gpu_.fp16_tflops.value_or(0) * kTera,
                                       .bf16_flops = gpu_.bf16_tflops.value_or(0) * kTera,
                                       .tf32_flops = gpu_.tf32_tflops.value_or(0) * kTera,
                                       .calibration_name = gpu_.name});
  }

  /// Each byte takes its direction, the cap on both directions together, and host memory.
  void add_pcie() {
    const HostLink link = host_link(gpu_, options_);
    note(link.words);
    const ResourceId h2d = add_resource(platform(), "pcie.h2d", link.h2d);
    const ResourceId d2h = add_resource(platform(), "pcie.d2h", link.d2h);
    const ResourceId both = add_resource(platform(), "pcie.total", link.total);
    add_link(platform(), {.name = "host->gpu0",
                          .from = host_,
                          .to = gpu_space_,
                          .bytes_per_second = link.h2d,
                          .latency = link.latency,
                          .path = {{.resource = h2d}, {.resource = both}, {.resource = dram_}}});
    add_link(platform(), {.name = "gpu0->host",
                          .from = gpu_space_,
                          .to = host_,
                          .bytes_per_second = link.d2h,
                          .latency = link.latency,
                          .path = {{.resource = d2h}, {.resource = both}, {.resource = dram_}}});
  }

  /// How the others would be reached: plans of plimsoll's own are for one device.
  void note_further_gpus() {
    const double nvlink = gpu_.nvlink_gbs.value_or(0);
    const std::string joined =
        nvlink > 0 ? fmt::format("NVLink ({:.0f} GB/s, both ways together)", nvlink) : std::string("host memory");
    note(fmt::format("{} GPUs, joined by {}: --stack pytorch and its kind share a batch over them; plimsoll's own plans use one",
                     options_.gpus, joined));
  }

  /// The CPU's kernels are the optimizer's: they hold all cores and the share of DRAM bandwidth at which it runs.
  void add_queues() {
    const double optimizer_dram = optimizer_rate(platform().at(cores_).capacity, platform().at(dram_).capacity);
    add_queue(platform(), "compute", QueueKind::kCompute, gpu0_);
    add_queue(platform(), "h2d", QueueKind::kCopy, gpu0_);
    add_queue(platform(), "d2h", QueueKind::kCopy, gpu0_);
    add_queue(platform(), "cpu", QueueKind::kHostCompute, cpu_,
              {{.resource = cores_, .amount = platform().at(cores_).capacity},
               {.resource = dram_, .amount = optimizer_dram}});
    add_host_work_queues(platform(), cpu_, cores_);
  }

  /// A drive that reads and writes at once reaches neither rated speed: R bytes read and W written take R/read +
  /// W/write seconds of a drive, so both directions draw on drive-seconds, of which n drives give n a second, or as
  /// many more as they were measured to give. Behind a common uplink all of them together move no more than it does.
  void add_drives() {
    const auto& defaults = machine_defaults();
    const int drives = options_.ssd_count;
    const double read = kGiga * options_.ssd_read_gbs.value_or(defaults.at("ssd.read"));
    const double write = kGiga * options_.ssd_write_gbs.value_or(defaults.at("ssd.write"));
    note_drive_rates(read, write);
    const Bytes usable = scaled(*options_.ssd, 1.0 - defaults.at("ssd.reserved_share"));
    const SpaceId ssd = add_space(platform(), "ssd", SpaceKind::kSsd, *options_.ssd, usable);
    const ResourceId reading = add_resource(platform(), "ssd.read", drives * read);
    const ResourceId writing = add_resource(platform(), "ssd.write", drives * write);
    const ResourceId busy = add_resource(platform(), "ssd.total", drives * options_.ssd_together);
    const Nanoseconds latency = from_seconds(defaults.at("ssd.latency") * 1e-6);
    std::vector<Demand> out{{.resource = reading}, {.resource = busy, .amount = 1.0 / read}, {.resource = dram_}};
    std::vector<Demand> in{{.resource = writing}, {.resource = busy, .amount = 1.0 / write}, {.resource = dram_}};
    double fastest = drives * std::max(read, write);
    if (options_.ssd_uplink_gbs) {
      const ResourceId uplink = add_resource(platform(), "ssd.uplink", *options_.ssd_uplink_gbs * kGiga);
      for (std::vector<Demand>* path : {&out, &in}) path->push_back({.resource = uplink});
      fastest = std::min(fastest, *options_.ssd_uplink_gbs * kGiga);
    }
    add_link(platform(), {.name = "ssd->host", .from = ssd, .to = host_, .bytes_per_second = std::min(fastest, drives * read),
                          .latency = latency, .path = std::move(out)});
    add_link(platform(), {.name = "host->ssd", .from = host_, .to = ssd, .bytes_per_second = std::min(fastest, drives * write),
                          .latency = latency, .path = std::move(in)});
    if (options_.direct_storage) add_direct_ways(ssd);
    add_queue(platform(), "ssd.read", QueueKind::kStorage, cpu_, {}, options_.ssd_queue_depth);
    add_queue(platform(), "ssd.write", QueueKind::kStorage, cpu_, {}, options_.ssd_queue_depth);
  }

  /// Each byte takes what it takes of the drives and of the GPU's link on its way through the host, but for host memory, and
  /// no way is faster than the slower of the two.
  void add_direct_ways(SpaceId ssd) {
    const auto joined = [&](std::string name, SpaceId from, SpaceId to) {
      const Link &drive = platform().at(*platform().link(from == ssd ? ssd : host_, from == ssd ? host_ : ssd)),
                 &slot = platform().at(*platform().link(from == ssd ? host_ : from, from == ssd ? to : host_));
      Link way{.name = std::move(name), .from = from, .to = to, .bytes_per_second = std::min(drive.bytes_per_second, slot.bytes_per_second),
               .latency = drive.latency, .path = drive.path};
      way.path.insert(way.path.end(), slot.path.begin(), slot.path.end());
      std::erase_if(way.path, [&](const Demand& demand) { return demand.resource == dram_; });
      return way;
    };
    Link read = joined("ssd->gpu0", ssd, gpu_space_), write = joined("gpu0->ssd", gpu_space_, ssd);
    add_link(platform(), std::move(read));
    add_link(platform(), std::move(write));
    note("direct storage: data of the GPU's passes between drive and GPU without host memory");
    if (gpu_.board != GpuBoard::kGeForce && gpu_.board != GpuBoard::kLaptop) return;
    note("cuFile has direct storage for boards for data centers and workstations, and copies through the host on others");
  }

  void note_drive_rates(double read, double write) {
    if (options_.ssd_read_gbs && options_.ssd_write_gbs) return;
    note(fmt::format("SSD {:.1f}/{:.1f} GB/s {}; writes after the drive's cache is full", read / kGiga, write / kGiga,
                     options_.ssd_read_gbs || options_.ssd_write_gbs ? "partly assumed" : "assumed"));
  }

  const GpuEntry& gpu_;
  const MachineOptions& options_;
  DescribedPlatform described_;
  SpaceId gpu_space_;
  SpaceId host_;
  ProcessorId gpu0_;
  ProcessorId cpu_;
  ResourceId dram_;
  ResourceId cores_;
};

}  // namespace

Bytes left_to_system(Bytes ram) {
  const auto& defaults = machine_defaults();
  const Bytes least = kGiB * static_cast<std::int64_t>(defaults.at("host.reserved"));
  return std::max(least, scaled(ram, defaults.at("host.reserved_share")));
}

Result<DescribedPlatform> gpu_platform(const GpuEntry& gpu, const MachineOptions& options) {
  if (auto valid = validate(options, gpu); !valid) return tl::make_unexpected(valid.error());
  return CataloguePlatform(gpu, options).build();
}

}  // namespace plimsoll
