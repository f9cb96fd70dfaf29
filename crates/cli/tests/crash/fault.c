/* Preloaded by tests/crash: counts the writes, syncs, renames and removals of a program and of the programs that it
   starts, below one folder, and lets one of them fail.

   FAULT_FOLDER   the folder, without links in its path
   FAULT_COUNTER  a file of eight bytes that holds the count
   FAULT_AT       which operation fails, from 1 on; 0 for none
   FAULT_KIND     fail: it reports EIO and does nothing; tear: half of a write is made, then ENOSPC;
                  kill: half of a write is made, then the program and the one that began all are killed
   FAULT_SYNCED   for a power cut: an empty folder elsewhere, in which every file is kept as it was when it was last
                  synced, and of every folder which names it then had, each named by `name_of`
   FAULT_ROOT     set here: the process that began all */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static uint64_t *counter, at;
static const char *folder, *kind, *synced;

/* A file's number and its birth: a number is given again when its file is gone. */
static int name_of(int at_folder, const char *path, char name[64], struct statx *about) {
    int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
    if (statx(at_folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, about)) return -1;
    return snprintf(name, 64, "%llu-%lld-%u", (unsigned long long)about->stx_ino,
                    (long long)about->stx_btime.tv_sec, about->stx_btime.tv_nsec);
}

static void keep_names(int fd, FILE *to) {
    DIR *names = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *entry; names && (entry = readdir(names));) {
        char name[64];
        struct statx about;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (name_of(dirfd(names), entry->d_name, name, &about) > 0)
            fprintf(to, "%c %s %s\n", S_ISDIR(about.stx_mode) ? 'd' : 'f', name, entry->d_name);
    }
    if (names) closedir(names);
}

static void keep_bytes(int fd, const struct statx *about, FILE *to) {
    char bytes[1 << 16];
    ssize_t size;
    for (off_t from = 0; (size = pread(fd, bytes, sizeof bytes, from)) > 0; from += size)
        fwrite(bytes, 1, size, to);
    fflush(to);
    struct timespec when = {about->stx_mtime.tv_sec, about->stx_mtime.tv_nsec};
    futimens(fileno(to), (struct timespec[]){when, when});
}

/* Keeps a file or folder as it is now. */
static void keep(const char *path) {
    char name[64], file[4096], unfinished[4200];
    struct statx about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (name_of(fd, "", name, &about) > 0) {
        snprintf(file, sizeof file, "%s/%s", synced, name);
        snprintf(unfinished, sizeof unfinished, "%s.%ld", file, (long)syscall(SYS_gettid));
        FILE *to = fopen(unfinished, "we");
        if (to) {
            S_ISDIR(about.stx_mode) ? keep_names(fd, to) : keep_bytes(fd, &about, to);
            fclose(to);
            REAL(rename)(unfinished, file);
        }
    }
    close(fd);
}

static int keep_each(const char *path, const struct stat *about, int type, struct FTW *place) {
    keep(path);
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FAULT_COUNTER"), *number = getenv("FAULT_AT");
    folder = getenv("FAULT_FOLDER");
    kind = getenv("FAULT_KIND");
    synced = getenv("FAULT_SYNCED");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || !number || !folder || !kind) return;
    if (synced && !getenv("FAULT_ROOT")) nftw(folder, keep_each, 16, FTW_PHYS);
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

static int kills(void) { return !strcmp(kind, "kill"); }

static int fault(void) {
    if (kills()) {
        kill(atoi(getenv("FAULT_ROOT")), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    errno = strcmp(kind, "tear") ? EIO : ENOSPC;
    return -1;
}

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

/* What was done to make it last has the result. */
static int after_sync(int fd, int result) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (synced && counter && !result) keep(path);
    return result;
}

int fsync(int fd) { return is_due_for(fd) ? fault() : after_sync(fd, REAL(fsync)(fd)); }

int fdatasync(int fd) { return is_due_for(fd) ? fault() : after_sync(fd, REAL(fdatasync)(fd)); }

int ftruncate64(int fd, off64_t size) {
    return is_due_for(fd) ? fault() : REAL(ftruncate64)(fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* A relative path is below the folder, where all begins. */
static const char *whole(const char *path) { return *path == '/' ? path : folder; }

int rename(const char *from, const char *to) {
    return counter && is_due(whole(to)) ? fault() : REAL(rename)(from, to);
}

/* A removal that fails is no fault: what is no longer used may stay. */
int unlink(const char *path) {
    return counter && is_due(whole(path)) && kills() ? fault() : REAL(unlink)(path);
}
