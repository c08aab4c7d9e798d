package workers

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"drainit/test/harness"
)

// update writes what was found into the files of testdata, and their sums into the page.
var update = flag.Bool("update", false, "write the outcomes into testdata, and their sums into the page")

// The conditions of a run, as the end of its columns' names.
const (
	calm   = ""
	busy   = ", busy"
	scarce = ", short of CPU time"
)

// The tables, each with a file beside this one: a line for each way, a column for each init and condition.
var (
	starts = table{file: "testdata/starts.tsv", page: "../../docs/verification.md",
		latePage: "testdata/late.md", ways: ways,
		inits:      []string{"drainit", "tini", "tini -g", "dumb-init", "catatonit"},
		conditions: []string{calm, busy, scarce}}
	documents = table{file: "testdata/documents.tsv", page: "testdata/documents.md",
		latePage: "testdata/documents.md", ways: documentWays,
		inits: []string{"drainit", "tini", "dumb-init"}, conditions: []string{calm}}
)

// table has the outcomes of ways under inits.
type table struct {
	file           string // with each outcome
	page, latePage string // with their sums, and those that are late
	ways           []way
	inits          []string
	conditions     []string
}

// unknown is the cell of what was not run.
const unknown = "–"

// cells are by the way's name and the column.
type cells map[[2]string]string

func (c cells) of(w way, column string) string { return cmp.Or(c[[2]string{w.name, column}], unknown) }

func (a table) columns() (all []string) {
	for _, condition := range a.conditions {
		for _, init := range a.inits {
			if condition != scarce || init == "drainit" {
				all = append(all, init+condition)
			}
		}
	}
	return all
}

// read is what the file has.
func (a table) read(t *testing.T) cells {
	t.Helper()
	all := make(cells)
	var head []string
	for line := range strings.Lines(harness.TextOf(t, a.file)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if head == nil {
			head = row
		}
		if len(row) != len(head) {
			t.Fatalf("%s: %d cells of %d: %s", a.file, len(row), len(head), line)
		}
		for i, column := range head[1:] {
			all[[2]string{row[0], column}] = row[i+1]
		}
	}
	return all
}

// text is the file with these cells.
func (a table) text(all cells) string {
	text := "start\t" + strings.Join(a.columns(), "\t") + "\n"
	for _, w := range a.ways {
		text += w.name
		for _, column := range a.columns() {
			text += "\t" + all.of(w, column)
		}
		text += "\n"
	}
	return text
}

// found collects the outcomes of a run.
type found struct {
	mu    sync.Mutex
	cells cells
}

func (f *found) add(w way, init string, o outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cells[[2]string{w.name, init + condition()}] = o.cell(w)
}

// cell is an outcome in a few words: under a condition only what may differ.
func (o outcome) cell(w way) string {
	if o.early {
		return fmt.Sprintf("ends at once, %d", o.status)
	}
	cell := "lost"
	if o.kept {
		cell = cmp.Or(w.word, "kept")
	}
	if !w.uncounted || condition() != calm && o.signalledAfter > 0 {
		cell += fmt.Sprintf(", sent %d", o.signalled)
		if o.signalledAfter > 0 {
			cell += fmt.Sprintf(" after %.1f s", o.signalledAfter.Seconds())
		}
	}
	switch {
	case o.hangs:
		return cell + ", hangs"
	case condition() != calm:
		return cell
	case o.kept && w.word == "":
		cell += fmt.Sprintf(", %+.1f s", o.after.Seconds())
	}
	return cell + fmt.Sprintf(", %d", o.status)
}

var (
	timeInCell = regexp.MustCompile(`(\+|after )\d+\.\d s`)
	sentInCell = regexp.MustCompile(`sent (\d+)(?: after (\d+\.\d) s)?`)
)

// untimed is a cell without the time, which the machine has its part in.
func untimed(cell string) string { return timeInCell.ReplaceAllString(cell, "${1} s") }

// isLate is whether the last job was signalled later than 1.1 s after the stop signal, by its cell, and
// after how many seconds. The cell has tenths, and the application itself may take one.
func isLate(cell string) (after string, late bool) {
	if m := sentInCell.FindStringSubmatch(cell); m != nil {
		seconds, _ := strconv.ParseFloat(m[2], 64)
		return m[2] + " s", seconds > 1.1
	}
	return "", false
}

// measures are what the table of sums counts. No start is lost and hangs.
var measures = []struct {
	name  string
	count func(w way, cell string) bool
}{
	{"job lost", func(w way, cell string) bool { return !isKept(w, cell) }},
	{"job signalled twice", isTwice},
	{"job signalled after more than 1.1 s", func(_ way, cell string) bool {
		_, late := isLate(cell)
		return late
	}},
	{"job kept, container hangs", func(w way, cell string) bool {
		return isKept(w, cell) && strings.HasSuffix(cell, ", hangs")
	}},
}

