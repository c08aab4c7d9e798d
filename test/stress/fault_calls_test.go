package stress

import (
	"path/filepath"
	"regexp"
	"strings"

	"drainit/test/harness"
)

// made is one call in a trace: its number among the calls of that name by its thread, and its place.
type made struct {
	call, place string
	nth         int
	main        bool // of the main thread, which does all the work
	failed      bool // by strace
}

var (
	callLine    = regexp.MustCompile(`^(?:(\d+) +)?(\w+)\((.*)`)
	resumedLine = regexp.MustCompile(`^(?:(\d+) +)?<\.\.\. \w+ resumed>`)
)

// callsIn are the calls in a trace of strace -y, with or without -f. The first thread
// in it is the main one.
func callsIn(trace string) []made {
	var all []made
	count := make(map[string]int) // by thread and call
	last := make(map[string]int)  // the index of a thread's last call
	first := ""
	for line := range strings.Lines(trace) {
		if m := resumedLine.FindStringSubmatch(line); m != nil {
			if i, ok := last[m[1]]; ok && strings.Contains(line, "(INJECTED)") {
				all[i].failed = true
			}
			continue
		}
		m := callLine.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(m[2], "syscall_0xffff") { // a negative number: strace came between two calls
			continue
		}
		tid, call := m[1], m[2]
		if len(all) == 0 {
			first = tid
		}
		place := placeOf(call, m[3])
		counted := tid + call
		if ownPaths[place] != "" {
			counted += place
		}
		count[counted]++
		last[tid] = len(all)
		all = append(all, made{call, place, count[counted], tid == first, strings.Contains(line, "(INJECTED)")})
	}
	return all
}

var (
	quoted   = regexp.MustCompile(`"([^"]*)"`)
	openFile = regexp.MustCompile(`^\d+<([^>]*)>`)
	number   = regexp.MustCompile(`\d+`)
)

// ownPaths are places whose calls are counted for themselves, by the path that stands
// for them in the arguments of a strace: how many others come before is not certain.
var ownPaths = map[string]string{"standard error": harness.OwnStderr}

// placeOf says what a call is about, in words that are the same in each run.
func placeOf(call, args string) string {
	field := func(n int) string {
		f := strings.Split(strings.TrimSuffix(args, " <unfinished ...>"), ", ")
		if n >= len(f) {
			return ""
		}
		word, _, _ := strings.Cut(f[n], ")")
		return word
	}
	switch call {
	case "openat", "readlinkat", "newfstatat", "statx", "chdir", "execve":
		if m := quoted.FindStringSubmatch(args); m != nil {
			return fileName(m[1])
		}
	case "read", "close", "getdents64", "pread64", "write":
		if strings.HasPrefix(args, "2<") {
			return "standard error"
		}
		if m := openFile.FindStringSubmatch(args); m != nil {
			return fileName(m[1])
		}
	case "fcntl", "ioctl", "futex":
		return field(1)
	case "prctl":
		return field(0)
	case "kill":
		return strings.Replace(number.ReplaceAllString(field(0), "N"), "-N", "a group", 1) + " " + field(1)
	case "clone":
		if strings.Contains(args, "CLONE_THREAD") {
			return "a thread"
		}
		return "the worker"
	}
	return ""
}

// fileName leaves out of a path what differs from run to run.
func fileName(path string) string {
	switch {
	case strings.HasPrefix(path, "pipe:"):
		return "a pipe"
	case strings.HasPrefix(path, "socket:"), strings.HasPrefix(path, "TCP:"):
		return "a probe"
	case strings.HasPrefix(path, "anon_inode:"), strings.HasPrefix(path, "/proc"), strings.HasPrefix(path, "/dev/"), strings.HasPrefix(path, "/sys"), path == "/":
		return number.ReplaceAllString(path, "N")
	case strings.HasPrefix(path, "/memfd:"):
		return "the notes of a stop"
	case strings.HasPrefix(path, filepath.Dir(harness.DrainitBin)):
		return "COMMAND"
	}
	return "PATH"
}

