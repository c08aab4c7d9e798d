package workers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"drainit/test/harness"
)

// columns are the inits of the matrix's table, in its order, and what else is tried of drainit.
var (
	columns    = append([]string{"drainit", "tini", "tini -g", "dumb-init", "catatonit"}, conditions...)
	conditions = []string{"drainit, busy", "drainit, short of CPU time"}
)

// table collects the outcomes of ways under inits.
type table struct {
	ways     []way
	columns  []string
	mu       sync.Mutex
	outcomes map[[2]string]outcome // by the way's name and the init's column
}

func newTable(ways []way, columns []string) *table {
	return &table{ways: ways, columns: columns, outcomes: map[[2]string]outcome{}}
}

func (a *table) add(w way, column string, o outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.outcomes[[2]string{w.name, column}] = o
}

// String is the table in Markdown, and below it the totals of each init.
func (a *table) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := a.head() + "|" + strings.Repeat(" --- |", len(a.columns)+1) + "\n"
	totals := make([]total, len(a.columns))
	for _, w := range a.ways {
		if !slices.ContainsFunc(a.columns, func(column string) bool { _, ran := a.outcomes[[2]string{w.name, column}]; return ran }) {
			continue
		}
		text += "| " + w.name
		for i, column := range a.columns {
			if o, ran := a.outcomes[[2]string{w.name, column}]; ran {
				text += " | " + o.cellOf(w, column)
				totals[i].add(w, o)
			} else {
				text += " | –"
			}
		}
		text += " |\n"
	}
	for i, column := range a.columns {
		text += fmt.Sprintf("\n%s: %+v", column, totals[i])
	}
	return text + "\n"
}

func (a *table) head() string { return "| start | " + strings.Join(a.columns, " | ") + " |\n" }

// cell is an outcome in a few words.
func (o outcome) cell(w way) string {
	if o.early {
		return fmt.Sprintf("ends at once, %d", o.status)
	}
	cell := "lost"
	if o.kept {
		cell = cmp.Or(w.word, "kept")
	}
	if !w.uncounted {
		cell += fmt.Sprintf(", sent %d", o.signalled)
		if o.signalledAfter > 0 {
			cell += fmt.Sprintf(" after %.1f s", o.signalledAfter.Seconds())
		}
	}
	if o.hangs {
		return cell + ", hangs"
	}
	if o.kept && w.word == "" {
		cell += fmt.Sprintf(", %+.1f s", o.after.Seconds())
	}
	return cell + fmt.Sprintf(", %d", o.status)
}

// cellOf is an outcome in a column: of a condition only what may differ.
func (o outcome) cellOf(w way, column string) string {
	if !slices.Contains(conditions, column) {
		return o.cell(w)
	}
	kept, _, _ := strings.Cut(o.cell(w), ",")
	if o.signalledAfter > 0 {
		kept += fmt.Sprintf(", sent %d after %.1f s", o.signalled, o.signalledAfter.Seconds())
	}
	return kept
}

// cellIn is drainit's cell in the table's row of the way, which may have a bar in its
// name; empty if there is no such row.
func (a *table) cellIn(page string, w way, column string) string {
	_, row, _ := strings.Cut(page, "\n| "+w.name+" | ")
	row, _, _ = strings.Cut(row, " |\n")
	cells := strings.Split(row, " | ")
	if i := slices.Index(a.columns, column); i >= 0 && i < len(cells) {
		return cells[i]
	}
	return ""
}

var (
	timeInCell = regexp.MustCompile(`(\+|after )\d+\.\d s`)
	toldInCell = regexp.MustCompile(`after (\d+\.\d) s`)
	sentInCell = regexp.MustCompile(`sent (\d+)`)
)

// untimed is a cell without the time, which the machine has its part in.
func untimed(cell string) string { return timeInCell.ReplaceAllString(cell, "${1} s") }

// A table in the docs has the ways and no others, in their order, and the one above
// it adds them up.
func TestTablesInTheDocsHaveEveryWay(t *testing.T) {
	newTable(ways, columns).wantInDocs(t)
	newTable(documentWays, documentColumns).wantInDocs(t)
}

func (a *table) wantInDocs(t *testing.T) {
	text := harness.TextOf(t, harness.Repo("docs", "verification.md"))
	_, rows, _ := strings.Cut(text, "\n"+a.head())
	rows, _, _ = strings.Cut(rows, "\n\n")
	lines := strings.Split(rows, "\n")[1:] // below the rule
	if len(lines) != len(a.ways) {
		t.Fatalf("%d rows in the table, of %d ways", len(lines), len(a.ways))
	}
	totals := make([]total, len(a.columns))
	for i, w := range a.ways {
		row, found := strings.CutPrefix(lines[i], "| "+w.name+" | ")
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		if !found || len(cells) != len(a.columns) {
			t.Fatalf("row %d of the table is not %s: %s", i+1, w.name, lines[i])
		}
		for j, cell := range cells {
			if cell == "–" {
				continue
			}
			o := outcome{kept: strings.HasPrefix(cell, cmp.Or(w.word, "kept")), hangs: strings.HasSuffix(cell, "hangs")}
			if m := sentInCell.FindStringSubmatch(cell); m != nil {
				o.signalled, _ = strconv.Atoi(m[1])
			}
			if m := toldInCell.FindStringSubmatch(cell); m != nil {
				seconds, _ := strconv.ParseFloat(m[1], 64)
				o.signalledAfter = time.Duration(seconds * float64(time.Second))
			}
			totals[j].add(w, o)
		}
	}
	sums := []string{fmt.Sprintf("| jobs lost of %d |", len(a.ways)), "| signalled twice |", "| signalled late |", "| hangs |"}
	for j, sum := range totals {
		if slices.Contains(conditions, a.columns[j]) {
			sums = append(sums, fmt.Sprintf("| signalled late%s | %d |", strings.TrimPrefix(a.columns[j], "drainit"), sum.Late))
			if sum.Lost+sum.Twice > 0 {
				t.Errorf("%s: %+v", a.columns[j], sum)
			}
			continue
		}
		for i, n := range []int{sum.Lost, sum.Twice, sum.Late, sum.Hung} {
			sums[i] += fmt.Sprintf(" %d |", n)
		}
	}
	for _, want := range append(sums, fmt.Sprintf("The %d rows", len(a.ways))) {
		if !strings.Contains(text, want) {
			t.Errorf("not in docs/verification.md: %s", want)
		}
	}
}

// total is what became of the ways under one init.
type total struct {
	Runs, Lost, Twice, Late, Hung int
	Longest                       time.Duration // after the job's end, of programs that leave when it is done
}

func (a *total) add(w way, o outcome) {
	a.Runs++
	if !o.kept {
		a.Lost++
	}
	if !w.uncounted && !w.again && o.signalled > max(w.workers, 1) {
		a.Twice++
	}
	// The application itself may take a moment, and the table has tenths.
	if o.signalledAfter > 1100*time.Millisecond && !w.inTurn && !w.waits && !w.again {
		a.Late++
	}
	if o.hangs {
		a.Hung++
	} else if o.kept && w.leaves == 0 {
		a.Longest = max(a.Longest, o.after)
	}
}
