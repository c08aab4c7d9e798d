package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleeps waits until a process and all its threads sleep.
func sleeps(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		st, err := readStatus(pid)
		if err != nil {
			t.Fatal(err)
		}
		if allSleep(pid, st) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d does not sleep", pid)
		}
	}
}

// evidence reads that of some processes.
func evidence(t testing.TB, pids ...int) *Snapshot {
	t.Helper()
	return take(t, Want{Evidence: processes(t, pids)})
}

func processes(t testing.TB, pids []int) (all []*Process) {
	t.Helper()
	for _, pid := range pids {
		p, err := Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &p)
	}
	return all
}

// untouched reports whether a process is proven to have received nothing while something
// was done.
func untouched(t testing.TB, pid int, do func()) bool {
	t.Helper()
	before := evidence(t, pid)
	p, err := Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	if before.Evidence(pid) == nil {
		t.Fatalf("no evidence of %d", pid)
	}
	do()
	after := take(t, Want{Parents: os.Getpid(), Prove: map[ID]Evidence{p.ID: before.Evidence(pid)}})
	return after.Untouched(p.ID)
}

func TestWhatHasReceivedASignalIsNotUntouched(t *testing.T) {
	for name, script := range map[string]string{
		"a handler":     `$SIG{TERM} = sub { }; say "ready"; forever`,
		"signalfd":      waits + `waits; say "ready"; forever`,
		"blocked":       blocks + `say "ready"; forever`,
		"a busy beside": `$SIG{TERM} = sub { }; spawn { 1 while 1 }; say "ready"; forever`,
	} {
		t.Run(name, func(t *testing.T) {
			top, _ := family(t, 1, script)
			sleeps(t, top)
			for range 20 {
				if !untouched(t, top, func() {}) {
					t.Error("it received nothing, and that is not proven")
				}
				if untouched(t, top, func() { signal(t, top, unix.SIGTERM) }) {
					t.Fatal("it received TERM, and is called untouched")
				}
				if name == "blocked" || name == "signalfd" {
					return // it is pending for good
				}
				sleeps(t, top)
			}
		})
	}
}

func signal(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// What works proves nothing, and neither does what wakes up.
func TestWhatIsAwakeIsNotUntouched(t *testing.T) {
	for name, script := range map[string]string{
		"computes": `say "ready"; 1 while 1`,
		"wakes up": `say "ready"; select undef, undef, undef, 0.002 while 1`,
	} {
		top, _ := family(t, 1, script)
		if untouched(t, top, func() { time.Sleep(20 * time.Millisecond) }) {
			t.Errorf("one that %s is called untouched", name)
		}
	}
}

// What other threads do says nothing, where the main one takes the signal.
func TestOthersMayRunWhereTheMainThreadTakesTheSignal(t *testing.T) {
	pid := python(t, `
import signal, threading, time
signal.signal(signal.SIGTERM, lambda *a: None)
def wakes():
	while True: time.sleep(0.002)
threading.Thread(target=wakes, daemon=True).start()
print("ready", flush=True)
while True: time.sleep(1000)`)
	proven := false
	for range 20 { // the main one may still be on its way to sleep
		proven = proven || untouched(t, pid, func() { time.Sleep(20 * time.Millisecond) })
	}
	if !proven {
		t.Error("it received nothing, and that is not proven")
	}
	for range 20 {
		if untouched(t, pid, func() { signal(t, pid, unix.SIGTERM) }) {
			t.Fatal("it received TERM, and is called untouched")
		}
	}
}

// A signal is one thread's: the main one's, of a few as of many, unless it blocks it. A signal
// other than the one that is asked for may be what another process passes on.
func TestEvidenceOfThreads(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sig     syscall.Signal
		threads int
		blocks  string
	}{
		{"5", unix.SIGTERM, 5, "[]"},
		{"200", unix.SIGTERM, 200, "[]"},
		{"the main one blocks it", unix.SIGUSR1, 1, "[signal.SIGUSR1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pid := python(t, `
import signal, threading, time
signal.signal(`+strconv.Itoa(int(tt.sig))+`, lambda *a: None)
for n in range(`+strconv.Itoa(tt.threads)+`): threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, `+tt.blocks+`)
print("ready", flush=True)
while True: time.sleep(1000)`)
			sleeps(t, pid)
			if !untouched(t, pid, func() {}) {
				t.Error("it received nothing, and that is not proven")
			}
			if untouched(t, pid, func() { signal(t, pid, tt.sig) }) {
				t.Errorf("it received %v, and is called untouched", tt.sig)
			}
		})
	}
}

// Of too many threads whose main one blocks the signal nothing can be said.
func TestNoEvidenceOfManyThreadsThatMayAllTakeIt(t *testing.T) {
	blocking := status{threads: mostThreads + 1, asleep: true, blocked: 1 << (unix.SIGTERM - 1)}
	if e, still := evidenceOf(os.Getpid(), blocking, 1<<(unix.SIGTERM-1)); e != nil || still {
		t.Errorf("evidence %v, still %v", e, still)
	}
	if e, still := evidenceOf(os.Getpid(), blocking, 1<<(unix.SIGINT-1)); e == nil || !still {
		t.Errorf("of another signal: evidence %v, still %v", e, still)
	}
}

// The evidence of many is read for as long as there is time.
func TestEvidenceIsReadForABoundedTime(t *testing.T) {
	const n = 300
	top, _ := family(t, n, `for (2 .. shift) { spawn { say "ready"; forever } } say "ready"; forever`, strconv.Itoa(n))
	pids := []int{top}
	for _, p := range take(t, Want{}).Children(top) {
		pids = append(pids, p.PID)
	}
	if all, err := Take(Want{Evidence: processes(t, pids), Until: time.Now()}); err != nil || len(all.evidence) > 2 {
		t.Errorf("evidence of %d processes in no time: %v", len(all.evidence), err)
	}
	if all := evidence(t, pids...); len(all.evidence) < n {
		t.Errorf("evidence of %d processes, want %d", len(all.evidence), n)
	}
	if all := take(t, Want{Parents: os.Getpid()}); all.Evidence(top) != nil {
		t.Error("evidence that was not asked for")
	}
}

// Another process may have the pid by now.
func TestARecycledPidIsNotUntouched(t *testing.T) {
	top, _ := family(t, 1, `say "ready"; forever`)
	sleeps(t, top)
	before := evidence(t, top)
	p, err := Read(top)
	if err != nil {
		t.Fatal(err)
	}
	other := p.ID
	other.Start++
	after := take(t, Want{Parents: os.Getpid(), Prove: map[ID]Evidence{other: before.Evidence(top)}})
	if after.Untouched(p.ID) {
		t.Error("it is called untouched by the evidence of another")
	}
	if (*Snapshot)(nil).Untouched(p.ID) || (*Snapshot)(nil).Evidence(top) != nil {
		t.Error("without a snapshot something is known")
	}
}

// python starts a script that prints a line when it is ready, and kills it at the end.
func python(t testing.TB, script string) (pid int) {
	t.Helper()
	need(t, "python3")
	cmd := exec.Command("python3", "-c", script)
	if _, err := startGroup(t, cmd).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}
