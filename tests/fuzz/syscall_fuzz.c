/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random system calls, chosen by a seed: over files in the current directory,
 * pipes, sockets, memory, signals to itself, children, threads and clocks.
 *
 *	syscall_fuzz SEED STEPS
 *
 * It checks nothing. It keeps a running hash of all results, of what calls wrote
 * and of what signal handlers saw, and prints it again and again: a replay that
 * gives one wrong byte anywhere prints another hash from there on.
 *
 * Nothing sleeps for ever: descriptors are non-blocking, waits are bounded, and
 * calls that do block have a child or thread at work that ends them.
 */
#include "../programs/check.h"

#include <dirent.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>

enum { FDS = 24, MAPS = 12, PAGE = 4096, BUFFER = 20000, NESTED_STEPS = 25, MAX_DEPTH = 2 };

struct mapping {
	char *at;
	size_t len;
};

/* One task's own world. */
struct world {
	uint64_t random, hash;
	int fds[FDS];
	struct mapping maps[MAPS];
	int children, depth;
	unsigned char *buffer;
};

static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t guarded;
static _Thread_local volatile uint64_t handled;

static uint64_t draw(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random * 0x2545f4914f6cdd1du;
}

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)(draw(w) >> 33) % n;
}

static void mix(struct world *w, const void *data, size_t len)
{
	w->hash = hash_bytes(data, len, w->hash);
}

/* A call's result, and errno if it failed. */
static long result(struct world *w, long value)
{
	int error = value == -1 ? errno : 0;

	mix(w, &value, sizeof(value));
	mix(w, &error, sizeof(error));
	return value;
}

static const char *name(struct world *w)
{
	static const char *const names[] = { "a", "b", "c", "dir", "dir/a", "dir/b", "link",
		"fifo" };

	return names[below(w, 8)];
}

static int *slot(struct world *w)
{
	return &w->fds[below(w, FDS)];
}

static int fd(struct world *w)
{
	return *slot(w);
}

/* Keeps a new descriptor, closing the one it replaces; never 0, 1 and 2. */
static void keep(struct world *w, long value)
{
	int *s = slot(w);

	if (result(w, value) < 3)
		return;
	if (*s >= 3)
		close(*s);
	*s = (int)value;
}

static size_t length(struct world *w)
{
	static const unsigned most[] = { 1, 16, 300, 5000, BUFFER };

	return below(w, most[below(w, 5)]) + (below(w, 8) > 0);
}

static void fill(struct world *w, size_t len)
{
	unsigned char c = (unsigned char)draw(w);

	for (size_t i = 0; i < len; i++)
		w->buffer[i] = (unsigned char)(c + i * 7);
}

/* ------------------------------------------------------------------ files */

static void step_open(struct world *w)
{
	static const int flags[] = { O_RDONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC,
		O_RDWR | O_APPEND, O_RDWR | O_CREAT | O_EXCL, O_DIRECTORY, O_PATH };

	keep(w, openat(AT_FDCWD, name(w), flags[below(w, 7)] | O_NONBLOCK | O_CLOEXEC, 0640));
}

static void step_read(struct world *w)
{
	size_t len = length(w);
	long n;

	memset(w->buffer, 0, len);
	n = below(w, 2) ? read(fd(w), w->buffer, len)
			: pread(fd(w), w->buffer, len, below(w, 3000));
	result(w, n);
	mix(w, w->buffer, len);
}

static void step_write(struct world *w)
{
	size_t len = length(w);

	fill(w, len);
	result(w,
		below(w, 2) ? write(fd(w), w->buffer, len)
			    : pwrite(fd(w), w->buffer, len, below(w, 9000)));
}

static void step_vector(struct world *w)
{
	struct iovec vec[5];
	int count = (int)below(w, 6), f = fd(w);

	for (int i = 0; i < 5; i++)
		vec[i] = (struct iovec){ .iov_base = w->buffer + 3000 * i,
			.iov_len = below(w, 3000) };
	fill(w, 15000);
	if (below(w, 6) == 0)
		vec[below(w, 5)].iov_base = (void *)16;
	switch (below(w, 4)) {
	case 0:
		result(w, readv(f, vec, count));
		break;
	case 1:
		result(w, writev(f, vec, count));
		break;
	case 2:
		result(w, preadv2(f, vec, count, (off_t)below(w, 3000) - 1, 0));
		break;
	default:
		result(w, pwritev(f, vec, count, below(w, 3000)));
	}
	mix(w, w->buffer, 15000);
}

