package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// aside reads a process that an earlier snapshot has, on a thread that has a mount namespace of its own
// and ends with it, after something was done to /proc there.
func aside(t *testing.T, p Process, before *Snapshot, do func() error) Process {
	t.Helper()
	if os.Getuid() != 0 {
		skip(t, "needs root, to mount over /proc")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = do()
		}
		if err == nil {
			pause()
			err = new(reading).closely([]*Process{&p}, New(nil), before, time.Time{})
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return p
}

// What can't be read, or makes no sense, may be so, and is no sign that a process has ended: here of a bash
// that handles TERM, sleeps in read(2) and reads a pipe.
func TestWhatCannotBeKnownMayBe(t *testing.T) {
	need(t, "bash")
	r, _ := pipe(t)
	cmd := exec.Command("bash", "-c", "trap : TERM; echo ready; read line; :")
	cmd.Stdin = r
	pid, _ := start(t, 1, cmd)
	for before := take(t); before.find(pid).Call.Number != unix.SYS_READ; before = take(t) {
		time.Sleep(time.Millisecond)
	}
	over := func(name, text string) func() error {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return func() error { return unix.Mount(file, procPath(pid, name), "", unix.MS_BIND, "") }
	}
	asNobody := func() error {
		_, _ = unix.SetfsuidRetUid(65534)
		none := [2]unix.CapUserData{}
		return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
	}
	both := func(first, second func() error) func() error {
		return func() error {
			if err := first(); err != nil {
				return err
			}
			return second()
		}
	}
	const absurd = "State:\n0 -1 \xff\nSigPnd:\t-1\n"
	for name, tt := range map[string]struct {
		do                        func() error
		told, program, call, pipe bool // what is known
		untouched                 bool
	}{
		"all can be read":                     {func() error { return nil }, true, true, true, true, true},
		"no status":                           {over("status", ""), false, true, true, true, false},
		"an absurd status":                    {over("status", absurd), false, true, true, true, false},
		"a status as in gVisor":               {over("status", "Name:\tbash\nState:\tS (sleeping)\nPPid:\t1\nThreads:\t1\nSeccomp:\t0\n"), false, true, true, true, false},
		"a status that is denied, and more":   {both(over("status", ""), asNobody), false, false, false, false, false},
		"no call":                             {over("syscall", ""), true, true, false, true, true},
		"an absurd call":                      {over("syscall", absurd), true, true, false, true, true},
		"all that ptrace would see is denied": {asNobody, true, false, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := take(t)
			before.find(pid).Call = Call{} // so that no more than the evidence is taken from there
			p := aside(t, answer(t, func() (Process, error) { return new(Reader).Read(pid) }), nil, tt.do)
			if !p.Alive() || !p.Handles(unix.SIGTERM) || p.Handles(unix.SIGTSTP) || p.Ignores(unix.SIGTERM) {
				t.Errorf("alive: %v; %+v", p.Alive(), p)
			}
			if p.IsTold() != tt.told || (p.Exe == "bash") != tt.program || !p.Call.Sleeps || (p.Call.Number == unix.SYS_READ) != tt.call || (p.Reads != File{}) != tt.pipe {
				t.Errorf("told: %v, exe %q, call %+v, pipe %+v", p.IsTold(), p.Exe, p.Call, p.Reads)
			}
			if since := aside(t, answer(t, func() (Process, error) { return new(Reader).Read(pid) }), before, tt.do); since.Untouched != tt.untouched {
				t.Errorf("untouched: %v", since.Untouched)
			}
		})
	}
	if gone := aside(t, Process{ID: ID{PID: 1 << 22}, State: 'S'}, nil, func() error { return nil }); gone.Alive() {
		t.Errorf("what has gone lives: %+v", gone)
	}
}
