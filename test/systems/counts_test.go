package systems

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

var update = flag.Bool("update", false, "write what was counted into testdata/sums.tsv and docs/systems.md")

// counts are what came of the jobs that workers had in hand when they were asked to stop.
type counts struct {
	Stops, Jobs int
	Once        int // done, and no longer with the broker
	Back        int // given up, and with the broker for another worker
	Interrupted int // neither
	Twice       int // done, and done again, or still with the broker
	After       int // begun after the request, beside those in hand
	Hung        int // stops that the init did not come to the end of
}

func (c *counts) fields() []*int {
	return []*int{&c.Stops, &c.Jobs, &c.Once, &c.Back, &c.Interrupted, &c.Twice, &c.After, &c.Hung}
}

func (c *counts) add(o counts) {
	for i, n := range c.fields() {
		*n += *o.fields()[i]
	}
}

// count asks the broker which jobs are left, and compares it with the record.
func (s *scene) count(t *testing.T) counts {
	t.Helper()
	s.clients.Wait()
	left := "" // a line for each: its name, and "back" where the system says so
	if !s.isServer() {
		left = s.ask(t, "list")
	}
	before, after, _ := strings.Cut(s.recorded(t), "stop\n")
	c := counts{Stops: 1, After: strings.Count(after, "begin "), Hung: s.hung}
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
	if s.isLost {
		want.Once, want.Interrupted = 0, c.Jobs
	}
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	s.init.WantLogged(`"logger":"drainit","msg":"[^"]*(`+harness.KillLine+`)`, 0)
}

// sums are by a system's name and an init's.
type sums map[[2]string]counts

func (s sums) add(name, init string, c counts) {
	c.add(s[[2]string{name, init}])
	s[[2]string{name, init}] = c
}

// counted are those of this run.
var counted = struct {
	sync.Mutex
	sums
}{sums: make(sums)}

// sumsFile has those of the last run of each system.
const sumsFile = "testdata/sums.tsv"

func readSums(t *testing.T) sums {
	t.Helper()
	s := make(sums)
	for _, row := range rows.Read(t, sumsFile, 10) {
		var c counts
		for i, n := range c.fields() {
			*n = harness.Number(t, row[2+i])
		}
		s.add(row[0], row[1], c)
	}
	return s
}

func (s sums) write(t *testing.T) {
	text := "# What came of all that a system had in hand, in its last run. This writes it:\n" +
		"# go test ./test/systems -systems all -servers all -timeout 3h -update\n\n" +
		"#name\tinit\tstops\tin hand\tdone once\tgiven back\tinterrupted\tdone twice\tbegun after\thung\n"
	for _, y := range slices.Concat(systems, servers, besides, avoided) {
		for _, init := range inits {
			text += y.name + "\t" + init
			c := s[[2]string{y.name, init}]
			for _, n := range c.fields() {
				text += fmt.Sprint("\t", *n)
			}
			text += "\n"
		}
	}
	harness.WriteFile(t, sumsFile, text)
}

// writeSums writes what this run has counted, in place of what an earlier one has of the same systems.
func writeSums(t *testing.T) {
	if !*update || inCI() {
		return
	}
	s := readSums(t)
	maps.Copy(s, counted.sums)
	s.write(t)
	page := harness.TextOf(t, pageFile())
	for _, table := range s.tables() {
		head, _, _ := strings.Cut(table, "\n")
		old := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(head) + `\n(\|.*\n)*`)
		page = old.ReplaceAllLiteralString(page, table)
	}
	harness.WriteFile(t, pageFile(), page)
}

func pageFile() string { return harness.Repo("docs", "systems.md") }

// tables are the sums of each init, of the jobs and of the requests, and what was not done once with a server
// beside the worker, and in what is to be avoided.
func (s sums) tables() [4]string {
	notOnce := func(c counts) int { return c.Interrupted + c.Twice }
	return [4]string{
		s.of(systems, "stops", "jobs in hand", "done once", "given back", "interrupted", "done twice",
			"begun after the stop", "hung"),
		s.of(servers, "stops", "requests in hand", "answered", "", "interrupted", "", "", "hung"),
		s.table("jobs interrupted or done twice", besides, notOnce),
		s.table("jobs or requests interrupted", avoided, notOnce),
	}
}

// of has a row for each init, and a column for each count that has a name.
func (s sums) of(rows []system, names ...string) string {
	table, columns := "| ", 1
	for _, name := range names {
		if name != "" {
			table += "| " + name + " "
			columns++
		}
	}
	table += "|\n" + rule(columns)
	for _, init := range inits {
		var c counts
		for _, y := range rows {
			c.add(s[[2]string{y.name, init}])
		}
		table += "| " + init
		for i, n := range c.fields() {
			if names[i] != "" {
				table += fmt.Sprint(" | ", *n)
			}
		}
		table += " |\n"
	}
	return table
}

// table has a row for each system, and a column for each init: so many of the jobs.
func (s sums) table(head string, rows []system, of func(c counts) int) string {
	table := "| " + head + " | " + strings.Join(inits, " | ") + " |\n" + rule(1+len(inits))
	for _, y := range rows {
		table += "| " + y.name
		for _, init := range inits {
			c := s[[2]string{y.name, init}]
			table += fmt.Sprintf(" | %d/%d", of(c), c.Jobs)
		}
		table += " |\n"
	}
	return table
}

func rule(columns int) string { return "|" + strings.Repeat("---|", columns) + "\n" }

// docs/systems.md has the sums, a row for each system and server, and beside them no more than 1,650 words.
func TestPageHasEachSystem(t *testing.T) {
	page := harness.TextOf(t, pageFile())
	for _, table := range readSums(t).tables() {
		if !strings.Contains(page, table) {
			t.Errorf("docs/systems.md lacks what was counted (-update writes it):\n%s", table)
		}
		page = strings.Replace(page, table, "", 1)
	}
	for heading, all := range map[string][]system{"The systems": systems, "The servers": servers} {
		_, rows, _ := strings.Cut(page, "\n## "+heading+"\n")
		rows, _, _ = strings.Cut(rows, "\n## ")
		for _, y := range all {
			name := regexp.MustCompile(`(,| \().*`).ReplaceAllString(y.name, "")
			if !strings.Contains(rows, "\n| "+name+" | ") {
				t.Errorf("docs/systems.md has no row for %s", name)
			}
		}
	}
	if n := len(strings.Fields(page)); n > 1650 {
		t.Errorf("docs/systems.md has %d words", n)
	}
}
