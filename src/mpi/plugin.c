/* The MPI plugin: MPI's functions as the table of penstock/comm/mpi/mpi_verbs.h. Compiled with the mpicc of one MPI,
     mpicc -O2 -shared -fPIC -Isrc src/mpi/plugin.c -o penstock_mpi.so
   by CMake where it finds an MPI, else at first use (python/penstock/dist/_mpi.py). Needs MPI 3.0. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "penstock/comm/mpi/mpi_verbs.h"

#if defined(OPEN_MPI)
#define FLAVOUR "openmpi"
#elif defined(MPICH_NUMVERSION) || defined(MPICH_VERSION) || defined(I_MPI_VERSION) || \
    defined(MVAPICH2_VERSION)
#define FLAVOUR "mpich"
#elif defined(MPI_ABI_VERSION)
#define FLAVOUR "abi"
#else
#define FLAVOUR "unknown"
#endif

/* Found in the file without loading it: a plugin of one ABI must not be tried in a process that has another. */
const char penstock_mpi_flavour[] = "penstock-mpi-flavour=" FLAVOUR;

typedef PenstockMpiHandle Handle;
#define COMM(h) ((MPI_Comm)(h))
#define TYPE(h) ((MPI_Datatype)(h))
#define WIN(h) ((MPI_Win)(h))
#define TRY(call)                           \
  do {                                      \
    int code_ = (call);                     \
    if (code_ != MPI_SUCCESS) return code_; \
  } while (0)

/* ---- the library ---- */

static int is_initialized(int* flag) { return MPI_Initialized(flag); }
static int is_finalized(int* flag) { return MPI_Finalized(flag); }

static int init(void) {
  int provided;
  return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
}

static int finalize(void) { return MPI_Finalize(); }
static int end_job(int code) { return MPI_Abort(MPI_COMM_WORLD, code); }

static int bounded_copy(const char* from, int length, char* text, int capacity) {
  if (length > capacity - 1) length = capacity - 1;
  memcpy(text, from, (size_t)length);
  text[length] = 0;
  return MPI_SUCCESS;
}

