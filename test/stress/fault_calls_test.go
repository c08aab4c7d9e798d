package stress

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
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
		// a negative number: strace came between two calls
		if m == nil || strings.HasPrefix(m[2], "syscall_0xffff") {
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
		all = append(all, made{call, place, count[counted], tid == first,
			strings.Contains(line, "(INJECTED)")})
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
	case strings.HasPrefix(path, "anon_inode:"), strings.HasPrefix(path, "/proc"),
		strings.HasPrefix(path, "/dev/"), strings.HasPrefix(path, "/sys"), path == "/":
		return number.ReplaceAllString(path, "N")
	case strings.HasPrefix(path, "/memfd:"):
		return "the notes of a stop"
	case strings.HasPrefix(path, filepath.Dir(harness.DrainitBin)):
		return "COMMAND"
	}
	return "PATH"
}

// errnosOf are the errors with which a call is made to fail, of some at a place.
func errnosOf(t *testing.T, call, place string) []string {
	t.Helper()
	fails := make(map[string]string)
	for _, row := range rows.Read(t, "testdata/errors.tsv", 2) {
		fails[row[0]] = row[1]
	}
	errnos, ok := fails[call+" "+place]
	if !ok {
		errnos = fails[call]
	}
	return strings.Fields(errnos)
}
