// A compiler that puts six functions at one address, one after another: usage: reused map|dump DIR
// Before that it prints the path of its file, and runs a function at a third address until its standard input
// ends. gen0 runs for 60 ms of CPU time, gen1 for 120 ms, and so on. A function at another address, stable,
// runs for 60 ms after each of them. It names them in /tmp/perf-PID.map or in DIR/jit-PID.dump.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// A function with a frame that counts its argument down to 0.
#ifdef __x86_64__
static const uint32_t code[] = {0xe5894855, 0x48f98948, 0xfb75c9ff, 0xc35df889};
#else
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xf1000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#endif

static FILE *file;
static int dump;

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// compile makes a function and names it.
static void compile(char *at, const char *name, uint64_t index)
{
	memcpy(at, code, sizeof code);
	__builtin___clear_cache(at, at + sizeof code);
	if (!dump) {
		fprintf(file, "%lx %zx %s\n", (long)at, sizeof code, name);
		fflush(file);
		return;
	}
	uint64_t address = (uint64_t)at, size = sizeof code, time = now(CLOCK_MONOTONIC);
	uint32_t prefix[] = {0, 16 + 40 + strlen(name) + 1 + sizeof code}, ids[] = {getpid(), getpid()};
	uint64_t place[] = {address, address, size, index};
	fwrite(prefix, sizeof prefix, 1, file);
	fwrite(&time, sizeof time, 1, file);
	fwrite(ids, sizeof ids, 1, file);
	fwrite(place, sizeof place, 1, file);
	fwrite(name, strlen(name) + 1, 1, file);
	fwrite(code, sizeof code, 1, file);
	fflush(file);
}

// call runs a function for some milliseconds of CPU time.
__attribute__((noinline)) static void call(void (*function)(long), int ms)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ull;
	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		function(200000);
}

int main(int argc, char **argv)
{
	char path[4096], name[16];
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	dump = strcmp(argv[1], "dump") == 0;
	if (dump)
		snprintf(path, sizeof path, "%s/jit-%d.dump", argv[2], getpid());
	else
		snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w+");
	if (dump) {
		uint32_t header[] = {0x4A695444, 1, 40, 0, 0, getpid(), 0, 0, 0, 0};
		fwrite(header, sizeof header, 1, file);
		fflush(file);
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
	}
	compile(at + 4096, "stable", 100);
	compile(at + 2048, "before", 101);
	puts(path);
	fflush(stdout);
	struct pollfd input = {0, POLLIN};
	while (poll(&input, 1, 0) == 0)
		call((void (*)(long))(at + 2048), 1);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof name, "gen%d", i);
		compile(at, name, i + 1);
		call((void (*)(long))at, 60 * (i + 1));
		call((void (*)(long))(at + 4096), 60);
	}
	unlink(path);
	return 0;
}
