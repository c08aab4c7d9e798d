package test

import (
	"bufio"
	"os"
	"regexp"
	"strings"
)

// made is one call in a trace: how manieth of its thread, by name, it is, and its place.
type made struct {
	tid, call, place string
	nth              int
	main             bool
	failed           bool // by strace
	runtime          bool // before main.main
}

var (
	callLine    = regexp.MustCompile(`^(?:(\d+) +)?(\w+)\((.*)`)
	resumedLine = regexp.MustCompile(`^(?:(\d+) +)?<\.\.\. (\w+) resumed>`)
)

// callsIn are the calls in a trace of strace -y, with or without -f. The first thread
// in it is the main one.
func callsIn(trace string) []made {
	var all []made
	count := make(map[string]int) // by thread and call
	last := make(map[string]int)  // the index of a thread's last call
	first, started := "", false
	lines := bufio.NewScanner(strings.NewReader(trace))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
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
		if first == "" {
			first = tid
		}
		started = started || call == "ioctl" // the first of drainit's own: is there a terminal?
		place := placeOf(call, m[3])
		counted := tid + call
		if _, ok := ownPaths[place]; ok {
			counted += place
		}
		count[counted]++
		last[tid] = len(all)
		all = append(all, made{tid: tid, call: call, place: place, nth: count[counted],
			main: tid == first, failed: strings.Contains(line, "(INJECTED)"), runtime: !started})
	}
	return all
}

var (
	quoted   = regexp.MustCompile(`"([^"]*)"`)
	openFile = regexp.MustCompile(`^\d+<([^>]*)>`)
	number   = regexp.MustCompile(`\d+`)
)

// reportFile is the place of that file.
const reportFile = "the termination log"

// ownPaths are places whose calls are counted for themselves, by the path that stands
// for them in the arguments of a strace: how many others come before is not certain.
var ownPaths = map[string]string{stdErr: ownStderr, reportFile: ownLog}

// aPipe is the place of pipes, which only fork and exec use.
const aPipe = "a pipe"

// aProbe is the place of sockets.
const aProbe = "a probe"

// anEventfd is the place of the Go runtime's wake-ups.
const anEventfd = "anon_inode:[eventfd]"

// stdErr is the place of what drainit writes: its log.
const stdErr = "standard error"

// placeOf says what a call is about, in words that are the same in each run.
func placeOf(call, args string) string {
	field := func(n int) string {
		f := strings.Split(strings.TrimSuffix(args, " <unfinished ...>"), ", ")
		if n >= len(f) {
			return ""
		}
		f[n], _, _ = strings.Cut(f[n], ")")
		return f[n]
	}
	switch call {
	case "openat", "openat2", "readlinkat", "newfstatat", "chdir", "execve":
		if m := quoted.FindStringSubmatch(args); m != nil {
			return fileName(m[1])
		}
	case "read", "close", "fstat", "getdents64", "pread64", "write":
		if strings.HasPrefix(args, "2<") {
			return stdErr
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
		return aPipe
	case strings.HasPrefix(path, "socket:"), strings.HasPrefix(path, "TCP:"):
		return aProbe
	case strings.HasPrefix(path, "anon_inode:"), strings.HasPrefix(path, "/dev/pts/"):
		return number.ReplaceAllString(path, "N")
	case strings.HasPrefix(path, "/proc"), strings.HasPrefix(path, "/dev/"), strings.HasPrefix(path, "/sys"), path == "/":
		return number.ReplaceAllString(path, "N")
	case strings.HasSuffix(path, "/termination-log"):
		return reportFile
	case strings.HasPrefix(path, os.TempDir()):
		return "COMMAND"
	}
	return "PATH"
}
