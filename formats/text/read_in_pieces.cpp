#include "formats/text/read_in_pieces.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <new>
#include <optional>
#include <vector>

namespace plimsoll {
namespace {

constexpr std::int64_t kReaders = 4;      // keep a drive's queue filled while two of them convert
constexpr std::int64_t kBlock = 4096;    // of drives: reads past the page cache begin and end at multiples
constexpr Bytes kSmall = kMiB;           // read with its neighbours through the page cache

/// Pages that go back to the system at once: an allocator would keep those of every thread.
class Pages {
 public:
  explicit Pages(std::size_t size) : size_(size), memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory_, size, MADV_HUGEPAGE);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(memory_, size_); }

  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(memory_), size_}; }

 private:
  std::size_t size_;
  void* memory_;
};

/// One read of whole blocks around the bytes that are wanted.
class Reader {
 public:
  Reader(const OpenFile& file, Bytes longest)
      : file_(file),
        direct_(longest < kSmall ? std::nullopt : file.past_page_cache()),
        memory_(static_cast<std::size_t>(align_up(longest, Bytes(kBlock)).count + kBlock)) {}

  std::span<const std::byte> read(Bytes at, Bytes count) {
    const Bytes begin(at.count / kBlock * kBlock);
    const std::span wanted = memory_.bytes().subspan(static_cast<std::size_t>((at - begin).count), static_cast<std::size_t>(count.count));
    const Bytes end = align_up(at + count, Bytes(kBlock));
    const std::span blocks = memory_.bytes().first(static_cast<std::size_t>((end - begin).count));
    if (!direct_ || !direct_->read_whole_blocks(begin, blocks, at + count - begin)) file_.read_at(at, wanted);
    return wanted;
  }

 private:
  const OpenFile& file_;
  std::optional<OpenFile> direct_;
  Pages memory_;
};

}  // namespace

void read_in_pieces(const OpenFile& file, Bytes first, Bytes count, Bytes piece, const TakePiece& take) {
  std::atomic<std::int64_t> next{0};
  const auto read_some = [&] {
    std::optional<Reader> reader;
    for (Bytes at(next.fetch_add(piece.count)); at < count; at = Bytes(next.fetch_add(piece.count))) {
      if (!reader) reader.emplace(file, std::min(piece, count));
      try {
        take(at, reader->read(first + at, std::min(piece, count - at)));
      } catch (...) {
        next = count.count;  // nobody begins another piece
        throw;
      }
    }
  };
  const std::int64_t pieces = (count.count + piece.count - 1) / piece.count;
  std::vector<std::future<void>> others;
  for (std::int64_t i = 1; i < std::min(kReaders, pieces); ++i) others.push_back(std::async(std::launch::async, read_some));
  std::exception_ptr problem;
  const auto note = [&](const auto& work) {
    try {
      work();
    } catch (...) {
      problem = std::current_exception();
    }
  };
  note(read_some);
  for (auto& other : others) note([&] { other.get(); });
  if (problem) std::rethrow_exception(problem);
}

}  // namespace plimsoll
