// The search, and its report.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <sstream>

#include "model.hpp"

namespace model {

namespace {

const char* name_of(order o) {
  switch (o) {
    case order::relaxed:
      return "relaxed";
    case order::consume:
      return "consume";
    case order::acquire:
      return "acquire";
    case order::release:
      return "release";
    case order::acq_rel:
      return "acq_rel";
    case order::seq_cst:
      return "seq_cst";
  }
  return "?";
}

const char* name_of(action a) {
  switch (a) {
    case action::load:
      return "load";
    case action::store:
      return "store";
    case action::update:
      return "update";
    case action::failed_exchange:
      return "failed exchange";
    case action::fence:
      return "fence";
    case action::light_fence:
      return "light fence";
    case action::heavy_fence:
      return "heavy fence";
    case action::pause:
      return "give way";
    case action::wait:
      return "wait";
    case action::signal:
      return "signal";
  }
  return "?";
}

std::string place_of(std::source_location where) {
  const char* slash = std::strrchr(where.file_name(), '/');
  return std::string(slash != nullptr ? slash + 1 : where.file_name()) + ":" + std::to_string(where.line());
}

std::string value_of(std::uintptr_t value) {
  char text[24];
  std::snprintf(text, sizeof text, value < 1000 ? "%zu" : "%#zx", static_cast<std::size_t>(value));
  return text;
}

bool is_asymmetric(action a) {
  return a == action::light_fence || a == action::heavy_fence;
}

std::string line_of(const event& e) {
  std::ostringstream out;
  out << "  thread " << unsigned{e.thread} << "  " << place_of(e.where) << "  " << name_of(e.what);
  if (e.what == action::fence || is_asymmetric(e.what) || e.read >= 0 || e.written >= 0)
    out << " " << name_of(e.how);
  if (e.read >= 0 || e.written >= 0)
    out << " of atomic " << unsigned{e.location} << ":";
  if (e.read >= 0)
    out << " reads " << value_of(e.read_value) << " (store " << e.read << ")";
  if (e.written >= 0)
    out << " writes " << value_of(e.written_value) << " (store " << e.written << ")";
  return out.str();
}

void describe_failure(const machine& m, report& r) {
  r.failed = true;
  r.failure = m.failure;
  for (const event& e : m.events)
    r.trace += line_of(e) + "\n";
  r.trace += "  " + m.failure + "\n";
  r.choices = std::to_string(r.bound) + ": ";  // the choices depend on the bound
  for (const choice& c : m.path)
    r.choices += std::to_string(c.taken) + "/" + std::to_string(c.of) + " ";
}

// Returns the bound.
unsigned parse(const std::string& choices, std::vector<choice>& path) {
  std::istringstream in(choices);
  unsigned bound = 0;
  unsigned taken;
  unsigned of;
  char mark;
  in >> bound >> mark;
  path.clear();
  while (in >> taken >> mark >> of)
    path.push_back({static_cast<std::uint16_t>(taken), static_cast<std::uint16_t>(of)});
  return bound;
}

void execute(machine& m, const limits& l, const scenario& what) {
  m.begin(l);
  machine::now = &m;
  try {
    run r(m);
    what(r);
  } catch (const stopped&) {
  }
}

// Every execution within one bound. False: one failed.
bool explore_bound(machine& m, const limits& l, const scenario& what, report& r) {
  m.path.clear();
  m.cut = false;
  r.bound = l.bound;
  do {
    execute(m, l, what);
    ++r.executions;
    r.depth = std::max(r.depth, m.steps);
    if (m.failed) {
      describe_failure(m, r);
      return false;
    }
  } while (m.next_path());
  r.complete = !m.cut;
  return true;
}

// What is next below an order; relaxed below itself. A light or heavy fence is there or not.
std::vector<order> weaker_than(const order_at& o) {
  const bool reads = o.where.what != action::store;
  const bool writes = o.where.what == action::store || o.where.what == action::update;
  if (is_asymmetric(o.where.what))
    return {order::relaxed};
  switch (o.written) {
    case order::seq_cst:
      if (o.where.what == action::fence || (reads && writes))
        return {order::acq_rel, order::relaxed};
      return {reads ? order::acquire : order::release, order::relaxed};
    case order::acq_rel:
      return {order::acquire, order::release};
    case order::acquire:
    case order::consume:
    case order::release:
      return {order::relaxed};
    case order::relaxed:
      break;
  }
  return {};
}

}  // namespace

unsigned default_bound() {
  const char* given = std::getenv("SENNIT_MODEL_BOUND");
  return given != nullptr ? std::max(1U, static_cast<unsigned>(std::strtoul(given, nullptr, 10))) : 2;
}

std::ostream& operator<<(std::ostream& out, const report& r) {
  if (r.failed)
    return out << r.failure << "\n" << r.trace << "  replay = \"" << r.choices << "\"\n";
  return out << r.executions << " executions, none failed\n";
}

report explore(std::string_view name, const options& how, const scenario& what) {
  static machine m;
  report r;
  m.orders.clear();
  limits l{0, how.most_steps, how.weaken};
  if (!how.replay.empty()) {
    r.bound = l.bound = parse(how.replay, m.path);
    execute(m, l, what);
    r.executions = 1;
    if (m.failed)
      describe_failure(m, r);
    return r;
  }
  for (; l.bound <= how.bound && explore_bound(m, l, what, r) && !r.complete; ++l.bound) {
  }
  r.orders = m.orders;
  if (!how.quiet) {
    std::printf("[  model   ] %.*s: %llu executions, up to %u steps, %u preemptions%s%s\n",
                static_cast<int>(name.size()), name.data(), static_cast<unsigned long long>(r.executions),
                r.depth, r.bound, r.complete ? " (there are no others)" : "",
                r.failed ? (": " + r.failure).c_str() : "");
    std::fflush(stdout);
  }
  return r;
}

weakened weaken_each(std::string_view name, std::string_view file, const options& how, const scenario& what) {
  weakened w;
  w.correct = explore(name, how, what);
  for (const order_at& o : w.correct.orders) {
    if (!std::string_view(o.where.where.file_name()).ends_with(file))
      continue;
    for (const order weaker : weaker_than(o)) {
      const weakening planted{o.where, o.written, weaker};
      options quiet = how;
      quiet.weaken = &planted;
      quiet.quiet = true;
      const report r = explore(name, quiet, what);
      ++w.tried;
      const std::string text =
          std::string(name_of(o.where.what)) + ": " + name_of(o.written) + " -> " + name_of(weaker);
      std::printf("[  planted ]   %s %s: %s after %llu executions\n", place_of(o.where.where).c_str(),
                  text.c_str(), r.failed ? r.failure.c_str() : "nothing found",
                  static_cast<unsigned long long>(r.executions));
      if (!r.failed)
        w.survivors.push_back(text);
    }
  }
  return w;
}

}  // namespace model
