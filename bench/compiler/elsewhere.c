/* The other unit of thread_locals.c. */
extern _Thread_local long elsewhere;
_Thread_local long elsewhere;
