// Files: what was written is read again, by fibers and outside of them; errors say what failed.
#include "sennit/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace {

using sennit::file;

template <class Kind>
class File : public sennit::kind_test<Kind> {
protected:
  File() : directory(std::filesystem::temp_directory_path() / ("sennit-file-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(directory);
  }
  ~File() override { std::filesystem::remove_all(directory); }
  std::string path(const char* name) const { return directory / name; }

  const std::filesystem::path directory;
};

KIND_TEST(File, IsClosedWhenAnotherIsAssigned) {
  this->run([&] {
    const std::string pipe = this->path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    file out = file::open(pipe, O_WRONLY);
    file other = file::open(this->path("b"), O_WRONLY | O_CREAT);
    char byte = 0;
    EXPECT_EQ(::read(reader, &byte, 1), -1) << "it has a writer";
    out = std::move(other);
    EXPECT_FALSE(other.is_open());
    EXPECT_EQ(::read(reader, &byte, 1), 0) << "it has none";
    out.write_all("b");
    ::close(reader);
  });
}

KIND_TEST(File, WhatWasWrittenIsReadAgain) {
  this->run([&] {
    const std::string text(300'000, 'x');
    file out = file::open(this->path("a"), O_WRONLY | O_CREAT);
    out.write_all(text);
    out.write_all("end");
    out.sync();
    EXPECT_EQ(out.size(), text.size() + 3);
    out.close();
    EXPECT_FALSE(out.is_open());

    file in = file::open(this->path("a"));
    EXPECT_EQ(in.read_all(), text + "end");
    char end[10];
    EXPECT_EQ(in.read_some_at(text.size(), end), 3u);
    EXPECT_EQ(std::string(end, 3), "end");
    EXPECT_EQ(in.read_some(end), 0u) << "the position has not moved";
  });
}

KIND_TEST(File, FibersUseOneFileAtDifferentPlaces) {
  this->run([&] {
    file shared = file::open(this->path("b"), O_RDWR | O_CREAT);
    std::vector<typename Kind::fiber> fibers;
    for (std::uint64_t i = 0; i < 20; ++i)
      fibers.push_back(
          Kind::spawn([&, i] { shared.write_all_at(i * 2, std::string(2, static_cast<char>('a' + i))); }));
    for (auto& each : fibers)
      each.join();
    EXPECT_EQ(shared.read_all(), "aabbccddeeffgghhiijjkkllmmnnooppqqrrsstt");
  });
}

KIND_TEST(File, WorksOutsideOfAFiberToo) {
  file out = file::open(this->path("c"), O_RDWR | O_CREAT);
  out.write_all("text");
  EXPECT_EQ(out.size(), 4u);
}

KIND_TEST(File, ErrorsSayWhatFailed) {
  this->run([&] {
    try {
      file::open(this->path("no such file"));
      ADD_FAILURE() << "opened nothing";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
      EXPECT_NE(std::string(error.what()).find("no such file"), std::string::npos);
    }
    std::error_code error;
    EXPECT_FALSE(file::open(this->directory, error, O_WRONLY).is_open());
    EXPECT_EQ(error, std::errc::is_a_directory);

    file closed;
    char buffer[1];
    EXPECT_EQ(closed.read_some(buffer, error), 0u);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_EQ(closed.write_all("x", error), 0u);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_THROW(closed.size(), std::system_error);
    EXPECT_THROW(closed.close(), std::system_error);

    file in = file::open(this->path("d"), O_RDWR | O_CREAT);
    EXPECT_EQ(in.read_some_at(UINT64_MAX, buffer, error), 0u);
    EXPECT_EQ(error, std::errc::invalid_argument);
    file full = file::open("/dev/full", O_WRONLY);
    EXPECT_EQ(full.write_all("x", error), 0u);
    EXPECT_EQ(error, std::errc::no_space_on_device);
  });
}

}  // namespace
