package forward

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// drill is a stop played by a script, of steps with semicolons between them:
//
//	told NAME SIG              it is told now; ": " and a rule may follow
//	heir NAME                  the last look made it the worker
//	NAME starts TREE           as a child of its own
//	NAME loses SIG             its handler has gone
//	NAME exits
//	NAME dies of SIG
//	look, or last look         in the last seconds; all that it leads to follows it
//
// A tree is NAME[TERM,INT](TREE, TREE): what it catches, and its children. A *
// stands for the stop signal and TERM; "session" says that it leads a session.
// What a name says of a process, its digits aside, is what it is.
type drill struct {
	t     *testing.T
	sig   unix.Signal
	w     *world
	c     *Cascade
	names map[string]*fake
	told  []Telling
	heir  string
}

// newDrill makes a machine with a worker, and other children of drainit.
func newDrill(t *testing.T, sig unix.Signal, worker, others string) *drill {
	d := &drill{t: t, sig: sig, w: newWorld(1 << 15), names: make(map[string]*fake)}
	first := d.plant(nil, worker)
	d.plant(nil, others)
	d.w.tick += 100
	seen := d.look()
	if len(first) == 0 { // it has gone
		var heads []proc.ID
		for _, s := range seen {
			if s.PPID == drainitPID {
				heads = append(heads, s.ID)
			}
		}
		d.c = NewCascade(drainitPID, sig, seen, proc.ID{}, heads)
	} else {
		d.c = NewCascade(drainitPID, sig, seen, first[0].ID, []proc.ID{first[0].ID})
	}
	d.take(d.c.Heads("as the worker is"))
	return d
}

func (d *drill) look() []proc.Seen { return d.w.look(func() {}) }

// take tells whom the cascade named. The script must know of them.
func (d *drill) take(tellings []Telling) {
	for _, t := range tellings {
		d.c.Told(t.ID, t.Signal, d.w.tick)
	}
	d.told = append(d.told, tellings...)
}

var (
	words = regexp.MustCompile(`\s*([\w.]+)(\*|\[[\w,+]*\])?`)
	pidOf = regexp.MustCompile(`\[\d+\]`)
)

// plant starts the processes of a tree below a parent.
func (d *drill) plant(parent *fake, tree string) (all []*fake) {
	var last *fake
	for tree = strings.TrimSpace(tree); tree != ""; {
		switch tree[0] {
		case ',', ' ':
			tree = tree[1:]
		case '(':
			end := closing(tree)
			d.plant(last, tree[1:end])
			tree = tree[end+1:]
		default:
			m := words.FindStringSubmatch(tree)
			tree = tree[len(m[0]):]
			last = d.w.start(m[1], parent, d.mask(m[2]))
			if strings.Contains(m[2], "session") {
				last.sid = last.PID
			}
			d.names[m[1]] = last
			all = append(all, last)
		}
	}
	return all
}

// closing is the place of the parenthesis that closes the first.
func closing(tree string) int {
	open := 0
	return strings.IndexFunc(tree, func(r rune) bool {
		switch r {
		case '(':
			open++
		case ')':
			open--
		}
		return open == 0
	})
}

// mask reads what a process catches.
func (d *drill) mask(text string) (mask signals.Set) {
	if text == "*" {
		return signals.SetOf(d.sig, unix.SIGTERM)
	}
	for name := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if name != "" && name != "session" {
			mask |= signals.SetOf(d.signal(name))
		}
	}
	return mask
}

func (d *drill) signal(name string) unix.Signal {
	sig, err := signals.Parse(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return sig
}

// play plays a script to its end.
func (d *drill) play(script string) {
	d.t.Helper()
	for step := range strings.SplitSeq(script, ";") {
		step = strings.TrimSpace(step)
		f := strings.Fields(step)
		switch {
		case f[0] == "told":
			d.wantTold(step)
			continue
		case f[0] == "heir":
			if d.heir != f[1] {
				d.t.Errorf("%q: the heir is %q", step, d.heir)
			}
			d.heir = ""
			continue
		}
		d.wantNothing(step)
		d.w.tick += 10
		d.happen(step, f)
	}
	d.wantNothing("the end")
}

// happen lets one thing happen that the cascade only hears of.
func (d *drill) happen(step string, f []string) {
	d.t.Helper()
	p := d.names[f[0]]
	switch {
	case f[len(f)-1] == "look":
		d.judge(f[0] == "last")
	case p == nil || p.ended:
		d.t.Fatalf("%q: there is no such process", step)
	case f[1] == "starts":
		d.plant(p, strings.Join(f[2:], " "))
	case f[1] == "loses":
		p.caught &^= signals.SetOf(d.signal(f[2]))
	case f[1] == "exits":
		d.end(p, 0)
	case f[1] == "dies":
		d.end(p, d.signal(f[3]))
	default:
		d.t.Fatalf("no such step: %q", step)
	}
}

func (d *drill) end(p *fake, of unix.Signal) {
	d.w.end(p)
	if p.parent == nil {
		d.c.Died(p.PID, of)
		delete(d.w.procs, p.PID)
	}
}

// judge is one look of drainit's and what follows from it.
func (d *drill) judge(last bool) {
	d.c.Look(d.look())
	if heir, ok := d.c.Succeed(); ok {
		d.heir = d.w.procs[heir.PID].name
	}
	d.take(d.c.Judge(last))
}

// wantTold takes the next who was told, and compares.
func (d *drill) wantTold(step string) {
	d.t.Helper()
	if len(d.told) == 0 {
		d.t.Errorf("%q: nobody was", step)
		return
	}
	t := d.told[0]
	d.told = d.told[1:]
	want, rule, _ := strings.Cut(strings.TrimPrefix(step, "told "), ": ")
	f := strings.Fields(want)
	said := pidOf.ReplaceAllString(t.Rule, "")
	if t.ID != d.names[f[0]].ID || t.Signal != d.signal(f[1]) || !strings.HasPrefix(said, rule) {
		d.t.Errorf("%q: told %s %s: %s", step, t.Comm, signals.Name(t.Signal), said)
	}
}

// wantNothing checks that the steps so far named all that came of the last look.
func (d *drill) wantNothing(before string) {
	d.t.Helper()
	for _, t := range d.told {
		d.t.Errorf("before %q: told %s %s: %s", before, t.Comm, signals.Name(t.Signal), t.Rule)
	}
	if d.heir != "" {
		d.t.Errorf("before %q: the heir is %s", before, d.heir)
	}
	d.told, d.heir = nil, ""
}
