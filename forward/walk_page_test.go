package forward

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page of the walks anew")

// result is what the walk of many families has found. A process is twice if it is signalled both by drainit
// and by another in one order of deaths at least; late if it acts upon the signal and waits for a call, in
// one at least; else kept. One that no process signals fails the walk, as does one that drainit signals
// twice.
type result struct {
	families, orders int

	kept, late, twice int
	cases             map[string]int    // processes by what happened to them; one may stand in several
	such              map[string]string // a family for each
}

func newResult() *result {
	return &result{cases: make(map[string]int), such: make(map[string]string)}
}

// add counts what has happened in a family.
func (r *result) add(f family, cases map[finding]bool) {
	late, twice := make(map[int]bool), make(map[int]bool) // by member
	for c := range cases {
		if r.cases[c.what]++; r.such[c.what] == "" {
			r.such[c.what] = fmt.Sprintf("%d of %v", c.member, f)
		}
		isTwice := strings.HasPrefix(c.what, "twice: ")
		twice[c.member], late[c.member] = twice[c.member] || isTwice, true
	}
	r.families++
	for i := range f {
		switch {
		case twice[i]:
			r.twice++
		case late[i]:
			r.late++
		default:
			r.kept++
		}
	}
}

// lines are what the page has of a walk.
func (r *result) lines() []string {
	sum := r.kept + r.late + r.twice
	lines := []string{
		fmt.Sprintf("%6d families in %d orders of deaths", r.families, r.orders),
		fmt.Sprintf("%6d processes: %d kept + %d late + %d twice", sum, r.kept, r.late, r.twice),
	}
	for _, what := range slices.Sorted(maps.Keys(r.cases)) {
		lines = append(lines, fmt.Sprintf("%6d %s", r.cases[what], what))
	}
	return lines
}

// pageOfWalks has what each walk finds, below its name.
const pageOfWalks = "testdata/walks.txt"

// readPage reads the lines of each walk.
func readPage(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(pageOfWalks)
	if err != nil {
		t.Fatal(err)
	}
	page := make(map[string][]string)
	for section := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(section, "\n")
		page[lines[0]] = lines[1:]
	}
	return page
}

// writePage writes them anew, in the order of the walks.
func writePage(t *testing.T, page map[string][]string, found []*result) {
	t.Helper()
	var sections []string
	for i, w := range walks {
		lines := page[w.name]
		if found[i] != nil {
			lines = found[i].lines()
		}
		sections = append(sections, w.name+"\n"+strings.Join(lines, "\n")+"\n")
	}
	if err := os.WriteFile(pageOfWalks, []byte(strings.Join(sections, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compare compares what a walk has found with its lines in the page.
func (r *result) compare(t *testing.T, page []string) {
	t.Helper()
	found := r.lines()
	for _, line := range page {
		if !slices.Contains(found, line) {
			t.Errorf("no longer: %s", line)
		}
	}
	for _, line := range found {
		what := strings.TrimLeft(line, " 0123456789")
		if such := r.such[what]; !slices.Contains(page, line) {
			t.Errorf("not in %s: %s\n\tsuch as member %s", pageOfWalks, line, such)
		} else if testing.Verbose() {
			t.Logf("%s, such as member %s", line, such)
		}
	}
}
