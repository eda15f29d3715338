// Tables, indexes, joins, transactions, triggers and windows in memory; argv[1]: how often. Prints what must
// be the same in every build.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned sum;

static int add(void* unused, int columns, char** values, char** names) {
  (void)unused;
  (void)names;
  for (int i = 0; i < columns; ++i)
    for (const char* each = values[i] != NULL ? values[i] : "null"; *each != 0; ++each)
      sum = sum * 31 + (unsigned char)*each;
  return 0;
}

static void run(sqlite3* database, const char* text) {
  char* error = NULL;
  if (sqlite3_exec(database, text, add, NULL, &error) != SQLITE_OK) {
    fprintf(stderr, "sqlite: %s\n", error);
    exit(1);
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  for (int round = 0; round < rounds; ++round) {
    sqlite3* database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
      return 1;
    run(database,
        "create table rope(id integer primary key, name text, length real, kind int);"
        "create table strand(id integer primary key, rope int references rope, thickness real);"
        "create index by_rope on strand(rope, thickness);"
        "create trigger longer after insert on strand begin"
        "  update rope set length = length + new.thickness where id = new.rope; end;"
        "begin;"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)"
        "  insert into rope select i, printf('rope-%05d', i * 7919 % 1000), i / 3.0, i % 5 from n;"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)"
        "  insert into strand(rope, thickness) select 1 + i * 31 % 400, (i % 17) / 4.0 from n;"
        "commit;");
    run(database,
        "select kind, count(*), round(avg(length), 6), group_concat(substr(name, 6, 2)) from rope group by "
        "kind;"
        "select r.name, count(s.id), max(s.thickness) from rope r join strand s on s.rope = r.id"
        "  where s.thickness > 2 group by r.id having count(*) > 2 order by r.name desc limit 50;"
        "select id, rank() over (partition by kind order by length desc) from rope where id % 20 = 0;"
        "select upper(replace(name, 'rope', 'cord')) from rope where name like '%9' or name glob '*1?3';"
        "select json_extract('{\"a\":[1,2,{\"b\":3}]}', '$.a[2].b'), strftime('%Y', 0, 'unixepoch');");
    run(database,
        "begin; delete from strand where id % 3 = 0; update rope set kind = kind + 1 where id % 2; rollback;"
        "delete from strand where thickness < 1; select count(*), sum(thickness) from strand; pragma "
        "integrity_check;");
    sqlite3_close(database);
  }
  printf("sqlite %08x\n", sum);
  return 0;
}