static int library(char* text, int capacity) {
  char all[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  TRY(MPI_Get_library_version(all, &length));
  return bounded_copy(all, length, text, capacity);
}

static int error_text(int code, char* text, int capacity) {
  char all[MPI_MAX_ERROR_STRING];
  int length = 0;
  TRY(MPI_Error_string(code, all, &length));
  return bounded_copy(all, length, text, capacity);
}

/* MPI 4.1 lists the kinds of memory that it reads; older ones have a function of their own, which the library asks. */
static int gpu_aware(int* answer) {
  char kinds[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info info;
  *answer = 0;
  TRY(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
#if MPI_VERSION >= 4
  int room = (int)sizeof(kinds);
  int code = MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, kinds, &found);
#else
  int code = MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, kinds, &found);
#endif
  if (code == MPI_SUCCESS && found) *answer = strstr(kinds, "cuda") != NULL;
  return MPI_Info_free(&info);
}

/* ---- numbers of bytes beyond an int ---- */

static int64_t largest = INT_MAX;
static void set_largest(int64_t bytes) { largest = bytes < 1 ? 1 : bytes > INT_MAX ? INT_MAX : bytes; }

/* `bytes` as count elements of a type, which is MPI_BYTE, or else made here and to be dropped after use. */
static int carry(int64_t bytes, int* count, MPI_Datatype* type) {
  if (bytes <= largest) {
    *count = (int)bytes;
    *type = MPI_BYTE;
    return MPI_SUCCESS;
  }
  const int64_t piece = largest < (1 << 30) ? largest : 1 << 30, pieces = bytes / piece;
  MPI_Datatype one, parts[2];
  int lengths[2] = {1, (int)(bytes % piece)};
  MPI_Aint offsets[2] = {0, (MPI_Aint)(pieces * piece)};
  if (pieces > INT_MAX) return MPI_ERR_COUNT;
  TRY(MPI_Type_contiguous((int)piece, MPI_BYTE, &one));
  TRY(MPI_Type_contiguous((int)pieces, one, &parts[0]));
  parts[1] = MPI_BYTE;
  TRY(MPI_Type_create_struct(2, lengths, offsets, parts, type));
  TRY(MPI_Type_commit(type));
  TRY(MPI_Type_free(&one));
  *count = 1;
  return MPI_Type_free(&parts[0]);
}

static int drop(MPI_Datatype type) { return type == MPI_BYTE ? MPI_SUCCESS : MPI_Type_free(&type); }

/* `call`, which uses count and type, with a type for `bytes`. */
#define CARRIED(bytes, call)                     \
  do {                                           \
    int count;                                   \
    MPI_Datatype type;                           \
    TRY(carry(bytes, &count, &type));            \
    const int code = (call);                     \
    const int dropped = drop(type);              \
    return code != MPI_SUCCESS ? code : dropped; \
  } while (0)

/* ---- communicators ---- */

static Handle world(void) { return (Handle)MPI_COMM_WORLD; }
static Handle comm_at(const void* address) { return (Handle)(*(const MPI_Comm*)address); }

static int rank_and_size(Handle comm, int* rank, int* size) {
  TRY(MPI_Comm_rank(COMM(comm), rank));
  return MPI_Comm_size(COMM(comm), size);
}

static int keep(MPI_Comm made, Handle* out) {
  *out = (Handle)made;
  return MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}

static int duplicate(Handle comm, Handle* copy) {
  MPI_Comm made;
  TRY(MPI_Comm_dup(COMM(comm), &made));
  return keep(made, copy);
}

static int split(Handle comm, int color, int key, Handle* part) {
  MPI_Comm made;
  TRY(MPI_Comm_split(COMM(comm), color, key, &made));
  return keep(made, part);
}

static int ranks_of_node(Handle comm, int* ranks) {
  MPI_Comm node;
  TRY(MPI_Comm_split_type(COMM(comm), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  TRY(MPI_Comm_size(node, ranks));
  return MPI_Comm_free(&node);
}

static int split_node(Handle comm, int* in_node, Handle* node) {
  MPI_Comm made;
  MPI_Group all, some;
  int size, code = MPI_ERR_NO_MEM;
  TRY(MPI_Comm_split_type(COMM(comm), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  TRY(keep(made, node));
  TRY(MPI_Comm_size(COMM(comm), &size));
  TRY(MPI_Comm_group(COMM(comm), &all));
  TRY(MPI_Comm_group(made, &some));
  int* ranks = malloc((size_t)size * sizeof(int));
  if (ranks) {
    for (int r = 0; r < size; ++r) ranks[r] = r;
    code = MPI_Group_translate_ranks(all, size, ranks, some, in_node);
    for (int r = 0; r < size; ++r)
      if (in_node[r] == MPI_UNDEFINED) in_node[r] = -1;
  }
  free(ranks);
  TRY(MPI_Group_free(&all));
  TRY(MPI_Group_free(&some));
  return code;
}

static int free_comm(Handle comm) {
  MPI_Comm c = COMM(comm);
  return MPI_Comm_free(&c);
}

/* ---- requests ---- */

static void clear(void* requests, int n) {
  for (int i = 0; i < n; ++i) ((MPI_Request*)requests)[i] = MPI_REQUEST_NULL;
}

/* Without requests there is nothing to start: Open MPI takes an empty list for a bad request. */
static int start_all(void* requests, int n) { return n == 0 ? MPI_SUCCESS : MPI_Startall(n, requests); }
static int test_all(void* requests, int n, int* done) {
  return MPI_Testall(n, requests, done, MPI_STATUSES_IGNORE);
}

static int cancel_all(void* requests, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Request* r = (MPI_Request*)requests + i;
    if (*r == MPI_REQUEST_NULL) continue;
    TRY(MPI_Cancel(r));
    TRY(MPI_Wait(r, MPI_STATUS_IGNORE));
  }
  return MPI_SUCCESS;
}

static int free_all(void* requests, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Request* r = (MPI_Request*)requests + i;
    if (*r != MPI_REQUEST_NULL) TRY(MPI_Request_free(r));
  }
  return MPI_SUCCESS;
}

/* ---- messages ---- */

static int send(const void* data, int64_t bytes, int to, int tag, Handle comm, void* request) {
  CARRIED(bytes, MPI_Isend(data, count, type, to, tag, COMM(comm), request));
}

static int receive(void* data, int64_t bytes, int from, int tag, Handle comm, void* request) {
  CARRIED(bytes, MPI_Irecv(data, count, type, from, tag, COMM(comm), request));
}

static int probe_any(int tag, Handle comm, int* found, int* from) {
  MPI_Status status;
  TRY(MPI_Iprobe(MPI_ANY_SOURCE, tag, COMM(comm), found, &status));
  if (*found) *from = status.MPI_SOURCE;
  return MPI_SUCCESS;
}

static int send_init(const void* data, int64_t bytes, int to, int tag, Handle comm, void* request) {
  CARRIED(bytes, MPI_Send_init(data, count, type, to, tag, COMM(comm), request));
}

static int receive_init(void* data, int64_t bytes, int from, int tag, Handle comm, void* request) {
  CARRIED(bytes, MPI_Recv_init(data, count, type, from, tag, COMM(comm), request));
}

/* ---- collectives ---- */

static int barrier(Handle comm, void* request) { return MPI_Ibarrier(COMM(comm), request); }

static int broadcast(void* data, int64_t bytes, int root, Handle comm, void* request) {
  CARRIED(bytes, MPI_Ibcast(data, count, type, root, COMM(comm), request));
}

static int all_gather(const void* mine, int bytes, void* all, Handle comm, void* request) {
  return MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, COMM(comm), request);
}

static int all_gather_v(const void* mine, int bytes, void* all, const int* counts, const int* offsets,
                        Handle comm, void* request) {
  return MPI_Iallgatherv(mine, bytes, MPI_BYTE, all, counts, offsets, MPI_BYTE, COMM(comm), request);
}

static int gather_v(const void* mine, int bytes, void* all, const int* counts, const int* offsets, int root,
                    Handle comm, void* request) {
  return MPI_Igatherv(mine, bytes, MPI_BYTE, all, counts, offsets, MPI_BYTE, root, COMM(comm), request);
}

static int scatter_v(const void* all, const int* counts, const int* offsets, void* mine, int bytes, int root,
                     Handle comm, void* request) {
  return MPI_Iscatterv(all, counts, offsets, MPI_BYTE, mine, bytes, MPI_BYTE, root, COMM(comm), request);
}

static MPI_Datatype number(int type) {
  return type == PENSTOCK_MPI_DOUBLE ? MPI_DOUBLE : type == PENSTOCK_MPI_FLOAT ? MPI_FLOAT : MPI_INT64_T;
}
static MPI_Op operation(int op) {
  switch (op) {
    case PENSTOCK_MPI_SUM: return MPI_SUM;
    case PENSTOCK_MPI_MIN: return MPI_MIN;
    case PENSTOCK_MPI_MAX: return MPI_MAX;
    case PENSTOCK_MPI_REPLACE: return MPI_REPLACE;
    default: return MPI_NO_OP;
  }
}

static int all_reduce(void* values, int n, int type, int op, Handle comm, void* request) {
  return MPI_Iallreduce(MPI_IN_PLACE, values, n, number(type), operation(op), COMM(comm), request);
}

static int reduce(const void* values, void* result, int n, int type, int op, int root, Handle comm,
                  void* request) {
  return MPI_Ireduce(values, result, n, number(type), operation(op), root, COMM(comm), request);
}

/* ---- neighbourhood collectives ---- */

typedef struct Side {
  int* counts;
  MPI_Aint* addresses;
  MPI_Datatype* types;
  int n;
} Side;

typedef struct Plan {
  MPI_Comm graph;
  Side sends, receives;
} Plan;

static int fill_side(const PenstockMpiMessage* messages, int n, Side* s, int* ranks) {
  s->counts = calloc((size_t)n + 1, sizeof(int));
  s->addresses = calloc((size_t)n + 1, sizeof(MPI_Aint));
  s->types = calloc((size_t)n + 1, sizeof(MPI_Datatype));
  if (!s->counts || !s->addresses || !s->types) return MPI_ERR_NO_MEM;
  for (int i = 0; i < n; ++i, ++s->n) {
    ranks[i] = messages[i].rank;
    TRY(MPI_Get_address(messages[i].data, &s->addresses[i]));
    TRY(carry(messages[i].bytes, &s->counts[i], &s->types[i]));
  }
  return MPI_SUCCESS;
}

static int free_side(Side* s) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < s->n; ++i) {
    const int dropped = drop(s->types[i]);
    if (dropped != MPI_SUCCESS) code = dropped;
  }
  free(s->counts);
  free(s->addresses);
  free(s->types);
  return code;
}