static void step_name(struct world *w)
{
	struct stat st;

	switch (below(w, 9)) {
	case 0:
		result(w, mkdir(name(w), 0755));
		break;
	case 1:
		result(w, rename(name(w), name(w)));
		break;
	case 2:
		result(w, unlinkat(AT_FDCWD, name(w), below(w, 4) ? 0 : AT_REMOVEDIR));
		break;
	case 3:
		result(w, link(name(w), name(w)));
		break;
	case 4:
		result(w, symlink(name(w), name(w)));
		break;
	case 5:
		result(w, readlink(name(w), (char *)w->buffer, below(w, 40) + 1));
		break;
	case 6:
		result(w, truncate(name(w), below(w, 20000)));
		break;
	case 7:
		result(w, access(name(w), (int)below(w, 8)));
		break;
	default:
		memset(&st, 0, sizeof(st));
		result(w, fstatat(AT_FDCWD, name(w), &st, below(w, 2) ? AT_SYMLINK_NOFOLLOW : 0));
		mix(w, &st, sizeof(st));
	}
}

static void step_descriptor(struct world *w)
{
	struct stat st;
	int s = fd(w);

	switch (below(w, 9)) {
	case 0:
		keep(w, dup(s));
		break;
	case 1:
		keep(w, fcntl(s, F_DUPFD_CLOEXEC, (int)below(w, 100)));
		break;
	case 2:
		result(w, lseek(s, (off_t)below(w, 5000) - 100, (int)below(w, 5)));
		break;
	case 3:
		result(w, ftruncate(s, below(w, 30000)));
		break;
	case 4:
		memset(&st, 0, sizeof(st));
		result(w, fstat(s, &st));
		mix(w, &st, sizeof(st));
		break;
	case 5:
		result(w, fcntl(s, F_GETFL));
		break;
	case 6:
		result(w, fdatasync(s));
		break;
	case 7:
		memset(w->buffer, 0, 2000);
		result(w, syscall(SYS_getdents64, s, w->buffer, 2000));
		mix(w, w->buffer, 2000);
		break;
	default:
		result(w, close(s));
	}
}

static void step_copy(struct world *w)
{
	off_t from = below(w, 2000), to = below(w, 2000);
	size_t len = length(w);

	switch (below(w, 4)) {
	case 0:
		result(w, sendfile(fd(w), fd(w), below(w, 2) ? &from : NULL, len));
		break;
	case 1:
		result(w, copy_file_range(fd(w), &from, fd(w), &to, len, 0));
		break;
	case 2:
		result(w,
			splice(fd(w), NULL, fd(w), below(w, 2) ? &to : NULL, len,
				SPLICE_F_NONBLOCK));
		break;
	default:
		result(w, fallocate(fd(w), (int)below(w, 2), to, (off_t)len));
	}
	mix(w, &from, sizeof(from));
	mix(w, &to, sizeof(to));
}

/* ------------------------------------------------------ pipes and sockets */

static void step_pair(struct world *w)
{
	int pair[2] = { -1, -1 }, type = below(w, 2) ? SOCK_STREAM : SOCK_DGRAM;
	long made;

	if (below(w, 2))
		made = pipe2(pair, O_NONBLOCK | (below(w, 4) ? 0 : O_DIRECT));
	else
		made = socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, pair);
	if (result(w, made) == 0) {
		keep(w, pair[0]);
		keep(w, pair[1]);
	}
}

static void step_message(struct world *w)
{
	struct iovec vec[2];
	struct msghdr msg = { .msg_iov = vec, .msg_iovlen = 2 };
	size_t len = length(w) / 2;
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	vec[0] = (struct iovec){ .iov_base = w->buffer, .iov_len = len };
	vec[1] = (struct iovec){ .iov_base = w->buffer + len, .iov_len = below(w, 100) };
	fill(w, len);
	switch (below(w, 4)) {
	case 0:
		result(w, send(fd(w), w->buffer, len, flags));
		break;
	case 1:
		result(w, recv(fd(w), w->buffer, len, flags | (below(w, 3) ? 0 : MSG_PEEK)));
		break;
	case 2:
		result(w, sendmsg(fd(w), &msg, flags));
		break;
	default:
		result(w, recvmsg(fd(w), &msg, flags));
		mix(w, &msg.msg_flags, sizeof(msg.msg_flags));
	}
	mix(w, w->buffer, len + 100);
}

