package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// parts is into how many parts a run is cut to see how far a ratio varies.
const parts = 10

// none is a figure that there is not.
const none = -1

// reference is whose figures are 1.
const reference = "tini"

// series are the times that were taken of each init, in order.
type series [][]time.Duration

func newSeries(inits int) series               { return make(series, inits) }
func (s series) add(init int, d time.Duration) { s[init] = append(s[init], d) }

// quantile is that of all that is in d; d is left as it is.
func quantile(d []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// table has a row for each measure, a column for each init and one for the aim.
type table struct {
	inits []contender
	ref   int // the init whose figures are 1
	rows  [][]string
	aims  []aim
}

func newTable(all []contender) *table {
	head := []string{""}
	t := &table{inits: all, ref: 2} // drainit
	for i, c := range all {
		head = append(head, c.name)
		if c.name == reference {
			t.ref = i
		}
	}
	for i := range head {
		if i == t.ref+1 {
			head[i] += " = 1"
		}
	}
	t.rows = append(t.rows, append(head, "aim"))
	return t
}

// times adds a row of quantiles: the time, its ratio to the reference, and the
// least and greatest ratio in the parts of the run.
func (t *table) times(name string, s series, q float64) {
	row := []string{name}
	for i := range s {
		switch {
		case len(s[i]) == 0 || len(s[t.ref]) == 0:
			row = append(row, "–")
		case i == t.ref:
			row = append(row, duration(quantile(s[i], q)))
		default:
			ratio := float64(quantile(s[i], q)) / float64(quantile(s[t.ref], q))
			least, greatest := spread(s[i], s[t.ref], q)
			row = append(row, fmt.Sprintf("%s ×%.2f (%.2f–%.2f)", duration(quantile(s[i], q)), ratio, least, greatest))
		}
	}
	t.rows = append(t.rows, append(row, ""))
}

func spread(d, ref []time.Duration, q float64) (least, greatest float64) {
	least = math.Inf(1)
	n := min(parts, len(d), len(ref))
	for part := range n {
		ratio := float64(quantile(cut(d, part, n), q)) / float64(quantile(cut(ref, part, n), q))
		least, greatest = min(least, ratio), max(greatest, ratio)
	}
	return least, greatest
}

// cut is one of n parts of d, of about the same length.
func cut(d []time.Duration, part, n int) []time.Duration {
	return d[part*len(d)/n : (part+1)*len(d)/n]
}

// values adds a row of figures of which there is one each.
func (t *table) values(name, unit string, v []float64) {
	row := []string{name}
	for _, x := range v {
		switch {
		case x == none:
			row = append(row, "–")
		case unit == "MB" || unit == "%" || unit == "ms":
			row = append(row, fmt.Sprintf("%.2f %s", x, unit))
		default:
			row = append(row, strings.TrimSpace(fmt.Sprintf("%.0f %s", x, unit)))
		}
	}
	t.rows = append(t.rows, append(row, ""))
}

func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// print writes the table so that it is read as well here as in Markdown.
func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for r, row := range t.rows {
		fmt.Fprintln(w, line(row, widths, " "))
		if r == 0 {
			fmt.Fprintln(w, line(make([]string, len(row)), widths, "-"))
		}
	}
	fmt.Fprintf(w, "\n× is the ratio to the column that is 1; in parentheses the least and the greatest in %d parts of the run.\n", parts)
}

func line(row []string, widths []int, fill string) string {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString("|" + fill + cell + strings.Repeat(fill, widths[i]-utf8.RuneCountInString(cell)) + fill)
	}
	return b.String() + "|"
}
