// How many CPUs there are for us: made-up trees of /proc and /sys, and the real affinity.
#include "sennit/detail/parallel/cpus.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "sennit/runtime.hpp"

namespace {

using sennit::detail::usable_cpus;

// What mountinfo says of a mount of each version.
std::string mount_v2(const std::string& root, const std::string& point) {
  return "35 24 0:30 " + root + " " + point + " rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
}
std::string mount_v1(const std::string& root, const std::string& point,
                     const std::string& controllers = "cpu,cpuacct") {
  return "33 31 0:29 " + root + " " + point + " rw,relatime master:3 - cgroup cgroup rw," + controllers +
         "\n";
}

class cpus : public testing::Test {
protected:
  cpus() {
    std::string made = testing::TempDir() + "sennit_cpus_XXXXXX";
    if (::mkdtemp(made.data()) == nullptr)
      throw std::filesystem::filesystem_error("mkdtemp", std::error_code(errno, std::generic_category()));
    top_ = made;
  }
  ~cpus() override { std::filesystem::remove_all(top_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = top_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void cgroup(const std::string& lines) { write("/proc/self/cgroup", lines); }
  void mounts(const std::string& lines) {
    write("/proc/self/mountinfo",
          "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 24 0:28 / /sys/fs/cgroup rw - tmpfs "
          "tmpfs rw,mode=755\nodd\n\n" +
              lines);
  }
  void quota_v1(const std::string& directory, const std::string& quota,
                const std::string& period = "100000\n") {
    write(directory + "/cpu.cfs_quota_us", quota);
    write(directory + "/cpu.cfs_period_us", period);
  }
  // Version 2 where it is usually, and us in /a/b.
  void usual_v2() {
    cgroup("0::/a/b\n");
    mounts(mount_v2("/", "/sys/fs/cgroup"));
  }
  void usual_v1() {
    cgroup("12:cpuset:/\n4:cpu,cpuacct:/a/b\n1:name=systemd:/c\n0::/c\n");
    mounts(mount_v1("/", "/sys/fs/cgroup/cpuset", "cpuset") + mount_v1("/", "/sys/fs/cgroup/cpu,cpuacct"));
  }
  unsigned usable(unsigned allowed) const { return usable_cpus(top_.c_str(), allowed); }

private:
  std::filesystem::path top_;
};

TEST_F(cpus, without_any_file_the_affinity_counts) {
  EXPECT_EQ(usable(6), 6U);
  EXPECT_EQ(usable(1), 1U);
  EXPECT_EQ(usable(5000), 5000U);
  EXPECT_EQ(usable(0), 1U);
  EXPECT_EQ(usable_cpus("/there/is/no/such/place", 6), 6U);
}

TEST_F(cpus, quota_of_version_2) {
  usual_v2();
  EXPECT_EQ(usable(8), 8U);
  write("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  EXPECT_EQ(usable(8), 3U);
  EXPECT_EQ(usable(2), 2U);
}

TEST_F(cpus, a_fraction_is_rounded_up) {
  usual_v2();
  const struct {
    const char* text;
    unsigned expected;
  } cases[] = {{"150000 100000\n", 2}, {"100001 100000\n", 2},       {"100000 100000\n", 1},
               {"1000 100000\n", 1},   {"1 1000000\n", 1},           {"40000 20000\n", 2},
               {"700000 100000", 7},   {"800000 100000\n", 8},       {"900000 100000\n", 8},
               {"max 100000\n", 8},    {"18446744073709551615 1", 8}};
  for (const auto& c : cases) {
    write("/sys/fs/cgroup/a/b/cpu.max", c.text);
    EXPECT_EQ(usable(8), c.expected) << c.text;
  }
}

TEST_F(cpus, the_least_quota_above_counts) {
  usual_v2();
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(usable(8), 3U);
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(usable(8), 3U);
  write("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(usable(8), 1U);
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(usable(8), 2U);
  // Beside, below, and above the mount.
  write("/sys/fs/cgroup/a/b/c/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/a/d/cpu.max", "100000 100000\n");
  write("/sys/fs/cpu.max", "100000 100000\n");
  EXPECT_EQ(usable(8), 2U);
}

TEST_F(cpus, what_makes_no_sense_is_no_limit) {
  usual_v2();
  for (const char* text :
       {"", "\n", "max\n", "max max\n", "garbage", "150000\n", "150000 \n", "150000 0\n", "150000 -100000\n",
        "-1 100000\n", "0 100000\n", "1e5 100000\n", "150000x 100000\n", "150000 100000x\n",
        " 150000 100000\n", "\n150000 100000\n", "99999999999999999999999 100000\n"}) {
    write("/sys/fs/cgroup/a/b/cpu.max", text);
    EXPECT_EQ(usable(8), 8U) << text;
  }
  write("/sys/fs/cgroup/a/b/cpu.max", std::string(100'000, '\0'));
  EXPECT_EQ(usable(8), 8U);
  write("/sys/fs/cgroup/a/cpu.max/is_a_directory", "100000 100000\n");
  EXPECT_EQ(usable(8), 8U);
}

TEST_F(cpus, odd_proc_files_are_no_limit) {
  usual_v2();
  write("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  ASSERT_EQ(usable(8), 3U);
  for (const char* text :
       {"", "\n\n", "0", "0:", "0::", "0::\n", "0::a/b\n", ":::\n", "x::/a/b\n", "0:x:/a/b\n"}) {
    cgroup(text);
    EXPECT_EQ(usable(8), 8U) << text;
  }
  usual_v2();
  for (const char* text :
       {"", "-", " - ", " - cgroup2", " - cgroup2 \n", "1 2 3 / /sys/fs/cgroup rw cgroup2 - x",
        "1 2 3 / /sys/fs/cgroup rw - cgroup3 cgroup2 rw"}) {
    mounts(text);
    EXPECT_EQ(usable(8), 8U) << text;
  }
}

TEST_F(cpus, quota_of_version_1) {
  usual_v1();
  EXPECT_EQ(usable(8), 8U);
  quota_v1("/sys/fs/cgroup/cpu,cpuacct/a/b", "-1\n");
  EXPECT_EQ(usable(8), 8U);
  quota_v1("/sys/fs/cgroup/cpu,cpuacct/a/b", "350000\n");
  EXPECT_EQ(usable(8), 4U);
  quota_v1("/sys/fs/cgroup/cpu,cpuacct/a", "100000\n", "50000\n");
  EXPECT_EQ(usable(8), 2U);
  quota_v1("/sys/fs/cgroup/cpu,cpuacct", "1000\n");
  EXPECT_EQ(usable(8), 1U);
  // Other controllers' directories have no such file.
  usual_v1();
  quota_v1("/sys/fs/cgroup/cpu,cpuacct", "-1\n");
  quota_v1("/sys/fs/cgroup/cpuset", "1000\n");
  EXPECT_EQ(usable(8), 2U);
}

TEST_F(cpus, half_a_quota_of_version_1_is_no_limit) {
  usual_v1();
  write("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(usable(8), 8U);
  for (const char* period : {"", "0\n", "-1\n", "many\n"}) {
    quota_v1("/sys/fs/cgroup/cpu,cpuacct/a/b", "100000\n", period);
    EXPECT_EQ(usable(8), 8U) << period;
  }
  write("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(usable(8), 2U);
}

TEST_F(cpus, both_versions_side_by_side) {
  cgroup("4:cpu,cpuacct:/a\n0::/b\n");
  mounts(mount_v2("/", "/sys/fs/cgroup/unified") + mount_v1("/", "/sys/fs/cgroup/cpu"));
  quota_v1("/sys/fs/cgroup/cpu/a", "400000\n");
  EXPECT_EQ(usable(8), 4U);
  write("/sys/fs/cgroup/unified/b/cpu.max", "500000 100000\n");
  EXPECT_EQ(usable(8), 4U);
  write("/sys/fs/cgroup/unified/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(usable(8), 1U);
}

TEST_F(cpus, a_part_of_the_tree_is_mounted) {
  cgroup("4:cpu:/docker/1234/child\n0::/pods/one/child\n");
  mounts(mount_v2("/pods/one", "/sys/fs/cgroup") + mount_v1("/docker/1234", "/cpu"));
  write("/sys/fs/cgroup/child/cpu.max", "500000 100000\n");
  EXPECT_EQ(usable(8), 5U);
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(usable(8), 4U);
  quota_v1("/cpu/child", "300000\n");
  EXPECT_EQ(usable(8), 3U);
  quota_v1("/cpu", "200000\n");
  EXPECT_EQ(usable(8), 2U);
}

TEST_F(cpus, outside_of_what_is_mounted_its_root_counts) {
  for (const char* path : {"/pods/two/child", "/pods/one2", "/pods", "/", "/..", "/../two"}) {
    cgroup("0::" + std::string(path) + "\n");
    mounts(mount_v2("/pods/one", "/sys/fs/cgroup"));
    write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    write("/sys/fs/cgroup/child/cpu.max", "100000 100000\n");
    write("/sys/fs/cgroup/2/cpu.max", "100000 100000\n");
    EXPECT_EQ(usable(8), 3U) << path;
  }
  // Of namespaces: the mount shows more than we can name.
  cgroup("0::/\n");
  mounts(mount_v2("/../..", "/sys/fs/cgroup"));
  EXPECT_EQ(usable(8), 3U);
  mounts(mount_v2("/", "/sys/fs/cgroup"));
  write("/sys/fs/two/cpu.max", "100000 100000\n");
  for (const char* path : {"/../two", "/.."}) {
    cgroup("0::" + std::string(path) + "\n");
    EXPECT_EQ(usable(8), 3U) << path;
    write("/sys/fs/cpu.max", "100000 100000\n");
  }
  // Version 1, where the host's path is seen in a container that mounts its own.
  cgroup("4:cpu:/docker/1234\n");
  mounts(mount_v1("/docker/5678", "/cpu"));
  quota_v1("/cpu", "200000\n");
  EXPECT_EQ(usable(8), 2U);
}

TEST_F(cpus, of_several_mounts_those_that_show_us_count) {
  cgroup("0::/pods/one\n");
  mounts(mount_v2("/other", "/other") + mount_v2("/pods", "/pods") + mount_v2("/pods/one", "/one"));
  write("/other/cpu.max", "100000 100000\n");
  write("/pods/cpu.max", "300000 100000\n");
  write("/one/cpu.max", "400000 100000\n");
  EXPECT_EQ(usable(8), 3U);
}

TEST_F(cpus, odd_names) {
  cgroup("4:cpu:/a b:c\n0::/x y:z/u/w (deleted)\n");
  mounts(mount_v1("/", "/sys/fs/c\\040g\\134") + mount_v2("/x\\040y:z", "/v\\2"));
  quota_v1("/sys/fs/c g\\/a b:c", "300000\n");
  EXPECT_EQ(usable(8), 3U);
  write("/v\\2/u/cpu.max", "200000 100000\n");
  EXPECT_EQ(usable(8), 2U);
}

TEST_F(cpus, the_real_affinity_counts) {
  // A separate thread, whose affinity no other thread shares.
  std::thread([this] {
    cpu_set_t before;
    CPU_ZERO(&before);
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(sennit::detail::allowed_cpus(), static_cast<unsigned>(CPU_COUNT(&before)));
    EXPECT_GE(usable_cpus(), 1U);
    EXPECT_LE(usable_cpus(), sennit::detail::allowed_cpus());
    EXPECT_EQ(sennit::runtime().workers(), std::min(usable_cpus(), 64U));
    int first = 0;
    while (!CPU_ISSET(first, &before))
      ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(sennit::detail::allowed_cpus(), 1U);
    EXPECT_EQ(usable_cpus(), 1U);
    EXPECT_EQ(sennit::runtime().workers(), 1U);
    EXPECT_EQ(usable(8), 8U);  // the given number of allowed CPUs
  }).join();
}

}  // namespace
