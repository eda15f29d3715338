// Puts a worker into the registry (registry.hpp).
#pragma once

struct sennit_worker;

namespace sennit::inline v0_1::detail {

// Makes a worker findable while this lives. The whole worker exists during that time.
class registration {
public:
  explicit registration(sennit_worker& of) noexcept;
  ~registration();
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

  sennit_worker* const worker;
  registration* older = nullptr;
  registration* newer = nullptr;
};

}  // namespace sennit::inline v0_1::detail
