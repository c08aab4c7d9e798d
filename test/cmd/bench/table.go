package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	parts     = 10     // into how many a run is cut to see how far a ratio varies
	none      = -1     // a figure that there is not
	reference = "tini" // whose figures are 1
	// by how much of it an aim may be missed: on a shared machine no figure is better than that
	tolerance = 1. / 3
)

// bench measures, and writes a table with a row for each measure, a column for each init and one
// for the aim.
type bench struct {
	plan
	inits   []contender
	ref     int // the init whose figures are 1: drainit where there is no reference
	rows    [][]string
	aims    []aim
	measure string // that is taken now
	turn    string // the init whose turn it is
}

func newBench(p plan, inits []contender) *bench {
	head, ref := []string{""}, own
	for i, c := range inits {
		head = append(head, c.name)
		if c.name == reference {
			ref = i
		}
	}
	head[ref+1] += " = 1"
	return &bench{plan: p, inits: inits, ref: ref, rows: [][]string{append(head, "aim")}}
}

// series are the times that were taken of each init, in order.
type series [][]time.Duration

// turns calls do for each init, beginning with another one each round: who comes first in a
// round finds other caches than who comes last. It returns what do takes, but for 0.
func (b *bench) turns(rounds int, do func(i int, argv []string) time.Duration) series {
	all := make(series, len(b.inits))
	for round := range rounds {
		for k := range b.inits {
			i := (round + k) % len(b.inits)
			b.turn = b.inits[i].name
			if took := do(i, b.inits[i].argv); took > 0 {
				all[i] = append(all[i], took)
			}
		}
	}
	return all
}

// withInit is turns without the run that has no init.
func (b *bench) withInit(rounds int, do func(i int, argv []string) time.Duration) series {
	return b.turns(rounds, func(i int, argv []string) time.Duration {
		if i == noInit {
			return 0
		}
		return do(i, argv)
	})
}

// figures are as many that there are not as there are inits.
func (b *bench) figures() []float64 { return slices.Repeat([]float64{none}, len(b.inits)) }

// quantile is that of all that is in d; d is left as it is.
func quantile(d []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// times adds a row of quantiles: the time, its ratio to the reference, and the
// least and greatest ratio in the parts of the run.
func (b *bench) times(name string, s series, q float64) {
	row := []string{name}
	for i := range b.inits {
		switch {
		case len(s[i]) == 0 || len(s[b.ref]) == 0:
			row = append(row, "–")
		case i == b.ref:
			row = append(row, duration(quantile(s[i], q)))
		default:
			ratio := float64(quantile(s[i], q)) / float64(quantile(s[b.ref], q))
			least, greatest := spread(s[i], s[b.ref], q)
			row = append(row, fmt.Sprintf("%s ×%.2f (%.2f–%.2f)", duration(quantile(s[i], q)), ratio,
				least, greatest))
		}
	}
	b.rows = append(b.rows, append(row, ""))
}

func spread(d, ref []time.Duration, q float64) (least, greatest float64) {
	least = math.Inf(1)
	n := min(parts, len(d), len(ref))
	cut := func(d []time.Duration, part int) []time.Duration { return d[part*len(d)/n : (part+1)*len(d)/n] }
	for part := range n {
		ratio := float64(quantile(cut(d, part), q)) / float64(quantile(cut(ref, part), q))
		least, greatest = min(least, ratio), max(greatest, ratio)
	}
	return least, greatest
}

func (b *bench) values(name, unit string, v []float64) {
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
	b.rows = append(b.rows, append(row, ""))
}

// ownTime adds a row with a quantile of drainit's alone, and its aim, 0 for none.
func (b *bench) ownTime(name string, took []time.Duration, q float64, most time.Duration) {
	v := b.figures()
	v[own] = float64(quantile(took, q)) / float64(time.Millisecond)
	b.values(name, "ms", v)
	if most > 0 {
		b.aim(fmt.Sprintf("≤ %v, in ms", most), v[own], float64(most)/float64(time.Millisecond))
	}
}

// aim is what a figure of drainit's is to be at most.
type aim struct {
	row       string
	words     string
	got, most float64
}

// missed reports whether a figure is beyond the aim by more than the tolerance.
func (a aim) missed() bool { return a.got > a.most*(1+tolerance) }

func (a aim) String() string {
	how := "missed by less than a third"
	switch {
	case a.got <= a.most:
		how = "met"
	case a.missed():
		how = "**missed**"
	}
	return fmt.Sprintf("%s: %s, %s", a.words, figure(a.got), how)
}

func figure(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", x), ".00") }

// aim sets that of the last row: words say what drainit's figure is to be.
func (b *bench) aim(words string, got, most float64) {
	row := b.rows[len(b.rows)-1]
	a := aim{row[0], words, got, most}
	row[len(row)-1] = a.String()
	b.aims = append(b.aims, a)
}

// ratioAim is the aim of a row of times, as a ratio to the least figure of some others.
func (b *bench) ratioAim(s series, q, most float64, of string, others ...int) {
	least := time.Duration(0)
	for _, i := range others {
		if at := quantile(s[i], q); least == 0 || at < least {
			least = at
		}
	}
	if least > 0 && len(s[own]) > 0 {
		b.aim(fmt.Sprintf("≤ %s × %s", figure(most), of), float64(quantile(s[own], q))/float64(least), most)
	}
}

// peers are the columns of the other inits.
func (b *bench) peers() (all []int) {
	for i, c := range b.inits {
		if i > own && c.name != "drainit beside" {
			all = append(all, i)
		}
	}
	return all
}

// verdict writes which aims were missed by more than the tolerance. The error says that
// there is one.
func (b *bench) verdict(w io.Writer) error {
	missed := slices.DeleteFunc(slices.Clone(b.aims), func(a aim) bool { return !a.missed() })
	for _, a := range missed {
		fmt.Fprintf(w, "missed by more than a third: %s: %v\n", a.row, a)
	}
	if len(missed) > 0 {
		return fmt.Errorf("%d of %d aims are missed by more than a third", len(missed), len(b.aims))
	}
	return nil
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

// benched is a table of the bench in a page, with the line above it.
var benched = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d, Linux .*\n\n(\|.*\n)+`)

// writeTo writes the table into a page, in place of the one that is there.
func (b *bench) writeTo(page, head string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if len(benched.FindAllIndex(text, -1)) != 1 {
		return fmt.Errorf("%s has no table of the bench, or several", page)
	}
	return os.WriteFile(page, benched.ReplaceAllLiteral(text, []byte(head+b.markdown())), 0o644)
}

func (b *bench) markdown() (made string) {
	for r, row := range b.rows {
		made += "| " + strings.Join(row, " | ") + " |\n"
		if r == 0 {
			made += strings.Repeat("|---", len(row)) + "|\n"
		}
	}
	return strings.ReplaceAll(made, "|  |", "| |")
}

// print writes the table so that it is read as well here as in Markdown.
func (b *bench) print(w io.Writer) {
	aligned := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = strings.NewReplacer(" |", "\t|", "---|", "---\t|").WriteString(aligned, b.markdown())
	aligned.Flush()
	fmt.Fprintf(w,
		"\n× is the ratio to the column that is 1; in parentheses the least and the greatest in %d parts "+
			"of the run.\n", parts)
}
