package harness

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// WaitStarted waits until all that a start brings about is there: for 0.3 s no process below
// the init has come or gone, become another program, or changed what it handles.
func (p *Init) WaitStarted(atMost time.Duration) {
	p.waitUnchanged((*Init).looks, 300*time.Millisecond, atMost)
}

// WaitAtRest waits until no process below the init has run for 0.1 s.
func (p *Init) WaitAtRest(atMost time.Duration) {
	p.waitUnchanged((*Init).ran, 100*time.Millisecond, atMost)
}

// waitUnchanged waits until what is looked at has not changed for a while.
func (p *Init) waitUnchanged(look func(*Init) []string, while, atMost time.Duration) {
	var before []string
	for began, since := time.Now(), time.Now(); time.Since(since) < while && time.Since(began) < atMost; time.Sleep(20 * time.Millisecond) {
		if now := look(p); !slices.Equal(now, before) {
			before, since = now, time.Now()
		}
	}
}

// ran is how long each process below the init has run.
func (p *Init) ran() (all []string) {
	for _, pid := range p.Below() {
		all = append(all, fmt.Sprint(pid, " ", RunTime(pid)))
	}
	return all
}

// whatItHandles are the lines of a status that change at an exec, or with a handler.
var whatItHandles = regexp.MustCompile(`(?m)^(Name|Pid|SigBlk|SigIgn|SigCgt):.*`)

// looks are the processes below the init as they show: pid, name, and what they handle.
func (p *Init) looks() (all []string) {
	for _, pid := range p.Below() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty if it has gone
		all = append(all, strings.Join(whatItHandles.FindAllString(string(status), -1), " "))
	}
	return all
}
