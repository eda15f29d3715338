/* C between C++: functions that call the function they get with its argument, each from a few frames. Their
 * files are compiled in three ways (scripts/portability, SOURCE_FLAGS). */
#ifndef SENNIT_TESTS_UNWINDING_C_FRAMES_H
#define SENNIT_TESTS_UNWINDING_C_FRAMES_H

#ifdef __cplusplus
extern "C" {
#endif

void c_with_exceptions(void (*function)(void*), void* argument); /* by -fexceptions */
void c_as_it_comes(void (*function)(void*), void* argument);     /* by no option: the ABI decides on tables */
void c_without_tables(void (*function)(void*), void* argument);  /* without tables of unwinding */

#ifdef __cplusplus
}
#endif
#endif
