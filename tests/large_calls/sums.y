/* Sums and products, in brackets: as large as the stacks of bison's C parsers make it. */
%define api.pure full
%define api.prefix {sums_}
%define api.value.type {long}
%parse-param {const char** text} {long* result}
%lex-param {const char** text}
%code {
#include <stdlib.h>
static int sums_lex(long* value, const char** text);
static void sums_error(const char** text, long* result, const char* message) {
  (void)text, (void)result, (void)message;
}
}
%token NUMBER
%left '+' '-'
%left '*'
%%
all: sum { *result = $1; }
sum: NUMBER
   | sum '+' sum { $$ = $1 + $3; }
   | sum '-' sum { $$ = $1 - $3; }
   | sum '*' sum { $$ = $1 * $3; }
   | '(' sum ')' { $$ = $2; }
%%
static int sums_lex(long* value, const char** text) {
  if (**text < '0' || **text > '9')
    return **text == 0 ? 0 : *(*text)++;
  *value = strtol(*text, (char**)text, 10);
  return NUMBER;
}