static int neighbor_free(void* plan) {
  Plan* p = plan;
  int code = MPI_SUCCESS;
  if (p->graph != MPI_COMM_NULL) code = MPI_Comm_free(&p->graph);
  const int sends = free_side(&p->sends), receives = free_side(&p->receives);
  free(p);
  return code != MPI_SUCCESS ? code : sends != MPI_SUCCESS ? sends : receives;
}

static int neighbor_create(Handle comm, const PenstockMpiMessage* sends, int n_sends,
                           const PenstockMpiMessage* receives, int n_receives, void** plan) {
  Plan* p = calloc(1, sizeof(Plan));
  int* ranks = calloc((size_t)n_sends + (size_t)n_receives + 1, sizeof(int));
  int code = MPI_ERR_NO_MEM;
  if (p && ranks) {
    p->graph = MPI_COMM_NULL;
    code = fill_side(sends, n_sends, &p->sends, ranks);
    if (code == MPI_SUCCESS) code = fill_side(receives, n_receives, &p->receives, ranks + n_sends);
    if (code == MPI_SUCCESS)
      code = MPI_Dist_graph_create_adjacent(COMM(comm), n_receives, ranks + n_sends, MPI_UNWEIGHTED, n_sends,
                                            ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &p->graph);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(p->graph, MPI_ERRORS_RETURN);
  }
  free(ranks);
  if (code != MPI_SUCCESS && p) neighbor_free(p);
  if (code == MPI_SUCCESS) *plan = p;
  return code;
}

