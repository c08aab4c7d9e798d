package workers

import (
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"drainit/test/harness"
)

// withPeers also runs the ways of the matrix under other inits, which fails
// nothing and takes its time, and prints the table of them all.
var withPeers = flag.Bool("peers", false, "run the matrix under other inits too, and print its table")

// columns are the inits of the matrix's table, in its order.
var columns = []string{"drainit", "tini", "tini -g", "dumb-init", "catatonit"}

// runPeers runs the way under each init but drainit.
func (w way) runPeers(t *testing.T, table *table) {
	t.Helper()
	for _, column := range columns[1:] {
		t.Run(column, func(t *testing.T) {
			program, flag, _ := strings.Cut(column, " ")
			harness.Need(t, program)
			bin, _ := exec.LookPath(program)
			var flags []string
			if flag != "" {
				flags = []string{flag}
			}
			if program == "dumb-init" {
				flags = w.dumbInit
			}
			table.add(w, column, inHand(t, func(times time.Duration) outcome { return w.run(t, newScene(t, times*shortJob), bin, flags) }))
		})
	}
}

// table collects the outcomes of the matrix.
type table struct {
	mu       sync.Mutex
	outcomes map[string]map[string]outcome // by the way's name and the init's column
}

func newTable() *table { return &table{outcomes: map[string]map[string]outcome{}} }

func (a *table) add(w way, column string, o outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outcomes[w.name] == nil {
		a.outcomes[w.name] = map[string]outcome{}
	}
	a.outcomes[w.name][column] = o
}

// String is the table in Markdown, and below it the totals of each init.
func (a *table) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row(append([]string{"start"}, columns...)...)
	row(strings.Split(strings.Repeat("---,", len(columns))+"---", ",")...)
	totals := make([]total, len(columns))
	for _, w := range ways {
		if a.outcomes[w.name] == nil {
			continue
		}
		cells := []string{w.name}
		for i, column := range columns {
			o, ran := a.outcomes[w.name][column]
			if !ran {
				cells = append(cells, "not run")
				continue
			}
			cells = append(cells, o.cell(w))
			totals[i].add(w, o)
		}
		row(cells...)
	}
	b.WriteByte('\n')
	for i, column := range columns {
		fmt.Fprintf(&b, "%s: %s\n", column, totals[i])
	}
	return b.String()
}

// cell is an outcome in a few words.
func (o outcome) cell(w way) string {
	if o.early {
		return fmt.Sprintf("ends at once, %d", o.status)
	}
	words := []string{"lost"}
	if o.kept {
		words[0] = "kept"
	}
	if !w.uncounted {
		words = append(words, fmt.Sprintf("sent %d", o.signalled))
	}
	if o.hangs {
		return strings.Join(append(words, "hangs"), ", ")
	}
	if o.kept {
		words = append(words, fmt.Sprintf("%+.1f s", o.after.Seconds()))
	}
	return strings.Join(append(words, fmt.Sprint(o.status)), ", ")
}

// cellIn is drainit's cell in the table's row of the way, which may have a bar in its
// name; empty if there is no such row.
func cellIn(page string, w way) string {
	_, row, _ := strings.Cut(page, "\n| "+w.name+" | ")
	cell, _, _ := strings.Cut(row, " |")
	return cell
}

var timeInCell = regexp.MustCompile(`\+\d+\.\d s`)

// untimed is a cell without the time, which the machine has its part in.
func untimed(cell string) string { return timeInCell.ReplaceAllString(cell, "+ s") }

var toldInCell = regexp.MustCompile(`sent (\d+)`)

// The table in the docs has the ways and no others, in their order, and the one above
// it adds them up.
func TestTableInTheDocsHasEveryWay(t *testing.T) {
	text := harness.VerificationText(t)
	_, rows, _ := strings.Cut(text, "\n| start | "+strings.Join(columns, " | ")+" |\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	lines := strings.Split(rows, "\n")[1:] // below the rule
	if len(lines) != len(ways) {
		t.Errorf("%d rows in the table, of %d ways", len(lines), len(ways))
	}
	totals := make([]total, len(columns))
	for i, w := range ways {
		row, found := strings.CutPrefix(lines[min(i, len(lines)-1)], "| "+w.name+" | ")
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		if !found || len(cells) != len(columns) {
			t.Fatalf("row %d of the table is not %s: %s", i+1, w.name, row)
		}
		for j, cell := range cells {
			o := outcome{kept: strings.HasPrefix(cell, "kept"), hangs: strings.HasSuffix(cell, "hangs")}
			if m := toldInCell.FindStringSubmatch(cell); m != nil {
				o.signalled, _ = strconv.Atoi(m[1])
			}
			totals[j].add(w, o)
		}
	}
	sums := []string{fmt.Sprintf("| jobs lost of %d |", len(ways)), "| signalled twice |", "| hangs |"}
	for _, sum := range totals {
		for i, n := range []int{sum.lost, sum.twice, sum.hung} {
			sums[i] += fmt.Sprintf(" %d |", n)
		}
	}
	for _, want := range append(sums, fmt.Sprintf("The %d rows", len(ways))) {
		if !strings.Contains(text, want) {
			t.Errorf("not in docs/verification.md: %s", want)
		}
	}
}

// total is what became of the ways under one init.
type total struct {
	runs, lost, twice, hung int
	longest                 time.Duration // of programs that leave when their job is done
}

func (a *total) add(w way, o outcome) {
	a.runs++
	if !o.kept {
		a.lost++
	}
	if !w.uncounted && o.signalled > max(w.workers, 1) {
		a.twice++
	}
	if o.hangs {
		a.hung++
	} else if o.kept && w.leaves == 0 {
		a.longest = max(a.longest, o.after)
	}
}

func (a total) String() string {
	return fmt.Sprintf("%d runs, %d jobs lost, signalled twice in %d, hung in %d, longest excess over the job's own time %.2f s",
		a.runs, a.lost, a.twice, a.hung, a.longest.Seconds())
}