static void step_ready(struct world *w)
{
	struct epoll_event events[4] = { 0 };
	struct pollfd set[6];

	switch (below(w, 5)) {
	case 0:
		for (int i = 0; i < 6; i++)
			set[i] = (struct pollfd){ .fd = fd(w), .events = POLLIN | POLLOUT };
		result(w, poll(set, below(w, 7), (int)below(w, 3)));
		mix(w, set, sizeof(set));
		break;
	case 1:
		keep(w, epoll_create1(EPOLL_CLOEXEC));
		break;
	case 2:
		events[0].events = below(w, 2) ? EPOLLIN : EPOLLOUT | EPOLLET;
		result(w, epoll_ctl(fd(w), (int)below(w, 4), fd(w), events));
		break;
	case 3:
		result(w, epoll_wait(fd(w), events, 4, (int)below(w, 3)));
		mix(w, events, sizeof(events));
		break;
	default:
		keep(w,
			below(w, 2) ? eventfd(below(w, 3), EFD_NONBLOCK)
				    : timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	}
}

/* ----------------------------------------------------------------- memory */

static void on_fault(int signo)
{
	if (guarded)
		siglongjmp(back, signo);
	_exit(77);
}

/* Reads or writes a byte of each page, whatever happens. */
static void touch(struct world *w, const struct mapping *m, int write_too)
{
	volatile size_t at;
	int signo = sigsetjmp(back, 1);

	if (signo == 0) {
		guarded = 1;
		for (at = 0; at < m->len; at += PAGE) {
			unsigned char c = (unsigned char)((volatile char *)m->at)[at];

			mix(w, &c, 1);
			if (write_too)
				((volatile char *)m->at)[at] = (char)(c + 1);
		}
	}
	guarded = 0;
	mix(w, &signo, sizeof(signo));
}

static void step_map(struct world *w)
{
	static const int prots[] = { PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE,
		PROT_READ | PROT_WRITE | PROT_EXEC };
	struct mapping *m = &w->maps[below(w, MAPS)];
	size_t len = (below(w, 6) + 1) * PAGE;
	int flags = below(w, 2) ? MAP_PRIVATE : MAP_SHARED, file = -1;
	char *at;

	if (m->at)
		result(w, munmap(m->at, m->len));
	m->at = NULL;
	if (below(w, 2))
		file = fd(w);
	else
		flags |= MAP_ANONYMOUS;
	at = mmap(NULL, len, prots[below(w, 4)], flags, file, (off_t)below(w, 2) * PAGE);
	if (at == MAP_FAILED) {
		result(w, -1);
		return;
	}
	*m = (struct mapping){ .at = at, .len = len };
	result(w, 0);
	touch(w, m, below(w, 2) != 0);
}

static void step_memory(struct world *w)
{
	struct mapping *m = &w->maps[below(w, MAPS)];
	static const int advice[] = { MADV_DONTNEED, MADV_WILLNEED, MADV_DONTFORK, MADV_DOFORK,
		MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_SEQUENTIAL };
	size_t len;
	char *at;

	if (!m->at)
		return;
	len = (below(w, (unsigned)(m->len / PAGE)) + 1) * PAGE;
	switch (below(w, 7)) {
	case 0:
		result(w, mprotect(m->at, len, (int)below(w, 4)));
		break;
	case 1:
		at = mremap(m->at, m->len, len, MREMAP_MAYMOVE);
		if (at != MAP_FAILED)
			*m = (struct mapping){ .at = at, .len = len };
		result(w, at == MAP_FAILED ? -1 : 0);
		break;
	case 2:
		result(w, madvise(m->at, len, advice[below(w, 7)]));
		break;
	case 3:
		result(w, msync(m->at, len, MS_ASYNC));
		break;
	case 4: /* the kernel writes there, or cannot */
		result(w, read(fd(w), m->at + below(w, 100), len - 100));
		break;
	case 5:
		result(w, write(fd(w), m->at + below(w, 100), len - 100));
		break;
	default:
		result(w, munmap(m->at, m->len));
		m->at = NULL;
		return;
	}
	touch(w, m, below(w, 2) != 0);
}

/* ---------------------------------------------------------------- signals */

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	handled = handled * 31 + (uint64_t)signo * 7 + (uint64_t)(unsigned)info->si_code;
}

