package stress

import (
	"bufio"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
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
var ownPaths = map[string]string{stdErr: harness.OwnStderr, reportFile: ownLog}

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
	case "openat", "openat2", "readlinkat", "newfstatat", "statx", "chdir", "execve":
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
	case strings.HasPrefix(path, filepath.Dir(harness.DrainitBin)):
		return "COMMAND"
	}
	return "PATH"
}

// systemCall is one that drainit makes, or the Go runtime below it.
type systemCall struct {
	what string // what for
	// The errors with which it is made to fail: those of EINTR, EAGAIN, ENOMEM, EPERM,
	// ESRCH, EMFILE, EIO, ENOSPC, ENOSYS and EACCES that its manual names, and those that
	// a seccomp profile, a security module or /proc give. Empty where there is none.
	fails string
	but   map[string]string // the same for places that differ
}

func (c systemCall) errnos(place string) []string {
	if fails, ok := c.but[place]; ok {
		return strings.Fields(fails)
	}
	return strings.Fields(c.fails)
}

// systemCalls are all that drainit makes, on amd64.
var systemCalls = map[string]systemCall{
	"accept4":           {what: "a probe, for --health-addr", fails: "EAGAIN EINTR EMFILE ENOMEM EPERM"},
	"bind":              {what: "--health-addr", fails: "EACCES ENOMEM"},
	"listen":            {what: "--health-addr", fails: "ENOMEM"},
	"setsockopt":        {what: "--health-addr", fails: "ENOMEM EPERM"},
	"shutdown":          {what: "the end of an answer to a probe", fails: "ENOMEM"},
	"socket":            {what: "--health-addr", fails: "EACCES EMFILE ENOMEM EPERM"},
	"arch_prctl":        {what: "the runtime's first thread"},
	"chdir":             {what: "to /, once the worker runs", fails: "EACCES EIO ENOMEM"},
	"clock_gettime":     {what: "the time since boot, for the age of processes", fails: "ENOSYS EPERM"},
	"clone":             {what: "the worker, and threads", fails: "EAGAIN ENOMEM ENOSPC ENOSYS EPERM"},
	"close":             {what: "what was opened, and inherited descriptors", fails: "EINTR EIO ENOSPC", but: map[string]string{aPipe: ""}},
	"dup3":              {what: "/dev/null in place of standard input and output", fails: "EINTR EMFILE ENOSYS"},
	"epoll_create1":     {what: "the runtime's timers", fails: "EMFILE ENOMEM ENOSYS"},
	"epoll_ctl":         {what: "the runtime's timers; which processes are watched", fails: "ENOMEM ENOSPC EPERM"},
	"epoll_pwait":       {what: "the runtime's timers; which of the watched have ended", fails: "EINTR"},
	"eventfd2":          {what: "the runtime's timers", fails: "EMFILE ENOMEM ENOSYS"},
	"execve":            {what: "the worker; drainit itself, where LISTEN_PID is the worker's", fails: "EACCES EAGAIN EIO EMFILE ENOMEM EPERM"},
	"exit":              {what: "the end of a thread"},
	"exit_group":        {what: "the end"},
	"fcntl":             {what: "descriptors: which are inherited, and the worker's", fails: "EINTR", but: map[string]string{"F_DUPFD_CLOEXEC": "EMFILE", "F_SETFL": "EPERM", "F_SETOWN": "EPERM ESRCH"}},
	"fstat":             {what: "whether the termination log is a file, and empty", fails: "ENOMEM"},
	"futex":             {what: "the runtime's threads wait for each other"},
	"getcpu":            {what: "which processor drainit runs on", fails: "ENOSYS"},
	"getdents64":        {what: "all processes; drainit's own descriptors", fails: "EINTR EIO ENOMEM"},
	"getpgid":           {what: "on a terminal: the shell's job", fails: "EPERM ESRCH"},
	"getpid":            {what: "drainit's own pid"},
	"getppid":           {what: "drainit's parent"},
	"getsid":            {what: "on a terminal: the shell's session", fails: "EPERM ESRCH"},
	"gettid":            {what: "the runtime's threads"},
	"ioctl":             {what: "whether there is a terminal, its modes, and which process group has it", fails: "EINTR EIO ENOMEM EPERM"},
	"kill":              {what: "signals to the worker, its group, or everything", fails: "EPERM ESRCH"},
	"madvise":           {what: "the runtime's memory", fails: "EACCES EAGAIN EIO ENOMEM EPERM"},
	"mmap":              {what: "the runtime's memory", fails: "EACCES EAGAIN ENOMEM EPERM"},
	"munmap":            {what: "the runtime's memory", fails: "ENOMEM"},
	"nanosleep":         {what: "the runtime's own watch over its threads", fails: "EINTR"},
	"newfstatat":        {what: "COMMAND in PATH; whose a process is; which pipe one reads or writes, where statx is denied", fails: "EACCES EIO ENOMEM"},
	"openat":            {what: "/proc, /dev/tty, /dev/null, oom_score_adj, the termination log before Linux 5.6; at the start the runtime's /sys and cgroup", fails: "EACCES EINTR EIO EMFILE ENOMEM EPERM"},
	"openat2":           {what: "the termination log", fails: "EACCES EINTR EIO EMFILE ENOMEM EPERM ENOSYS"},
	"pidfd_open":        {what: "a process that is not drainit's child, to signal it or to know when it ends", fails: "EMFILE ENOMEM ENOSYS EPERM ESRCH"},
	"pidfd_send_signal": {what: "a signal to such a one", fails: "ENOSYS EPERM ESRCH"},
	"pipe2":             {what: "how the exec went; what the worker is sent when drainit is killed", fails: "EMFILE ENOMEM"},
	"ppoll":             {what: "a standard error that is full", fails: "EINTR ENOMEM"},
	"prctl":             {what: "orphans come to drainit, its title, --parent-death-signal; the runtime's names for memory", fails: "EACCES ENOSYS EPERM"},
	"pread64":           {what: "command lines; what a thread waits for in sigwait; the runtime: the cgroup's share of processors", fails: "EAGAIN EINTR EIO"},
	"prlimit64":         {what: "the limit of descriptors, which the worker gets back", fails: "ENOSYS EPERM ESRCH"},
	"read":              {what: "/proc; how the exec went; the runtime's timers", fails: "EAGAIN EINTR EIO ENOMEM", but: map[string]string{aPipe: "EINTR"}},
	"readlinkat":        {what: "/proc/self, and what program runs a process", fails: "EACCES EIO ENOMEM"},
	"restart_syscall":   {what: "the kernel's own, after a stop"},
	"rt_sigaction":      {what: "handlers; in the worker the default actions"},
	"rt_sigprocmask":    {what: "the worker's empty mask, TTOU and TSTP on a terminal, the runtime's threads"},
	"rt_sigreturn":      {what: "the end of a handler"},
	"sched_getaffinity": {what: "the runtime: how many processors", fails: "EPERM ESRCH"},
	"sched_yield":       {what: "the runtime's threads"},
	"setfsgid":          {what: "to read another user's process as that user"},
	"setfsuid":          {what: "likewise"},
	"setpgid":           {what: "with a terminal the worker's own process group", fails: "EACCES EPERM ESRCH"},
	"setsid":            {what: "without a terminal the worker's own session", fails: "EPERM"},
	"sigaltstack":       {what: "the runtime's handlers"},
	"statx":             {what: "which pipe a process reads or writes", fails: "EACCES ENOMEM ENOSYS EPERM"},
	"tgkill":            {what: "the runtime interrupts a thread; drainit stops itself for Ctrl-Z", fails: "EAGAIN EPERM ESRCH"},
	"wait4":             {what: "children that ended, stopped or went on", fails: "EINTR"},
	"waitid":            {what: "whether the worker has ended, to read its name before it is waited for", fails: "EINTR"},
	"write":             {what: "the log, oom_score_adj, a thread's name, the termination log; the runtime's timers; how the exec went", fails: "EINTR EIO ENOSPC EPERM", but: map[string]string{aPipe: "", aProbe: "EINTR", stdErr: "EAGAIN EINTR EIO ENOSPC EPERM"}},
}