// fails are the errors with which each call of drainit's, or of the Go runtime below it, is made
// to fail, of some at a place: those of EINTR, EAGAIN, ENOMEM, EPERM, ESRCH, EMFILE, EIO, ENOSPC,
// ENOSYS and EACCES that its manual names, and those that a seccomp profile, a security module or
// /proc give. Why some are left out stands in testdata/faults.md.
var fails = map[string]string{
	"accept4":               "EAGAIN EINTR EMFILE ENOMEM EPERM",
	"bind":                  "EACCES ENOMEM",
	"listen":                "ENOMEM",
	"setsockopt":            "ENOMEM EPERM",
	"shutdown":              "ENOMEM",
	"socket":                "EACCES EMFILE ENOMEM EPERM",
	"chdir":                 "EACCES EIO ENOMEM",
	"clock_gettime":         "ENOSYS EPERM",
	"clone":                 "EAGAIN ENOMEM ENOSPC ENOSYS EPERM",
	"close":                 "EINTR EIO ENOSPC",
	"close a pipe":          "",
	"dup3":                  "EINTR EMFILE ENOSYS",
	"epoll_create1":         "EMFILE ENOMEM ENOSYS",
	"epoll_ctl":             "ENOMEM ENOSPC EPERM",
	"epoll_pwait":           "EINTR",
	"eventfd2":              "EMFILE ENOMEM ENOSYS",
	"execve":                "EACCES EAGAIN EIO EMFILE ENOMEM EPERM",
	"fcntl":                 "EINTR",
	"fcntl F_DUPFD_CLOEXEC": "EMFILE",
	"fcntl F_SETFL":         "EPERM",
	"fcntl F_SETOWN":        "EPERM ESRCH",
	"getcpu":                "ENOSYS",
	"getdents64":            "EINTR EIO ENOMEM",
	"getpgid":               "EPERM ESRCH",
	"getsid":                "EPERM ESRCH",
	"ioctl":                 "EINTR EIO ENOMEM EPERM",
	"kill":                  "EPERM ESRCH",
	"madvise":               "EACCES EAGAIN EIO ENOMEM EPERM",
	"memfd_create":          "EMFILE ENOMEM ENOSYS EPERM",
	"mmap":                  "EACCES EAGAIN ENOMEM EPERM",
	"munmap":                "ENOMEM",
	"nanosleep":             "EINTR",
	"newfstatat":            "EACCES EIO ENOMEM",
	"openat":                "EACCES EINTR EIO EMFILE ENOMEM EPERM",
	"pidfd_open":            "EMFILE ENOMEM ENOSYS EPERM ESRCH",
	"pidfd_send_signal":     "ENOSYS EPERM ESRCH",
	"pipe2":                 "EMFILE ENOMEM",
	"ppoll":                 "EINTR ENOMEM",
	"prctl":                 "EACCES ENOSYS EPERM",
	"pread64":               "EAGAIN EINTR EIO",
	"prlimit64":             "ENOSYS EPERM ESRCH",
	"read":                  "EAGAIN EINTR EIO ENOMEM",
	"read a pipe":           "EINTR",
	"readlinkat":            "EACCES EIO ENOMEM",
	"sched_getaffinity":     "EPERM ESRCH",
	"setpgid":               "EACCES EPERM ESRCH",
	"setsid":                "EPERM",
	"statx":                 "EACCES ENOMEM ENOSYS EPERM",
	"tgkill":                "EAGAIN EPERM ESRCH",
	"wait4":                 "EINTR",
	"waitid":                "EINTR",
	"write":                 "EINTR EIO ENOSPC EPERM",
	"write a pipe":          "",
	"write a probe":         "EINTR",
	"write standard error":  "EAGAIN EINTR EIO ENOSPC EPERM",
}

func errnosOf(call, place string) []string {
	errnos, ok := fails[call+" "+place]
	if !ok {
		errnos = fails[call]
	}
	return strings.Fields(errnos)
}
