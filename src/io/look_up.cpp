// Names to addresses, by the system's resolver on a thread of the look-ups' pool.
#include "sennit/look_up.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "connect.hpp"
#include "sennit/detail/io/offload_until.hpp"

namespace sennit::inline v0_1 {

namespace {

class lookup_category_type final : public std::error_category {
public:
  const char* name() const noexcept override { return "name lookup"; }
  std::string message(int code) const override { return ::gai_strerror(code); }
};

// Owns all it needs: a resolver may take longer than its caller waits.
struct lookup_job final : detail::offload_job {
  explicit lookup_job(std::string_view name) : offload_job(detail::offload_pool::look_ups), host(name) {}
  void call() noexcept override;

  std::string host;
  std::error_code error;
  std::vector<std::string> addresses;
};

std::string numeric(const addrinfo& entry) {
  char text[NI_MAXHOST];
  const int error =
      ::getnameinfo(entry.ai_addr, entry.ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text : "";
}

std::error_code code_of(int error) {
  if (error == EAI_SYSTEM)
    return {errno, std::generic_category()};
  if (error == EAI_MEMORY)
    return std::make_error_code(std::errc::not_enough_memory);
  return {error, lookup_category()};
}

void lookup_job::call() noexcept try {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found); failed != 0) {
    error = code_of(failed);
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next)
    addresses.push_back(numeric(*each));
} catch (const std::bad_alloc&) {
  error = std::make_error_code(std::errc::not_enough_memory);
}

}  // namespace

const std::error_category& lookup_category() noexcept {
  static const lookup_category_type only;
  return only;
}

namespace detail {

std::unique_ptr<offload_job> look_up_job(std::string_view host, std::error_code& error) {
  if (host.empty() || host.find('\0') != std::string_view::npos) {
    error = {EAI_NONAME, lookup_category()};
    return nullptr;
  }
  return std::make_unique<lookup_job>(host);
}

std::vector<std::string> looked_up(offload_job& job, std::error_code& error) noexcept {
  auto& returned = static_cast<lookup_job&>(job);
  error = returned.error;
  return std::move(returned.addresses);
}

}  // namespace detail

std::vector<std::string> look_up(std::string_view host, std::error_code& error,
                                 std::chrono::steady_clock::time_point deadline) {
  std::unique_ptr<detail::offload_job> job = detail::look_up_job(host, error);
  if (job == nullptr)
    return {};
  if (!detail::in_fiber()) {
    job->call();
  } else if (!detail::offload_run_until(job, deadline)) {
    error = std::make_error_code(std::errc::timed_out);
    return {};
  }
  return detail::looked_up(*job, error);
}

std::vector<std::string> look_up(std::string_view host, std::chrono::steady_clock::time_point deadline) {
  std::error_code error;
  std::vector<std::string> addresses = look_up(host, error, deadline);
  if (error)
    throw std::system_error(error, "sennit: look up " + std::string(host));
  return addresses;
}

}  // namespace sennit::inline v0_1
