package tree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// hungFS is a file on a file system that takes no write, and at some time answers nothing.
type hungFS struct {
	*harness.Init
	file string
}

func newHungFS(t *testing.T) hungFS {
	t.Helper()
	harness.NeedRoot(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		harness.Skip(t, "needs /dev/fuse")
	}
	f := hungFS{file: filepath.Join(t.TempDir(), "file")}
	harness.WriteFile(t, f.file, "")
	f.Init = harness.Run(t, harness.Launch{Cmd: func(string) *exec.Cmd {
		cmd := exec.Command(harness.WorkerBin, "hungfs", f.file)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}})
	t.Cleanup(func() {
		f.release()
		<-f.Done
		if err := unix.Unmount(f.file, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	f.WaitOut(`^ready`)
	return f
}

// release ends what hangs, by an error.
func (f hungFS) release() { f.Signal(unix.SIGKILL) }

// execHangs is a child that hangs in execve(2) as soon as its file system does: the kernel
// closes its file there. What reads its stat then waits for it, and nothing but SIGKILL ends
// that: ps hangs. The tests are not parallel with others, whose programs call ps.
const execHangs = `
sub exec_hangs {
	open my $f, "<", $ARGV[0] or die;
	say shift; nap 0.01 until -e "$ARGV[0].hang";
	open my $comm, ">", "/proc/self/comm"; syswrite $comm, $ARGV[1];
	exec "sleep", "1000";
}
`

// hanging are the workers of which a process, or a file that it reads, hangs: how a script that
// prints ready is started with it. Below a shell it is asked whether the file is a pipe. What
// hangs in munmap holds a lock that a look at its command line waits for.
var hanging = map[string]func(script, file string) []string{
	"exec": func(script, file string) []string {
		return harness.Script(execHangs+`spawn { exec_hangs("opened") }; `+script, file, harness.Hangs)
	},
	"exec below a shell": func(script, file string) []string {
		return append([]string{"sh", "-c", `"$0" "$@"; exit $?`},
			harness.Script(execHangs+`spawn { exec_hangs("opened") }; `+script, file, harness.Hangs)...)
	},
	"munmap": func(script, file string) []string {
		return harness.Script(`spawn { spawn { exec @ARGV } }; `+script, harness.WorkerBin, "hang",
			file, harness.Hangs)
	},
	"a file that is read": func(script, file string) []string {
		return append([]string{"sh", "-c", `"$@" < "$0"; exit $?`, file}, harness.Script(script)...)
	},
}

// hang starts such a worker, and returns when it hangs.
func hang(t *testing.T, kind string, noPID1 bool, grace, script string) (*harness.Init, hungFS) {
	t.Helper()
	harness.Need(t, "perl")
	hung := newHungFS(t)
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", grace},
		hanging[kind](script, hung.file)...)})
	t.Cleanup(hung.release) // before the look at what is left
	p.WaitOut(`^ready`)
	switch kind {
	case "munmap":
		p.WaitOut(`^hangs`)
		return p, hung
	case "exec", "exec below a shell":
		p.WaitOut(`^opened`)
	}
	p.WaitTitle("drainit:run")
	harness.WriteFile(t, hung.file+".hang", "") // it answers nothing from now on
	if kind != "a file that is read" {
		hung.WaitOut(`^hangs`)
	}
	return p, hung
}

// exists reports whether a process is there, dead or alive, and reads nothing of it.
func exists(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

// What comes before release comes while the process hangs.
func TestProcessThatHangsDelaysNoStop(t *testing.T) {
	for kind := range hanging {
		t.Run(kind, func(t *testing.T) {
			if kind == "exec below a shell" {
				harness.Full(t)
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				p, hung := hang(t, kind, noPID1, "1h",
					`catch "TERM"; say "ready"; await "TERM"; say "done"; exit 7`)
				worker := p.FirstChild()
				p.Signal(unix.SIGTERM)
				p.WaitOut(`^worker got TERM`)
				if kind != "a file that is read" {
					p.WaitOut(`^done`)
					harness.WaitUntil(t, "the worker is reaped", func() bool { return !exists(worker) })
				}
				if kind == "munmap" {
					harness.PastTheSameRequest()
					p.Signal(unix.SIGTERM)
					p.WaitErr(`force-stop: killing \S+\[\d+\] \(stuck in the kernel, `)
				}
				hung.release()
				if strings.HasPrefix(kind, "exec") { // what hung sleeps now
					harness.PastTheSameRequest()
					p.Signal(unix.SIGTERM)
				}
				p.WantExit(7)
				p.WantGots("worker got TERM")
				p.WantNothingLeft()
			})
		})
	}
}

