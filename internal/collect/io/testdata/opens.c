// Writes many files of a directory, each of which is closed and removed at once. The names of
// every fourth have control characters, and are in memory that the next one overwrites.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
	static char b[8192], heap[512];
	if (argc < 3 || chdir(argv[2]))
		return 1;
	int dir = open(argv[2], O_DIRECTORY);
	for (int i = 0; i < atoi(argv[1]); i++) {
		char onstack[512], *path = onstack; // what the kernel copies of the stack has it
		int fd;
		switch (i % 4) {
		case 0:
			sprintf(path, "%s/f%d", argv[2], i);
			fd = openat(AT_FDCWD, path, O_CREAT | O_WRONLY, 0600);
			break;
		case 1:
			sprintf(path, "f%d", i);
			fd = openat(AT_FDCWD, path, O_CREAT | O_WRONLY, 0600);
			break;
		case 2:
			path = heap;
			sprintf(path, "%s/f\x01\n%d", argv[2], i);
			fd = openat(AT_FDCWD, path, O_CREAT | O_WRONLY, 0600);
			break;
		default:
			sprintf(path, "f%d", i);
			fd = openat(dir, path, O_CREAT | O_WRONLY, 0600);
		}
		if (fd < 0 || write(fd, b, 100 + i) != 100 + i || close(fd) || unlink(path))
			return 1;
	}
	return 0;
}
