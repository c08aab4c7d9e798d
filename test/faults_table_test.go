package test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// cell is one call at one place, with one error and its outcome.
type cell struct{ call, place, errno, outcome string }

// faultTable is the set of what has come of the faults so far.
type faultTable struct {
	mu    sync.Mutex
	cells map[cell]bool
}

func (ft *faultTable) add(_ *testing.T, c cell) {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	ft.cells[c] = true
}

// markdown has a line for each call, place and outcome, with its errors.
func (ft *faultTable) markdown() string {
	errnos := make(map[cell][]string)
	for c := range ft.cells {
		row := cell{c.call, c.place, "", c.outcome}
		errnos[row] = append(errnos[row], c.errno)
	}
	rows := slices.SortedFunc(maps.Keys(errnos), func(a, b cell) int {
		return strings.Compare(a.call+" "+a.place+" "+a.outcome, b.call+" "+b.place+" "+b.outcome)
	})
	var b strings.Builder
	b.WriteString(aboutFaults)
	for _, e := range exceptions {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e[0], e[1], e[2])
	}
	b.WriteString("\n| call | of | fails with | outcome |\n|---|---|---|---|\n")
	for _, r := range rows {
		slices.Sort(errnos[r])
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.call, r.place, strings.Join(errnos[r], " "), r.outcome)
	}
	return b.String()
}

// aboutFaults is what stands above the tables.
const aboutFaults = `# What a failing system call changes

Each system call that drainit makes, or the Go runtime below it, is made to fail once, at each place where it is made,
with each error that its manual names out of EINTR, EAGAIN, ENOMEM, EPERM, ESRCH, EMFILE, EIO, ENOSPC, ENOSYS and EACCES, and
those that a seccomp profile or a security module give. This file gathers what eight runs of

    go test ./test -run 'TestFaults$' -faults.table testdata/faults.md -timeout 1h

have added to it, three on a quiet machine and five on a busy one, for some outcomes go by the moment; go test ./test holds
drainit to a sample of it. *Aborts* is exit status 2 and
a traceback of the runtime's, which can't go on without these calls. COMMAND is the worker's file, PATH a file where it was looked for.

Not made to fail, though their manuals know an error:

| call | of | because it can fail |
|---|---|---|
`

// readFaultTable reads what markdown has written.
func readFaultTable(t *testing.T, file string) map[cell]bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cells := make(map[cell]bool)
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 4 || f[0] == "| call" || strings.HasPrefix(f[0], "|---") {
			continue
		}
		for _, errno := range strings.Fields(f[2]) {
			cells[cell{strings.TrimPrefix(f[0], "| "), f[1], errno, strings.TrimSuffix(f[3], " |")}] = true
		}
	}
	return cells
}
