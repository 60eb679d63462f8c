// Moves bytes through io_uring, from one function for each kind of request, and prints
// what each of them moved: bytes, requests, those that failed, and nanoseconds.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static unsigned *tail, *sq_mask, *array, *cq_head, *cq_tail, *cq_mask;
static int ring;

static int setup(void) {
	struct io_uring_params p = {0};
	if ((ring = syscall(SYS_io_uring_setup, 8, &p)) < 0)
		return -1;
	char *sq = mmap(0, p.sq_off.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof *cqes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(0, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		return -1;
	tail = (unsigned *)(sq + p.sq_off.tail), sq_mask = (unsigned *)(sq + p.sq_off.ring_mask), array = (unsigned *)(sq + p.sq_off.array);
	cq_head = (unsigned *)(cq + p.cq_off.head), cq_tail = (unsigned *)(cq + p.cq_off.tail), cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return 0;
}

static unsigned long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

struct sum { unsigned long bytes, count, errors, ns; };

static inline __attribute__((always_inline)) int request(struct sum *sum, int op, int fd, void *b, unsigned n, long at) {
	unsigned i = *tail & *sq_mask;
	memset(&sqes[i], 0, sizeof sqes[i]);
	sqes[i].opcode = op, sqes[i].fd = fd, sqes[i].addr = (unsigned long)b, sqes[i].len = n, sqes[i].off = at;
	array[i] = i;
	unsigned long begin = now();
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	while (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0)
		if (errno != EINTR)
			exit(1);
	while (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) == *cq_head)
		;
	sum->ns += now() - begin;
	int res = cqes[*cq_head & *cq_mask].res;
	__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	if (res < 0)
		sum->errors++;
	else
		sum->count++, sum->bytes += res;
	return res;
}

#define DO(n) static __attribute__((noinline)) int do_##n(struct sum *sum, int op, int fd, void *b, unsigned len, long at) { \
	int res = request(sum, op, fd, b, len, at); __asm__ volatile("" ::: "memory"); return res; }
DO(write) DO(read) DO(bad) DO(nop)

int main(int argc, char **argv) {
	struct sum write = {0}, read = {0}, bad = {0}, nop = {0};
	static char b[8192];
	FILE *f = tmpfile();
	if (!f || setup())
		return 77;
	for (int i = 0; i < atoi(argv[1]); i++) {
		do_write(&write, IORING_OP_WRITE, fileno(f), b, 1 + i % sizeof b, 0);
		do_read(&read, IORING_OP_READ, fileno(f), b, sizeof b, 0);
		do_bad(&bad, IORING_OP_READ, -1, b, 10, 0);
		do_nop(&nop, IORING_OP_NOP, -1, 0, 0, 0);
	}
	printf("write %lu %lu %lu %lu\nread %lu %lu %lu %lu\nbad %lu %lu %lu %lu\n", write.bytes, write.count, write.errors, write.ns,
		read.bytes, read.count, read.errors, read.ns, bad.bytes, bad.count, bad.errors, bad.ns);
	return 0;
}
