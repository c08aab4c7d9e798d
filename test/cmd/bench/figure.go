package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// counts are the numbers of processes in the figure.
var counts = []int{1, 10, 100, 1000, 10_000}

// growth is what an init costs with each number of processes: how long a stop takes, and
// how long the init runs in the first seconds of a drain.
type growth struct {
	name       string
	stop, runs []time.Duration
}

// drainOfFigure is how long each drain of the figure is looked at.
const drainOfFigure = 2 * time.Second

// drawFigure measures how the cost of each init grows, and draws it.
func drawFigure(all []contender, p plan) error {
	all = slices.DeleteFunc(all, func(c contender) bool { return c.argv == nil })
	grown := make([]growth, len(all))
	never := p.dir + "/never"
	if err := unix.Mkfifo(never, 0o600); err != nil {
		return os.NewSyscallError("mkfifo", err)
	}
	for _, n := range counts {
		fmt.Fprintf(os.Stderr, "bench: %d processes\n", n)
		stops, runs := newSeries(len(all)), newSeries(len(all))
		rounds := p.stops
		if n == counts[len(counts)-1] {
			rounds = 1
		}
		err := turns(all, rounds, func(_, i int) error {
			took, _, err := timeStop(slices.Concat(all[i].argv, stopping, []string{"1", strconv.Itoa(n - 1), "0"}), n)
			stops.add(i, took)
			if err != nil {
				return err
			}
			ran, _, err := drain(all[i], never, n, drainOfFigure)
			runs.add(i, ran)
			return err
		})
		if err != nil {
			return err
		}
		for i, c := range all {
			grown[i].name = c.name
			grown[i].stop = append(grown[i].stop, quantile(stops[i], 0.5))
			grown[i].runs = append(grown[i].runs, quantile(runs[i], 0.5))
		}
	}
	return os.WriteFile(p.figure, []byte(draw(grown)), 0o644)
}

// The figure, in pixels: two panels beside each other.
const (
	panelWidth, panelHeight = 380, 300
	left, top, below        = 70, 40, 50
	decades                 = 4 // of processes
)

var colours = []string{"#777777", "#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#117a65", "#5d6d7e"}

// draw makes the SVG of it: both axes are logarithmic.
func draw(all []growth) string {
	var b strings.Builder
	width := 2*(left+panelWidth) + 150
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, top+panelHeight+below)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, top+panelHeight+below)
	panel(&b, 0, "time of a stop, whose worker signals them", all, func(g growth) []time.Duration { return g.stop })
	panel(&b, left+panelWidth, fmt.Sprintf("CPU time of the init, first %v of a drain", drainOfFigure), all, func(g growth) []time.Duration { return g.runs })
	for i, g := range all {
		y := top + 20 + 18*i
		x := 2*(left+panelWidth) + 15
		fmt.Fprintf(&b, `<path d="M%d %dh20" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s</text>`+"\n", x, y, colours[i%len(colours)], x+26, y+4, g.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one measure of all.
func panel(b *strings.Builder, x int, title string, all []growth, of func(growth) []time.Duration) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, g := range all {
		for _, d := range of(g) {
			low, high = min(low, math.Floor(logOf(d))), max(high, math.Ceil(logOf(d)))
		}
	}
	at := func(n int, d time.Duration) (float64, float64) {
		return float64(x+left) + math.Log10(float64(n))/decades*(panelWidth-20), float64(top+panelHeight) - (logOf(d)-low)/(high-low)*panelHeight
	}
	fmt.Fprintf(b, `<text x="%d" y="20" font-weight="bold">%s</text>`+"\n", x+left, title)
	for e := low; e <= high; e++ {
		_, y := at(1, time.Duration(math.Pow(10, e)))
		fmt.Fprintf(b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			x+left, y, panelWidth-20, x+left-6, y+4, time.Duration(math.Round(math.Pow(10, e))))
	}
	for _, n := range counts {
		px, _ := at(n, 1)
		fmt.Fprintf(b, `<path d="M%.1f %dv%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", px, top, panelHeight, px, top+panelHeight+18, n)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">processes</text>`+"\n", x+left+panelWidth/2, top+panelHeight+38)
	for i, g := range all {
		var points []string
		for k, d := range of(g) {
			px, py := at(counts[k], d)
			points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colours[i%len(colours)])
	}
}

func logOf(d time.Duration) float64 { return math.Log10(float64(max(d, time.Microsecond))) }
