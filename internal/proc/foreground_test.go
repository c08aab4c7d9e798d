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
	need(t, name)
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
	all := take(t)
	p, _ := all.Process(pid)
	below := all.Children(pid)
	return p.State == 'S' && p.Call.Sleeps && len(below) == children &&
		!slices.ContainsFunc(below, func(p *Process) bool { return p.Comm != "sleep" || p.State != 'S' })
}

func TestWhetherAShellWaitsInTheForeground(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/syscall"); err != nil {
		skip(t, "needs /proc/PID/syscall")
	}
	tests := []struct {
		name, script string
		foreground   bool
	}{
		{"in the foreground", `sleep 1000; :`, true},
		{"in the foreground, behind a trap", `trap : TERM; sleep 1000; :`, true},
		{"in the foreground, with an input of its own", `sleep 1000 </dev/null; :`, true},
		{"in the background", `sleep 1000 & wait; :`, false},
		{"in the background, waited for by its pid", `sleep 1000 & wait $!; :`, false},
		{"in the background, behind a trap", `trap : TERM; sleep 1000 & wait; :`, false},
	}
	for _, tt := range tests {
		for _, name := range []string{"dash", "busybox", "bash"} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				pid := shell(t, name, true, 1, tt.script)
				all := take(t)
				p, _ := all.Process(pid)
				want := NotWaiting
				switch {
				case name == "bash": // it sleeps in wait4 for either
					want = MayWait
				case tt.foreground:
					want = Waits
				}
				if got := p.Waiting(); got != want {
					t.Errorf("%v, want %v", got, want)
				}
				if child := all.Children(pid)[0]; name != "bash" && child.Waiting() == Waits {
					t.Error("its child waits, too")
				}
			})
		}
	}
}

// The youngest child, and those that write to what it reads, wherever those stand.
func TestWhatAShellHasInItsForeground(t *testing.T) {
	child := func(pid int, start uint64) Process {
		return Process{ID: ID{PID: pid, Start: start}, PPID: 10, State: 'S'}
	}
	for name, tt := range map[string]struct {
		children []Process
		writers  map[int][]int
		want     []int
	}{
		"none":                     {nil, nil, nil},
		"the youngest":             {[]Process{child(11, 100), child(12, 101)}, nil, []int{12}},
		"of one tick":              {[]Process{child(11, 100), child(12, 100)}, nil, []int{12}},
		"with a lower pid":         {[]Process{child(11, 200), child(12, 101)}, nil, []int{11}},
		"a pipeline":               {[]Process{child(11, 99), child(12, 100), child(13, 100), child(14, 100)}, map[int][]int{13: {12}, 14: {13}}, []int{14, 13, 12}},
		"what another writes":      {[]Process{child(11, 99), child(12, 100)}, map[int][]int{12: {99}}, []int{12}},
		"a pipe in the background": {[]Process{child(11, 98), child(12, 99), child(13, 100)}, map[int][]int{12: {11}}, []int{13}},
	} {
		s := New(append([]Process{{ID: ID{PID: 10, Start: 90}, PPID: 1, State: 'S'}}, tt.children...))
		for reader, writers := range tt.writers {
			pipe := File{Inode: uint64(reader)}
			if p := s.find(reader); p != nil {
				p.Reads = pipe
			}
			for _, writer := range writers {
				s.AddWriter(pipe, writer)
			}
		}
		var got []int
		for _, p := range s.Foreground(s.Children(10)) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A shell that has started another command since its children were read may wait for that one.
func TestAShellThatHasStartedAnotherMayWaitForThat(t *testing.T) {
	pid := shell(t, "dash", true, 1, `sleep 1000; :`)
	s := take(t)
	child := s.Children(pid)[0].PID
	without := New(slices.DeleteFunc(slices.Clone(s.all), func(p Process) bool { return p.PID == child }))
	if err := new(reading).doubtWaits(without); err != nil {
		t.Fatal(err)
	}
	if p, _ := without.Process(pid); p.Waiting() != NotWaiting {
		t.Errorf("it waits: %v", p.Waiting())
	}
	if err := new(reading).doubtWaits(s); err != nil {
		t.Fatal(err)
	}
	if p, _ := s.Process(pid); p.Waiting() != Waits {
		t.Errorf("it does not wait for what was read: %v", p.Waiting())
	}
}
