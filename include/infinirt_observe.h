/* Observing what a program does: traces of calls and work, names, and callbacks for tools.
 *
 * A trace is a folder with one file for each process. Files are written as the program runs, in memory that the system keeps
 * whatever becomes of the process, and lose nothing when it ends, is killed or forks. `infinirt trace` and
 * `infinirt.trace` in Python make of them what Perfetto and Chrome show; docs/tracing.md says how to read it.
 *
 * When nothing observes, a call costs what it costs anyway: it looks at one word that it looks at for other reasons. */
#ifndef INFINIRT_OBSERVE_H
#define INFINIRT_OBSERVE_H

#include "infinirt_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Traces -------------------------------------------------------------------------------------------------------- */

/* From now on every call of every thread, and every piece of work of devices that the runtime itself runs, is recorded in a file
 * below `folder`, which is made if it is not there. A forked child records in a file of its own. AlreadyAcquired when a trace runs
 * already; InvalidValue, with the system's reason, for a folder that cannot be written. The environment variable
 * INFINIRT_TRACE=FOLDER begins one when the library is loaded; with INFINIRT_TRACE_LIMIT=MEBIBYTES (4096) a process that has
 * recorded so much records no more, and says so in its file. */
INFINIRT_API infinirtError_t infinirtXTraceBegin(const char* folder);

/* Ends it. Work that is still running is not in the trace: synchronise before. Without a trace it does nothing. */
INFINIRT_API infinirtError_t infinirtXTraceEnd(void);

/* How much of this process's trace was lost because of the limit or a full disk: a number of records. */
INFINIRT_API infinirtError_t infinirtXTraceGetLost(unsigned long long* records);

/* Non-zero while anything observes: who prepares names for it need not otherwise. */
INFINIRT_API int infinirtXObserved(void);

/* A part of the program, shown as a bar above the calls that the thread makes in it. Ranges of a thread nest; every push has its
 * pop, on the same thread. Costs a few nanoseconds when nothing observes. */
INFINIRT_API void infinirtXRangePush(const char* name);
INFINIRT_API void infinirtXRangePop(void);

/* Names the next piece of work that the calling thread puts on a stream: a host function, or a step of a library. At most 127
 * bytes of it are kept; a graph's node that it becomes keeps the name as well. Null: no name after all. */
INFINIRT_API void infinirtXNameNextWork(const char* name);

/* ---- Callbacks, for tools that want to see calls as they happen ------------------------------------------------------- */

/* Memory that a call or a piece of work reads or writes. */
typedef struct infinirtXAccess {
  const void* pointer;
  size_t bytes;
  int writes; /* 0: reads only */
  int partly; /* not 0: some of these bytes only, and it is not said which */
} infinirtXAccess;

/* What the next launch of the calling thread reads and writes, where the arguments alone do not tell: an operator's tensors.
 * At most 16 of them. Copies and sets need none. */
INFINIRT_API void infinirtXDeclareAccess(const infinirtXAccess* accesses, int count);

/* Tells observers that somebody has got memory in hand, such as an array of NumPy's, and may use it from now on without a call. */
INFINIRT_API infinirtError_t infinirtXShareMemory(const void* pointer, size_t bytes);

/* Pinned and managed memory that the program is not to touch for the time being, because work on it is not known to be over.
 * `access` is what the program may still do: nothing (0), INFINIRT_X_MAY_READ, or that and INFINIRT_X_MAY_WRITE, which ends it.
 * Whole pages are meant, so memory that is watched has its pages to itself. Devices reach it all the same. NotSupported where that
 * cannot be had: it can be for memory of CPU devices when INFINIRT_CPU_MEMORY holds the word `watched` from the start. May be
 * called from an observer's callbacks. */
#define INFINIRT_X_MAY_READ 1
#define INFINIRT_X_MAY_WRITE 2
INFINIRT_API infinirtError_t infinirtXWatchMemory(const void* pointer, size_t bytes, int access);

