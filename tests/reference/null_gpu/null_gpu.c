// A GPU that computes nothing: what PyTorch's CUDA build asks of the CUDA runtime, cuBLAS and the driver, answered as an A100 of 80 GB
// would, with memory that is only addresses. Kernels are launched and never run; what is read back is zeros, or what a small copy brought. Dispatch, autograd, kernels'
// host code and the caching allocator are PyTorch's own, so that its memory statistics are those of a real board. What nothing depends on
// returns 0 from a file that build_null_gpu.py generates.
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t kSpan = 1ull << 44, kBoard = 85094825984ull, kPage = 2ull << 20;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char* begin;
static size_t handed_out, living;
static struct { void* at; size_t bytes; } blocks[1 << 20];
static int block_count;

cudaError_t cudaMalloc(void** at, size_t bytes) {
  const size_t whole = (bytes + kPage - 1) & ~(kPage - 1);
  pthread_mutex_lock(&guard);
  if (!begin) begin = mmap(0, kSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int fits = living + whole <= kBoard;
  if (fits) {
    *at = begin + handed_out;
    handed_out += whole;
    living += whole;
    blocks[block_count].at = *at;
    blocks[block_count++].bytes = whole;
  }
  pthread_mutex_unlock(&guard);
  return fits ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* at) {
  pthread_mutex_lock(&guard);
  for (int i = block_count - 1; i >= 0; --i) {
    if (blocks[i].at != at || !blocks[i].bytes) continue;
    living -= blocks[i].bytes;
    blocks[i].bytes = 0;
    break;
  }
  pthread_mutex_unlock(&guard);
  return cudaSuccess;
}

static int is_on_board(const void* at) { return begin && (char*)at >= begin && (char*)at < begin + kSpan; }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) { return *free = kBoard - living, *total = kBoard, cudaSuccess; }
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned flags) { return *at = calloc(1, bytes), cudaSuccess; }
cudaError_t cudaMallocHost(void** at, size_t bytes) { return *at = calloc(1, bytes), cudaSuccess; }
cudaError_t cudaFreeHost(void* at) { return free(at), cudaSuccess; }

// Small copies to the board are remembered by their address, so that indices that a program sends and reads back are what it sent.
enum { kRemembered = 4096, kLargestRemembered = 65536 };
static struct {
  const void* at;
  size_t bytes;
  void* data;
} remembered[kRemembered];

static size_t place_of(const void* at) { return ((size_t)at >> 9) & (kRemembered - 1); }

static void remember(const void* at, const void* data, size_t bytes) {
  if (is_on_board(data) || bytes > kLargestRemembered) return;
  const size_t i = place_of(at);
  free(remembered[i].data);
  remembered[i].data = memcpy(malloc(bytes), data, bytes);
  remembered[i].at = at;
  remembered[i].bytes = bytes;
}

static void recall(void* to, const void* at, size_t bytes) {
  const size_t i = place_of(at);
  const int known = remembered[i].at == at && remembered[i].bytes >= bytes && bytes > 64;
  if (known) memcpy(to, remembered[i].data, bytes);
  else memset(to, 0, bytes);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (is_on_board(to)) remember(to, from, bytes);
  else if (is_on_board(from)) recall(to, from, bytes);
  else memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind) { return cudaMemcpyAsync(to, from, bytes, kind, 0); }

