package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shell runs a script in a shell, and waits until that is in wait4(2) or rt_sigsuspend(2) and has one
// child that sleeps.
func shell(t testing.TB, name, script string) (pid int) {
	t.Helper()
	need(t, name)
	cmd := exec.Command(name, "-c", script)
	if name == "busybox" {
		cmd.Args = []string{"busybox", "ash", "-c", script}
	}
	pid, _ = start(t, 0, cmd)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		all := take(t)
		p, _ := all.Process(pid)
		below := all.Children(pid)
		if p.State == 'S' && p.Call.Sleeps && len(below) == 1 && below[0].Comm == "sleep" &&
			below[0].State == 'S' {
			return pid
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not sleep with a child", name)
		}
	}
}

// dash and busybox sleep in wait4(2) for a command in the foreground alone, and bash for any.
func TestInWhichCallAShellWaits(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/syscall"); err != nil {
		skip(t, "needs /proc/PID/syscall")
	}
	for script, foreground := range map[string]bool{
		`sleep 1000; :`:                     true,
		`trap : TERM; sleep 1000; :`:        true,
		`sleep 1000 & wait; :`:              false,
		`sleep 1000 & wait $!; :`:           false,
		`trap : TERM; sleep 1000 & wait; :`: false,
	} {
		for _, name := range []string{"dash", "busybox", "bash"} {
			t.Run(name+" "+script, func(t *testing.T) {
				pid := shell(t, name, script)
				all := take(t)
				want := unix.SYS_RT_SIGSUSPEND
				if foreground || name == "bash" {
					want = unix.SYS_WAIT4
				}
				if p, _ := all.Process(pid); p.Call.Number != want || p.Call.Stack == 0 {
					t.Errorf("%+v, want %d", p.Call, want)
				}
				if child := all.Children(pid)[0]; child.Call.Number == unix.SYS_WAIT4 {
					t.Error("its child waits, too")
				}
			})
		}
	}
}

// A shell that has started another command since its children were read may wait for that one.
func TestAShellThatHasStartedAnotherMayWaitForThat(t *testing.T) {
	pid := shell(t, "dash", `sleep 1000; :`)
	s := take(t)
	child := s.Children(pid)[0].PID
	without := New(slices.DeleteFunc(slices.Clone(s.all), func(p Process) bool { return p.PID == child }))
	for shown, want := range map[*Snapshot]bool{without: false, s: true} {
		must(t, new(reading).doubtWaits(shown))
		if p, _ := shown.Process(pid); p.Call.Sleeps != want {
			t.Errorf("what it waits for is known: %v, want %v", p.Call.Sleeps, want)
		}
	}
}

var errNoMounts = errors.New("needs to make mounts of its own")

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
		if err != nil { // a container without the right to, or a chroot whose / is no mount
			done <- errors.Join(errNoMounts, err)
			return
		}
		err = do()
		if err == nil {
			pause()
			err = new(reading).readDetails([]*Process{&p}, New(nil), before, time.Time{})
		}
		done <- err
	}()
	if err := <-done; errors.Is(err, errNoMounts) {
		skip(t, err.Error())
	} else if err != nil {
		t.Fatal(err)
	}
	return p
}

// asNobody takes the rights to read another user's processes from this thread.
func asNobody() error {
	_, _ = unix.SetfsuidRetUid(65534)
	none := [2]unix.CapUserData{}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// What can't be read, or makes no sense, may be so, and is no sign that a process has ended: here of a bash
// that handles TERM, sleeps in read(2) and reads a pipe.
func TestWhatCannotBeKnownMayBe(t *testing.T) {
	need(t, "bash")
	r, _ := pipe(t)
	cmd := exec.Command("bash", "-c", "trap : TERM; echo ready; read line; :")
	cmd.Stdin = r
	pid, _ := start(t, 1, cmd)
	for before := take(t); ; before = take(t) { // until it rests there: it has read its script, too
		time.Sleep(10 * time.Millisecond)
		if now := take(t).find(pid); now.Call.Number == unix.SYS_READ && now.SleptSince(before.find(pid)) {
			break
		}
	}
	over := func(name, text string) func() error {
		file := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return func() error { return unix.Mount(file, procPath(pid, name), "", unix.MS_BIND, "") }
	}
	noStatus := over("status", "")
	gVisors := over("status", "Name:\tbash\nState:\tS (sleeping)\nPPid:\t1\nThreads:\t1\nSeccomp:\t0\n")
	most := func() error { return errors.Join(noStatus(), asNobody()) }
	const absurd = "State:\n0 -1 \xff\nSigPnd:\t-1\n"
	for name, tt := range map[string]struct {
		do                         func() error
		masks, program, call, pipe bool // what is known
		untouched                  bool
	}{
		"all can be read":                     {func() error { return nil }, true, true, true, true, true},
		"no status":                           {noStatus, false, true, true, true, false},
		"an absurd status":                    {over("status", absurd), false, true, true, true, false},
		"a status as in gVisor":               {gVisors, false, true, true, true, false},
		"a status that is denied, and more":   {most, false, false, false, false, false},
		"no call":                             {over("syscall", ""), true, true, false, true, true},
		"an absurd call":                      {over("syscall", absurd), true, true, false, true, true},
		"all that ptrace would see is denied": {asNobody, true, false, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := take(t)
			before.find(pid).Call = Call{} // so that no more than the evidence is taken from there
			read := func() Process {
				return answer(t, func() (Process, error) { return new(Reader).Read(pid) })
			}
			p := aside(t, read(), nil, tt.do)
			if !p.Alive() || !p.Handles(unix.SIGTERM) || p.Handles(unix.SIGTSTP) || p.Ignores(unix.SIGTERM) {
				t.Errorf("alive: %v; %+v", p.Alive(), p)
			}
			if p.MasksKnown() != tt.masks || (p.Exe == "bash") != tt.program || !p.Call.Sleeps ||
				(p.Call.Number == unix.SYS_READ) != tt.call || (p.Reads != File{}) != tt.pipe {
				t.Errorf("masks: %v, exe %q, call %+v, pipe %+v", p.MasksKnown(), p.Exe, p.Call, p.Reads)
			}
			if since := aside(t, read(), before, tt.do); since.Untouched != tt.untouched {
				t.Errorf("untouched: %v", since.Untouched)
			}
		})
	}
	never := Process{ID: ID{PID: 1 << 22}, State: 'S'}
	if gone := aside(t, never, nil, func() error { return nil }); gone.Alive() {
		t.Errorf("what has gone lives: %+v", gone)
	}
}