static int signal_number(struct world *w)
{
	const int numbers[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGRTMIN + 1, SIGRTMIN + 2, SIGWINCH };

	return numbers[below(w, 6)];
}

static void step_signal(struct world *w)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct itimerval soon = { .it_value.tv_usec = below(w, 3000) };
	struct timespec limit = { .tv_nsec = below(w, 1000000) };
	siginfo_t info = { 0 };
	sigset_t set;
	int signo = signal_number(w);

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigaddset(&set, signal_number(w));
	switch (below(w, 8)) {
	case 0:
		action.sa_flags |= below(w, 2) ? SA_RESTART : SA_NODEFER;
		action.sa_mask = set;
		result(w, sigaction(signo, &action, NULL));
		break;
	case 1:
		result(w, pthread_sigmask(below(w, 2) ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
		break;
	case 2:
		result(w, syscall(SYS_tgkill, getpid(), gettid(), signo));
		break;
	case 3:
		result(w,
			sigqueue(getpid(), signo, (union sigval){ .sival_int = (int)below(w, 9) }));
		break;
	case 4:
		sigemptyset(&set);
		result(w, sigpending(&set));
		mix(w, &set, 8);
		break;
	case 5:
		result(w, sigtimedwait(&set, &info, &limit));
		mix(w, &info.si_signo, sizeof(info.si_signo));
		break;
	case 6:
		result(w, setitimer(ITIMER_REAL, &soon, NULL));
		break;
	default:
		result(w, nanosleep(&limit, &limit));
		mix(w, &limit, sizeof(limit));
	}
}

static void install_handlers(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART };
	const int numbers[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGRTMIN + 1, SIGRTMIN + 2, SIGWINCH };

	for (int i = 0; i < 6; i++)
		CHECK(sigaction(numbers[i], &action, NULL) == 0);
	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR && signal(SIGBUS, on_fault) != SIG_ERR);
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

/* ---------------------------------------------------- processes and threads */

static void steps(struct world *w, unsigned count);

static void nested_world(struct world *child, struct world *parent, unsigned char *buffer)
{
	*child = *parent;
	child->random = draw(parent) | 1;
	child->depth = parent->depth + 1;
	child->children = 0;
	child->buffer = buffer;
}

static void step_fork(struct world *w)
{
	struct world child;
	pid_t pid;

	if (w->depth >= MAX_DEPTH || w->children >= 4)
		return;
	nested_world(&child, w, w->buffer);
	pid = fork();
	if (pid == 0) {
		steps(&child, below(&child, NESTED_STEPS));
		_exit((int)(child.hash & 63));
	}
	w->children += result(w, pid) > 0;
}

static void step_exec(struct world *w)
{
	pid_t pid;

	if (w->depth >= MAX_DEPTH || w->children >= 4)
		return;
	pid = vfork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "kill -0 $$ && exit 21", NULL);
		_exit(1);
	}
	w->children += result(w, pid) > 0;
}

static void step_wait(struct world *w, int options)
{
	struct rusage usage = { 0 };
	int status = 0;
	pid_t pid = wait4(-1, &status, options, &usage);

	result(w, pid);
	mix(w, &status, sizeof(status));
	mix(w, &usage.ru_minflt, sizeof(usage.ru_minflt));
	if (pid > 0 || (pid == -1 && errno == ECHILD))
		w->children -= w->children > 0;
}

/* A thread keeps its signals, maps and descriptors apart from its creator's. */
static void *thread(void *arg)
{
	struct world *w = arg;

	handled = 0;
	w->children = 4; /* it makes none: whoever waits would take another's */
	memset(w->maps, 0, sizeof(w->maps));
	for (int i = 0; i < FDS; i++)
		w->fds[i] = -1;
	steps(w, below(w, NESTED_STEPS));
	for (int i = 0; i < FDS; i++)
		if (w->fds[i] >= 3)
			close(w->fds[i]);
	return NULL;
}

