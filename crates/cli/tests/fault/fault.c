/* Preloaded by tests/crash.rs: counts the writes, syncs and renames of a program and of the programs that it
   starts, below one folder, and lets one of them fail.

   FAULT_FOLDER   the folder, without links in its path
   FAULT_COUNTER  a file of eight bytes that holds the count
   FAULT_AT       which operation fails, from 1 on; 0 for none
   FAULT_KIND     fail: it reports EIO and does nothing; tear: half of a write is made, then ENOSPC;
                  kill: half of a write is made, then the program and the one that began all are killed
   FAULT_ROOT     set here: the process that began all */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *counter, at;
static const char *folder, *kind;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FAULT_COUNTER"), *number = getenv("FAULT_AT");
    folder = getenv("FAULT_FOLDER");
    kind = getenv("FAULT_KIND");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || !number || !folder || !kind) return;
    char root[32];
    snprintf(root, sizeof root, "%d", getpid());
    setenv("FAULT_ROOT", root, 0);
    at = strtoull(number, NULL, 10);
    void *map = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) counter = map;
    close(fd);
}

/* Whether this operation is the one that fails. */
static int is_due(const char *path) {
    if (!counter || strncmp(path, folder, strlen(folder))) return 0;
    return __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST) == at;
}

static int is_due_for(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = counter ? readlink(link, path, sizeof path - 1) : -1;
    if (length < 0) return 0;
    path[length] = 0;
    return is_due(path);
}

static int fault(void) {
    if (!strcmp(kind, "kill")) {
        kill(atoi(getenv("FAULT_ROOT")), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    errno = strcmp(kind, "tear") ? EIO : ENOSPC;
    return -1;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
#define TORN(size) (strcmp(kind, "fail") ? (size) / 2 : 0)

ssize_t write(int fd, const void *bytes, size_t size) {
    if (!is_due_for(fd)) return REAL(write)(fd, bytes, size);
    if (TORN(size)) (void)!REAL(write)(fd, bytes, TORN(size));
    return fault();
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
    if (!is_due_for(fd)) return REAL(pwrite64)(fd, bytes, size, offset);
    if (TORN(size)) (void)!REAL(pwrite64)(fd, bytes, TORN(size), offset);
    return fault();
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    return pwrite64(fd, bytes, size, offset);
}

int fsync(int fd) { return is_due_for(fd) ? fault() : REAL(fsync)(fd); }

int fdatasync(int fd) { return is_due_for(fd) ? fault() : REAL(fdatasync)(fd); }

int ftruncate64(int fd, off64_t size) {
    return is_due_for(fd) ? fault() : REAL(ftruncate64)(fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* A relative path is below the folder, where all begins. */
int rename(const char *from, const char *to) {
    return is_due(*to == '/' ? to : folder) ? fault() : REAL(rename)(from, to);
}
