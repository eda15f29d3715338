// A generator over a directory tree: walk_directory [DIRECTORY]
//
// The walk is an ordinary recursive function, and yields from any depth. Its caller sees a range, and may
// stop early. The walk is then unwound, and closes what it has open.
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "sennit/generator.hpp"

namespace fs = std::filesystem;

using entries = sennit::generator<const fs::directory_entry&>;

static void walk(entries::yielder& yield, const fs::path& directory) {
  std::error_code error;  // unreadable folders are skipped
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    yield(entry);
    if (entry.is_directory(error) && !entry.is_symlink(error))
      walk(yield, entry.path());
  }
}

static entries tree(const fs::path& root) {
  return entries([root](auto& yield) { walk(yield, root); });
}

int main(int argc, char** argv) {
  const fs::path root = argc > 1 ? argv[1] : ".";
  if (std::error_code error; !fs::is_directory(root, error)) {
    std::fprintf(stderr, "walk_directory: %s is no directory\n", root.c_str());
    return 1;
  }

  long directories = 0, files = 0;
  unsigned long long bytes = 0;
  for (const fs::directory_entry& entry : tree(root)) {
    std::error_code error;
    if (entry.is_directory(error)) {
      ++directories;
    } else if (entry.is_regular_file(error)) {
      ++files;
      bytes += entry.file_size(error);
    }
  }
  std::printf("%s: %ld files in %ld directories, %llu bytes\n", root.c_str(), files, directories, bytes);

  for (const fs::directory_entry& entry : tree(root))
    if (entry.path().extension() == ".txt") {
      std::printf("the first text: %s\n", entry.path().c_str());
      break;  // the rest of the tree is not read
    }
}
