#include "profiler/decode/decode_spool.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/decode/spool_decoder.h"

namespace plimsoll {
namespace {

std::string clock_note(std::uint32_t process, const ClockFit& fit) {
  if (fit.pairs == 0) return fmt::format("process {}: nobody compared clocks; times are the capture's own", process);
  return fmt::format("process {}: {} clock comparisons, drift {:.1f} parts in a million, off by at most {:.1f} us", process,
                     fit.pairs, (fit.rate - 1.0) * 1e6, fit.residual_ns * 1e-3);
}

std::string left_out_note(std::uint32_t process, std::uint64_t functions) {
  return fmt::format("process {}: calls of {} functions of CUDA that only ask, as cudaGetDevice does, were not recorded", process,
                     functions);
}

/// What a spool that was not closed has lost.
void note_cut(const std::string& path, const SpoolSummary& summary, DecodedSpools& decoded) {
  if (summary.closed && summary.cut_bytes == 0) return;
  const std::string bytes = summary.cut_bytes == 0 ? "" : fmt::format("; its last {} bytes are not used", summary.cut_bytes);
  decoded.notes.push_back(fmt::format("{}: {}{}; records made after that are missing", path,
                                      summary.trouble.empty() ? "the program ended without closing it" : summary.trouble, bytes));
  decoded.recording.lose("ends of spools");
}

}  // namespace

Result<DecodedSpools> decode_spools(const std::vector<std::string>& paths) {
  DecodedSpools decoded;
  decoded.recording.source = "plimsoll profile";
  std::vector<std::uint32_t> processes;
  for (const std::string& path : paths) {
    const auto header = read_spool_header(path);
    if (!header) return fail(header.error());
    const std::int64_t started = header->started;
    decoded.recording.epoch = processes.empty() ? started : std::min(decoded.recording.epoch, started);
    processes.push_back(header->process);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    SpoolDecoder decoder(decoded.recording, processes[i]);
    const auto summary = read_spool(paths[i], [&](const SpoolRecord& record) { decoder.take(record); });
    if (!summary) return fail(summary.error());
    const ClockFit fit = decoder.finish();
    decoded.clock_residual_ns = std::max(decoded.clock_residual_ns, fit.residual_ns);
    decoded.notes.push_back(clock_note(processes[i], fit));
    const std::uint64_t left_out = decoder.functions_left_out();
    decoded.functions_left_out = std::max(decoded.functions_left_out, left_out);
    if (left_out > 0) decoded.notes.push_back(left_out_note(processes[i], left_out));
    note_cut(paths[i], *summary, decoded);
  }
  decoded.recording.sort();
  return decoded;
}

}  // namespace plimsoll
