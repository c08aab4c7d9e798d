package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// --forward group is advised where one process at most may signal those of the worker's group, too. The worker is 2,
// and each process is the parent of the next.
func TestWhomAGroupsSignalReachesOnce(t *testing.T) {
	const handles, other = 1, 2
	for name, tt := range map[string]struct {
		chain []int
		but   int // the pid of the one that may signal, 0 for none
		want  bool
	}{
		"a shell without a handler":              {[]int{0, handles}, 0, true},
		"the one that may signal":                {[]int{handles, handles}, 2, true},
		"another than that":                      {[]int{handles, handles}, 0, false},
		"a manager below it":                     {[]int{handles, handles, handles}, 2, false},
		"a manager of processes without handler": {[]int{handles, 0, 0}, 0, true},
		"one that is two below another":          {[]int{handles, 0, handles}, 0, false},
		"one of another group":                   {[]int{handles, handles | other}, 0, true},
	} {
		var all []proc.Process
		for i, is := range tt.chain {
			p := proc.Process{ID: proc.ID{PID: i + 2, Start: 1}, PPID: i + 1, PGID: 2, State: 'S'}
			if is&handles != 0 {
				p.Handled = signals.SetOf(unix.SIGTERM)
			}
			if is&other != 0 {
				p.PGID = p.PID
			}
			all = append(all, p)
		}
		l := NewHistory(1, false)
		l.Started(2)
		l.Start, l.deliver = proc.New(all), unix.SIGTERM
		var but *record
		if tt.but > 0 {
			but = &record{Process: all[tt.but-2]}
		}
		if got := l.groupReachesOnce(but); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The advice about a process in doubt names what is above it, if that lives.
func TestAdvice(t *testing.T) {
	for tree, want := range map[string]string{
		"runuser*(job*)":     "setpriv, gosu or USER in place of runuser would have it signalled at once",
		"app*(job*)":         "if app[2] passes nothing on, --forward group signals it at once",
		"app*(job[*,leads])": "",
		"mid*(app*(job*))":   "",
		"sh(app(job*))":      "if app[3] passes nothing on, --forward group signals it at once",
	} {
		d := newDrill(t, tree, unix.SIGTERM, ModeAuto)
		job := d.named(tree, "job").PID
		if got := d.l.advice(d.l.living[job]); got != want {
			t.Errorf("%s: %q, want %q", tree, got, want)
		}
	}
	d := newDrill(t, "app*(job*)", unix.SIGTERM, ModeAuto)
	job := d.named("", "job").PID
	d.happen("app exits")
	d.observe(Orphans)
	if got, want := d.l.advice(d.l.living[job]), "if no other process signals it, --forward group does at once"; got != want {
		t.Errorf("an orphan: %q, want %q", got, want)
	}
}
