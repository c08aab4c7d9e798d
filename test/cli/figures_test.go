package cli

import (
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"drainit/test/harness"
)

var update = flag.Bool("update", false, "write the table of costs in docs/verification.md anew")

// figures are those of the bench: the table in test/cmd/bench/results.md, which it writes.
type figures struct {
	t    *testing.T
	rows map[string][]string // by its name, the first figure of each column
	head []string
}

func benched(t *testing.T) figures {
	t.Helper()
	f := figures{t: t, rows: make(map[string][]string)}
	table := regexp.MustCompile(`(?m)^\| \| no init \|(.*\n\|)*.*\n`).
		FindString(harness.TextOf(t, harness.Repo("test/cmd/bench/results.md")))
	above := ""
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
			if i > 0 || strings.HasPrefix(line, "| |") {
				cells[i], _, _ = strings.Cut(cells[i], " ×")
			}
		}
		switch {
		case f.head == nil:
			f.head = append([]string{""}, cells...)
			continue
		case cells[0] == "jobs of 999 that ended well, at least", strings.HasPrefix(cells[0], "the same"):
			cells[0] = above + ": " + cells[0]
		default:
			above = cells[0]
		}
		f.rows[cells[0]] = cells
	}
	return f
}

// of is the figure of an init in a row, and its number.
func (f figures) of(init, row string) (cell string, number float64) {
	f.t.Helper()
	for i, name := range f.head {
		if strings.TrimSuffix(name, " = 1") == init && i < len(f.rows[row]) {
			cell = f.rows[row][i]
			number, _ = strconv.ParseFloat(strings.Fields(cell)[0], 64)
			return cell, number
		}
	}
	f.t.Fatalf("the bench has no %s of %s", row, init)
	return "", 0
}

const (
	starts  = "start as PID 1 to the worker's first instruction, p50"
	ownSize = "of it, its own (Private_Dirty)"
	size    = "size of the binary"
)

// What docs/verification.md has of the bench, with the row of the bench.
var costs = [][2]string{
	{"start as PID 1 to the worker's first instruction", starts},
	{"start as PID 1 to the end of both, of a command that ends at once",
		"start as PID 1 to the end of both, p50"},
	{"a signal's way to the handler", "a signal's way to the handler, p50"},
	{"a stop signal's way to the handler, 1 process", "a stop signal's way to the handler, 1 processes, p50"},
	{"the same, 100 processes", "a stop signal's way to the handler, 100 processes, p50"},
	{"the same, 1,000 processes", "a stop signal's way to the handler, 1000 processes, p50"},
	{"stop of 1,000 processes that the worker signals",
		"stop of a tree of 1000 whose worker signals them, p50"},
	{"stop of 1,000 processes that the worker does not signal",
		"stop of a tree of 1000 whose worker does not, p50"},
	{"of the 999 jobs in that row, how many ended well",
		"stop of a tree of 1000 whose worker does not, p50: jobs of 999 that ended well, at least"},
	{"share of a processor in the first 10 s of a drain, 3,000 processes",
		"share of a processor in the first 10s of a drain with 3000 processes"},
	{"the same, 10,000 processes", "share of a processor in the first 10s of a drain with 10000 processes"},
	{"memory (VmRSS), idle", "memory, VmRSS"},
	{"of it, its own", ownSize},
	{"memory (VmRSS) in a drain with 10,000 processes", "memory, VmRSS, then, with 10000"},
	{"wake-ups in 40 s, idle, after the first 11 s", "context switches in 40s idle, after the first 11 s"},
	{"threads", "threads"},
	{"size of the binary", size},
}

// The figures of the README and of docs/verification.md are those of the bench.
func TestFiguresAreTheBenchs(t *testing.T) {
	t.Parallel()
	f := benched(t)
	inits := []string{"drainit", "minimal Go", "tini", "dumb-init", "catatonit"}
	made := "| | " + strings.Join(inits, " | ") + " |\n|" + strings.Repeat("---|", len(inits)+1) + "\n"
	for _, row := range costs {
		made += "| " + row[0]
		for _, init := range inits {
			cell, _ := f.of(init, row[1])
			made += " | " + cell
		}
		made += " |\n"
	}
	megabytes := func(init, row string) float64 { _, kB := f.of(init, row); return kB / 1000 }
	_, drainits := f.of("drainit", size)
	_, tinis := f.of("tini", size)
	_, slower := f.of("drainit", starts)
	_, quicker := f.of("tini", starts)
	for page, want := range map[string]string{
		"docs/verification.md": made,
		"README.md": fmt.Sprintf("It is smaller: %.0f kB, and %.1f MB of memory of its own, where drainit "+
			"has %.1f MB and %.1f MB. It starts the worker %.0f ms earlier.",
			tinis*1000, megabytes("tini", ownSize), drainits, megabytes("drainit", ownSize), slower-quicker),
	} {
		if text := harness.TextOf(t, harness.Repo(page)); !strings.Contains(text, want) {
			t.Errorf("%s has other figures than test/cmd/bench/results.md:\n%s", page, want)
			if *update && strings.Contains(page, "verification") {
				table := regexp.MustCompile(`(?m)^\| \| drainit \| minimal Go \|(.*\n\|)*.*\n`)
				harness.WriteFile(t, harness.Repo(page), table.ReplaceAllLiteralString(text, made))
			}
		}
	}
}

// The README's sums of the starts are those of docs/verification.md, which has each start.
func TestSumsOfTheReadmeAreThoseOfTheStarts(t *testing.T) {
	t.Parallel()
	readme, page := harness.TextOf(t, harness.Repo("README.md")), harness.TextOf(t,
		harness.Repo("docs", "verification.md"))
	sums := regexp.MustCompile(`(?m)^\| (of \d+ starts|job [^|]*) \|.*$`).FindAllString(readme, -1)
	if len(sums) != 4 {
		t.Fatalf("%d sums in the README", len(sums))
	}
	for _, sum := range sums {
		if !strings.Contains(page, sum) {
			t.Errorf("not in docs/verification.md: %s", sum)
		}
	}
}
