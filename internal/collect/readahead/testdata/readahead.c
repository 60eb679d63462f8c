// Reads known parts of files that are not in the page cache, from one function for
// each way, and prints for each how many pages are in the cache then, and the least
// and most of them that were used.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 2048L
static long page;

static void must(int ok, const char *what) {
	if (!ok) { perror(what); exit(1); }
}

// What mincore(2) says; it leaves out what is still on its way from the disk.
static long resident(int fd) {
	static unsigned char there[PAGES];
	void *m = mmap(0, PAGES * page, PROT_READ, MAP_SHARED, fd, 0);
	must(m != MAP_FAILED, "mmap");
	must(mincore(m, PAGES * page, there) == 0, "mincore");
	munmap(m, PAGES * page);
	long n = 0;
	for (long i = 0; i < PAGES; i++) n += there[i] & 1;
	return n;
}

// Whether the disk still reads (Documentation/ABI/stable/sysfs-block, inflight): a busy
// machine takes its time.
static int reading(int fd) {
	struct stat st;
	must(fstat(fd, &st) == 0, "fstat");
	dev_t disk = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	char name[100];
	snprintf(name, sizeof name, "/sys/dev/block/%u:%u/inflight", major(disk), minor(disk));
	FILE *f = fopen(name, "r");
	if (!f) return 0;
	long reads = 0;
	if (fscanf(f, "%ld", &reads) != 1) reads = 0;
	fclose(f);
	return reads > 0;
}

// The pages that are in the cache, of which cachestat(2) of Linux 6.5 also tells how many the kernel has
// reclaimed: a host short of memory may do so at any time.
static long cached_or(int fd, long *reclaimed) {
	unsigned long range[2] = {0, 0}, stat[5];
	*reclaimed = 0;
	if (syscall(451, fd, range, stat, 0) == 0) {
		*reclaimed = stat[3];
		return stat[0];
	}
	long n = -1;
	for (int quiet = 0; quiet < 25; usleep(20000)) {
		long now = resident(fd);
		quiet = now == n && !reading(fd) ? quiet + 1 : 0;
		n = now;
	}
	return n;
}

// The pages that were read into the cache.
static long cached(int fd) {
	long reclaimed, n = cached_or(fd, &reclaimed);
	return n + reclaimed;
}

// Dropped as soon as nothing is on its way any more.
static void drop(int fd) {
	long reclaimed;
	do must(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "fadvise");
	while (cached_or(fd, &reclaimed) > 0 && usleep(1000) == 0);
}

// A file of so many pages, on the disk and not in the cache, or a block device.
static int cold(const char *dir) {
	struct stat st;
	must(stat(dir, &st) == 0, dir);
	if (S_ISBLK(st.st_mode)) {
		int fd = open(dir, O_RDWR);
		must(fd >= 0, dir);
		must(fsync(fd) == 0, "fsync");
		drop(fd);
		return fd;
	}
	char *buf = malloc(page), name[4096];
	snprintf(name, sizeof name, "%s/pages-XXXXXX", dir);
	int fd = mkstemp(name);
	must(fd >= 0, name);
	must(unlink(name) == 0, "unlink");
	memset(buf, 'x', page);
	for (long i = 0; i < PAGES; i++) must(write(fd, buf, page) == page, "write");
	must(fsync(fd) == 0, "fsync");
	drop(fd);
	free(buf);
	return fd;
}

static void say(const char *name, int fd, long least, long most) {
	printf("%s %ld %ld %ld\n", name, cached(fd), least, most);
}

static char *buf;

__attribute__((noinline)) static void do_sequential(int fd) {
	for (long i = 0; i < 100; i++) must(pread(fd, buf, page, i * page) == page, "pread");
}

// Every seventh page, in bursts of three from page 1000 on.
__attribute__((noinline)) static void do_jumps(int fd) {
	for (long i = 0; i < 20; i++) must(pread(fd, buf, 3 * page, (1000 + 7 * i) * page) == 3 * page, "pread");
}

__attribute__((noinline)) static void do_random(int fd) {
	must(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0, "fadvise");
	for (long i = 0; i < 50; i++) must(pread(fd, buf, page, (i * 331 % PAGES) * page) == page, "pread");
}

// readahead(2) alone uses nothing.
__attribute__((noinline)) static void do_ahead(int fd) {
	must(readahead(fd, 10 * page, 64 * page) == 0, "readahead");
}

__attribute__((noinline)) static void do_sent(int fd) {
	int pipes[2];
	must(pipe(pipes) == 0, "pipe");
	off_t from = 5 * page;
	for (long i = 0; i < 8; i++) {
		must(sendfile(pipes[1], fd, &from, page) == page, "sendfile");
		must(read(pipes[0], buf, page) == page, "read");
	}
}

__attribute__((noinline)) static long do_mapped(int fd) {
	volatile char *m = mmap(0, PAGES * page, PROT_READ, MAP_SHARED, fd, 0);
	must(m != MAP_FAILED, "mmap");
	long sum = 0;
	for (long i = 0; i < 10; i++) sum += m[(64 + 100 * i) * page];
	munmap((void *)m, PAGES * page);
	return sum;
}

// Read ahead here, read by another process.
__attribute__((noinline)) static void do_shared(int fd) {
	must(readahead(fd, 0, 40 * page) == 0, "readahead");
	if (fork() == 0) {
		for (long i = 0; i < 30; i++) must(pread(fd, buf, page, i * page) == page, "pread");
		_exit(0);
	}
	wait(0);
}

// What has left the cache unused is read again.
__attribute__((noinline)) static void do_dropped(int fd) {
	must(readahead(fd, 0, 40 * page) == 0, "readahead");
	drop(fd);
	must(readahead(fd, 0, 40 * page) == 0, "readahead");
	must(pread(fd, buf, 4 * page, 0) == 4 * page, "pread");
}

int main(int argc, char **argv) {
	page = sysconf(_SC_PAGESIZE);
	buf = malloc(8 * page);
	int fd = cold(argv[1]);
	do_sequential(fd), say("do_sequential", fd, 100, 100);
	fd = cold(argv[1]), do_jumps(fd), say("do_jumps", fd, 60, 60);
	fd = cold(argv[1]), do_random(fd), say("do_random", fd, 50, 50);
	fd = cold(argv[1]), do_ahead(fd), say("do_ahead", fd, 0, 0);
	fd = cold(argv[1]), do_sent(fd), say("do_sent", fd, 8, 8);
	fd = cold(argv[1]), do_mapped(fd), say("do_mapped", fd, 10, 10 * 16);
	fd = cold(argv[1]), do_shared(fd), say("do_shared", fd, 30, 30);
	fd = cold(argv[1]), do_dropped(fd);
	printf("do_dropped %ld 4 4\n", 2 * cached(fd));
	return 0;
}
