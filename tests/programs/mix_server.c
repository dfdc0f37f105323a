/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Everything at once, as a pre-forking server does it: three worker processes
 * with two threads each share one listening socket and a statistics page; the
 * parent is client, watches its children by a signalfd in epoll, ends them by
 * SIGTERM.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { WORKERS = 3, CLIENTS = 24 };
struct statistics {
	int served[WORKERS][2];
	int order[CLIENTS];
	int total;
};
static struct statistics *statistics;
static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "server" };
static int listener, worker;

static void *serve(void *arg)
{
	int thread = (int)(intptr_t)arg;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), place;
		char text[64];
		ssize_t n;

		CHECK(fd >= 0);
		n = read(fd, text, sizeof(text));
		CHECK(n > 0);
		place = __atomic_fetch_add(&statistics->total, 1, __ATOMIC_SEQ_CST);
		statistics->order[place] = worker * 10 + thread;
		statistics->served[worker][thread]++;
		n += snprintf(text + n, sizeof(text) - (size_t)n, " by %d.%d\n", worker, thread);
		write_all(fd, text, (size_t)n);
		close(fd);
	}
	return NULL;
}

static void work(void)
{
	sigset_t term;
	pthread_t t;
	int signo;

	for (intptr_t i = 0; i < 2; i++)
		CHECK(pthread_create(&t, NULL, serve, (void *)i) == 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	CHECK(sigwait(&term, &signo) == 0);
	_exit(10 + worker);
}

static void ask(int i)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), n;
	char text[64];
	ssize_t got;

	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	n = snprintf(text, sizeof(text), "client %d", i);
	write_all(fd, text, (size_t)n);
	got = read(fd, text, sizeof(text));
	CHECK(got > n);
	write_all(STDOUT_FILENO, text, (size_t)got);
	close(fd);
}

static void end_workers(int signals)
{
	int epoll = epoll_create1(0), ended = 0, status;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = signals };
	struct signalfd_siginfo info;

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, signals, &event) == 0);
	CHECK(kill(0, SIGTERM) == 0);
	while (ended < WORKERS) {
		CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
		CHECK(read(signals, &info, sizeof(info)) == sizeof(info));
		if (info.ssi_signo == SIGTERM)
			continue;
		while (waitpid(-1, &status, WNOHANG) > 0) {
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) / 10 == 1);
			ended++;
		}
	}
}

int main(void)
{
	sigset_t set;
	int signals;

	CHECK(setpgid(0, 0) == 0 || errno == EPERM);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	statistics = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(listener, 10) == 0);
	for (worker = 0; worker < WORKERS; worker++)
		if (fork() == 0)
			work();
	for (int i = 0; i < CLIENTS; i++)
		ask(i);
	end_workers(signals);
	CHECK(statistics->total == CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		say("%02d ", statistics->order[i]);
	say("\n");
	return 0;
}
