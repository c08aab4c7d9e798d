package tree

import (
	"testing"
	"time"

	"drainit/test/harness"
)

// childKind is a kind of program that drains from TERM, and records each that it gets.
type childKind struct {
	name     string
	programs []string // what it needs
	idle     bool     // it sleeps until it is signalled, and never wakes up by itself
	usual    bool     // it is tried in the usual tests
	children int      // how many a worker starts at most
	command  func(t *testing.T) []string
}

// childKinds are the programs whose threads sleep, wake up or compute in every way.
var childKinds = []childKind{
	{"python, handler", nil, true, true, 10, drains("python3", "child.py", "handler", "0")},
	{"python, 20 threads", nil, false, false, 10, drains("python3", "child.py", "handler", "20")},
	{"python, 100 threads", nil, false, false, 4, drains("python3", "child.py", "handler", "100")},
	{"python, sigwait in a thread", nil, false, false, 10, drains("python3", "child.py", "sigwait", "0")},
	{"python, sigwait and 100 threads", nil, false, false, 4, drains("python3", "child.py", "sigwait", "100")},
	{"python, signalfd", nil, true, false, 10, drains("python3", "child.py", "signalfd", "0")},
	{"node, http server", []string{"node"}, false, false, 10, drains("node", "child.js", "http")},
	{"node, 10 ms timer", []string{"node"}, false, false, 10, drains("node", "child.js", "timer")},
	{"go", nil, false, false, 10, func(*testing.T) []string { return []string{harness.WorkerBin, "drains"} }},
	{"java", []string{"java", "javac"}, false, false, 4, drainsInJava},
	{"perl", []string{"perl"}, true, true, 10, drains("perl", "child.pl")},
	{"python, busy", nil, false, false, 2, drains("python3", "child.py", "busy", "0")},
}

// drains is the command of a program in testdata/untouched.
func drains(program, file string, args ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		return append([]string{program, untouchedData(t, file)}, args...)
	}
}

func drainsInJava(t *testing.T) []string {
	return harness.Java(t, "testdata/untouched/Drains.java")
}

func untouchedData(t *testing.T, name string) string {
	t.Helper()
	return harness.Testdata(t, "untouched", name)
}

// besideBusyLoops starts four processes that compute, and ends them with the test.
func besideBusyLoops(t *testing.T) {
	t.Helper()
	for range 4 {
		harness.StartBeside(t, "sh", "-c", "while :; do :; done")
	}
}

// settled waits until no process below the init has woken up for a while, as a program
// does for some time after it has said that it is ready.
func settled(p *harness.Init) {
	p.T.Helper()
	const window = 200 * time.Millisecond
	pids, before := p.Alive(), -1
	harness.WaitUntil(p.T, "the children sleep", func() bool {
		now := 0
		for _, pid := range pids {
			now += harness.WakeUps(p.T, pid)
		}
		same := now == before
		before = now
		if !same {
			time.Sleep(window)
		}
		return same
	})
}
