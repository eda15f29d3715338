// Runs a script; argv[1]: how often it is to go round, argv[2]: the script.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  lua_State* state = luaL_newstate();
  luaL_openlibs(state);
  lua_createtable(state, 1, 0);
  lua_pushstring(state, argv[1]);
  lua_rawseti(state, -2, 1);
  lua_setglobal(state, "arg");
  if (luaL_dofile(state, argv[2])) {
    fprintf(stderr, "lua: %s\n", lua_tostring(state, -1));
    return 1;
  }
  lua_close(state);
  return 0;
}