static void step_threads(struct world *w)
{
	static unsigned char buffers[3][BUFFER];
	static struct world worlds[3];
	pthread_t t[3];
	unsigned count = below(w, 3) + 1;

	if (w->depth > 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		nested_world(&worlds[i], w, buffers[i]);
		CHECK(pthread_create(&t[i], NULL, thread, &worlds[i]) == 0);
	}
	for (unsigned i = 0; i < count; i++) {
		CHECK(pthread_join(t[i], NULL) == 0);
		mix(w, &worlds[i].hash, sizeof(worlds[i].hash));
	}
}

/* A read that sleeps until a child writes. */
static void step_blocking(struct world *w)
{
	int fds[2];
	size_t len = length(w) % 4000 + 1;
	pid_t pid;
	long n;

	if (w->depth >= MAX_DEPTH || pipe(fds) == -1)
		return;
	fill(w, len);
	pid = fork();
	if (pid == 0) {
		for (unsigned i = below(w, 20); i > 0; i--)
			sched_yield();
		_exit(write(fds[1], w->buffer, len) == (long)len ? 0 : 1);
	}
	do {
		n = read(fds[0], w->buffer, BUFFER);
	} while (result(w, n) == -1 && errno == EINTR);
	mix(w, w->buffer, len);
	if (pid > 0) {
		int status;

		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			;
	}
	close(fds[0]);
	close(fds[1]);
}

/* ------------------------------------------------------------------ others */

static void step_other(struct world *w)
{
	struct timespec limit = { .tv_nsec = below(w, 500000) }, now = { 0 };
	static int word;
	struct rusage usage = { 0 };
	struct tms t = { 0 };

	switch (below(w, 9)) {
	case 0:
		result(w, clock_gettime((clockid_t)below(w, 12), &now));
		mix(w, &now, sizeof(now));
		break;
	case 1:
		result(w, getrandom(w->buffer, length(w), 0));
		mix(w, w->buffer, BUFFER);
		break;
	case 2:
		result(w, times(&t));
		mix(w, &t, sizeof(t));
		break;
	case 3:
		result(w, getrusage(RUSAGE_THREAD, &usage));
		mix(w, &usage, sizeof(usage));
		break;
	case 4:
		result(w, syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, NULL, 0));
		break;
	case 5:
		result(w, sched_yield() + getpid() + gettid() + getppid());
		break;
	case 6:
		result(w, umask(below(w, 8) * 2));
		break;
	case 7:
		result(w, (long)syscall(SYS_getcwd, w->buffer, below(w, 100)));
		break;
	default: /* pointers to nowhere */
		result(w, syscall(SYS_clock_gettime, 1, 16 + below(w, 2) * 0x7ffffffff000));
		result(w, syscall(SYS_read, fd(w), 8, 100));
		result(w, syscall(SYS_openat, AT_FDCWD, 4096, 0, 0));
	}
}

static void step(struct world *w)
{
	static void (*const kinds[])(struct world *) = { step_open, step_open, step_read, step_read,
		step_write, step_write, step_vector, step_name, step_descriptor, step_copy,
		step_pair, step_message, step_message, step_ready, step_ready, step_map,
		step_memory, step_memory, step_signal, step_signal, step_fork, step_exec,
		step_threads, step_blocking, step_other, step_other };
	unsigned kind = below(w, sizeof(kinds) / sizeof(kinds[0]));

	if (kinds[kind] == step_exec && below(w, 4))
		return; /* dear */
	kinds[kind](w);
	if (w->depth == 0 && below(w, 10) == 0)
		step_wait(w, WNOHANG);
	mix(w, (const void *)&handled, sizeof(handled));
}

static void steps(struct world *w, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		step(w);
		if (i % 10 == 0)
			say("%d/%d: step %u, hash %016lx\n", getpid(), gettid(), i, w->hash);
	}
	if (w->children < 4 || w->depth == 0)
		while (w->children > 0)
			step_wait(w, 0);
}

int main(int argc, char **argv)
{
	static unsigned char buffer[BUFFER];
	static struct world w = { .hash = HASH_START, .buffer = buffer };

	w.random = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < FDS; i++)
		w.fds[i] = -1;
	install_handlers();
	steps(&w, argc > 2 ? (unsigned)atoi(argv[2]) : 300);
	say("seed %s: final hash %016lx\n", argc > 1 ? argv[1] : "1", w.hash);
	return (int)(w.hash & 63);
}
