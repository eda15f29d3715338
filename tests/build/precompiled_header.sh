# precompiled_header.sh COMPILER FLAG...: compiles the headers once, and then a user of them, without a warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/all.hpp" <<'END'
#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/event.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/mutex.hpp"
END
cat >"$folder/user.cpp" <<'END'
sennit::event event;
sennit::mutex mutex;
sennit::local::mutex local_mutex;
sennit::channel<int> channel(1);
sennit::continuation done(bool) {
  return {};
}
sennit::continuation locked() {
  return {};
}
sennit::continuation received(std::optional<int>) {
  return {};
}
sennit::continuation waits(std::stop_token token) {
  return sennit::become(sennit::stoppable(event.waiting(), token), done);
}
sennit::continuation locks() {
  return sennit::become(mutex.locking(), locked);
}
sennit::continuation locks_local() {
  return sennit::become(local_mutex.locking(), locked);
}
sennit::continuation receives() {
  return sennit::become(channel.receiving(), received);
}
END
cd "$folder"
"$@" -Werror -x c++-header all.hpp -o all.hpp.gch
case $1 in
  *clang*) "$@" -Werror -include-pch all.hpp.gch -c user.cpp ;;
  *) "$@" -Werror -Winvalid-pch -include all.hpp -c user.cpp ;;
esac
