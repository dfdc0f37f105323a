/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * System V message queues and semaphores and POSIX message queues between two
 * processes, with sleeping sends and receives, priorities, time limits and undo.
 */
#include "check.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct message {
	long type;
	char text[100];
};

static void messages(void)
{
	int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	struct message m;
	struct msqid_ds ds;
	pid_t child;

	CHECK(queue >= 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 10; i++) {
			m.type = i % 3 + 1;
			(void)snprintf(m.text, sizeof(m.text), "message %d", i);
			CHECK(msgsnd(queue, &m, strlen(m.text) + 1, 0) == 0);
		}
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		CHECK(msgrcv(queue, &m, 100, 2, 0) == 10 && m.type == 2);
	reap_ok(child);
	CHECK(msgctl(queue, IPC_STAT, &ds) == 0 && ds.msg_qnum == 7 && ds.msg_lspid == child);
	CHECK(msgrcv(queue, &m, 3, 0, IPC_NOWAIT) == -1 && errno == E2BIG);
	CHECK(msgrcv(queue, &m, 3, 0, MSG_NOERROR) == 3);
	CHECK(msgrcv(queue, &m, 100, 9, IPC_NOWAIT) == -1 && errno == ENOMSG);
	say("queue %d, last sender %d\n", queue, ds.msg_lspid);
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
}

static void semaphores(void)
{
	struct sembuf down = { .sem_num = 0, .sem_op = -1, .sem_flg = SEM_UNDO },
		      up = { .sem_op = 1 };
	struct timespec limit = { .tv_nsec = 2000000 };
	int set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
	pid_t child;

	CHECK(set >= 0 && semctl(set, 0, SETVAL, 0) == 0);
	child = fork();
	if (child == 0) {
		CHECK(semop(set, &down, 1) == 0); /* sleeps; undone by the exit */
		_exit(0);
	}
	wait_until_asleep(child);
	CHECK(semctl(set, 0, GETNCNT) <= 1 && semop(set, &up, 1) == 0);
	reap_ok(child);
	CHECK(semctl(set, 0, GETVAL) == 1 && semop(set, &down, 1) == 0);
	CHECK(semtimedop(set, &down, 1, &limit) == -1 && errno == EAGAIN);
	say("set %d, last by %d\n", set, semctl(set, 0, GETPID));
	CHECK(semctl(set, 0, IPC_RMID) == 0);
}

static void posix_queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 3, .mq_msgsize = 32 };
	struct timespec soon;
	char name[64], text[32];
	unsigned priority;
	mqd_t queue;
	pid_t child;

	(void)snprintf(name, sizeof(name), "/test-queue-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue == -1) {
		say("no POSIX queues: %s\n", strerror(errno));
		return;
	}
	child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < 8; i++)
			CHECK(mq_send(queue, "posix", 6, i) == 0); /* sleeps when full */
		_exit(0);
	}
	for (int i = 0; i < 8; i++) {
		CHECK(mq_receive(queue, text, 32, &priority) == 6);
		say("priority %u\n", priority);
	}
	reap_ok(child);
	CHECK(clock_gettime(CLOCK_REALTIME, &soon) == 0);
	CHECK(mq_timedreceive(queue, text, 32, &priority, &soon) == -1 && errno == ETIMEDOUT);
	CHECK(mq_getattr(queue, &attr) == 0 && attr.mq_curmsgs == 0);
	CHECK(mq_unlink(name) == 0 && mq_close(queue) == 0);
}

int main(void)
{
	messages();
	semaphores();
	posix_queue();
	return 0;
}