static int neighbor_move(void* plan, int i, const void* data) {
  return MPI_Get_address(data, &((Plan*)plan)->sends.addresses[i]);
}

static int neighbor_start(void* plan, void* request) {
  const Plan* p = plan;
  return MPI_Ineighbor_alltoallw(MPI_BOTTOM, p->sends.counts, p->sends.addresses, p->sends.types, MPI_BOTTOM,
                                 p->receives.counts, p->receives.addresses, p->receives.types, p->graph,
                                 request);
}

/* ---- scattered entries ---- */

static int entry_type(int64_t entry_bytes, Handle* out) {
  MPI_Datatype type;
  const MPI_Datatype one = entry_bytes == 8 ? MPI_INT64_T : entry_bytes == 4 ? MPI_INT32_T : MPI_BYTE;
  if (entry_bytes > INT_MAX) return MPI_ERR_COUNT;
  TRY(MPI_Type_contiguous(one == MPI_BYTE ? (int)entry_bytes : 1, one, &type));
  TRY(MPI_Type_commit(&type));
  *out = (Handle)type;
  return MPI_SUCCESS;
}

static int indexed_type(Handle entry, const int32_t* indices, int n, Handle* out) {
  MPI_Datatype type;
  TRY(MPI_Type_create_indexed_block(n, 1, indices, TYPE(entry), &type));
  TRY(MPI_Type_commit(&type));
  *out = (Handle)type;
  return MPI_SUCCESS;
}

static int free_type(Handle type) {
  MPI_Datatype t = TYPE(type);
  return MPI_Type_free(&t);
}

static int typed_send_init(const void* base, int n, Handle type, int to, int tag, Handle comm,
                           void* request) {
  return MPI_Send_init(base, n, TYPE(type), to, tag, COMM(comm), request);
}

static int typed_receive_init(void* data, int n, Handle type, int from, int tag, Handle comm, void* request) {
  return MPI_Recv_init(data, n, TYPE(type), from, tag, COMM(comm), request);
}

#include "windows.h"

const PenstockMpi* penstock_mpi(void) {
  static const PenstockMpi table = {
      .version = PENSTOCK_MPI_VERSION,
      .table_bytes = sizeof(PenstockMpi),
      .request_bytes = sizeof(MPI_Request),
      .flavour = FLAVOUR,
      .initialized = is_initialized,
      .finalized = is_finalized,
      .init = init,
      .finalize = finalize,
      .end_job = end_job,
      .library = library,
      .error_text = error_text,
      .gpu_aware = gpu_aware,
      .set_largest = set_largest,
      .world = world,
      .comm_at = comm_at,
      .rank_and_size = rank_and_size,
      .duplicate = duplicate,
      .split = split,
      .ranks_of_node = ranks_of_node,
      .split_node = split_node,
      .free_comm = free_comm,
      .clear = clear,
      .start_all = start_all,
      .test_all = test_all,
      .cancel_all = cancel_all,
      .free_all = free_all,
      .send = send,
      .receive = receive,
      .probe_any = probe_any,
      .send_init = send_init,
      .receive_init = receive_init,
      .barrier = barrier,
      .broadcast = broadcast,
      .all_gather = all_gather,
      .all_gather_v = all_gather_v,
      .gather_v = gather_v,
      .scatter_v = scatter_v,
      .all_reduce = all_reduce,
      .reduce = reduce,
      .neighbor_create = neighbor_create,
      .neighbor_move = neighbor_move,
      .neighbor_start = neighbor_start,
      .neighbor_free = neighbor_free,
      .entry_type = entry_type,
      .indexed_type = indexed_type,
      .free_type = free_type,
      .typed_send_init = typed_send_init,
      .typed_receive_init = typed_receive_init,
      .window_allocate = window_allocate,
      .window_share = window_share,
      .window_peer = window_peer,
      .window_unified = window_unified,
      .window_free = window_free,
      .window_lock_all = window_lock_all,
      .window_unlock_all = window_unlock_all,
      .window_sync = window_sync,
      .window_flush = window_flush,
      .window_flush_all = window_flush_all,
      .put = put,
      .window_get = window_get,
      .window_get_rows = window_get_rows,
      .window_get_ranges = window_get_ranges,
      .window_put = window_put,
      .fetch_op = fetch_op,
      .compare_swap = compare_swap,
      .accumulate = accumulate,
  };
  return &table;
}
