package main

import (
	"fmt"
	"html"
	"strings"
)

// A picture has panels, one above the other, with one axis of time.
type picture struct {
	title   string
	seconds int
	panels  []panel
}

type panel struct {
	title string
	lanes []*lane
	lost  bool
}

// lane is a process or a step over time: in seconds since the start.
type lane struct {
	name    string
	thread  string // the first of the process
	spans   []span
	jobs    []span
	marks   []mark
	outcome string // how the process ended, as strace says it
}

type span struct {
	from, to     float64
	class, label string
}

type mark struct {
	at    float64
	label string
}

func (l *lane) end(at float64) { l.spans[len(l.spans)-1].to = at }

// mark is for a signal, which may be seen twice: when it is sent and when it is taken.
func (l *lane) mark(at float64, signal string) {
	label := strings.TrimPrefix(signal, "SIG")
	if n := len(l.marks); n == 0 || l.marks[n-1].label != label {
		l.marks = append(l.marks, mark{at, label})
	}
}

// Sizes in pixels. A picture of this width is read in a page without a scroll bar.
const (
	width  = 700
	left   = 80
	right  = 20
	high   = 34 // of a lane
	bar    = 8  // of a process
	jobBar = 14
	head   = 30 // of a panel
	foot   = 34
)

const style = `
text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", Arial, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 14px } .small { font-size: 11px; fill: #59636e }
.in { fill: #fff; font-size: 11px }
.bad { fill: #c4232f; font-weight: 600 } .good { fill: #1a7f37; font-weight: 600 }
.process { fill: #afb8c1 } .job { fill: #2f7d4f } .lost { fill: #c4232f } .hook { fill: #6e5494 }
.running { fill: #57606a } .quiet { fill: #9a6700 } .draining { fill: #0a5cad } .killing { fill: #c4232f }
.mark { stroke: #0a5cad; stroke-width: 2 } .head { fill: #0a5cad }
.word { fill: #0a5cad; font-size: 11px; font-weight: 600 }
.grid { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .in { fill: #fff }
.bad { fill: #ff7b72 } .good { fill: #56d364 }
.process { fill: #59636e } .grid { stroke: #30363d } .mark { stroke: #79c0ff } .head, .word { fill: #79c0ff }
}
`

// svg draws the picture, for a light and a dark page.
func (p picture) svg() string {
	var body strings.Builder
	y := 0
	for _, panel := range p.panels {
		y = p.panel(&body, panel, y)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" `+
		`height="%d" role="img">
<title>%s</title>
<style>%s</style>
%s</svg>
`, width, y, width, y, html.EscapeString(p.title), style, body.String())
}

func (p picture) x(at float64) float64 {
	return left + at/float64(p.seconds)*(width-left-right)
}

// panel draws a panel from y downwards, and returns where it ends.
func (p picture) panel(w *strings.Builder, panel panel, y int) int {
	bottom := y + head + len(panel.lanes)*high
	text(w, "title", 10, float64(y+20), "start", panel.title)
	outcome, class := panel.outcome()
	text(w, class, width-right, float64(y+20), "end", outcome)
	for s := 0; s <= p.seconds; s += max(1, p.seconds/5) {
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", p.x(float64(s)), y+head, bottom)
		text(w, "small", p.x(float64(s)), float64(bottom+14), "middle", fmt.Sprintf("%d s", s))
	}
	for i, l := range panel.lanes {
		p.lane(w, l, y+head+i*high)
	}
	return bottom + foot
}

// outcome says what became of the jobs.
func (p panel) outcome() (words, class string) {
	jobs := 0
	for _, l := range p.lanes {
		jobs += len(l.jobs)
	}
	if p.lost {
		return fmt.Sprintf("1 of %d jobs lost", jobs), "bad"
	}
	return fmt.Sprintf("%d of %d jobs done", jobs, jobs), "good"
}

func (p picture) lane(w *strings.Builder, l *lane, y int) {
	middle := y + high/2 + 4
	text(w, "", 10, float64(middle+4), "start", l.name)
	for _, s := range l.spans {
		p.span(w, s, middle, bar, "start")
	}
	for _, s := range l.jobs {
		p.span(w, s, middle, jobBar, "end") // a mark may be where it begins
	}
	for _, m := range l.marks {
		x := p.x(m.at)
		fmt.Fprintf(w,
			"<path class=\"mark\" d=\"M%.1f %dV%d\"/><path class=\"head\" d=\"M%.1f %dl-4 -7h8z\"/>\n", x,
			y+8, y+high-2, x, middle-jobBar/2)
		text(w, "word", x+6, float64(y+10), "start", m.label)
	}
	if l.outcome != "" {
		text(w, "small", p.x(l.spans[0].to)+8, float64(middle+4), "start", l.outcome)
	}
}

// span draws a bar, with its label at one end of it where there is room.
func (p picture) span(w *strings.Builder, s span, middle, height int, end string) {
	from, to := p.x(s.from), p.x(max(s.to, s.from))
	at := map[string]float64{"start": from + 5, "end": to - 5}[end]
	if s.label != "" {
		height = jobBar
	}
	fmt.Fprintf(w, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
		s.class, from, middle-height/2, to-from, height)
	if to-from > float64(6*len(s.label)+8) {
		text(w, "in", at, float64(middle+4), end, s.label)
	}
}

func text(w *strings.Builder, class string, x, y float64, anchor, words string) {
	fmt.Fprintf(w, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", class, x, y,
		anchor, html.EscapeString(words))
}
