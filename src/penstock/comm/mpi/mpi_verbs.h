#pragma once
/* What the MPI plugin (src/mpi/plugin.c) gives the library: a table of C functions. The library knows no <mpi.h>, so one
   build of it works with every MPI; the plugin is compiled with the mpicc of the MPI at hand and knows nothing else. All
   functions return MPI's error code, 0 for success, unless they return nothing. Change the version with the layout. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PENSTOCK_MPI_VERSION 6
#define PENSTOCK_MPI_SYMBOL "penstock_mpi"

/* An MPI_Comm, MPI_Win or MPI_Datatype: an int or a pointer, as that MPI has it. */
typedef intptr_t PenstockMpiHandle;

enum {
  PENSTOCK_MPI_SUM = 0,
  PENSTOCK_MPI_MIN = 1,
  PENSTOCK_MPI_MAX = 2,
  PENSTOCK_MPI_REPLACE = 3, /* these two in fetch_op() alone */
  PENSTOCK_MPI_NO_OP = 4
};
enum { PENSTOCK_MPI_DOUBLE = 0, PENSTOCK_MPI_INT64 = 1, PENSTOCK_MPI_FLOAT = 2 };

typedef struct PenstockMpiMessage {
  int rank;
  void* data;
  int64_t bytes;
} PenstockMpiMessage;

/* Requests are passed as memory of request_bytes each, one after the other. Numbers of bytes are 64-bit: what exceeds
   an int travels as one element of a derived type. Counts and offsets of the _v collectives are MPI's ints. */
