/* Brings both generations into one process and works with each, alternately.
 *
 * A user library (core_user.c, v0_user.c) is linked when LINKED_CORE or LINKED_V0 is defined; everything else is loaded
 * in the order of the arguments, which are global:PATH or local:PATH. Prints "both work". */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef const char* (*Workout)(void);

#ifdef LINKED_CORE
const char* core_workout(void);
#else
#define core_workout NULL
#endif
#ifdef LINKED_V0
const char* v0_workout(void);
#else
#define v0_workout NULL
#endif

static int failed(const char* problem) {
  if (problem) printf("%s\n", problem);
  return problem != NULL;
}

int main(int argc, char** argv) {
  Workout core = core_workout, v0 = v0_workout;
  for (int i = 1; i < argc; ++i) {
    const char* path = strchr(argv[i], ':') + 1;
    void* library = dlopen(path, RTLD_LAZY | (argv[i][0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) return failed(dlerror());
    if (!core) core = (Workout)dlsym(library, "core_workout");
    if (!v0) v0 = (Workout)dlsym(library, "v0_workout");
  }
  if (!core || !v0) return failed("a workout is missing");
  for (int round = 0; round < 2; ++round) {
    if (failed(core()) || failed(v0()) || failed(v0()) || failed(core())) return 1;
  }
  puts("both work");
  return 0;
}
