package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func allPids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// StateOf is the state letter of a process in /proc, 0 if there is none.
func StateOf(pid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return b[bytes.LastIndexByte(b, ')')+2]
}

// HostileNames are what a process may call itself, at most 15 bytes, and how a
// line may show that. Each begins or ends a line, moves a cursor, colours a
// terminal, breaks a JSON string or turns the text around.
var HostileNames = map[string]string{
	"newline":       "\ndrainit: FORGE",
	"CR and escape": "\r\x1b[2J\x1b[31mX\a\b",
	"JSON":          `","level":"x",`,
	"not UTF-8":     "\xff\xfe\x80\xc3(\xe2\x28\xa1",
	"C1 controls":   "\u009b31m\u0085x",
	"right to left": "a\u202eb\u2028c\u200dd",
	"one rune cut":  "aaaaaaaaaaaa\xe2\x82\xac",
	"backslashes":   `a\nb\x1b\\`,
	"braces":        "a) S 1 (b\t\x7f[9]",
}

// Renamed is a worker that calls itself by the second argument, the first being
// the number of prctl(2): $0 = would overwrite the harness's marker. It handles
// TSTP and ignores TERM. With a file as the third one a child does, and the
// worker exits when the child has made the file.
const Renamed = `$| = 1; my ($prctl, $name, $leave) = map { /(.*)/s } @ARGV; # untainted
	if ($leave && fork) { select undef, undef, undef, 0.01 until -e $leave; exit 3 }
	$SIG{TERM} = "IGNORE"; $SIG{TSTP} = sub { print "quiet\n" }; $SIG{CONT} = sub { print "on\n" };
	my $set = 15; syscall($prctl + 0, $set, "$name\0", 0, 0, 0) == 0 or die $!;
	if ($leave) { open my $f, ">", $leave; close $f } else { print "ready\n" }
	sleep 1 while 1;`

// Prctl is the number of that system call, for perl's syscall.
var Prctl = strconv.Itoa(unix.SYS_PRCTL)

// Comm is the name of a process: drainit shows its title there. The kernel changes it while it may
// be read, so that a part of the old one can show behind the new one: what is read twice counts.
func Comm(pid int) string {
	last := comm(pid)
	for now := comm(pid); now != last; now = comm(pid) {
		last = now
	}
	return last
}

func comm(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}

// WaitUntilStarted waits until the init has forked its worker.
func (p *Init) WaitUntilStarted() {
	p.T.Helper()
	WaitUntil(p.T, "the worker has started", func() bool { return p.FirstChild() != 0 })
}

// FirstChild is the pid, in the test's namespace, of a child of the init, 0 if
// it has none. It is quick enough to see a worker the moment it is forked.
func (p *Init) FirstChild() int {
	p.T.Helper()
	path := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.Pid())
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && p.Running() {
		p.T.Fatalf("needs a kernel with CONFIG_PROC_CHILDREN: %v", err)
	}
	pids := strings.Fields(string(b))
	if len(pids) == 0 {
		return 0
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		p.T.Fatal(err)
	}
	return pid
}

// WorkerPid is the pid, in the test's namespace, of a `worker listen` that is
// the worker; it is ready.
func (p *Init) WorkerPid() int {
	p.T.Helper()
	inside, err := strconv.Atoi(p.WaitOut(`ready (\d+)$`)[1])
	if err != nil {
		p.T.Fatal(err)
	}
	return p.HostPid(inside)
}

// ChildrenOf returns the states of the children of a process, by pid, those
// included that are dead and have not been waited for.
func ChildrenOf(pid int) map[int]byte {
	all := make(map[int]byte)
	for _, child := range allPids() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil {
			continue
		}
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if string(f[1]) == strconv.Itoa(pid) {
			all[child] = f[0][0]
		}
	}
	return all
}

// StatusField is a number in /proc/PID/status, in kB where it is a size.
func StatusField(t *testing.T, pid int, field string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		if name == field {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc/%d/status", field, pid)
	return 0
}

// OpenFiles counts the descriptors of a process.
func OpenFiles(t *testing.T, pid int) int {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// Hiding starts drainit as an ordinary user under a /proc that shows to each
// user only what is its own (hidepid=2, proc(5)).
func Hiding(t *testing.T, flags []string, command ...string) *Init {
	t.Helper()
	Need(t, "setpriv")
	NeedRoot(t)
	user := strconv.Itoa(OwnUID())
	args := append([]string{"-c", `mount -o remount,hidepid=2 /proc && exec setpriv --reuid="$0" --regid="$0" --clear-groups "$@"`, user, DrainitBin},
		Line(flags, command...)...)
	return Run(t, Launch{Bin: "/bin/sh", Args: args})
}

// Kill sends a signal to a process, which has to be there.
func Kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("cannot send %v to %d: %v", sig, pid, err)
	}
}

// Freeze stops a process, as a debugger or a shell's Ctrl-Z would.
func Freeze(t *testing.T, pid int) {
	t.Helper()
	Kill(t, pid, syscall.SIGSTOP)
	WaitUntil(t, "stopped", func() bool { return StateOf(pid) == 'T' })
}