func TestVerbsAnswerWhileAProcessHangs(t *testing.T) {
	for kind, planned := range map[string]string{"exec": `not known: it hangs in the kernel`,
		"a file that is read": `now: .*`} {
		t.Run(kind, func(t *testing.T) {
			p, hung := hang(t, kind, false, "1h", `catch "TERM", "TSTP", "CONT"; say "ready"; forever`)
			p.Ask("status").Want(0, `^running: drainit\[1\], `, "")
			p.Ask("status", "--plan").Want(0, ` `+planned+`\n\z`, "")
			p.Ask("status", "--ready").Want(0, `^running\n`, "")
			p.Ask("quiet").WantSilent()
			p.Ask("resume").WantSilent()
			p.Ask("stop").WantSilent()
			p.WaitOut(`^worker got TERM`)
			p.Ask("stop").Want(0, `^draining: `, `already stopping`)
			p.Ask("stop", "--force").WantDone(true)
			p.WaitErr(`stop --force: killing `)
			hung.release()
			p.WantExit(137)
			p.WantGots("worker got TSTP", "worker got CONT", "worker got TERM")
		})
	}
}

// fullBacklog returns a port on which no connection is accepted or refused.
func fullBacklog(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		t.Cleanup(func() { unix.Close(fd) })
		err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0))
	}
	at, _ := unix.Getsockname(fd)
	for n := 0; err == nil && n < 4; n++ {
		var client int
		client, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			t.Cleanup(func() { unix.Close(client) })
			_ = unix.Connect(client, at) // in progress
		}
	}
	harness.Must(t, err)
	return at.(*unix.SockaddrInet4).Port
}

// Each thread that drainit can need is there before its worker: the Go runtime ends PID 1 if it gets no
// new one, as where pids.max is reached. One answers probes, one asks whether the worker is ready, and
// four hang. How many are to spare is chance, so a missing one shows in one of six.
func TestNoThreadIsStartedLater(t *testing.T) {
	harness.Full(t)
	for range 6 {
		t.Run("", startsNoThread)
	}
}

func startsNoThread(t *testing.T) {
	hung, limited := newHungFS(t), harness.NewCgroup(t, "pids")
	health, ready := harness.ReservePort(t), fullBacklog(t)
	script := execHangs + strings.Repeat(`spawn { exec_hangs("opened") }; `, 4) +
		`catch "TERM", "USR1"; say "ready"; forever`
	p := harness.Run(t, harness.Launch{Stderr: harness.FullPipe(t),
		Args: harness.Line([]string{"-v", "--grace", "1h", "--health-addr",
			fmt.Sprintf("127.0.0.1:%d", health), "--ready-port", fmt.Sprint(ready)},
			harness.Script(script, hung.file, harness.Hangs)...)})
	t.Cleanup(hung.release)
	p.WaitOut(`^ready`)
	for range 4 {
		p.WaitOut(`^opened`)
	}
	threads := func() int {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid()))
		harness.Must(t, err)
		return len(all)
	}
	before := threads()
	limitPids(t, limited, before)
	harness.WriteFile(t, filepath.Join(limited, "cgroup.procs"), strconv.Itoa(p.Pid()))
	harness.WriteFile(t, hung.file+".hang", "")
	hung.WaitOut(`^hangs`)
	for range 3 { // one after the other, while a read hangs
		p.Signal(unix.SIGUSR1)
	}
	p.Signal(unix.SIGTERM)
	p.WaitOut(`^worker got TERM`)
	if now := threads(); now != before {
		t.Errorf("%d threads, %d before", now, before)
	}
	hung.release()
	harness.PastTheSameRequest()
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
}
