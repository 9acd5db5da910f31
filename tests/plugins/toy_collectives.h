/* The toy accelerator's collectives, as a vendor would have them: ranks anywhere in the process, one order of operations for each
 * communicator, work that is done once all ranks have called and somebody asks for the stream. Included by toy.c.
 *
 * TOY_GATHERS_BACKWARDS is a fault, for the conformance kit's tests: an all-gather has the ranks in reverse order. */
#include <pthread.h>

typedef enum {
  BOOL = 1,
  UINT8,
  UINT16,
  UINT32,
  UINT64,
  INT8,
  INT16,
  INT32,
  INT64,
  FLOAT16,
  FLOAT32,
  FLOAT64,
  BFLOAT16,
  COMPLEX64,
  COMPLEX128
} C_DataType;
typedef enum { SUM = 0, AVERAGE, MAXIMUM, MINIMUM, PRODUCT } C_Reduction;
typedef struct {
  size_t size;
  void* data;
} C_Id;

enum { MOST_RANKS = 8, MOST_POSTED = 64, ID_BYTES = 24 };
enum kind { ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND, RECV, ALL_TO_ALL };

/* What one rank has called and not all others yet. */
struct posted {
  enum kind kind;
  char *in[MOST_RANKS], *out[MOST_RANKS];
  size_t count;
  C_DataType type;
  C_Reduction reduction;
  size_t root; /* of a send or receive the peer */
  C_Stream stream;
};
struct world {
  char id[ID_BYTES];
  size_t ranks, joined, left;
  struct posted queue[MOST_RANKS][MOST_POSTED];
  int posted[MOST_RANKS];
  struct world* next;
};
typedef struct C_Comm_st {
  struct world* world;
  size_t rank;
  int device;
}* C_Comm;

static pthread_mutex_t worlds_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t somebody_joined = PTHREAD_COND_INITIALIZER;
static struct world* worlds;
static _Thread_local int group_depth;

static size_t size_of(C_DataType type) {
  static const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
  return sizes[type];
}

static C_Status id_size(size_t* size) {
  *size = ID_BYTES;
  return C_SUCCESS;
}
static C_Status make_id(C_Id* id) {
  static atomic_int made;
  if (id->size < ID_BYTES) return C_ERROR;
  memset(id->data, 0, ID_BYTES);
  snprintf(id->data, ID_BYTES, "toy %d", ++made);
  return C_SUCCESS;
}
static C_Status group_start(void) { return ++group_depth, C_SUCCESS; }
static C_Status group_end(void) {
  if (--group_depth < 0) complain("ends a group that was not begun");
  return C_SUCCESS;
}

/* In a group it returns at once, as the other ranks are the same thread's. */
static C_Status join(size_t ranks, C_Id* id, size_t rank, C_Comm* comm) {
  if (strncmp(id->data, "toy ", 4) != 0 || ranks > MOST_RANKS) return C_ERROR;
  pthread_mutex_lock(&worlds_mutex);
  struct world* world = worlds;
  while (world && memcmp(world->id, id->data, ID_BYTES) != 0) world = world->next;
  if (!world) {
    world = calloc(1, sizeof *world);
    memcpy(world->id, id->data, ID_BYTES);
    world->ranks = ranks;
    world->next = worlds;
    worlds = world;
  }
  *comm = calloc(1, sizeof **comm);
  **comm = (struct C_Comm_st){world, rank, thread_device};
  ++world->joined;
  note("joined", (int)rank);
  pthread_cond_broadcast(&somebody_joined);
  while (group_depth == 0 && world->joined < ranks) pthread_cond_wait(&somebody_joined, &worlds_mutex);
  pthread_mutex_unlock(&worlds_mutex);
  return C_SUCCESS;
}
static C_Status leave_world(C_Comm comm) {
  enter();
  pthread_mutex_lock(&worlds_mutex);
  struct world* world = comm->world;
  if (++world->left == world->ranks) {
    struct world** place = &worlds;
    while (*place != world) place = &(*place)->next;
    *place = world->next;
    free(world);
  }
  pthread_mutex_unlock(&worlds_mutex);
  free(comm);
  note("left", -1);
  return leave(C_SUCCESS);
}

#define REDUCE_LOOP(TYPE, DIVIDE)                                                  \
  for (size_t i = 0; i < count; ++i) {                                             \
    TYPE value = ((const TYPE*)in[0])[i];                                          \
    for (size_t r = 1; r < ranks; ++r) {                                           \
      const TYPE other = ((const TYPE*)in[r])[i];                                  \
      if (reduction == PRODUCT) value = (TYPE)(value * other);                     \
      if (reduction == SUM || reduction == AVERAGE) value = (TYPE)(value + other); \
      if (reduction == MAXIMUM && other > value) value = other;                    \
      if (reduction == MINIMUM && other < value) value = other;                    \
    }                                                                              \
    if (reduction == AVERAGE) value = (TYPE)(value / (DIVIDE)ranks);               \
    ((TYPE*)result)[i] = value;                                                    \
  }                                                                                \
  break
