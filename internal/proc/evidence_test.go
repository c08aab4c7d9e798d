package proc

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// sleeps waits until a process and all its threads sleep.
func sleeps(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		st, err := statusOf(pid)
		must(t, err)
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

// threads is a Python program with other threads, which do this, and a main one that blocks these signals.
func threads(n int, does, blocks string) string {
	return fmt.Sprintf(`
import os, signal, threading, time
signal.signal(signal.SIGUSR1, lambda *a: None)
def other():
	%s
for n in range(%d): threading.Thread(target=other, daemon=True).start()
print("ready", flush=True)
signal.pthread_sigmask(signal.SIG_BLOCK, %s)
while True: time.sleep(1000)`, does, n, blocks)
}

// Whatever works or wakes up proves nothing. A signal is one thread's: the main one's, of a few as of
// many, unless it blocks it; then the others tell, and else what they do says nothing.
func TestWhatHasReceivedASignalIsNotUntouched(t *testing.T) {
	const handler, ready = `$SIG{USR1} = sub { }; `, `say "ready"; `
	const wakes = "while True: time.sleep(0.002)"
	const leaves = "import ctypes; ctypes.CDLL(None).pthread_exit(None"
	for name, tt := range map[string]struct {
		perl, python string
		awake, once  bool // the signal is pending for good
	}{
		"a handler":         {perl: handler + ready + `forever`},
		"beside a busy one": {perl: handler + `spawn { 1 while 1 }; ` + ready + `forever`},
		"signalfd":          {perl: waits + `waits; ` + ready + `forever`, once: true},
		"blocked":           {perl: blocks + ready + `forever`, once: true},
		"computes":          {perl: ready + `1 while 1`, awake: true},
		"wakes up": {
			perl: ready + `select undef, undef, undef, 0.002 while 1`, awake: true},
		"another thread wakes up": {python: threads(1, wakes, "[]")},
		"another of a parent wakes up": {
			python: threads(1, "os.fork() or time.sleep(1000)\n\t"+wakes, "[]")},
		"many threads":                   {python: threads(200, "time.sleep(1000)", "[]")},
		"the main one has ended":         {python: threads(2, "time.sleep(1000)", "[]); "+leaves)},
		"the main one of many blocks it": {python: threads(100, "time.sleep(1000)", "[signal.SIGUSR1]")},
	} {
		t.Run(name, func(t *testing.T) {
			var pid int
			if tt.python != "" {
				pid = python(t, tt.python)
			} else {
				pid, _ = family(t, 1, tt.perl)
			}
			if tt.awake {
				if untouched(t, pid, func() { time.Sleep(20 * time.Millisecond) }) {
					t.Error("it is awake, and called untouched")
				}
				return
			}
			for tries := 1; !untouched(t, pid, func() {}); tries++ { // it may still be on its way to sleep
				if tries == 200 {
					t.Fatal("it received nothing, and that is not proven")
				}
			}
			for range 20 {
				sleeps(t, pid)
				if untouched(t, pid, func() { _ = syscall.Kill(pid, syscall.SIGUSR1) }) {
					t.Fatal("it received USR1, and is called untouched")
				}
				if tt.once {
					return
				}
			}
		})
	}
}

// A thread in sigwait has the signal for which it waits taken out of what it blocks. Where the main
// thread does not block a signal, it is the main thread that gets it.
func TestWhatThreadsWaitFor(t *testing.T) {
	for name, tt := range map[string]struct {
		main, other      string
		handles, blocked bool
	}{
		"the main thread waits": {
			"signal.sigwait(all)", "time.sleep(1000)", true, true},
		"another thread waits, where all block": {
			"time.sleep(1000)", "signal.sigwait(all)", true, true},
		"another waits, and the main one does not block": {
			"signal.pthread_sigmask(signal.SIG_UNBLOCK, all); time.sleep(1000)", "signal.sigwait(all)",
			false, false},
		"all block, and none waits": {
			"time.sleep(1000)", "time.sleep(1000)", false, true},
		"the main one blocks, and another does not block": {
			"time.sleep(1000)", "signal.pthread_sigmask(signal.SIG_UNBLOCK, all); time.sleep(1000)",
			false, false},
	} {
		t.Run(name, func(t *testing.T) {
			pid := python(t, `
import signal, threading, time
all = [signal.SIGTSTP, signal.SIGUSR1]
signal.pthread_sigmask(signal.SIG_BLOCK, all)
def other(): `+tt.other+`
threading.Thread(target=other, daemon=True).start()
print("ready", flush=True)
`+tt.main)
			for range 200 { // it may still be on its way to sleep
				sleeps(t, pid)
				p, _ := take(t).Process(pid)
				if p.Handles(unix.SIGTSTP) == tt.handles && p.Blocked.Has(unix.SIGTSTP) == tt.blocked {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			t.Errorf("not: handles TSTP %v, and blocks it %v", tt.handles, tt.blocked)
		})
	}
}

// One that waits once a second is seen between two waits now and then: it handles what either look saw
// awaited.
func TestWhatAPollerWaitedForCounts(t *testing.T) {
	pid := python(t, `
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTSTP])
print("ready", flush=True)
time.sleep(1000)`)
	sleeps(t, pid)
	p, _ := take(t).Process(pid)
	for first, want := range map[signals.Set]bool{
		signals.SetOf(unix.SIGTSTP): true, signals.SetOf(unix.SIGUSR1): false, 0: false} {
		p.Blocked, p.Awaited = first|signals.SetOf(unix.SIGTSTP), first
		must(t, p.confirm())
		if p.Handles(unix.SIGTSTP) != want || p.Handles(unix.SIGUSR1) {
			t.Errorf("first %v: it handles TSTP %v, and awaits %v", first, p.Handles(unix.SIGTSTP), p.Awaited)
		}
	}
}

// python starts a script that prints a line when it is ready, and kills it at the end.
func python(t testing.TB, script string) (pid int) {
	t.Helper()
	need(t, "python3")
	pid, _ = start(t, 1, exec.Command("python3", "-c", script))
	return pid
}
