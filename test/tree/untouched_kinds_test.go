package tree

import (
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// childKind is a kind of program that drains from TERM, and records each that it gets.
type childKind struct {
	name     string
	command  string // the program, and its file in testdata/untouched; empty where start says it
	idle     bool   // it sleeps until it is signalled, and never wakes up by itself
	usual    bool   // it is tried in the usual tests
	children int    // how many a worker starts at most
}

// childKinds are the programs whose threads sleep, wake up or compute in every way.
var childKinds = []childKind{
	{"python, handler", "python3 child.py handler 0", true, true, 10},
	{"python, 20 threads", "python3 child.py handler 20", false, false, 10},
	{"python, 100 threads", "python3 child.py handler 100", false, false, 4},
	{"python, sigwait in a thread", "python3 child.py sigwait 0", false, false, 10},
	{"python, sigwait and 100 threads", "python3 child.py sigwait 100", false, false, 4},
	{"python, signalfd", "python3 child.py signalfd 0", true, false, 10},
	{"node, http server", "node child.js http", false, false, 10},
	{"node, 10 ms timer", "node child.js timer", false, false, 10},
	{"go", "", false, false, 10},
	{"java", "", false, false, 4},
	{"perl", "perl child.pl", true, true, 10},
	{"python, busy", "python3 child.py busy 0", false, false, 2},
}

func (k childKind) start(t *testing.T) []string {
	t.Helper()
	switch k.name {
	case "go":
		return []string{harness.WorkerBin, "drains"}
	case "java":
		return harness.Java(t, "testdata/untouched/Drains.java")
	}
	words := strings.Fields(k.command)
	harness.Need(t, words[0])
	words[1] = harness.Testdata(t, "untouched", words[1])
	return words
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
