// Errors and time.
#include "error.hpp"

#include <netdb.h>

#include <cstring>
#include <exception>
#include <limits>
#include <new>

#include "sennit/look_up.hpp"

namespace sennit::inline v0_1::capi {

int negated(const std::error_code& error) noexcept {
  if (error.category() == lookup_category())
    return SENNIT_LOOKUP_ERROR(error.value());
  if (error.category() == std::generic_category() || error.category() == std::system_category())
    return error.value() > 0 ? -error.value() : error.value() < 0 ? error.value() : -ENOTRECOVERABLE;
  return -ENOTRECOVERABLE;
}

int negated_exception() noexcept {
  try {
    throw;
  } catch (const std::system_error& error) {
    return negated(error.code());
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (...) {
    return -ENOTRECOVERABLE;
  }
}

}  // namespace sennit::inline v0_1::capi

const char* sennit_error_text(int error) {
  if (error == std::numeric_limits<int>::min())
    return "unknown error";
  const int number = error < 0 ? -error : error;
  if (number > 4096)
    return ::gai_strerror(EAI_NONAME < 0 ? 4096 - number : number - 4096);
#if defined(__GLIBC__)
  const char* text = ::strerrordesc_np(number);
#else
  const char* text = std::strerror(number);
#endif
  return text != nullptr ? text : "unknown error";
}

int64_t sennit_now(void) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(sennit::detail::clock::now().time_since_epoch())
      .count();
}
