// Threads that wait for ever, each in a function of its own, whose name is the
// thread's. The first line of output says that all are there.
#define _GNU_SOURCE
#include <alloca.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t books = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, lost = PTHREAD_MUTEX_INITIALIZER, inherits, robust;
static pthread_rwlock_t read_by_main = PTHREAD_RWLOCK_INITIALIZER;
static const char *lockfile;
static int pipes[2], listener, bound;

static void fill(char *room, size_t n) { memset(room, 0x5a, n); __asm__ volatile("" ::"r"(room) : "memory"); }

KEPT int wait_accept(void) { return accept(listener, NULL, NULL) + 1; }
KEPT int wait_read(void) { char b[64]; return read(pipes[0], b, sizeof b) + 1; }
KEPT int wait_deep(int n) { char room[3000]; fill(room, sizeof room); return n ? wait_deep(n - 1) + room[7] : wait_read() + room[9]; }
// A large frame over what earlier calls have left: records of others that were called by address.
static int (*volatile by_address)(int);
KEPT int wait_left_record(int n) { volatile char room[100]; room[n] = n; return n ? by_address(n - 1) + room[n] : n; }
KEPT int wait_read_in_room(int n) { char room[8600]; return read(pipes[0], room, 64) + room[n]; }
KEPT int wait_room(void)
{
	by_address = wait_left_record;
	int n = by_address(30);
	by_address = wait_read_in_room;
	return by_address(n) + 1;
}
KEPT int wait_recv(void) { char b[100]; return recv(bound, b, sizeof b, 0) + 1; }
KEPT int wait_poll(void) { struct pollfd p[2] = {{pipes[0], POLLIN, 0}, {listener, POLLIN, 0}}; return poll(p, 2, -1) + 1; }
KEPT int wait_select(void) { fd_set s; FD_ZERO(&s); FD_SET(pipes[0], &s); return select(pipes[0] + 1, &s, NULL, NULL, NULL) + 1; }
KEPT int wait_epoll(void)
{
	struct epoll_event e = {EPOLLIN, {0}};
	int fd = epoll_create1(0);
	epoll_ctl(fd, EPOLL_CTL_ADD, listener, &e);
	return epoll_wait(fd, &e, 1, -1) + 1;
}
KEPT int wait_mutex(void) { return pthread_mutex_lock(&alone) + 1; }
KEPT int wait_left(void) { return pthread_mutex_lock(&left) + 1; }
KEPT int wait_right(void) { return pthread_mutex_lock(&right) + 1; }
KEPT int wait_cond(void) { pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&own); return pthread_cond_wait(&never, &own) + 1; }
KEPT int wait_rwlock(void) { return pthread_rwlock_rdlock(&books) + 1; }
KEPT int wait_sem(void) { sem_t s; sem_init(&s, 0, 0); return sem_wait(&s) + 1; }
KEPT int wait_sleep(void) { return sleep(100000) + 1; }
KEPT int wait_flock(void) { return flock(open(lockfile, O_RDWR), LOCK_EX) + 1; }
KEPT int wait_self(void) { return pthread_mutex_lock(&own) + 1; }
KEPT int wait_ended(void) { return pthread_mutex_lock(&lost) + 1; }
KEPT int wait_inherits(void) { return pthread_mutex_lock(&inherits) + 1; }
KEPT int wait_robust(void) { return pthread_mutex_lock(&robust) + 1; }
KEPT int wait_readers(void) { return pthread_rwlock_wrlock(&read_by_main) + 1; }
KEPT int wait_timed(void)
{
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 100000;
	return pthread_mutex_timedlock(&alone, &end) + 1;
}
KEPT int wait_open_file(void)
{
	struct flock l = {.l_type = F_WRLCK};
	return fcntl(open(lockfile, O_RDWR), F_OFD_SETLKW, &l) + 1;
}
KEPT int wait_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return waitpid(pid, NULL, 0) + 1;
}
KEPT int wait_word(void) { static int word; word = getpid(); return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, NULL) + 1; }
KEPT int wait_signal(void) { sigset_t none; sigemptyset(&none); return sigsuspend(&none) + 1; }
KEPT int wait_handler(void) { return pause() + 1; }

// Its frame is found by a DWARF expression: it has arguments on the stack, aligns its
// variables, and their size is not known before.
KEPT int wait_aligned(int a, int b, int c, int d, int e, int f, int g, int size)
{
	struct { char room[64]; } __attribute__((aligned(64))) wide;
	char *more = alloca(size);
	fill(wide.room, sizeof wide.room);
	fill(more, size);
	return read(pipes[0], wide.room, 64) + wide.room[7] + more[0] + g;
}
static volatile long turns; // of wait_run
KEPT int wait_run(void) { for (;; turns++) ; }

#define THREAD(name, body) \
	static void *name##_thread(void *x) { prctl(PR_SET_NAME, #name); body; pthread_barrier_wait(&all); return (void *)(long)(name()); }
