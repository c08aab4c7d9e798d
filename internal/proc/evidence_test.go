package proc

import (
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
		p := Process{ID: ID{PID: pid}}
		if p.readThreads(st, true); p.Asleep {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d does not sleep", pid)
		}
	}
}

// untouched reports whether a process is proven to have received nothing while something
// was done.
func untouched(t testing.TB, pid int, do func()) bool {
	t.Helper()
	before := take(t)
	if p, ok := before.Process(pid); !ok || p.Untouched {
		t.Fatalf("%v is there: %v, and untouched in the first snapshot: %v", p, ok, p.Untouched)
	}
	do()
	after, _ := takeSince(t, before).Process(pid)
	return after.Untouched
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
		{"the main one of many blocks it", unix.SIGUSR1, 100, "[signal.SIGUSR1]"},
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

// Another process may have the pid by now.
func TestARecycledPidIsNotUntouched(t *testing.T) {
	top, _ := family(t, 1, `say "ready"; forever`)
	sleeps(t, top)
	before := take(t)
	p := before.find(top)
	p.Start++
	if now, _ := takeSince(t, before).Process(top); now.Untouched {
		t.Error("it is called untouched by the evidence of another")
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