/* `hook` is told when a thread touches such memory, on that thread, in the middle of its access; host functions may touch it and
 * are not told of. The memory is open from then on, and the access goes on when the hook returns. System calls on memory that is
 * shut fail instead (EFAULT). Null: nobody is told. */
INFINIRT_API void infinirtXSetTouchHook(void (*hook)(const void* address, int writes));

/* One call of the API. Arguments are words, one for each parameter: numbers and enumerators as such, pointers and handles by
 * value, a dim3 as x + (y << 32) + (z << 48), other structures by their first eight bytes. */
typedef struct infinirtXCall {
  unsigned long long number; /* never given twice in a process, never 0 */
  const char* function;      /* "infinirtMemcpyAsync" */
  const char* signature;     /* names and kinds of the parameters: "dst:p,src:p,count:u,kind:i,stream:p" */
  const unsigned long long* arguments;
  int argumentCount;
  const char*
      deviceType; /* when the call begins the calling thread's, null if it has chosen none; at its end the one that answered */
  int device; /* the thread's current one of that type */
  const char* stack; /* who called, where a stack hook says so; else null. Lives for ever. */
  infinirtError_t result; /* at the end */
  unsigned long long
      created; /* at the end: what was stored through the first parameter, a pointer or a handle; else 0 */
  long long startNs, endNs; /* on the system's monotonic clock; endNs at the end */
  const infinirtXAccess* accesses; /* what infinirtXDeclareAccess said before this call */
  int accessCount;
  const char* name; /* what infinirtXNameNextWork said before this call; else null. Lives for ever. */
} infinirtXCall;

/* One piece of work of a stream that the runtime itself runs, when it is over. */
typedef struct infinirtXWork {
  unsigned long long
      call; /* the number of the call that issued it, of a graph's node the call that was captured, or else the
                              launch; 0: issued before anything observed */
  const char* kind; /* "copy", "fill", "kernel", "host", "callback", "record", "wait", "graph", "step", "nothing" */
  const char* name; /* of a kernel, or given by infinirtXNameNextWork; else null */
  const char* deviceType;
  int device;
  unsigned long long stream; /* infinirtStreamGetId */
  unsigned long long order; /* what `position` counts in: one for each stream, passed on when a stream is destroyed */
  unsigned long long position;
  unsigned long long graphLaunch; /* the call that launched the graph whose node this is; else 0 */
  int node; /* its number in the executable graph */
  long long startNs, endNs;
  const infinirtXAccess* accesses; /* of copies and sets: the memory from the first to the last byte */
  int accessCount;
} infinirtXWork;

typedef struct infinirtXObserver {
  size_t structSize; /* sizeof(infinirtXObserver) */
  void* user;
  void (*callBegin)(void* user, const infinirtXCall* call);
  void (*callEnd)(void* user, const infinirtXCall* call);
  void (*work)(void* user, const infinirtXWork* work); /* on the thread that ran it, in the stream's order */
  /* Work of `laterOrder` from `laterPosition` on comes after that of `earlierOrder` up to `earlierPosition`: an event waited for, or
   * the order that the legacy stream keeps. */
  void (*order)(void* user, unsigned long long call, unsigned long long laterOrder, unsigned long long laterPosition,
                unsigned long long earlierOrder, unsigned long long earlierPosition);
} infinirtXObserver;

/* Callbacks may be null. They are called with no lock of the runtime's held but, for `work` and `order`, those of the stream: they
 * may not call the API, and must be short. One observer at a time: AlreadyAcquired when there is one. Null takes it away; a
 * callback that another thread is in may still be running when this returns, so what it uses stays. */
INFINIRT_API infinirtError_t infinirtXSetObserver(const infinirtXObserver* observer);

/* For language runtimes: `hook` returns the calling thread's stack as text that lives for ever (the same text for the same stack),
 * or null. Called at every call while a hook is set, with no lock held: failures of asynchronous work then say who issued
 * it. Null: none. */
INFINIRT_API infinirtError_t infinirtXSetStackHook(const char* (*hook)(void));

#ifdef __cplusplus
}
#endif

#endif /* INFINIRT_OBSERVE_H */
