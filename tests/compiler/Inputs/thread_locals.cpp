// Variables that another unit uses, one of them with an initialiser that runs.
int initialised_at_run_time() {
  return 40;
}
thread_local int of_another_unit = 10;
thread_local int dynamic_of_another_unit = initialised_at_run_time();
