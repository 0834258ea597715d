/* System calls that fail where a test wants them to: loaded into a program with LD_PRELOAD, it stands before the C library.
 *
 * FAULTS is "calls|where|after|count|errno|log". A call matches when its name is in the comma list and what it is about
 * begins with `where`: an absolute path, or stdin, stdout, stderr, pipe, unix, inet, or "-" for calls about nothing yet.
 * The first `after` matches go well, the next `count` fail with `errno`; errno 0 writes half. With errno -1 nothing fails
 * and every match is logged. Only the process FAULTS was given to is meant, not its children. A call that is made to
 * fail is not made at all.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t meant;
static char calls[512], where[PATH_MAX], logged[PATH_MAX];
static long after, count;
static int error_number;
static atomic_long matches;

__attribute__((constructor)) static void begin(void) {
    const char *plan = getenv("FAULTS");
    if (!plan || getenv("FAULTS_PID")) return;
    char pid[32];
    snprintf(pid, sizeof pid, "%d", getpid());
    setenv("FAULTS_PID", pid, 1);
    char *copy = strdup(plan), *rest = copy;
    snprintf(calls, sizeof calls, ",%s,", strsep(&rest, "|"));
    snprintf(where, sizeof where, "%s", strsep(&rest, "|"));
    after = atol(strsep(&rest, "|"));
    count = atol(strsep(&rest, "|"));
    error_number = atoi(strsep(&rest, "|"));
    snprintf(logged, sizeof logged, "%s", rest);
    free(copy);
    meant = getpid();
}

static void note(const char *call, const char *what, int blocking) {
    char line[PATH_MAX + 64];
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\n", call, what, blocking ? "blocking" : "");
    int fd = syscall(SYS_openat, AT_FDCWD, logged, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        syscall(SYS_write, fd, line, size);
        syscall(SYS_close, fd);
    }
}

/* Whether this call fails now; `what` is what it is about. */
static int fails(const char *call, const char *what, int fd) {
    char name[40];
    snprintf(name, sizeof name, ",%s,", call);
    if (!strstr(calls, name) || strncmp(what, where, strlen(where)) || !strcmp(what, logged)) return 0;
    long number = atomic_fetch_add(&matches, 1);
    int blocking = fd >= 0 && !(syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK);
    if (error_number < 0) {
        note(call, what, blocking);
        return 0;
    }
    if (number < after || number >= after + count) return 0;
    if (error_number == EAGAIN && blocking) return 0;
    note(call, what, blocking);
    errno = error_number;
    return 1;
}

static int is_meant(void) { return meant && getpid() == meant; }

static int named(const char *call, const char *what) { return is_meant() && fails(call, what, -1); }

static int on_fd(const char *call, int fd) {
    if (!is_meant()) return 0;
    static const char *const standard[] = {"stdin", "stdout", "stderr"};
    char link[64], what[PATH_MAX];
    int before = errno;
    if (fd >= 0 && fd <= 2) {
        snprintf(what, sizeof what, "%s", standard[fd]);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(link, what, sizeof what - 1);
        what[size > 0 ? size : 0] = 0;
        if (!strncmp(what, "pipe:", 5)) strcpy(what, "pipe");
        if (!strncmp(what, "socket:", 7)) {
            int family = 0;
            socklen_t length = sizeof family;
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length);
            strcpy(what, family == AF_UNIX ? "unix" : "inet");
        }
    }
    errno = before;
    return fails(call, what, fd);
}

static int on_path(const char *call, int directory, const char *path) {
    if (!is_meant() || !path) return 0;
    char what[PATH_MAX], link[64];
    int before = errno;
    if (path[0] == '/') {
        snprintf(what, sizeof what, "%s", path);
    } else {
        snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", directory);
        ssize_t size = readlink(link, what, sizeof what - 1);
        size = size > 0 ? size : 0;
        snprintf(what + size, sizeof what - size, "/%s", path);
    }
    errno = before;
    return fails(call, what, -1);
}

#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