static void reduce_all(char* result, char** in, size_t ranks, size_t count, C_DataType type, C_Reduction reduction) {
  switch (type) {
    case INT32:
      REDUCE_LOOP(int32_t, int32_t);
    case INT64:
      REDUCE_LOOP(int64_t, int64_t);
    case INT8:
      REDUCE_LOOP(int8_t, int32_t);
    case INT16:
      REDUCE_LOOP(int16_t, int32_t);
    case UINT8:
      REDUCE_LOOP(uint8_t, uint32_t);
    case UINT16:
      REDUCE_LOOP(uint16_t, uint32_t);
    case UINT32:
      REDUCE_LOOP(uint32_t, uint32_t);
    case UINT64:
      REDUCE_LOOP(uint64_t, uint64_t);
    case FLOAT32:
      REDUCE_LOOP(float, float);
    case FLOAT64:
      REDUCE_LOOP(double, double);
    default:
      complain("reduces a type that it refused");
  }
}

/* The heads of all queues are one operation. */
static void do_all(struct world* world) {
  const struct posted* first = &world->queue[0][0];
  const size_t n = world->ranks, bytes = first->count * size_of(first->type);
  char* result = malloc(n * bytes + 1);
  char* in[MOST_RANKS];
  for (size_t r = 0; r < n; ++r) {
    const struct posted* own = &world->queue[r][0];
    if (own->kind != first->kind || own->count != first->count || own->type != first->type || own->root != first->root)
      complain("ranks call different operations");
    in[r] = own->in[0];
  }
  if (first->kind == ALL_REDUCE || first->kind == REDUCE)
    reduce_all(result, in, n, first->count, first->type, first->reduction);
  if (first->kind == REDUCE_SCATTER) reduce_all(result, in, n, n * first->count, first->type, first->reduction);
  if (first->kind == BROADCAST) memcpy(result, in[first->root], bytes);
  for (size_t r = 0; r < n && first->kind == ALL_GATHER; ++r) {
#ifdef TOY_GATHERS_BACKWARDS
    memcpy(result + (n - 1 - r) * bytes, in[r], bytes);
#else
    memcpy(result + r * bytes, in[r], bytes);
#endif
  }
  for (size_t r = 0; r < n; ++r) {
    char* out = world->queue[r][0].out[0];
    if (first->kind == ALL_REDUCE || first->kind == BROADCAST || (first->kind == REDUCE && r == first->root))
      memcpy(out, result, bytes);
    if (first->kind == ALL_GATHER) memcpy(out, result, n * bytes);
    if (first->kind == REDUCE_SCATTER) memcpy(out, result + r * bytes, bytes);
    for (size_t q = 0; q < n && first->kind == ALL_TO_ALL; ++q)
      memcpy(world->queue[r][0].out[q], world->queue[q][0].in[r], bytes);
  }
  free(result);
}

static void drop(struct world* world, size_t rank, int index) {
  --world->queue[rank][index].stream->collectives;
  memmove(&world->queue[rank][index], &world->queue[rank][index + 1],
          sizeof(struct posted) * (size_t)(--world->posted[rank] - index));
}

static int is_pair(const struct posted* one) { return one->kind == SEND || one->kind == RECV; }

/* The first receive of `to` for which `from` has sent. */
static int exchange(struct world* world, size_t from, size_t to) {
  for (int s = 0; s < world->posted[from]; ++s) {
    const struct posted* sent = &world->queue[from][s];
    if (sent->kind != SEND || sent->root != to) continue;
    for (int r = 0; r < world->posted[to]; ++r) {
      const struct posted* wanted = &world->queue[to][r];
      if (wanted->kind != RECV || wanted->root != from) continue;
      if (sent->count * size_of(sent->type) != wanted->count * size_of(wanted->type)) complain("sends another size");
      memcpy(wanted->out[0], sent->in[0], sent->count * size_of(sent->type));
      drop(world, from, s);
      drop(world, to, from == to && r > s ? r - 1 : r);
      return 1;
    }
    return 0;
  }
  return 0;
}

static void progress(struct world* world) {
  for (int moved = 1; moved;) {
    moved = 0;
    for (size_t from = 0; from < world->ranks; ++from) {
      for (size_t to = 0; to < world->ranks; ++to) moved |= exchange(world, from, to);
    }
    int ready = 1;
    for (size_t r = 0; r < world->ranks; ++r) ready &= world->posted[r] > 0 && !is_pair(&world->queue[r][0]);
    if (!ready) continue;
    do_all(world);
    for (size_t r = 0; r < world->ranks; ++r) drop(world, r, 0);
    moved = 1;
  }
}

static char* memory_of(C_Comm comm, void* address, size_t size) {
  struct C_Device_st device = {comm->device};
  return size > 0 ? reach(unit_of(&device), address, size) : NULL;
}

