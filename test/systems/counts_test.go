package systems

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"

	"drainit/test/harness"
)

var update = flag.Bool("update", false, "write what was counted into testdata/sums.json and docs/systems.md")

// counts are what came of the jobs that workers had in hand when they were asked to stop.
type counts struct {
	Stops, Jobs int
	Once        int // done, and no longer with the broker
	Back        int // given up, and with the broker for another worker
	Interrupted int // neither
	Twice       int // done, and done again, or still with the broker
	After       int // begun after the request, beside those in hand
}

func (c *counts) add(o counts) {
	c.Stops += o.Stops
	c.Jobs += o.Jobs
	c.Once += o.Once
	c.Back += o.Back
	c.Interrupted += o.Interrupted
	c.Twice += o.Twice
	c.After += o.After
}

// count asks the broker which jobs are left, and compares it with the record.
func (s *scene) count(t *testing.T) counts {
	t.Helper()
	left := s.ask(t, "list") // a line for each: its name, and "back" where the system says so
	before, after, _ := strings.Cut(s.recorded(t), "stop\n")
	c := counts{Stops: 1, After: strings.Count(after, "begin ")}
	for _, m := range regexp.MustCompile(`(?m)^begin (.*)`).FindAllStringSubmatch(before, -1) {
		job := m[1]
		has := func(text, line string) bool {
			return regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text)
		}
		if has(before, "done "+job) {
			continue
		}
		c.Jobs++
		isLeft, done := has(left, job+"( .*)?"), strings.Count(after, "done "+job+"\n")
		switch {
		case done > 1, done == 1 && isLeft:
			c.Twice++
		case done == 1:
			c.Once++
		case isLeft && (has(after, "back "+job) || has(left, job+" back")):
			c.Back++
		default:
			c.Interrupted++
		}
	}
	t.Logf("%s, left: %q", strings.ReplaceAll(s.recorded(t), "\n", ", "), left)
	return c
}

// wantKept checks what drainit promises of the jobs in hand.
func (s *scene) wantKept(t *testing.T, c counts) {
	t.Helper()
	want := counts{Stops: 1, Jobs: c.Jobs, Once: c.Jobs}
	if s.limited && s.job > s.limit {
		want.Once, want.Back = 0, c.Jobs
	}
	if s.isTwice {
		want.Once, want.Twice = 0, c.Jobs
	}
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	s.init.WantLogged(`"logger":"drainit","msg":"[^"]*(`+harness.KillLine+`)`, 0)
}

// sums are by a system's name and an init's.
type sums map[string]map[string]counts

func (s sums) add(name, init string, c counts) {
	if s[name] == nil {
		s[name] = make(map[string]counts)
	}
	sum := s[name][init]
	sum.add(c)
	s[name][init] = sum
}

// counted are those of this run.
var counted = struct {
	sync.Mutex
	sums
}{sums: make(sums)}

// sumsFile has those of the last run of each system.
const sumsFile = "testdata/sums.json"

func readSums(t *testing.T) (s sums) {
	t.Helper()
	harness.Must(t, json.Unmarshal([]byte(harness.TextOf(t, sumsFile)), &s))
	return s
}

// writeSums writes what this run has counted, in place of what an earlier one has of the same systems.
func writeSums(t *testing.T) {
	if !*update || *chosen == "" {
		return
	}
	s := readSums(t)
	maps.Copy(s, counted.sums)
	text, err := json.Marshal(s)
	harness.Must(t, err)
	lines := strings.ReplaceAll(string(text), "}},", "}},\n") // one for each system
	harness.WriteFile(t, sumsFile, lines+"\n")
	page := harness.TextOf(t, pageFile())
	for _, table := range s.tables() {
		head, _, _ := strings.Cut(table, "\n")
		old := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(head) + `\n(\|.*\n)*`)
		page = old.ReplaceAllLiteralString(page, table)
	}
	harness.WriteFile(t, pageFile(), page)
}

func pageFile() string { return harness.Repo("docs", "systems.md") }

// tables are the sums of each init, what was interrupted of each system's jobs, and what was not done once
// with a server beside the worker.
func (s sums) tables() (tables [3]string) {
	tables[0] = "| | stops | jobs in hand | done once | given back | interrupted | done twice | " +
		"begun after the stop |\n" + rule(8)
	for _, init := range inits {
		var c counts
		for _, y := range systems {
			c.add(s[y.name][init])
		}
		tables[0] += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d |\n",
			init, c.Stops, c.Jobs, c.Once, c.Back, c.Interrupted, c.Twice, c.After)
	}
	tables[1] = s.table("jobs interrupted", systems, func(c counts) int { return c.Interrupted })
	notOnce := func(c counts) int { return c.Interrupted + c.Twice }
	tables[2] = s.table("jobs interrupted or done twice", besides, notOnce)
	return tables
}

// table has a row for each system, and a column for each init: so many of the jobs.
func (s sums) table(head string, rows []system, of func(c counts) int) string {
	table := "| " + head + " | " + strings.Join(inits, " | ") + " |\n" + rule(1+len(inits))
	for _, y := range rows {
		table += "| " + y.name
		for _, init := range inits {
			c := s[y.name][init]
			table += fmt.Sprintf(" | %d/%d", of(c), c.Jobs)
		}
		table += " |\n"
	}
	return table
}

func rule(columns int) string { return "|" + strings.Repeat("---|", columns) + "\n" }

// docs/systems.md has the sums, a row for each system, and no more than 1,500 words beside the sums.
func TestPageHasEachSystem(t *testing.T) {
	page := harness.TextOf(t, pageFile())
	for _, table := range readSums(t).tables() {
		if !strings.Contains(page, table) {
			t.Errorf("docs/systems.md lacks what was counted (-systems all -update writes it):\n%s", table)
		}
		page = strings.Replace(page, table, "", 1)
	}
	_, rows, _ := strings.Cut(page, "\n## The systems\n")
	for _, y := range systems {
		name := regexp.MustCompile(`(,| \().*`).ReplaceAllString(y.name, "")
		if !strings.Contains(rows, "\n| "+name+" | ") {
			t.Errorf("docs/systems.md has no row for %s", name)
		}
	}
	if n := len(strings.Fields(page)); n > 1500 {
		t.Errorf("docs/systems.md has %d words", n)
	}
}
