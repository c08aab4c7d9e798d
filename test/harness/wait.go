package harness

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait for something that must happen: long enough for
// a busy machine, and no test's own measure of time.
const Patience = time.Minute

// WaitUntil waits for something that can only be looked at.
func WaitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !Within(Patience, ok) {
		t.Fatalf("never: %s", what)
	}
}

// Within looks until something is so, ever less often: a busy machine is not kept busier. It
// reports whether that came in time.
func Within(atMost time.Duration, ok func() bool) bool {
	for began := time.Now(); !ok(); time.Sleep(min(time.Millisecond+time.Since(began)/10,
		50*time.Millisecond)) {
		if time.Since(began) > atMost {
			return false
		}
	}
	return true
}

// WantTookAtLeast checks that something did not come before its time, since a moment before it
// began. How long it took beyond that is the machine's.
func WantTookAtLeast(t *testing.T, since time.Time, atLeast time.Duration) {
	t.Helper()
	if took := time.Since(since); took < atLeast {
		t.Errorf("took %v, want at least %v", took, atLeast)
	}
}

// WaitTitle waits until drainit publishes a title.
func (p *Init) WaitTitle(title string) {
	p.T.Helper()
	WaitUntil(p.T, "the title is "+title, func() bool { return Comm(p.Drainit) == title })
}

// WantTitle checks which title drainit publishes now.
func (p *Init) WantTitle(title string) {
	p.T.Helper()
	if got := Comm(p.Drainit); got != title {
		p.T.Errorf("the title is %q, want %q", got, title)
	}
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
	return p.waitUnchanged(100*time.Millisecond, atMost,
		func(pid int) string { return fmt.Sprint(pid, " ", RunTime(pid)) })
}

// waitUnchanged waits until a look at each process below the init has shown the same for a while,
// and reports whether that came.
func (p *Init) waitUnchanged(while, atMost time.Duration, look func(pid int) string) bool {
	var before []string
	since := time.Now()
	return Within(atMost, func() bool {
		var now []string
		for _, pid := range p.Below() {
			now = append(now, look(pid))
		}
		if !slices.Equal(now, before) {
			before, since = now, time.Now()
		}
		return time.Since(since) >= while
	})
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
	return !slices.ContainsFunc(pids, func(pid int) bool {
		return isRunnable(pid) ||
			RunTime(pid) != ran[pid]
	})
}

// waits describes what the init and all below it wait for, for a test that waited in vain: how
// the init has ended, or of the threads the names, states and signals, the kernel's functions and
// the system calls (proc(5)). The kernel may not answer for one that hangs.
func (p *Init) waits() string {
	if !p.Running() {
		return fmt.Sprintf("the init has ended: wait status %#x", uint32(p.Status))
	}
	said := make(chan string, 10_000)
	go func() {
		defer close(said)
		for _, pid := range p.Below() {
			for _, file := range []string{"status", "wchan", "syscall"} {
				var shown []string
				for _, text := range ofThreads(pid, file) {
					shown = append(shown, strings.Join(whatWaits.FindAllString(text, -1), " "))
				}
				for _, text := range slices.Compact(slices.Sorted(slices.Values(shown))) {
					said <- fmt.Sprintln(pid, file, text)
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

// whatWaits is the name, the state and the signals of a status, and the first word of another file.
var whatWaits = regexp.MustCompile(`(?m)^(Name|State|Sig\w+|ShdPnd):.*|\A\w+`)
