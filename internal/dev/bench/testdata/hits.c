// hits calls functions of libc as its standard input asks, one command a line,
// and answers each with one line:
//
//	run N   malloc(32) and free N times: nanoseconds it took
//	read N  read one byte of /dev/zero N times: nanoseconds of CPU time it took
//	probed  1 if the first bytes of a function that it calls are not those of its
//	        file, else 0
//	tick    a64l every 100 us, until half a second after a probe has come, for a
//	        minute, or until there is another line, which may be empty: calls made
//	at K    when call K of the last tick was: nanoseconds of CLOCK_MONOTONIC
//
// First of all it says libc= and the path of its libc. It runs on the CPU that its argument
// names. malloc is called from three places, so that its stacks differ.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { WATCHED = 16, TICK = 100000, SETTLED = 500000000, TICKS = 600000 };

static void *volatile sink;
static volatile long number;
static long long *ticks;

static struct {
	const char *name;
	unsigned char *code, original[WATCHED];
} watched[] = {{.name = "malloc"}, {.name = "free"}, {.name = "a64l"}};

// fileOffset puts into data, which holds the address of code, where that code is
// in its file.
static int fileOffset(struct dl_phdr_info *object, size_t size, void *data) {
	(void)size;
	ElfW(Addr) *place = data, code = *place - object->dlpi_addr;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && code >= p->p_vaddr && code - p->p_vaddr < p->p_filesz) {
			*place = code - p->p_vaddr + p->p_offset;
			return 1;
		}
	}
	return 0;
}

static long long timeOf(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long now(void) { return timeOf(CLOCK_MONOTONIC); }

static int probed(void) {
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		if (memcmp(watched[i].code, watched[i].original, WATCHED) != 0)
			return 1;
	return 0;
}

// answer, as all that happens between the commands, does not call malloc.
static void answer(long long n) {
	char line[32];
	int length = snprintf(line, sizeof line, "%lld\n", n);
	if (write(1, line, length) != length)
		err(1, "answer");
}

APART static void allocate(size_t size) {
	void *p = malloc(size);
	sink = p;
	free(p);
}

APART static void direct(void) { allocate(32); sink = NULL; }
APART static void inner(void) { allocate(32); sink = NULL; }
APART static void outer(void) { inner(); sink = NULL; }

static void run(unsigned long long n) {
	long long start = now();
	for (unsigned long long i = 0; i < n; i++) {
		switch (i % 3) {
		case 0: allocate(32); break;
		case 1: direct(); break;
		case 2: outer(); break;
		}
	}
	long long took = now() - start;
	answer(took);
}

APART static void readOne(int file) {
	char c;
	if (read(file, &c, 1) != 1)
		err(1, "read /dev/zero");
}

APART static void readDeeper(int file) { readOne(file); sink = NULL; }

static void readZeros(unsigned long long n) {
	int file = open("/dev/zero", O_RDONLY);
	long long start = timeOf(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned long long i = 0; i < n; i++)
		i % 2 ? readDeeper(file) : readOne(file);
	long long took = timeOf(CLOCK_THREAD_CPUTIME_ID) - start;
	close(file);
	answer(took);
}

static void tick(void) {
	long n = 0;
	long long last = 0;
	struct pollfd input = {.fd = 0, .events = POLLIN};
	do { // once at least, however late it runs
		long long t = now();
		ticks[n++] = t;
		number = a64l("abc");
		if (last == 0 && probed())
			last = t + SETTLED;
		if (last != 0 && t > last)
			break;
		while (now() < t + TICK)
			;
	} while (n < TICKS && poll(&input, 1, 0) == 0);
	answer(n);
}

int main(int argc, char **argv) {
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
		err(1, "run on CPU %s", argv[1]);
	Dl_info libc;
	if (dladdr(dlsym(RTLD_DEFAULT, watched[0].name), &libc) == 0)
		errx(1, "malloc is in no file");
	int file = open(libc.dli_fname, O_RDONLY);
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
		watched[i].code = dlsym(RTLD_DEFAULT, watched[i].name);
		ElfW(Addr) place = (ElfW(Addr))watched[i].code;
		if (dl_iterate_phdr(fileOffset, &place) != 1 ||
		    pread(file, watched[i].original, WATCHED, place) != WATCHED)
			err(1, "find the code of %s in %s", watched[i].name, libc.dli_fname);
	}
	ticks = calloc(TICKS, sizeof *ticks);
	memset(ticks, 1, TICKS * sizeof *ticks); // no page faults between the calls
	dprintf(1, "libc=%s\n", libc.dli_fname);
	char line[64];
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (strncmp(line, "run ", 4) == 0)
			run(strtoull(line + 4, NULL, 10));
		else if (strncmp(line, "read ", 5) == 0)
			readZeros(strtoull(line + 5, NULL, 10));
		else if (strcmp(line, "probed\n") == 0)
			answer(probed());
		else if (strcmp(line, "tick\n") == 0)
			tick();
		else if (strncmp(line, "at ", 3) == 0)
			answer(ticks[strtoull(line + 3, NULL, 10) % TICKS]);
		else if (strcmp(line, "\n") != 0)
			errx(1, "no command is %s", line);
	}
	return 0;
}
