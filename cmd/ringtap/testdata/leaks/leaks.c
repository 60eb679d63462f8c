// A program that leaks known amounts from known functions, among as many correct
// frees in four threads as its argument says. Compiled as C++ it uses new as well.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __cplusplus
#include <new>
#endif

#define CHECK(p) do { if (!(p)) abort(); } while (0)
#define LEAK(name, times, statement) \
	__attribute__((noinline)) void leak_##name(void) { for (int i = 0; i < times; i++) { statement; CHECK(sink); } sink = 0; }

static void *volatile sink;

LEAK(malloc, 10, sink = malloc(100))
LEAK(calloc, 11, sink = calloc(3, 7))
LEAK(realloc, 12, sink = realloc(malloc(10), 5000))
LEAK(reallocarray, 16, sink = reallocarray(malloc(3), 5, 11))
LEAK(posix_memalign, 13, void *p; CHECK(posix_memalign(&p, 64, 200) == 0); sink = p)
LEAK(posix_memalign_static, 6, static void *q; CHECK(posix_memalign(&q, 64, 300) == 0); sink = q)
LEAK(aligned_alloc, 14, sink = aligned_alloc(64, 128))
LEAK(memalign, 9, sink = memalign(32, 77))
LEAK(valloc, 2, sink = valloc(300))
LEAK(strdup, 15, sink = strdup("0123456789"))
LEAK(mmap, 3, char *p = (char *)mmap(0, 65536 * 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(munmap(p, 65536) == 0); sink = p)
LEAK(mremap, 2, void *p = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sink = mremap(p, 65536, 4 * 65536, MREMAP_MAYMOVE))
#ifdef __cplusplus
struct alignas(128) Wide { char bytes[256]; };
LEAK(new, 7, sink = new char[33]; delete[] new char[44])
LEAK(new_nothrow, 5, sink = new (std::nothrow) long; delete new long)
LEAK(new_aligned, 4, sink = new Wide; delete new Wide)
#endif

static long calls;
static void *slots[512];
static int written; // whether ringtap can tell what posix_memalign wrote to the heap
struct holder { char more[40]; void *buffer; };

// Each block is freed by whichever thread takes its slot next.
__attribute__((noinline)) void *churn(void *seed) {
	unsigned s = (unsigned)(long)seed * 7919;
	for (long i = 0; i < calls; i++) {
		s = s * 1103515245 + 12345;
		size_t size = s % 700 + 1;
		void *p = 0;
		switch (s >> 20 & 7) {
		case 0: p = malloc(size); break;
		case 1: p = calloc(2, size); break;
		case 2: p = realloc(malloc(8), size); break;
		case 3: CHECK(posix_memalign(&p, 32, size) == 0); break;
		case 4: p = aligned_alloc(64, 64 * (size % 5 + 1)); break;
		case 5: p = memalign(64, size); break;
		case 6: p = reallocarray(0, size, 3); break;
		case 7: p = strdup("some text"); break;
		}
		CHECK(p);
		free(__atomic_exchange_n(&slots[(s >> 8) % 512], p, __ATOMIC_ACQ_REL));
		if (i % 200 == 0) {
			free(malloc(300000));
			p = realloc(malloc(100), 200000);
			CHECK(realloc(p, (size_t)1 << 62) == 0);
			free(p);
			free(0);
			if (written) { // where the address was is soon another's
				struct holder *h = (struct holder *)malloc(sizeof *h + s % 99);
				CHECK(posix_memalign(&h->buffer, 64, size) == 0);
				free(h->buffer);
				memset(h, 64, sizeof *h);
				free(h);
			}
			CHECK(munmap(mmap(0, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536) == 0);
#ifdef __cplusplus
			delete[] new char[size];
#endif
		}
	}
	return 0;
}

int main(int argc, char **argv) {
	pthread_t threads[4];
	char c, *preload = getenv("LD_PRELOAD");
	written = !preload || !strstr(preload, "jemalloc");
	calls = argc > 1 ? atol(argv[1]) : 1000;
	if (argc > 2) // begins when it is told to
		CHECK(read(0, &c, 1) == 1);
	for (long i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], 0, churn, (void *)(i + 1)) == 0);
	leak_malloc();
	leak_calloc();
	leak_realloc();
	leak_reallocarray();
	leak_posix_memalign();
	if (written)
		leak_posix_memalign_static();
	leak_aligned_alloc();
	leak_memalign();
	leak_valloc();
	leak_strdup();
	leak_mmap();
	leak_mremap();
#ifdef __cplusplus
	leak_new();
	leak_new_nothrow();
	leak_new_aligned();
#endif
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	for (int i = 0; i < 512; i++)
		free(slots[i]);
	return 0;
}
