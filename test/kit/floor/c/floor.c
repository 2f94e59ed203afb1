// What reading /proc costs at least: the same system calls that Winnow's scan makes, and nothing else done with what they give but what a
// record needs. Benchmarks run it beside the scan (floor.go builds it).
//
//	floor read MODE ROOT ROUNDS   prints "PROCESSES CPU_NANOSECONDS" of the fastest of so many passes over a procfs
//	floor idle COUNT FOLDER       starts so many children that only wait, each in FOLDER/N, prints "ready", and ends them when its input ends
//
// Modes, each with what those before it read: paths (stat, working directory and owner, by path), dirfd (the same through an open folder), markers
// (with executable and environment), look (with root, mount namespace, command line and every descriptor).
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATHS, DIRFD, MARKERS, LOOK, MODES };
static const char *const modes[MODES] = {"paths", "dirfd", "markers", "look"};

struct entry { // a record of getdents64
	unsigned long inode;
	long offset;
	unsigned short length;
	unsigned char kind;
	char name[];
};

struct record {
	long numbers[22];
	unsigned uid;
	char state, name[64], *cwd;
};

static char text[1 << 20], link_text[4097];

static void fail(const char *what) {
	perror(what);
	exit(1);
}

// parse reads a stat file: the name ends at the last bracket, and numbers follow the state.
static int parse(int length, struct record *r) {
	text[length] = 0;
	char *open = strchr(text, '('), *end = strrchr(text, ')');
	if (!open || !end || end - text + 3 >= length)
		return -1;
	int size = end - open - 1;
	if (size > 63)
		size = 63;
	memcpy(r->name, open + 1, size);
	r->name[size] = 0;
	r->state = end[2];
	char *at = end + 3;
	for (int i = 0; i < 21; i++)
		r->numbers[i] = strtol(at, &at, 10);
	return 0;
}

static int read_once(int dir, const char *name) {
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int got = read(fd, text, sizeof text - 1);
	close(fd);
	return got;
}

static void keep_cwd(int dir, const char *name, struct record *r) {
	int got = readlinkat(dir, name, link_text, sizeof link_text);
	r->cwd = got > 0 ? strndup(link_text, got) : NULL;
}

static void descriptors(int dir) {
	static char entries[32 << 10];
	int fds = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fds < 0)
		return;
	for (long got; (got = syscall(SYS_getdents64, fds, entries, sizeof entries)) > 0;)
		for (long at = 0; at < got;) {
			struct entry *e = (struct entry *)(entries + at);
			at += e->length;
			if (e->name[0] != '.')
				readlinkat(fds, e->name, link_text, sizeof link_text);
		}
	close(fds);
}

static int by_path(int root, const char *name, struct record *r) {
	char path[64];
	struct stat st;
	snprintf(path, sizeof path, "%s", name);
	char *end = path + strlen(path);
	if (fstatat(root, path, &st, 0))
		return -1;
	r->uid = st.st_uid;
	strcpy(end, "/stat");
	int got = read_once(root, path);
	if (got <= 0 || parse(got, r))
		return -1;
	strcpy(end, "/cwd");
	keep_cwd(root, path, r);
	return 0;
}

static int by_folder(int root, const char *name, int mode, struct record *r) {
	struct stat st;
	int dir = openat(root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -1;
	int got = fstat(dir, &st) ? -1 : read_once(dir, "stat");
	if (got <= 0 || parse(got, r)) {
		close(dir);
		return -1;
	}
	r->uid = st.st_uid;
	keep_cwd(dir, "cwd", r);
	if (mode >= MARKERS) {
		readlinkat(dir, "exe", link_text, sizeof link_text);
		read_once(dir, "environ");
	}
	if (mode >= LOOK) {
		readlinkat(dir, "root", link_text, sizeof link_text);
		readlinkat(dir, "ns/mnt", link_text, sizeof link_text);
		read_once(dir, "cmdline");
		descriptors(dir);
	}
	close(dir);
	return 0;
}

static int pass(const char *path, int mode) {
	static char entries[64 << 10];
	static struct record *all;
	static int room;
	int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	if (root < 0)
		fail(path);
	for (long got; (got = syscall(SYS_getdents64, root, entries, sizeof entries)) > 0;)
		for (long at = 0; at < got;) {
			struct entry *e = (struct entry *)(entries + at);
			at += e->length;
			if (e->name[0] < '0' || e->name[0] > '9')
				continue;
			if (count == room) {
				room = room ? room * 2 : 1024;
				if (!(all = realloc(all, room * sizeof *all)))
					fail("realloc");
			}
			if (!(mode == PATHS ? by_path(root, e->name, &all[count]) : by_folder(root, e->name, mode, &all[count])))
				count++;
		}
	close(root);
	for (int i = 0; i < count; i++)
		free(all[i].cwd);
	return count;
}

static long used(void) {
	struct rusage r;
	if (getrusage(RUSAGE_SELF, &r))
		fail("getrusage");
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000L + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000L;
}

static int measure(const char *mode, const char *root, int rounds) {
	int as = 0, count = 0;
	long best = -1;
	while (as < MODES && strcmp(mode, modes[as]))
		as++;
	if (as == MODES)
		return 2;
	while (rounds-- > 0) {
		long before = used();
		count = pass(root, as);
		long took = used() - before;
		if (best < 0 || took < best)
			best = took;
	}
	printf("%d %ld\n", count, best);
	return 0;
}

static int idle(int count, const char *folder) {
	pid_t *children = calloc(count, sizeof *children);
	char path[4096], one;
	int started = 0;
	if (!children)
		fail("calloc");
	for (; started < count; started++) {
		snprintf(path, sizeof path, "%s/%d", folder, started % 1000);
		pid_t pid = children[started] = fork();
		if (pid < 0)
			break;
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (chdir(path))
				_exit(1);
			for (;;)
				pause();
		}
	}
	printf("ready %d\n", started);
	fflush(stdout);
	for (ssize_t got; (got = read(0, &one, 1)) > 0 || (got < 0 && errno == EINTR);)
		;
	for (int i = 0; i < started; i++)
		kill(children[i], SIGKILL);
	for (int i = 0; i < started; i++)
		waitpid(children[i], NULL, 0);
	return 0;
}

int main(int count, char **words) {
	if (count == 5 && !strcmp(words[1], "read"))
		return measure(words[2], words[3], atoi(words[4]));
	if (count == 4 && !strcmp(words[1], "idle"))
		return idle(atoi(words[2]), words[3]);
	fprintf(stderr, "floor read MODE ROOT ROUNDS, or floor idle COUNT FOLDER\n");
	return 2;
}
