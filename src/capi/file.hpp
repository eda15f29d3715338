// The file of C.
#pragma once

#include "sennit/file.hpp"
#include "sennit/sennit.h"

struct sennit_file {
  sennit::file file;
};
