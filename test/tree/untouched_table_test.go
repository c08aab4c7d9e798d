package tree

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// trialCell is a kind of trial, a row of the table.
type trialCell struct {
	kind childKind
	way  string // in which the parent leaves
	load string
}

// trialCount is what came of the trials of a cell. Each child is one.
type trialCount struct {
	trials    int
	untouched int           // drainit signalled it since it was untouched
	otherwise int           // drainit signalled it for another reason
	twice     int           // more than one TERM came
	never     int           // none came
	latest    time.Duration // from the parent's end to drainit's signal, of those that are idle
}

func (c *trialCount) add(more trialCount) {
	c.trials += more.trials
	c.untouched += more.untouched
	c.otherwise += more.otherwise
	c.twice += more.twice
	c.never += more.never
	c.latest = max(c.latest, more.latest)
}

// trialTable collects the trials.
type trialTable struct {
	mu    sync.Mutex
	rows  []*trialCell
	count map[string]*trialCount
}

func newTrialTable() *trialTable { return &trialTable{count: map[string]*trialCount{}} }

func (c trialCell) String() string { return c.kind.name + " | " + c.way + " | " + c.load }

func (a *trialTable) add(c trialCell, count trialCount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count[c.String()] == nil {
		a.rows = append(a.rows, &c)
		a.count[c.String()] = &trialCount{}
	}
	a.count[c.String()].add(count)
}

// String is the table in Markdown, with the rows in the order of the kinds.
func (a *trialTable) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	var total trialCount
	b.WriteString("\n| kind | leaves | load | trials | untouched | signalled otherwise | TERM twice | no TERM | latest |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, kind := range childKinds {
		for _, row := range a.rows {
			if row.kind.name == kind.name {
				b.WriteString(a.count[row.String()].row(row.String()))
				total.add(*a.count[row.String()])
			}
		}
	}
	b.WriteString(total.row("all | | "))
	return b.String()
}

func (c *trialCount) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %v |\n",
		name, c.trials, c.untouched, c.otherwise, c.twice, c.never, c.latest.Round(time.Millisecond))
}