static struct posted* post(C_Comm comm, enum kind kind, size_t count, C_DataType type, C_Stream stream) {
  if (thread_device != comm->device) complain("a collective with another device current");
  if (!stream || stream->device != comm->device) complain("a collective on a stream of another device");
  if (comm->world->ranks > 1 && is_pair(&(struct posted){.kind = kind}) && group_depth == 0)
    complain("a send or receive outside a group");
  finish(stream);
  if (comm->world->posted[comm->rank] == MOST_POSTED) complain("too many collectives under way");
  struct posted* own = &comm->world->queue[comm->rank][comm->world->posted[comm->rank]++];
  *own = (struct posted){.kind = kind, .count = count, .type = type, .stream = stream};
  ++stream->collectives;
  return own;
}
static C_Status posted(C_Comm comm) {
  progress(comm->world);
  return leave(C_SUCCESS);
}
static int cannot_reduce(C_DataType type) { return type < UINT8 || type == FLOAT16 || type > FLOAT64; }

static C_Status all_reduce(void* send, void* recv, size_t count, C_DataType type, C_Reduction op, C_Comm comm,
                           C_Stream stream) {
  enter();
  if (cannot_reduce(type)) return leave(C_ERROR);
  struct posted* own = post(comm, ALL_REDUCE, count, type, stream);
  own->reduction = op;
  own->in[0] = memory_of(comm, send, count * size_of(type));
  own->out[0] = memory_of(comm, recv, count * size_of(type));
  return posted(comm);
}
static C_Status broadcast(void* buffer, size_t count, C_DataType type, size_t root, C_Comm comm, C_Stream stream) {
  enter();
  struct posted* own = post(comm, BROADCAST, count, type, stream);
  own->root = root;
  own->in[0] = own->out[0] = memory_of(comm, buffer, count * size_of(type));
  return posted(comm);
}
static C_Status reduce(void* send, void* recv, size_t count, C_DataType type, C_Reduction op, size_t root, C_Comm comm,
                       C_Stream stream) {
  enter();
  if (cannot_reduce(type)) return leave(C_ERROR);
  struct posted* own = post(comm, REDUCE, count, type, stream);
  own->reduction = op;
  own->root = root;
  own->in[0] = memory_of(comm, send, count * size_of(type));
  own->out[0] = comm->rank == root ? memory_of(comm, recv, count * size_of(type)) : NULL;
  return posted(comm);
}
static C_Status all_gather(void* send, void* recv, size_t count, C_DataType type, C_Comm comm, C_Stream stream) {
  enter();
  struct posted* own = post(comm, ALL_GATHER, count, type, stream);
  own->in[0] = memory_of(comm, send, count * size_of(type));
  own->out[0] = memory_of(comm, recv, comm->world->ranks * count * size_of(type));
  return posted(comm);
}
static C_Status reduce_scatter(void* send, void* recv, size_t count, C_DataType type, C_Reduction op, C_Comm comm,
                               C_Stream stream) {
  enter();
  if (cannot_reduce(type)) return leave(C_ERROR);
  struct posted* own = post(comm, REDUCE_SCATTER, count, type, stream);
  own->reduction = op;
  own->in[0] = memory_of(comm, send, comm->world->ranks * count * size_of(type));
  own->out[0] = memory_of(comm, recv, count * size_of(type));
  return posted(comm);
}
static C_Status send_to(void* send, size_t count, C_DataType type, size_t peer, C_Comm comm, C_Stream stream) {
  enter();
  struct posted* own = post(comm, SEND, count, type, stream);
  own->root = peer;
  own->in[0] = memory_of(comm, send, count * size_of(type));
  return posted(comm);
}
static C_Status receive_from(void* recv, size_t count, C_DataType type, size_t peer, C_Comm comm, C_Stream stream) {
  enter();
  struct posted* own = post(comm, RECV, count, type, stream);
  own->root = peer;
  own->out[0] = memory_of(comm, recv, count * size_of(type));
  return posted(comm);
}
#ifndef TOY_NO_ALL_TO_ALL
static C_Status all_to_all(const void** send, const size_t* send_counts, const C_DataType* send_types, void** recv,
                           const size_t* recv_counts, const C_DataType* recv_types, size_t rank, size_t ranks,
                           C_Comm comm, C_Stream stream) {
  enter();
  if (rank != comm->rank || ranks != comm->world->ranks) complain("an all-to-all of another communicator");
  struct posted* own = post(comm, ALL_TO_ALL, send_counts[0], send_types[0], stream);
  for (size_t r = 0; r < ranks; ++r) {
    own->in[r] = memory_of(comm, (void*)send[r], send_counts[r] * size_of(send_types[r]));
    own->out[r] = memory_of(comm, recv[r], recv_counts[r] * size_of(recv_types[r]));
  }
  return posted(comm);
}
#endif

static void fill_in_collectives(C_DeviceInterface* table) {
  void* const entries[] = {
      (void*)id_size,    (void*)make_id, (void*)join,         (void*)leave_world,    (void*)all_reduce,
      (void*)broadcast,  (void*)reduce,  (void*)all_gather,   (void*)reduce_scatter, (void*)group_start,
      (void*)group_end,  (void*)send_to, (void*)receive_from,
#ifndef TOY_NO_ALL_TO_ALL
      (void*)all_to_all,
#endif
  };
  memcpy(table->xccl, entries, sizeof entries);
}
