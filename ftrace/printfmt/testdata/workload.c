// A program that makes the kernel's tracepoints fire: files, memory, threads,
// signals, timers, pipes and sockets on loopback; and functions to put user
// probes on, called with values that show how each type is printed.
// Argument: an address in the kernel, in hexadecimal.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) uint64_t integers(uint64_t a) { return ~a; }
__attribute__((noipa)) const char *strings(const char *a, const char *const *list) { return list[0]; }
__attribute__((noipa)) void arrays(const void *a) { (void)a; }
__attribute__((noipa)) void symbol(uint64_t a) { (void)a; }

static void probed(uint64_t kernel)
{
	static const uint64_t values[] = {0, 1, 9, 11, 'A', 0x7f, 0x80, 0xff, 0x1234567890abcdef, 1ull << 63, ~0ull};
	static const char *texts[] = {"", "plain text", "a \"quote\" and a \\", "é ü 日本", "%s %d", "\033[31mred\t\x7f\xff\xc3(\xc2\x9b"};
	static const unsigned char bytes[64] = {0x12, 0x89, 0xff, 0, 'a', 1, 2, 3, 0x80, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		integers(values[i]);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		strings(texts[i], &texts[i]);
	strings((const char *)8, texts); // cannot be read
	arrays(bytes);
	symbol(kernel);
	symbol(kernel + 3);
	symbol(0);
	symbol(0x1000);
}

static void files(void)
{
	char name[] = "workload-XXXXXX", buf[8192] = {1};
	int fd = mkstemp(name);
	for (int i = 0; i < 20; i++)
		if (write(fd, buf, sizeof buf) < 0)
			perror("write");
	fsync(fd);
	lseek(fd, 0, SEEK_SET);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	while (read(fd, buf, sizeof buf) > 0)
		;
	struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
	fcntl(fd, F_SETLK, &lock);
	char *map = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < 65536; i += 4096)
		map[i]++;
	msync(map, 65536, MS_SYNC);
	munmap(map, 65536);
	if (ftruncate(fd, 100) < 0)
		perror("ftruncate");
	close(fd);
	unlink(name);
	open("/no such file", O_RDONLY);
}

static void memory(void)
{
	char *map = mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 8 << 20; i += 4096)
		map[i] = 1;
	madvise(map, 4 << 20, MADV_DONTNEED);
	mprotect(map, 4096, PROT_READ);
	munmap(map, 8 << 20);
}

static void handler(int sig) { (void)sig; }

static void signals(void)
{
	signal(SIGUSR1, handler);
	signal(SIGALRM, handler);
	kill(getpid(), SIGUSR1);
	struct itimerval soon = {.it_value = {0, 2000}};
	setitimer(ITIMER_REAL, &soon, 0);
	usleep(5000);
	struct timespec ms = {0, 1000000};
	nanosleep(&ms, 0);
}

static void *thread(void *arg)
{
	pthread_setname_np(pthread_self(), "a thread");
	for (int i = 0; i < 50; i++)
		sched_yield();
	return arg;
}

static void tasks(void)
{
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	pid_t child = fork();
	if (child == 0)
		execlp("true", "true", "argument", (char *)0);
	waitpid(child, 0, 0);
	setpriority(PRIO_PROCESS, 0, 1);
}

static void sockets(int family, int type)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr *sa = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t len = family == AF_INET ? sizeof four : sizeof six;
	char buf[3000] = {0};
	int server = socket(family, type, 0), client = socket(family, type, 0), peer = server;
	bind(server, sa, len);
	getsockname(server, sa, &len);
	if (type == SOCK_STREAM)
		listen(server, 1);
	if (connect(client, sa, len) < 0)
		return;
	if (type == SOCK_STREAM)
		peer = accept(server, 0, 0);
	for (int i = 0; i < 3; i++) {
		send(client, buf, sizeof buf, 0);
		recv(peer, buf, sizeof buf, 0);
	}
	if (peer != server)
		close(peer);
	close(client);
	close(server);
	client = socket(family, type, 0); // nobody listens there any more
	connect(client, sa, len);
	send(client, buf, 10, MSG_NOSIGNAL);
	close(client);
}

int main(int argc, char **argv)
{
	probed(argc > 1 ? strtoull(argv[1], 0, 16) : 0);
	files();
	memory();
	signals();
	tasks();
	sockets(AF_INET, SOCK_STREAM);
	sockets(AF_INET, SOCK_DGRAM);
	sockets(AF_INET6, SOCK_STREAM);
	sockets(AF_INET6, SOCK_DGRAM);
	int fds[2];
	if (pipe(fds) == 0 && write(fds[1], "x", 1) == 1)
		close(fds[0]);
	close(epoll_create1(0));
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	return 0;
}
