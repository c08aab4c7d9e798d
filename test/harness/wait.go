package harness

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Patience bounds every wait for something that must happen: long enough for
// a busy machine, and no test's own measure of time.
const Patience = time.Minute

// Monotonic is a time that means the same in every process.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// WaitUntil waits for something that can only be looked at.
func WaitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !eventually(ok) {
		t.Fatalf("never: %s", what)
	}
}

// eventually looks until something is so, ever less often: a busy machine is not kept busier.
func eventually(ok func() bool) bool {
	for began := time.Now(); !ok(); time.Sleep(min(time.Millisecond+time.Since(began)/10, 50*time.Millisecond)) {
		if time.Since(began) > Patience {
			return false
		}
	}
	return true
}

// Ready waits for a worker that prints "ready PID" and returns its pid out here.
func Ready(t *testing.T, p *Init) int { t.Helper(); return p.ReadyPid(`^ready`) }

// WantTookAtLeast checks that something did not come before its time, since a moment before it
// began. How long it took beyond that is the machine's.
func WantTookAtLeast(t *testing.T, since time.Time, atLeast time.Duration) {
	t.Helper()
	if took := time.Since(since); took < atLeast {
		t.Errorf("took %v, want at least %v", took, atLeast)
	}
}

// WaitTitle waits until the init shows a title.
func (p *Init) WaitTitle(title string) { p.T.Helper(); WaitTitle(p.T, p.Drainit, title) }

// WaitTitle waits until a drainit shows a title.
func WaitTitle(t *testing.T, pid int, title string) {
	t.Helper()
	WaitUntil(t, "the title is "+title, func() bool { return Comm(pid) == title })
}

// WantTitle compares the init's title.
func (p *Init) WantTitle(title string) {
	p.T.Helper()
	if got := Comm(p.Drainit); got != title {
		p.T.Errorf("the title is %q, want %q", got, title)
	}
}

// WaitReady waits until the worker has said so and drainit takes every signal.
func (p *Init) WaitReady() {
	p.T.Helper()
	p.WaitOut(`^ready`)
	p.WaitTitle("drainit:run")
}

// WaitStarted waits until all that a start brings about is there: for 0.3 s no process below
// the init has come or gone, become another program, or changed what it handles.
func (p *Init) WaitStarted(atMost time.Duration) {
	p.waitUnchanged(300*time.Millisecond, atMost, func(pid int) string {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty if it has gone
		return strings.Join(whatItHandles.FindAllString(string(status), -1), " ")
	})
}

// whatItHandles are the lines of a status that change at an exec, or with a handler.
var whatItHandles = regexp.MustCompile(`(?m)^(Name|Pid|SigBlk|SigIgn|SigCgt):.*`)

// WaitAtRest waits until no process below the init has run for 0.1 s, and reports whether that came.
func (p *Init) WaitAtRest(atMost time.Duration) bool {
	return p.waitUnchanged(100*time.Millisecond, atMost, func(pid int) string { return fmt.Sprint(pid, " ", RunTime(pid)) })
}

// waitUnchanged waits until a look at each process below the init has shown the same for a while,
// and reports whether that came.
func (p *Init) waitUnchanged(while, atMost time.Duration, look func(pid int) string) bool {
	var before []string
	for began, since := time.Now(), time.Now(); time.Since(began) < atMost; time.Sleep(20 * time.Millisecond) {
		var now []string
		for _, pid := range p.Below() {
			now = append(now, look(pid))
		}
		if !slices.Equal(now, before) {
			before, since = now, time.Now()
		} else if time.Since(since) >= while {
			return true
		}
	}
	return false
}

// PastTheSameRequest returns when one more stop signal is a request of its own, where the first one
// has been acted upon: a drainit that is short of CPU time takes two for one that are up to 0.8 s
// apart (package sigqueue), and no other.
func PastTheSameRequest() { time.Sleep(850 * time.Millisecond) }

// IsIdle reports whether no thread of some processes runs or waits for a processor, and none has
// for so long from now on. One that has ended is idle.
func IsIdle(long time.Duration, pids ...int) bool {
	ran := make(map[int]time.Duration)
	for _, pid := range pids {
		if ran[pid] = RunTime(pid); isRunnable(pid) {
			return false
		}
	}
	time.Sleep(long)
	return !slices.ContainsFunc(pids, func(pid int) bool { return isRunnable(pid) || RunTime(pid) != ran[pid] })
}

// Waits describes what the init and all below it wait for, for a test that waited in vain: how
// the init has ended, or of each thread its name, its state and signals, the kernel's function and
// the system call (proc(5)). The kernel may not answer for one that hangs.
func (p *Init) Waits() string {
	select {
	case <-p.Done:
		return fmt.Sprintf("the init has ended: wait status %#x", uint32(p.Status))
	case <-time.After(100 * time.Millisecond): // it may be about to
	}
	said := make(chan string, 10_000)
	go func() {
		defer close(said)
		for _, pid := range p.Below() {
			for _, file := range []string{"comm", "status", "wchan", "syscall"} {
				for _, text := range ofThreads(pid, file) {
					if file == "status" {
						text = strings.Join(waitLines.FindAllString(text, -1), " ")
					}
					said <- fmt.Sprintln(pid, file, strings.TrimSpace(text))
				}
			}
		}
	}()
	deadline := time.After(2 * time.Second)
	for all := ""; ; {
		select {
		case line, more := <-said:
			if !more {
				return all
			}
			all += line
		case <-deadline:
			return all + "the kernel does not answer for the next"
		}
	}
}

// waitLines are those of a status with the state and the signals.
var waitLines = regexp.MustCompile(`(?m)^(State|Sig\w+|ShdPnd):.*`)
