// Reads at the end of a deep stack, so many times, at least 200 µs after one another:
// examples are so many a second.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int fd;

static __attribute__((noinline)) int level_0(int n) {
	char b[64];
	for (long next = 0; n > 0; n--) {
		struct timespec t;
		do
			clock_gettime(CLOCK_MONOTONIC, &t);
		while (t.tv_sec * 1000000000L + t.tv_nsec < next);
		next = t.tv_sec * 1000000000L + t.tv_nsec + 200000;
		if (read(fd, b, sizeof b) != sizeof b)
			return 1;
	}
	return 0;
}

#define LEVEL(n, next) static __attribute__((noinline)) int level_##n(int times) { \
	volatile char room[1024]; memset((char *)room, n, sizeof room); int r = level_##next(times); return r + room[0] - n; }
LEVEL(1, 0) LEVEL(2, 1) LEVEL(3, 2) LEVEL(4, 3) LEVEL(5, 4) LEVEL(6, 5) LEVEL(7, 6) LEVEL(8, 7) LEVEL(9, 8)

int main(int argc, char **argv) {
	fd = open("/dev/zero", O_RDONLY);
	return argc < 2 || level_9(atoi(argv[1]));
}