typedef struct PenstockMpi {
  int version;
  size_t table_bytes;
  size_t request_bytes;
  const char* flavour; /* "openmpi", "mpich" (with all that share its ABI) or "abi" (the ABI of MPI 5) */

  int (*initialized)(int* flag);
  int (*finalized)(int* flag);
  int (*init)(void);
  int (*finalize)(void);
  int (*end_job)(int code); /* MPI_Abort */
  int (*library)(char* text, int capacity);
  int (*error_text)(int code, char* text, int capacity);
  int (*gpu_aware)(int* answer);      /* 1 by what the library says of itself, else 0 */
  void (*set_largest)(int64_t bytes); /* beyond which a message becomes a derived type: INT_MAX unless told */

  PenstockMpiHandle (*world)(void);
  PenstockMpiHandle (*comm_at)(const void* address); /* the MPI_Comm stored there */
  int (*rank_and_size)(PenstockMpiHandle comm, int* rank, int* size);
  int (*duplicate)(PenstockMpiHandle comm, PenstockMpiHandle* copy); /* which returns errors */
  int (*split)(PenstockMpiHandle comm, int color, int key, PenstockMpiHandle* part);
  int (*ranks_of_node)(PenstockMpiHandle comm, int* ranks);
  /* The ranks that can share memory with this one: `in_node` receives each rank's number among them, -1 for others. */
  int (*split_node)(PenstockMpiHandle comm, int* in_node, PenstockMpiHandle* node);
  int (*free_comm)(PenstockMpiHandle comm);

  void (*clear)(void* requests, int n); /* to MPI_REQUEST_NULL */
  int (*start_all)(void* requests, int n);
  int (*test_all)(void* requests, int n, int* done);
  int (*cancel_all)(void* requests, int n); /* receives: cancelled and waited for */
  int (*free_all)(void* requests, int n);

  int (*send)(const void* data, int64_t bytes, int to, int tag, PenstockMpiHandle comm, void* request);
  int (*receive)(void* data, int64_t bytes, int from, int tag, PenstockMpiHandle comm, void* request);
  int (*probe_any)(int tag, PenstockMpiHandle comm, int* found, int* from);
  int (*send_init)(const void* data, int64_t bytes, int to, int tag, PenstockMpiHandle comm, void* request);
  int (*receive_init)(void* data, int64_t bytes, int from, int tag, PenstockMpiHandle comm, void* request);

  int (*barrier)(PenstockMpiHandle comm, void* request);
  int (*broadcast)(void* data, int64_t bytes, int root, PenstockMpiHandle comm, void* request);
  int (*all_gather)(const void* mine, int bytes, void* all, PenstockMpiHandle comm, void* request);
  int (*all_gather_v)(const void* mine, int bytes, void* all, const int* counts, const int* offsets,
                      PenstockMpiHandle comm, void* request);
  int (*gather_v)(const void* mine, int bytes, void* all, const int* counts, const int* offsets, int root,
                  PenstockMpiHandle comm, void* request);
  int (*scatter_v)(const void* all, const int* counts, const int* offsets, void* mine, int bytes, int root,
                   PenstockMpiHandle comm, void* request);
  int (*all_reduce)(void* values, int n, int type, int op, PenstockMpiHandle comm, void* request);
  int (*reduce)(const void* values, void* result, int n, int type, int op, int root, PenstockMpiHandle comm,
                void* request);

  /* A neighbourhood collective on a graph communicator; the plan belongs to the caller until neighbor_free(). */
  int (*neighbor_create)(PenstockMpiHandle comm, const PenstockMpiMessage* sends, int n_sends,
                         const PenstockMpiMessage* receives, int n_receives, void** plan);
  int (*neighbor_move)(void* plan, int i, const void* data); /* the i-th send lies there from now on */
  int (*neighbor_start)(void* plan, void* request);
  int (*neighbor_free)(void* plan);

  /* Entries that lie scattered; entry_type() describes one entry, and both sides count in it. */
  int (*entry_type)(int64_t entry_bytes, PenstockMpiHandle* type);
  int (*indexed_type)(PenstockMpiHandle entry, const int32_t* indices, int n, PenstockMpiHandle* type);
  int (*free_type)(PenstockMpiHandle type);
  int (*typed_send_init)(const void* base, int n, PenstockMpiHandle type, int to, int tag,
                         PenstockMpiHandle comm, void* request);
  int (*typed_receive_init)(void* data, int n, PenstockMpiHandle type, int from, int tag,
                            PenstockMpiHandle comm, void* request);

  /* Windows to which every rank may go from window_lock_all() to window_unlock_all(), which precedes window_free(). A
     put, an accumulate and a compare_swap are done there after a flush; what carries a request here when that is done.
     window_share() is of ranks of one node; window_peer() says where another one's part lies in this process. */
  int (*window_allocate)(int64_t bytes, PenstockMpiHandle comm, void** base, PenstockMpiHandle* window);
  int (*window_share)(int64_t bytes, PenstockMpiHandle node, void** base, PenstockMpiHandle* window);
  int (*window_peer)(int rank, PenstockMpiHandle window, void** base);
  int (*window_unified)(PenstockMpiHandle window,
                        int* answer);           /* MPI_WIN_UNIFIED: loads see what others put */
  int (*window_free)(PenstockMpiHandle window); /* collective */
  int (*window_lock_all)(PenstockMpiHandle window);
  int (*window_unlock_all)(PenstockMpiHandle window);
  int (*window_sync)(PenstockMpiHandle window);
  int (*window_flush)(int target, PenstockMpiHandle window);
  int (*window_flush_all)(PenstockMpiHandle window);
  int (*put)(const void* data, int64_t bytes, int target, int64_t offset, PenstockMpiHandle window);
  int (*window_get)(void* data, int64_t bytes, int target, int64_t offset, PenstockMpiHandle window,
                    void* request);
  /* Rows of a table that begins at `offset`, to the same places behind `data`; n is above 0. */
  int (*window_get_rows)(void* data, int64_t row_bytes, const int32_t* rows, int n, int target,
                         int64_t offset, PenstockMpiHandle window, void* request);
  /* n ranges of bytes, from `there` behind `offset` to `here` behind `data`; n is above 0. */
  int (*window_get_ranges)(void* data, const int32_t* bytes, const int64_t* here, const int64_t* there, int n,
                           int target, int64_t offset, PenstockMpiHandle window, void* request);
  int (*window_put)(const void* data, int64_t bytes, int target, int64_t offset, PenstockMpiHandle window,
                    void* request);
  /* Words of 64 bits: writes `value` + what is there (or `value`, or nothing), and gives what was there before. */
  int (*fetch_op)(const int64_t* value, int64_t* before, int op, int target, int64_t offset,
                  PenstockMpiHandle window, void* request);
  int (*compare_swap)(const int64_t* desired, const int64_t* expected, int64_t* before, int target,
                      int64_t offset, PenstockMpiHandle window);
  /* Sums n numbers of `type` into those there. */
  int (*accumulate)(const void* values, int n, int type, int target, int64_t offset,
                    PenstockMpiHandle window);
} PenstockMpi;

/* The plugin's only symbol. */
const PenstockMpi* penstock_mpi(void);

#ifdef __cplusplus
}
#endif
