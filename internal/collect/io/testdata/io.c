// Moves bytes through every system call that the io collector knows, from one
// function for each, in several threads, and prints what each of them moved.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4

struct sum { unsigned long bytes, count, errors, ns; };

#define CALLS(X) X(read) X(write) X(readv) X(writev) X(pread64) X(pwrite64) X(preadv) X(pwritev) \
	X(preadv2) X(pwritev2) X(recvfrom) X(sendto) X(recvmsg) X(sendmsg) X(recvmmsg) X(sendmmsg) \
	X(sendfile) X(splice) X(tee) X(vmsplice) X(copy_file_range)
#define ENUM(n) call_##n,
enum { CALLS(ENUM) calls };
#define NAME(n) #n,
static const char *names[] = { CALLS(NAME) };

static struct sum sums[THREADS][calls];
static __thread struct sum *mine;

static unsigned long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

// The function do_NAME makes the call and books it; the result is its own, but for
// messages, whose bytes the caller knows.
#define DO(n) \
static __attribute__((noinline)) long do_##n(long a, long b, long c, long d, long e, long f) { \
	struct sum *s = &mine[call_##n]; \
	unsigned long before = now(); \
	long r = syscall(SYS_##n, a, b, c, d, e, f); \
	s->ns += now() - before; \
	if (r < 0) s->errors += errno != EAGAIN; /* which is no failure */ \
	else { s->count++; if (call_##n != call_recvmmsg && call_##n != call_sendmmsg) s->bytes += r; } \
	return r; \
}
CALLS(DO)

#define L(x) ((long)(x))

static void must(long r, const char *what) {
	if (r < 0) { perror(what); exit(1); }
}

static int temporary(const char *dir) {
	int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	must(fd, "temporary file");
	return fd;
}

static void *work(void *arg) {
	long index = L(arg) >> 32, rounds = L(arg) & 0xffffffff;
	mine = sums[index];
	static __thread char buf[8192];
	int a = temporary("/var/tmp"), b = temporary("/var/tmp"), pipes[2], to[2], stream[2], datagrams[2];
	must(pipe(pipes), "pipe");
	must(pipe(to), "pipe");
	must(fcntl(pipes[0], F_SETFL, O_NONBLOCK), "nonblock");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), "socketpair");
	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams), "socketpair");
	for (long i = 0; i < rounds; i++) {
		usleep(1000); // no storm: every record is wanted
		long n = 1 + (i * 37 + index * 11) % 4000;
		struct iovec v[2] = {{buf, n}, {buf + n, 13}};
		do_pwrite64(a, L(buf), n, 0, 0, 0);
		do_pread64(a, L(buf), 8192, 0, 0, 0); // short: the file has no more
		do_pwritev(a, L(v), 2, 0, 0, 0);
		do_preadv(a, L(v), 2, 5, 0, 0);
		do_pwritev2(a, L(v), 2, 0, 0, 0);
		do_preadv2(a, L(v), 2, 0, 0, 0);
		lseek(a, 0, SEEK_SET);
		do_write(a, L(buf), n, 0, 0, 0);
		do_writev(a, L(v), 2, 0, 0, 0);
		lseek(a, 0, SEEK_SET);
		do_read(a, L(buf), n, 0, 0, 0);
		do_readv(a, L(v), 2, 0, 0, 0);
		do_read(a, L(buf), 8192, 0, 0, 0); // the end: nothing
		do_read(pipes[0], L(buf), 10, 0, 0, 0); // empty: EAGAIN
		do_write(-1, L(buf), 10, 0, 0, 0); // EBADF
		do_read(a, 16, 100, 0, 0, 0); // EFAULT or the end

		loff_t from = 0, into = 0;
		do_copy_file_range(a, L(&from), b, L(&into), n, 0);
		from = 0;
		do_sendfile(pipes[1], a, L(&from), n, 0, 0);
		do_tee(pipes[0], to[1], n, 0, 0, 0);
		from = 0;
		do_splice(pipes[0], 0, b, L(&from), n, SPLICE_F_MOVE);
		do_vmsplice(to[1], L(v), 1, 0, 0, 0);
		while (do_read(to[0], L(buf), 8192, 0, 0, 0) == 8192) { }

		struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
		do_sendto(stream[0], L(buf), n, 0, 0, 0);
		do_recvfrom(stream[1], L(buf), 8192, 0, 0, 0);
		do_sendmsg(stream[0], L(&m), 0, 0, 0, 0);
		do_recvmsg(stream[1], L(&m), 0, 0, 0, 0);
		do_recvfrom(stream[1], L(buf), 8192, MSG_DONTWAIT, 0, 0); // empty

		do_sendto(datagrams[0], L(buf), n, 0, 0, 0);
		long whole = do_recvfrom(datagrams[1], L(buf), n / 2, MSG_TRUNC, 0, 0);
		mine[call_recvfrom].bytes -= whole - n / 2; // the rest is dropped

		struct mmsghdr several[3];
		memset(several, 0, sizeof several);
		for (int k = 0; k < 3; k++) { several[k].msg_hdr.msg_iov = &v[k & 1]; several[k].msg_hdr.msg_iovlen = 1; }
		long sent = do_sendmmsg(datagrams[0], L(several), 3, 0, 0, 0);
		for (int k = 0; k < sent; k++) mine[call_sendmmsg].bytes += several[k].msg_len;
		long got = do_recvmmsg(datagrams[1], L(several), 3, MSG_DONTWAIT, 0, 0);
		for (int k = 0; k < got; k++) mine[call_recvmmsg].bytes += several[k].msg_len;
		do_recvmmsg(datagrams[1], L(several), 3, MSG_DONTWAIT, 0, 0); // empty
	}
	// One that waits: two tenths of a second inside.
	if (index == 0) {
		must(fcntl(pipes[0], F_SETFL, 0), "block");
		if (fork() == 0) { usleep(200000); _exit(write(pipes[1], "x", 1) != 1); }
		do_read(pipes[0], L(buf), 10, 0, 0, 0);
	}
	return 0;
}

int main(int argc, char **argv) {
	pthread_t threads[THREADS];
	for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)(i << 32 | atol(argv[1])));
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
	for (int c = 0; c < calls; c++) {
		struct sum s = {0};
		for (int i = 0; i < THREADS; i++) {
			s.bytes += sums[i][c].bytes; s.count += sums[i][c].count;
			s.errors += sums[i][c].errors; s.ns += sums[i][c].ns;
		}
		printf("%s %lu %lu %lu %lu\n", names[c], s.bytes, s.count, s.errors, s.ns);
	}
	return 0;
}