// exceptions are the calls that are not made to fail though their manuals know an
// error, and why.
var exceptions = [...][3]string{
	{"arch_prctl", "", "only of an address that is not the caller's; the Go runtime does not come to an end then"},
	{"close", aPipe, "by which the exec is reported: made to fail it would stay open, whereas the kernel closes it whatever it returns (close(2)), and drainit would wait for its end"},
	{"futex", "", "a wait ends by EAGAIN and EINTR all the time; a wake fails only of an address that is not the caller's, and the Go runtime aborts then"},
	{"read", aPipe, "by which the exec is reported: of a pipe the kernel gives none but EINTR; of any other Go would wait for the worker's end"},
	{"sigaltstack", "", "only of a stack that is too small or in use; the Go runtime does not come to an end then"},
	{"write", anEventfd + ", with EAGAIN", "only where a wake-up is pending already; else a timer would be late, the grace's for one"},
	{"write", aProbe + ", with all but EINTR", "the runtime's wake-ups are written by the same call, and would fail beside it"},
	{"write", aPipe, "by which the exec is reported: of an empty pipe that is read the kernel gives none; the worker would end with 253"},
}

// The docs have the list; TestFaults fails where drainit makes a call that is not on it.
func TestDocsListEverySystemCall(t *testing.T) {
	page := harness.VerificationText(t)
	for _, call := range slices.Sorted(maps.Keys(systemCalls)) {
		if row := fmt.Sprintf("| `%s` | %s |\n", call, systemCalls[call].what); !strings.Contains(page, row) {
			t.Errorf("not in docs/verification.md: %s", row)
		}
	}
}
