/* The windows of the plugin, a part of plugin.c: all have passive targets (lock_all). */
#pragma once

static int keep_window(MPI_Win made, Handle* out) {
  *out = (Handle)made;
  return MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
}

static int window_allocate(int64_t bytes, Handle comm, void** base, Handle* out) {
  MPI_Win made;
  TRY(MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, COMM(comm), base, &made));
  return keep_window(made, out);
}

/* Each rank's part begins on pages of its own, in memory near it. */
static int window_share(int64_t bytes, Handle node, void** base, Handle* out) {
  MPI_Info info;
  MPI_Win made;
  TRY(MPI_Info_create(&info));
  int code = MPI_Info_set(info, "alloc_shared_noncontig", "true");
  if (code == MPI_SUCCESS) code = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, COMM(node), base, &made);
  MPI_Info_free(&info);
  return code != MPI_SUCCESS ? code : keep_window(made, out);
}

static int window_peer(int rank, Handle window, void** base) {
  MPI_Aint bytes;
  int unit;
  return MPI_Win_shared_query(WIN(window), rank, &bytes, &unit, base);
}

static int window_unified(Handle window, int* answer) {
  int *model, found = 0;
  TRY(MPI_Win_get_attr(WIN(window), MPI_WIN_MODEL, &model, &found));
  *answer = found && *model == MPI_WIN_UNIFIED;
  return MPI_SUCCESS;
}

static int window_free(Handle window) {
  MPI_Win w = WIN(window);
  return MPI_Win_free(&w);
}

static int put(const void* data, int64_t bytes, int target, int64_t offset, Handle window) {
  CARRIED(bytes, MPI_Put(data, count, type, target, (MPI_Aint)offset, count, type, WIN(window)));
}

/* Memory that a rank wrote itself is seen by others, and theirs here, from a sync on. */
static int window_sync(Handle window) { return MPI_Win_sync(WIN(window)); }
/* No rank locks for itself alone, so there is nothing to check. */
static int window_lock_all(Handle window) { return MPI_Win_lock_all(MPI_MODE_NOCHECK, WIN(window)); }
static int window_unlock_all(Handle window) { return MPI_Win_unlock_all(WIN(window)); }
static int window_flush(int target, Handle window) { return MPI_Win_flush(target, WIN(window)); }
static int window_flush_all(Handle window) { return MPI_Win_flush_all(WIN(window)); }

static int window_get(void* data, int64_t bytes, int target, int64_t offset, Handle window, void* request) {
  CARRIED(bytes, MPI_Rget(data, count, type, target, (MPI_Aint)offset, count, type, WIN(window), request));
}

static int window_get_rows(void* data, int64_t row_bytes, const int32_t* rows, int n, int target,
                           int64_t offset, Handle window, void* request) {
  Handle row, some;
  int code = entry_type(row_bytes, &row);
  if (code != MPI_SUCCESS) return code;
  code = indexed_type(row, rows, n, &some);
  if (code == MPI_SUCCESS) {
    /* What is under way keeps a type that is freed. */
    code = MPI_Rget(data, 1, TYPE(some), target, (MPI_Aint)offset, 1, TYPE(some), WIN(window), request);
    free_type(some);
  }
  free_type(row);
  return code;
}

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "displacements are addresses of 64 bits");

static int ranges_type(const int32_t* bytes, const int64_t* at, int n, MPI_Datatype* type) {
  TRY(MPI_Type_create_hindexed(n, bytes, (const MPI_Aint*)at, MPI_BYTE, type));
  return MPI_Type_commit(type);
}

static int window_get_ranges(void* data, const int32_t* bytes, const int64_t* here, const int64_t* there,
                             int n, int target, int64_t offset, Handle window, void* request) {
  MPI_Datatype to, from;
  int code = ranges_type(bytes, here, n, &to);
  if (code != MPI_SUCCESS) return code;
  code = ranges_type(bytes, there, n, &from);
  if (code == MPI_SUCCESS) {
    code = MPI_Rget(data, 1, to, target, (MPI_Aint)offset, 1, from, WIN(window), request);
    MPI_Type_free(&from);
  }
  MPI_Type_free(&to);
  return code;
}

static int window_put(const void* data, int64_t bytes, int target, int64_t offset, Handle window,
                      void* request) {
  CARRIED(bytes, MPI_Rput(data, count, type, target, (MPI_Aint)offset, count, type, WIN(window), request));
}

static int fetch_op(const int64_t* value, int64_t* before, int op, int target, int64_t offset, Handle window,
                    void* request) {
  return MPI_Rget_accumulate(value, 1, MPI_INT64_T, before, 1, MPI_INT64_T, target, (MPI_Aint)offset, 1,
                             MPI_INT64_T, operation(op), WIN(window), request);
}

static int compare_swap(const int64_t* desired, const int64_t* expected, int64_t* before, int target,
                        int64_t offset, Handle window) {
  return MPI_Compare_and_swap(desired, expected, before, MPI_INT64_T, target, (MPI_Aint)offset, WIN(window));
}

static int accumulate(const void* values, int n, int type, int target, int64_t offset, Handle window) {
  return MPI_Accumulate(values, n, number(type), target, (MPI_Aint)offset, n, number(type), MPI_SUM,
                        WIN(window));
}
