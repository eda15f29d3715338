#include "calls.hpp"

#include <netdb.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

extern "C" int sums_parse(const char** text, long* result);

namespace large_calls {

namespace {

void require(bool right, const char* what) {
  if (!right)
    throw std::runtime_error(what);
}

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* what) const {
    Free(what);
  }
};
using ssl_context = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;
using ssl_side = std::unique_ptr<SSL, freed_by<SSL_free>>;

struct tls_contexts {
  ssl_context client{SSL_CTX_new(TLS_client_method())};
  ssl_context server{SSL_CTX_new(TLS_server_method())};
  tls_contexts() {
    const std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
    const std::unique_ptr<X509, freed_by<X509_free>> certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* const name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1,
                               -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    require(SSL_CTX_use_certificate(server.get(), certificate.get()) == 1 &&
                SSL_CTX_use_PrivateKey(server.get(), key.get()) == 1,
            "no certificate");
    X509_STORE_add_cert(SSL_CTX_get_cert_store(client.get()), certificate.get());
    SSL_CTX_set_verify(client.get(), SSL_VERIFY_PEER, nullptr);
  }
};
const tls_contexts& contexts() {
  static const tls_contexts both;
  return both;
}

// Both sides, until they agree.
void handshake(void (*between)()) {
  const ssl_side client(SSL_new(contexts().client.get()));
  const ssl_side server(SSL_new(contexts().server.get()));
  BIO* of_client = nullptr;
  BIO* of_server = nullptr;
  require(BIO_new_bio_pair(&of_client, 0, &of_server, 0) == 1, "no pair");
  SSL_set_bio(client.get(), of_client, of_client);
  SSL_set_bio(server.get(), of_server, of_server);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  for (int i = 0; i < 20; ++i) {
    const int one = SSL_do_handshake(client.get());
    between();
    const int other = SSL_do_handshake(server.get());
    if (one == 1 && other == 1)
      return;
  }
  throw std::runtime_error("no agreement");
}

void look_up(void (*)()) {
  addrinfo* found = nullptr;
  require(::getaddrinfo("localhost", "80", nullptr, &found) == 0, "no localhost");
  ::freeaddrinfo(found);
}

void match(void (*)()) {
  static const std::regex pattern("(a|b)*c");
  require(std::regex_match(std::string(100, 'a') + "c", pattern), "no match");
}

void print_long_double(void (*)()) {
  static char text[6000];
  const int length = std::snprintf(text, sizeof text, "%.0Lf", std::ldexp(1.0L, 16000));
  require(length > 4800, "too short");
}

void print_unbuffered(void (*)()) {
  static std::FILE* const nothing = [] {
    std::FILE* const file = std::fopen("/dev/null", "w");
    std::setvbuf(file, nullptr, _IONBF, 0);
    return file;
  }();
  require(std::fprintf(nothing, "%s: %d\n", "an error", 5) == 12, "not printed");
}

void read_long_double(void (*)()) {
  static const std::string digits(3000, '7');
  require(std::isfinite(::strtold(digits.c_str(), nullptr)), "not read");
}

void print_to_string(void (*)()) {
  std::ostringstream text;
  text << 1.5 << ' ' << 12345;
  require(text.str() == "1.5 12345", "not printed");
}

void parse(void (*)()) {
  const std::string text = std::string(60, '(') + "1+2*3" + std::string(60, ')') + "*2-4";
  const char* at = text.c_str();
  long result = 0;
  require(sums_parse(&at, &result) == 0 && result == 10, "not parsed");
}

void throw_and_catch(void (*)()) {
  try {
    throw std::runtime_error("thrown");
  } catch (const std::runtime_error& error) {
    require(error.what() == std::string("thrown"), "another one");
  }
}

constexpr call calls[] = {
    {"TLS 1.3 handshake, client and server (OpenSSL)", handshake},
    {"`getaddrinfo` of localhost", look_up},
    {"`std::regex_match` of 100 characters with `(a\\|b)*c`", match},
    {"`printf` of a long double of 4,817 digits", print_long_double},
    {"`fprintf` to an unbuffered stream, as stderr is", print_unbuffered},
    {"`strtold` of 3,000 digits", read_long_double},
    {"`std::ostringstream`, a double", print_to_string},
    {"parser made by bison, 60 brackets deep", parse},
    {"`throw` and `catch`", throw_and_catch},
};

}  // namespace

std::span<const call> all() {
  return calls;
}

void prepare() {
  for (const call& each : calls)
    each.run([] {});
}

}  // namespace large_calls
