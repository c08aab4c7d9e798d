package proc

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// shell runs a script in a shell of its own process group, with a pipe or /dev/null for
// its input, and waits until it sleeps and its children run sleep(1), so many of them.
func shell(t testing.TB, name string, null bool, children int, script string) (pid int) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		skip(t, "needs the program "+name)
	}
	cmd := exec.Command(name, "-c", script)
	if name == "busybox" {
		cmd.Args = []string{"busybox", "ash", "-c", script}
	}
	if !null {
		in, _ := pipe(t)
		cmd.Stdin = in
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); !settled(t, cmd.Process.Pid, children); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not sleep with %d children", name, children)
		}
	}
	return cmd.Process.Pid
}

// settled reports whether a shell is in wait4(2) or rt_sigsuspend(2), or what else it
// waits by, and its children sleep.
func settled(t testing.TB, pid, children int) bool {
	all := take(t, Want{})
	p, _ := all.Process(pid)
	call, _ := syscallOf(pid, pid)
	below := all.Children(pid)
	return p.State == 'S' && call.sleeps && len(below) == children &&
		!slices.ContainsFunc(below, func(p *Process) bool { return p.Comm != "sleep" || p.State != 'S' })
}

func TestWhichChildAShellWaitsFor(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/syscall"); err != nil {
		skip(t, "needs /proc/PID/syscall")
	}
	tests := []struct {
		name, script string
		null         bool // its input is /dev/null
		dash, bash   bool // it surely waits for its first child
	}{
		{"in the foreground", `sleep 1000; :`, false, true, true},
		{"in the foreground, behind a trap", `trap : TERM; sleep 1000; :`, false, true, true},
		{"in the foreground, with /dev/null like one in the background", `sleep 1000; :`, true, true, false},
		{"in the foreground, with an input of its own", `sleep 1000 </dev/null; :`, false, true, false},
		{"in the background", `sleep 1000 & wait; :`, false, false, false},
		{"in the background, waited for by its pid", `sleep 1000 & wait $!; :`, false, false, false},
		{"in the background, behind a trap", `trap : TERM; sleep 1000 & wait; :`, false, false, false},
	}
	for _, tt := range tests {
		for name, want := range map[string]bool{"dash": tt.dash, "busybox": tt.dash, "bash": tt.bash} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				pid := shell(t, name, tt.null, 1, tt.script)
				all := take(t, Want{Parents: os.Getpid(), Shells: []int{pid}})
				child := all.Children(pid)[0].PID
				if got := all.WaitsFor(pid, child) == Waits; got != want {
					t.Errorf("%v, want %v", got, want)
				}
				if (all.WaitsFor(child, pid) == Waits) || (all.WaitsFor(pid, os.Getpid()) == Waits) {
					t.Error("it waits for others, too")
				}
			})
		}
	}
}

// Which of two bash waits for can be seen by their input.
func TestWhichOfTwoChildrenBashWaitsFor(t *testing.T) {
	pid := shell(t, "bash", false, 2, `sleep 1000 & sleep 1000; :`)
	all := take(t, Want{Parents: os.Getpid(), Shells: []int{pid}})
	children := all.Children(pid)
	if (all.WaitsFor(pid, children[0].PID) == Waits) || !(all.WaitsFor(pid, children[1].PID) == Waits) {
		t.Errorf("it waits for %v: %v, and for %v: %v; want the second", children[0], (all.WaitsFor(pid, children[0].PID) == Waits),
			children[1], (all.WaitsFor(pid, children[1].PID) == Waits))
	}
}

// It costs reads of each shell and its children.
func TestShellsAreAskedOnlyIfThatIsWanted(t *testing.T) {
	pid := shell(t, "dash", false, 1, `sleep 1000; :`)
	other := shell(t, "dash", false, 1, `sleep 1000; :`)
	for name, w := range map[string]Want{
		"none":            {Parents: os.Getpid()},
		"another":         {Parents: os.Getpid(), Shells: []int{other}},
		"one that is not": {Parents: os.Getpid(), Shells: []int{1 << 22}},
		"not read closely, so that it may be any program": {Shells: []int{pid}},
	} {
		all := take(t, w)
		if child := all.Children(pid)[0].PID; all.WaitsFor(pid, child) == Waits {
			t.Errorf("%s: it waits for %d", name, child)
		}
	}
	if (*Snapshot)(nil).WaitsFor(pid, other) != NotWaiting {
		t.Error("without a snapshot it waits for a child")
	}
}
