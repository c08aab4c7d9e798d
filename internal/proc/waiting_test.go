package proc

import (
	"os"
	"os/exec"
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
		if p.State == 'S' && p.Call.Sleeps && len(below) == 1 && below[0].Comm == "sleep" && below[0].State == 'S' {
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
		if err := new(reading).doubtWaits(shown); err != nil {
			t.Fatal(err)
		}
		if p, _ := shown.Process(pid); p.Call.Sleeps != want {
			t.Errorf("what it waits for is known: %v, want %v", p.Call.Sleeps, want)
		}
	}
}