#define OPEN(symbol)                                                                  \
    int symbol(const char *path, int flags, ...) {                                    \
        va_list more;                                                                 \
        va_start(more, flags);                                                        \
        int mode = va_arg(more, int);                                                 \
        va_end(more);                                                                 \
        if (on_path("open", AT_FDCWD, path)) return -1;                               \
        return REAL(#symbol, int, const char *, int, ...)(path, flags, mode);         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(symbol)                                                                \
    int symbol(int directory, const char *path, int flags, ...) {                     \
        va_list more;                                                                 \
        va_start(more, flags);                                                        \
        int mode = va_arg(more, int);                                                 \
        va_end(more);                                                                 \
        if (on_path("open", directory, path)) return -1;                              \
        return REAL(#symbol, int, int, const char *, int, ...)(directory, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t read(int fd, void *data, size_t size) {
    return on_fd("read", fd) ? -1 : REAL("read", ssize_t, int, void *, size_t)(fd, data, size);
}
ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
    return on_fd("read", fd) ? -1 : REAL("pread64", ssize_t, int, void *, size_t, off64_t)(fd, data, size, at);
}
ssize_t recv(int fd, void *data, size_t size, int flags) {
    return on_fd("recv", fd) ? -1 : REAL("recv", ssize_t, int, void *, size_t, int)(fd, data, size, flags);
}
ssize_t write(int fd, const void *data, size_t size) {
    if (on_fd("write", fd)) {
        if (error_number) return -1;
        size = size > 1 ? size / 2 : size;
    }
    return REAL("write", ssize_t, int, const void *, size_t)(fd, data, size);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return on_fd("write", fd) && error_number ? -1
                                              : REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t)(fd, data, size, at);
}
ssize_t send(int fd, const void *data, size_t size, int flags) {
    if (on_fd("send", fd)) {
        if (error_number) return -1;
        size = size > 1 ? size / 2 : size;
    }
    return REAL("send", ssize_t, int, const void *, size_t, int)(fd, data, size, flags);
}
int connect(int fd, const struct sockaddr *address, socklen_t size) {
    return on_fd("connect", fd) ? -1 : REAL("connect", int, int, const struct sockaddr *, socklen_t)(fd, address, size);
}

int fsync(int fd) { return on_fd("fsync", fd) ? -1 : REAL("fsync", int, int)(fd); }
int fchmod(int fd, mode_t mode) { return on_fd("fchmod", fd) ? -1 : REAL("fchmod", int, int, mode_t)(fd, mode); }
int flock(int fd, int how) { return on_fd("flock", fd) ? -1 : REAL("flock", int, int, int)(fd, how); }
int ftruncate64(int fd, off64_t size) {
    return on_fd("ftruncate", fd) ? -1 : REAL("ftruncate64", int, int, off64_t)(fd, size);
}
int posix_fallocate64(int fd, off64_t from, off64_t size) {
    return on_fd("fallocate", fd) ? error_number : REAL("posix_fallocate64", int, int, off64_t, off64_t)(fd, from, size);
}
int fstat64(int fd, struct stat64 *found) {
    return on_fd("stat", fd) ? -1 : REAL("fstat64", int, int, struct stat64 *)(fd, found);
}
int stat64(const char *path, struct stat64 *found) {
    return on_path("stat", AT_FDCWD, path) ? -1 : REAL("stat64", int, const char *, struct stat64 *)(path, found);
}
int lstat64(const char *path, struct stat64 *found) {
    return on_path("stat", AT_FDCWD, path) ? -1 : REAL("lstat64", int, const char *, struct stat64 *)(path, found);
}

int rename(const char *from, const char *to) {
    return on_path("rename", AT_FDCWD, to) ? -1 : REAL("rename", int, const char *, const char *)(from, to);
}
int link(const char *from, const char *to) {
    return on_path("link", AT_FDCWD, to) ? -1 : REAL("link", int, const char *, const char *)(from, to);
}
int linkat(int from_directory, const char *from, int directory, const char *to, int flags) {
    return on_path("link", directory, to)
               ? -1
               : REAL("linkat", int, int, const char *, int, const char *, int)(from_directory, from, directory, to, flags);
}
int unlink(const char *path) {
    return on_path("unlink", AT_FDCWD, path) ? -1 : REAL("unlink", int, const char *)(path);
}
int mkdir(const char *path, mode_t mode) {
    return on_path("mkdir", AT_FDCWD, path) ? -1 : REAL("mkdir", int, const char *, mode_t)(path, mode);
}
DIR *opendir(const char *path) {
    return on_path("opendir", AT_FDCWD, path) ? NULL : REAL("opendir", DIR *, const char *)(path);
}
struct dirent64 *readdir64(DIR *directory) {
    return on_fd("readdir", dirfd(directory)) ? NULL : REAL("readdir64", struct dirent64 *, DIR *)(directory);
}

int pipe2(int ends[2], int flags) { return named("pipe", "-") ? -1 : REAL("pipe2", int, int *, int)(ends, flags); }
int socket(int family, int type, int protocol) {
    return named("socket", "-") ? -1 : REAL("socket", int, int, int, int)(family, type, protocol);
}
int socketpair(int family, int type, int protocol, int ends[2]) {
    return named("socketpair", "-") ? -1 : REAL("socketpair", int, int, int, int, int *)(family, type, protocol, ends);
}
int epoll_create1(int flags) { return named("epoll", "-") ? -1 : REAL("epoll_create1", int, int)(flags); }
pid_t fork(void) { return named("fork", "-") ? -1 : REAL("fork", pid_t, void)(); }
/* A vfork cannot be passed on from a function that returns; a fork does the same for whoever calls it. */
pid_t vfork(void) { return fork(); }
