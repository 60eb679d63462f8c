// Reads and writes a block device past the page cache and through it, from one
// function for each way.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <unistd.h>

static char *buf;

static void must(int ok, const char *what) {
	if (!ok) { perror(what); exit(1); }
}

__attribute__((noinline)) void do_write(int fd) {
	for (long i = 0; i < 100; i++) must(pwrite(fd, buf, 65536, i * 65536) == 65536, "write");
}

__attribute__((noinline)) void do_read(int fd) {
	for (long i = 0; i < 250; i++) must(pread(fd, buf, 4096, i * 8192) == 4096, "read");
}

// More than one request can hold.
__attribute__((noinline)) void do_large(int fd) {
	for (long i = 0; i < 3; i++) must(pwrite(fd, buf, 4 << 20, i * (4 << 20)) == 4 << 20, "write");
}

// Through the page cache, and out of it.
__attribute__((noinline)) void do_sync(int fd) {
	for (long i = 0; i < 64; i++) must(pwrite(fd, buf, 16384, i * 16384) == 16384, "write");
	must(fsync(fd) == 0, "fsync");
}

__attribute__((noinline)) void do_discard(int fd) {
	unsigned long range[2] = {8 << 20, 1 << 20};
	must(ioctl(fd, BLKDISCARD, range) == 0, "discard");
}

static void *several(void *arg) {
	do_read(*(int *)arg);
	return 0;
}

int main(int argc, char **argv) {
	int direct = open(argv[1], O_RDWR | O_DIRECT), cached = open(argv[1], O_RDWR);
	must(direct >= 0 && cached >= 0, argv[1]);
	must(posix_memalign((void **)&buf, 4096, 4 << 20) == 0, "memory");
	do_write(direct);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, several, &direct);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
	do_large(direct);
	do_discard(direct);
	do_sync(cached);
	return 0;
}
