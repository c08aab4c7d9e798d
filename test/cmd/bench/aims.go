package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// tolerance is by how much of it an aim may be missed before the bench fails: on a shared
// machine no figure is better than that.
const tolerance = 1. / 3

// aim is what a figure of drainit's is to be at most.
type aim struct {
	row   string
	words string
	got   float64
	most  float64
}

// missed reports whether a figure is beyond the aim by more than the tolerance.
func (a aim) missed() bool { return a.got > a.most*(1+tolerance) }

func (a aim) String() string {
	switch {
	case a.got <= a.most:
		return fmt.Sprintf("%s: %s, met", a.words, figure(a.got))
	case a.missed():
		return fmt.Sprintf("%s: %s, **missed**", a.words, figure(a.got))
	}
	return fmt.Sprintf("%s: %s, missed by less than a third", a.words, figure(a.got))
}

func figure(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", x), ".00") }

// aim sets that of the last row: words say what drainit's figure is to be.
func (t *table) aim(words string, got, most float64) {
	row := t.rows[len(t.rows)-1]
	a := aim{row[0], words, got, most}
	row[len(row)-1] = a.String()
	t.aims = append(t.aims, a)
}

// ratioAim is the aim of a row of times, as a ratio to the figure of others, the least of
// these where there are several.
func (t *table) ratioAim(s series, q float64, most float64, of string, others ...int) {
	own := t.column("drainit")
	if own < 0 || len(s[own]) == 0 {
		return
	}
	least := 0.
	for _, i := range others {
		if i >= 0 && len(s[i]) > 0 {
			if at := float64(quantile(s[i], q)); least == 0 || at < least {
				least = at
			}
		}
	}
	if least > 0 {
		t.aim(fmt.Sprintf("≤ %s × %s", figure(most), of), float64(quantile(s[own], q))/least, most)
	}
}

// valueAim is the aim of a row of figures.
func (t *table) valueAim(v []float64, most float64, words string) {
	if own := t.column("drainit"); own >= 0 {
		t.aim(words, v[own], most)
	}
}

// ownTime adds a row with a time of drainit's alone, and its aim, 0 for none.
func (t *table) ownTime(name string, took, most time.Duration) {
	v := slices.Repeat([]float64{none}, len(t.inits))
	v[t.column("drainit")] = float64(took) / float64(time.Millisecond)
	t.values(name, "ms", v)
	if most == 0 {
		return
	}
	t.aim(fmt.Sprintf("≤ %v, in ms", most), v[t.column("drainit")], float64(most)/float64(time.Millisecond))
}

// column is that of an init, -1 where it does not run.
func (t *table) column(name string) int {
	for i, c := range t.inits {
		if c.name == name {
			return i
		}
	}
	return -1
}

// peers are the columns of the other inits.
func (t *table) peers() (all []int) {
	for i, c := range t.inits {
		switch c.name {
		case "no init", "minimal Go", "drainit", "drainit beside":
		default:
			all = append(all, i)
		}
	}
	return all
}

// verdict writes which aims were missed by more than the tolerance. The error says that
// there is one.
func (t *table) verdict(w io.Writer) error {
	missed := 0
	for _, a := range t.aims {
		if a.missed() {
			missed++
			fmt.Fprintf(w, "missed by more than a third: %s: %v\n", a.row, a)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d aims are missed by more than a third", missed, len(t.aims))
	}
	return nil
}