// Managed memory is the host's.
cudaError_t cudaMallocManaged(void** at, size_t bytes, unsigned flags) {
  *at = mmap(0, bytes ? bytes : 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* of, const void* at) {
  memset(of, 0, sizeof *of);
  of->type = is_on_board(at) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  if (is_on_board(at)) of->devicePointer = (void*)at;
  else of->hostPointer = (void*)at;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* of, int device) {
  memset(of, 0, sizeof *of);
  strcpy(of->name, "NVIDIA A100-SXM4-80GB");
  of->totalGlobalMem = kBoard;
  of->major = 8;
  of->multiProcessorCount = 108;
  of->warpSize = 32;
  of->sharedMemPerBlock = 49152;
  of->sharedMemPerBlockOptin = 166912;
  of->sharedMemPerMultiprocessor = 167936;
  of->regsPerBlock = of->regsPerMultiprocessor = 65536;
  of->memPitch = of->maxGridSize[0] = 2147483647;
  of->maxGridSize[1] = of->maxGridSize[2] = 65535;
  of->maxThreadsPerBlock = of->maxThreadsDim[0] = of->maxThreadsDim[1] = 1024;
  of->maxThreadsDim[2] = 64;
  of->maxThreadsPerMultiProcessor = 2048;
  of->maxBlocksPerMultiProcessor = 32;
  of->totalConstMem = 65536;
  of->memoryBusWidth = 5120;
  of->l2CacheSize = 41943040;
  of->textureAlignment = 512;
  of->canMapHostMemory = of->concurrentKernels = of->unifiedAddressing = of->managedMemory = of->cooperativeLaunch = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp board;
  cudaGetDeviceProperties(&board, device);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: return *value = board.multiProcessorCount, cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock: return *value = board.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: return *value = 49152, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return *value = 166912, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return *value = 167936, cudaSuccess;
    case cudaDevAttrWarpSize: return *value = board.warpSize, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: return *value = board.major, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return *value = board.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrMaxGridDimX: return *value = board.maxGridSize[0], cudaSuccess;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return *value = board.maxGridSize[1], cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return *value = board.maxBlocksPerMultiProcessor, cudaSuccess;
    case cudaDevAttrL2CacheSize: return *value = board.l2CacheSize, cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock: return *value = board.regsPerBlock, cudaSuccess;
    default: return *value = 0, cudaSuccess;
  }
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* of, const void* kernel) {
  memset(of, 0, sizeof *of);
  of->ptxVersion = of->binaryVersion = 80;
  of->maxThreadsPerBlock = 1024;
  of->numRegs = 32;
  of->maxDynamicSharedSizeBytes = 166912;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks_, const void* kernel, int threads, size_t shared) { return *blocks_ = 2, cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks_, const void* kernel, int threads, size_t shared, unsigned flags) {
  return *blocks_ = 2, cudaSuccess;
}

static void* new_handle(void) {
  static size_t last = 0x1000;
  return (void*)(last += 16);
}
cudaError_t cudaStreamCreate(cudaStream_t* made) { return *made = new_handle(), cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) { return *made = new_handle(), cudaSuccess; }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned flags, int priority) { return *made = new_handle(), cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* made) { return *made = new_handle(), cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned flags) { return *made = new_handle(), cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) { return *milliseconds = 1, cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) { return *least = 0, *most = -5, cudaSuccess; }
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) { return *priority = 0, cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) { return *status = cudaStreamCaptureStatusNone, cudaSuccess; }
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges, size_t* count) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) { return *can = 0, cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the null GPU"; }
const char* cudaGetErrorName(cudaError_t error) { return "null GPU"; }

static int nothing(void) { return 0; }
static int primary_context(int device, unsigned* flags, int* active) { return *active = 1, 0; }
static int current_context(void** context) { return *context = (void*)1, 0; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult* result) {
  *function = !strcmp(name, "cuDevicePrimaryCtxGetState") ? (void*)primary_context : !strcmp(name, "cuCtxGetCurrent") ? (void*)current_context : (void*)nothing;
  if (result) *result = 0;
  return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** at, const void* symbol) { return *at = (void*)0x1000, cudaSuccess; }

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  grid->x = grid->y = grid->z = block->x = block->y = block->z = 1;
  *shared = 0;
  *(void**)stream = 0;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) { return *kernel = (cudaKernel_t)function, cudaSuccess; }

int cublasCreate_v2(void** made) { return *made = new_handle(), 0; }
int cublasLtCreate(void** made) { return *made = new_handle(), 0; }
int cudnnCreate(void** made) { return *made = new_handle(), 0; }
size_t cublasLtGetVersion(void) { return 130400; }
int cublasGetVersion_v2(void* handle, int* version) { return *version = 130400, 0; }
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c, void* d, void* preference, int asked, void* found, int* count) {
  return *count = 1, 0;
}

int cuCtxGetCurrent(void** context) { return current_context(context); }
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) { return primary_context(device, flags, active); }