THREAD(wait_accept,)
THREAD(wait_read,)
THREAD(wait_room,)
THREAD(wait_recv,)
THREAD(wait_poll,)
THREAD(wait_select,)
THREAD(wait_epoll,)
THREAD(wait_mutex,)
THREAD(wait_left, pthread_mutex_lock(&right))
THREAD(wait_right, pthread_mutex_lock(&left))
THREAD(wait_cond,)
THREAD(wait_rwlock,)
THREAD(wait_sem,)
THREAD(wait_sleep,)
THREAD(wait_flock,)
THREAD(wait_self, pthread_mutex_lock(&own))
THREAD(wait_ended,)
THREAD(wait_inherits,)
THREAD(wait_robust,)
THREAD(wait_readers,)
THREAD(wait_timed,)
THREAD(wait_open_file,)
THREAD(wait_child,)
THREAD(wait_signal,)
THREAD(wait_word,)
THREAD(wait_run,)
static void *wait_deep_thread(void *x) { prctl(PR_SET_NAME, "wait_deep"); pthread_barrier_wait(&all); return (void *)(long)wait_deep(30); }

static void *wait_aligned_thread(void *x) { prctl(PR_SET_NAME, "wait_aligned"); pthread_barrier_wait(&all); return (void *)(long)(wait_aligned(1, 2, 3, 4, 5, 6, 7, 100) + 1); }

static volatile int handled;
static void handle(int number) { handled = wait_handler() + number; }
static void *wait_handler_thread(void *x)
{
	stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	prctl(PR_SET_NAME, "wait_handler");
	sigaltstack(&own, NULL);
	pthread_barrier_wait(&all);
	raise(SIGUSR2);
	return x;
}

// at_rest tells whether so many threads beside main are where they stay: asleep, in
// another call than that of the barrier, or in wait_run.
static int at_rest(int n)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;
	int rest = 0, all_there = 0;
	while (tasks && (e = readdir(tasks))) {
		char path[300], text[300] = "", *state;
		unsigned long call, first;
		FILE *f;
		if (e->d_name[0] == '.')
			continue;
		all_there++;
		snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
		if (!(f = fopen(path, "r")))
			continue;
		text[fread(text, 1, sizeof text - 1, f)] = 0;
		fclose(f);
		if (strstr(text, "(wait_run)")) {
			rest += turns > 0;
			continue;
		}
		state = strrchr(text, ')');
		if (!state || state[1] != ' ' || state[2] != 'S')
			continue; // main is one of these
		snprintf(path, sizeof path, "/proc/self/task/%s/syscall", e->d_name);
		if (!(f = fopen(path, "r")))
			continue;
		rest += fscanf(f, "%lu 0x%lx", &call, &first) == 2 && first - (unsigned long)&all >= sizeof all;
		fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return all_there == n + 1 && rest == n;
}

static void *end_with_lock(void *x) { pthread_mutex_lock(&lost); return NULL; }

int main(int argc, char **argv)
{
	void *(*threads[])(void *) = {wait_accept_thread, wait_read_thread, wait_recv_thread, wait_poll_thread, wait_select_thread, wait_epoll_thread,
		wait_mutex_thread, wait_left_thread, wait_right_thread, wait_cond_thread, wait_rwlock_thread, wait_sem_thread, wait_sleep_thread,
		wait_flock_thread, wait_self_thread, wait_ended_thread, wait_inherits_thread, wait_robust_thread, wait_readers_thread, wait_timed_thread,
		wait_open_file_thread, wait_child_thread, wait_signal_thread, wait_run_thread, wait_deep_thread,
		wait_handler_thread, wait_aligned_thread, wait_word_thread, wait_room_thread};
	const int n = sizeof threads / sizeof *threads;
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR2, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	lockfile = argv[1];
	int locked = open(lockfile, O_RDWR | O_CREAT, 0600);
	struct flock whole = {.l_type = F_WRLCK};
	flock(locked, LOCK_EX);
	fcntl(locked, F_OFD_SETLK, &whole);
	if (pipe(pipes))
		return 1;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&any, sizeof any);
	listen(listener, 1);
	bound = socket(AF_INET, SOCK_DGRAM, 0);
	bind(bound, (struct sockaddr *)&any, sizeof any);
	pthread_mutex_lock(&alone);
	pthread_rwlock_wrlock(&books);
	pthread_rwlock_rdlock(&read_by_main);
	pthread_mutexattr_t kind;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &kind);
	pthread_mutex_lock(&inherits);
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &kind);
	pthread_mutex_lock(&robust);
	pthread_t ender;
	pthread_create(&ender, NULL, end_with_lock, NULL);
	pthread_join(ender, NULL);
	pthread_barrier_init(&all, NULL, n + 1);
	for (int i = 0; i < n; i++) {
		pthread_t t;
		pthread_create(&t, NULL, threads[i], NULL);
	}
	pthread_barrier_wait(&all);
	while (!at_rest(n))
		usleep(1000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
