/* Runs in a container of its own making, and knows what it does: "box enter ROOT"
 * makes ROOT its root directory and runs /bin/box there; that does a round for each
 * byte that it reads, a little of it itself and the rest in a thread of its own, and
 * says "done" after each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define HERE __asm__ volatile("" ::: "memory") /* the call before is no tail call */

static void *volatile kept;

NOINLINE void box_read(int fd) {
	char bytes[2000];
	for (int i = 0; i < 10; i++)
		if (pread(fd, bytes, 1000, 0) != 1000)
			abort();
	HERE;
}

NOINLINE void box_leak(void) {
	for (int i = 0; i < 3; i++)
		kept = malloc(777);
	HERE;
}

NOINLINE void box_free(void) {
	for (int i = 0; i < 20; i++) {
		kept = malloc(555);
		free(kept);
	}
	HERE;
}

NOINLINE void box_nap(void) {
	struct timespec nap = {0, 4000000};
	for (int i = 0; i < 5; i++)
		nanosleep(&nap, 0);
	HERE;
}

NOINLINE void box_work(void) {
	getppid();
	HERE;
}

NOINLINE void box_spin(void) {
	struct timespec now, end;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec - end.tv_nsec < 100000000L);
	HERE;
}

NOINLINE void *box_round(void *fd) {
	box_read(*(int *)fd);
	box_leak();
	box_free();
	box_nap();
	for (int i = 0; i < 50; i++)
		box_work();
	box_spin();
	return 0;
}

NOINLINE int box_wait(void) {
	char byte;
	int n = read(0, &byte, 1);
	HERE;
	return n;
}

static int enter(const char *root) {
	if (mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) || mount(root, root, 0, MS_BIND, 0) || chdir(root))
		return 1;
	/* The first file system of an initramfs can't be exchanged. */
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		umount2(".", MNT_DETACH);
	else if (chroot("."))
		return 1;
	return chdir("/") || execl("/bin/box", "/bin/box", (char *)0);
}

int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "enter") == 0 && enter(argv[2])) {
		perror("enter");
		return 1;
	}
	int fd = open("/bin/box", O_RDONLY);
	puts("ready");
	fflush(stdout);
	while (box_wait() == 1) {
		pthread_t thread;
		box_work();
		pthread_create(&thread, 0, box_round, &fd);
		pthread_join(thread, 0);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
