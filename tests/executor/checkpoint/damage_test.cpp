// Training states of which something changed after they were written.
#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "executor/checkpoint/state_files.h"
#include "executor/checkpoint/training_state.h"
#include "formats/models/safetensors_checksums.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

/// States made up of the number of steps: byte for byte the same for equal numbers.
ReadState made_up(std::vector<std::byte>& memory, int value) {
  const ParameterLayout layout = lay_out_parameters(tiny_spec());
  return [&memory, value, layout](TensorKind, GroupId group) {
    memory.assign(static_cast<std::size_t>(layout.at(group).elements * 4), std::byte(value));
    return std::span<const std::byte>(memory);
  };
}

void save(const std::string& path, std::int64_t steps, WritePlace place = WritePlace::kBeside) {
  std::vector<std::byte> memory;
  const auto saved = save_training_state(path, tiny_spec(), tiny_recipe(), steps, made_up(memory, static_cast<int>(steps)), {.place = place});
  if (!saved) FAIL(saved.error().text());
  CHECK(saved->count == static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ino_t file_number(const std::string& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_ino;
}

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace

TEST_CASE("a single bit that flips anywhere in a training state is found, and in its data the tensor is named") {
  const TemporaryFolder folder;
  const std::string path = folder.file("state.safetensors");
  save(path, 5);
  CHECK(check_training_state(path).value() == 5);
  const std::string whole = read(path);
  const auto header = read_safetensors_header(path);
  REQUIRE(header);
  for (const SafetensorsTensor& tensor : header->tensors) {
    for (const std::int64_t at : {std::int64_t{0}, tensor.bytes.count / 2, tensor.bytes.count - 1}) {
      std::string damaged = whole;
      char& one = damaged[static_cast<std::size_t>(tensor.offset.count + at)];
      one = static_cast<char>(one ^ 16);
      write(path, damaged);
      const auto found = check_training_state(path);
      REQUIRE_FALSE(found);
      CHECK_THAT(found.error().where, Catch::Contains(path) && Catch::Contains("'" + tensor.name + "'"));
    }
  }
  const auto data = static_cast<std::size_t>(header->tensors.front().offset.count);
  for (std::size_t at = 0; at < data; at += at < 400 ? 1 : 37) {
    for (const int bit : {1, 2, 64}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ bit);
      write(path, damaged);
      INFO("byte " << at << " bit " << bit);
      CHECK_FALSE(check_training_state(path));
    }
  }
}

TEST_CASE("a state that is loaded is compared with its checksums on the way") {
  const TemporaryFolder folder;
  const std::string path = folder.file("state.safetensors");
  save(path, 5);
  std::string damaged = read(path);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write(path, damaged);
  std::vector<std::byte> memory;
  const ParameterLayout layout = lay_out_parameters(tiny_spec());
  const auto loaded = load_training_state(path, tiny_spec(), tiny_recipe(), [&](TensorKind, GroupId group, const FillState& fill) {
    memory.resize(static_cast<std::size_t>(layout.at(group).elements * 4));
    fill(memory);
  });
  REQUIRE_FALSE(loaded);
  CHECK_THAT(loaded.error().text(), Catch::Contains("not those that were written") && Catch::Contains("tensor 'group."));
}

TEST_CASE("a state written in place has the bytes of one written anew, and asks for no more room") {
  const TemporaryFolder folder;
  save(folder.file("place"), 9);
  const auto size = std::filesystem::file_size(folder.file("place"));
  for (const std::int64_t steps : {10, 99'999}) {
    save(folder.file("place"), steps, WritePlace::kInPlace);
    save(folder.file("anew"), steps);
    CHECK(read(folder.file("place")) == read(folder.file("anew")));
    CHECK(std::filesystem::file_size(folder.file("place")) == size);
  }
}

TEST_CASE("of a run's states the one of most steps that is whole is found, and what is damaged is told") {
  const TemporaryFolder folder;
  const StateFiles files = state_files_of(folder.file("run"));
  CHECK_FALSE(find_states(files).best);
  save(files.checkpoint, 4);
  CHECK(find_states(files).best->path == files.checkpoint);
  save(files.steps[0], 6);
  save(files.steps[1], 7);
  CHECK(find_states(files).best->path == files.steps[1]);
  std::string torn = read(files.steps[1]);
  torn.back() = static_cast<char>(torn.back() ^ 1);
  write(files.steps[1], torn);
  const FoundStates found = find_states(files);
  REQUIRE(found.best);
  CHECK(found.best->path == files.steps[0]);
  CHECK(found.best->steps_done == 6);
  REQUIRE(found.damaged.size() == 1);
  CHECK_THAT(found.damaged[0], Catch::Contains(files.steps[1]));
  remove_step_states(files);
  CHECK(find_states(files).best->steps_done == 4);
}

TEST_CASE("the checkpoint before is kept under its own name, and offered when the newest is damaged") {
  const TemporaryFolder folder;
  const StateFiles files = state_files_of(folder.file("run"));
  keep_previous(files);
  CHECK_FALSE(std::filesystem::exists(files.previous));
  for (const std::int64_t steps : {3, 6, 9}) {
    keep_previous(files);
    save(files.checkpoint, steps);
  }
  CHECK(check_training_state(files.checkpoint).value() == 9);
  CHECK(check_training_state(files.previous).value() == 6);
  keep_previous(files);
  keep_previous(files);  // both names mean one file already
  CHECK(check_training_state(files.previous).value() == 9);
  CHECK(check_training_state(files.checkpoint + ".tmp").value() == 6);  // to be written over
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 3);
  save(files.checkpoint, 12);
  const auto other = find_other_state(files.checkpoint);
  REQUIRE(other);
  CHECK(other->path == files.previous);
  CHECK(other->steps_done == 9);
}

TEST_CASE("a checkpoint is written over the one of two before, and never over bytes that another name means") {
  const TemporaryFolder folder;
  const StateFiles files = state_files_of(folder.file("run"));
  const auto keep_and_save = [&](std::int64_t steps) {
    keep_previous(files);
    save(files.checkpoint, steps, WritePlace::kOverSpare);
  };
  for (const std::int64_t steps : {3, 6, 9}) keep_and_save(steps);
  const auto of_step_6 = file_number(files.previous);
  keep_and_save(12);
  CHECK(file_number(files.checkpoint) == of_step_6);
  keep_and_save(15);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
  save(folder.file("anew"), 15);
  CHECK(read(files.checkpoint) == read(folder.file("anew")));
  std::filesystem::create_hard_link(files.previous, folder.file("backup"));
  keep_and_save(18);
  CHECK(check_training_state(folder.file("backup")).value() == 12);
  std::filesystem::create_hard_link(files.checkpoint, files.checkpoint + ".tmp");  // as after a kill between two names
  save(files.checkpoint, 21, WritePlace::kOverSpare);
  CHECK(check_training_state(files.checkpoint).value() == 21);
  CHECK(check_training_state(files.previous).value() == 15);
}

}  // namespace plimsoll
