// Declarations of Sennit's classes, for headers that only name them.
// room: arch
//
//   #include "sennit/fwd.hpp"
//
//   class connections {
//     sennit::mutex* lock_;
//   };
//
// It declares classes only, and compiles in a hundredth of the time of sennit/mutex.hpp. A member, a base
// class and a call of a member function need the class's own header. The alias templates sennit::future,
// sennit::promise, sennit::actor_ref and sennit::inbox cannot be declared without their headers.
#pragma once

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

class continuation;
class fiber;
class runtime;
class scope;
struct runtime_options;
struct spawn_options;

class supervisor;
struct actor_exit;
struct actor_options;
struct supervisor_options;

class biased_semaphore;
class condition_variable;
class condition_variable_any;
class counting_semaphore;
class event;
class mutex;
class once_flag;
class recursive_mutex;
class select_list;
class shared_mutex;
class upcall_pool;
class wait_group;
using binary_semaphore = counting_semaphore;
using latch = wait_group;
struct upcall_options;
struct wait_options;
template <class Completion>
class barrier;
template <class T>
class biased_channel;
template <class T>
class channel;
template <class T>
class channel_result;
template <class Request, class Reply>
class port;
template <class Offer>
class wait_list;

class stop_guard;
class stop_shield;
struct cancelled;

class exception_guard;
class exception_server;
class runtime_exception_guard;
struct killed;

class file;
class readiness;
class signal_set;
class tcp_listener;
class tcp_stream;
class write_error;
struct io_result;

class no_yield_guard;
struct stack_usage;
template <class Signature>
class coroutine;
template <class T>
class fiber_local;
template <class T>
class generator;

namespace local {

class fiber;
class runtime;
class scope;
struct runtime_options;
struct spawn_options;

class supervisor;
struct actor_options;

class condition_variable;
class condition_variable_any;
class counting_semaphore;
class event;
class mutex;
class once_flag;
class recursive_mutex;
class select_list;
class shared_mutex;
class upcall_pool;
class wait_group;
using binary_semaphore = counting_semaphore;
using latch = wait_group;
template <class Completion>
class barrier;
template <class T>
class channel;
template <class Request, class Reply>
class port;
template <class Offer>
class wait_list;

class exception_guard;
class exception_server;
class runtime_exception_guard;

}  // namespace local

}  // namespace sennit::inline v0_1