func isTwice(w way, cell string) bool {
	m := sentInCell.FindStringSubmatch(cell)
	if m == nil || w.uncounted || w.again {
		return false
	}
	n, _ := strconv.Atoi(m[1])
	return n > max(w.workers, 1)
}

func isKept(w way, cell string) bool { return strings.HasPrefix(cell, cmp.Or(w.word, "kept")) }

// head is the head of a table in Markdown.
func head(cells []string) string {
	return "| " + strings.Join(cells, " | ") + " |\n|" + strings.Repeat("---|", len(cells)) + "\n"
}

// sums counts the cells of each column: a line for each measure and condition.
func (a table) sums(all cells) string {
	text := head(append([]string{fmt.Sprintf("of %d starts", len(a.ways))}, a.inits...))
	for _, m := range measures {
		for _, condition := range a.conditions {
			text += "| " + m.name + condition
			for _, init := range a.inits {
				text += " | " + a.sum(all, init+condition, m.count)
			}
			text += " |\n"
		}
	}
	return text
}

// sum counts the cells of a column.
func (a table) sum(all cells, column string, count func(w way, cell string) bool) string {
	ran, n := false, 0
	for _, w := range a.ways {
		if cell := all.of(w, column); cell != unknown {
			ran = true
			if count(w, cell) {
				n++
			}
		}
	}
	if !ran {
		return unknown
	}
	return strconv.Itoa(n)
}

// late are the ways that are late under drainit, or under another init, with the seconds.
func (a table) late(all cells) string {
	var columns []string
	for _, condition := range a.conditions {
		columns = append(columns, "drainit"+condition)
	}
	text := head(slices.Concat([]string{"late start"}, columns, []string{"others", "why"}))
	for _, w := range a.ways {
		row, any := "", false
		for _, column := range columns {
			after, late := isLate(all.of(w, column))
			row, any = row+" | "+after, any || late
		}
		var others []string
		for _, column := range a.columns() {
			if after, late := isLate(all.of(w, column)); late && !slices.Contains(columns, column) {
				others = append(others, column+" "+after)
			}
		}
		if any || len(others) > 0 {
			name := strings.ReplaceAll(w.name, "|", `\|`)
			text += fmt.Sprintf("| %s%s | %s | %s |\n", name, row, strings.Join(others, "; "), w.cause())
		}
	}
	return text
}

// cause is why a way is late though no process waits for the last call.
func (w way) cause() string {
	switch {
	case w.waits:
		return "its script or manager waits before it signals"
	case w.inTurn:
		return "one is signalled when the other has gone"
	}
	return ""
}

// The files have the ways and no others, in their order, and the pages add them up.
func TestPageHasTheSums(t *testing.T) {
	sums := starts.sums(starts.read(t))
	readme := harness.TextOf(t, harness.Repo("README.md"))
	for _, row := range regexp.MustCompile(`(?m)^\| job .*`).FindAllString(readme, -1) {
		if !strings.Contains(sums, row+"\n") {
			t.Errorf("the README has a row that is not among the sums: %s", row)
		}
	}
	for _, a := range []table{starts, documents} {
		all := a.read(t)
		wantTable(t, a.page, a.sums(all))
		wantTable(t, a.latePage, a.late(all))
		if a.text(all) != harness.TextOf(t, a.file) {
			t.Errorf("%s has other ways or columns than the tests: -update writes it", a.file)
			a.write(t, all)
		}
		a.wantNoHarm(t, all)
	}
}

// wantTable checks that a page has a table, or writes it there.
func wantTable(t *testing.T, file, made string) {
	t.Helper()
	page := harness.TextOf(t, file)
	if strings.Contains(page+"\n", "\n"+made+"\n") {
		return
	}
	t.Errorf("not in %s, where -update writes it:\n%s", file, made)
	if *update {
		head, _, _ := strings.Cut(made, "\n")
		old := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(head) + "\n(\\|.*\n)*")
		harness.WriteFile(t, file, old.ReplaceAllLiteralString(page, made))
	}
}

// wantNoHarm checks that no start loses its job below drainit, or has it signalled twice.
func (a table) wantNoHarm(t *testing.T, all cells) {
	for _, w := range a.ways {
		for _, condition := range a.conditions {
			cell := all.of(w, "drainit"+condition)
			if cell != unknown && (!isKept(w, cell) || isTwice(w, cell)) {
				t.Errorf("%s, drainit%s: %s", w.name, condition, cell)
			}
		}
	}
}

func (a table) write(t *testing.T, all cells) {
	if *update {
		harness.WriteFile(t, a.file, a.text(all))
	}
}

// report prints the sums of a run, and with -update puts its cells into the file.
func (a table) report(t *testing.T, f *found) {
	if *withPeers {
		fmt.Fprintln(os.Stdout, a.sums(f.cells))
	}
	all := a.read(t)
	maps.Copy(all, f.cells)
	a.write(t, all)
}
