package forward

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// situation is one of all that a plan can be asked for.
type situation struct {
	purpose string // a key of purposes
	mode    Mode
	seen    bool   // there is a snapshot
	worker  string // alive, gone, or daemonized
}

// purposes are requests. Those of a stop are made before it has begun ("late" is for a
// worker that exited by itself, or a /proc that could not be read), or after a Stop.
var purposes = map[string]Request{
	"stop":           {Purpose: Stop, Signal: unix.SIGTERM},
	"late orphans":   {Purpose: Orphans, Signal: unix.SIGTERM},
	"late last call": {Purpose: LastCall, Signal: unix.SIGTERM},
	"orphans":        {Purpose: Orphans, Signal: unix.SIGTERM},
	"last call":      {Purpose: LastCall, Signal: unix.SIGTERM},
	"quiet":          {Purpose: Quiet, Signal: unix.SIGTSTP},
	"resume":         {Purpose: Resume, Signal: unix.SIGCONT},
	"HUP":            {Purpose: PassThrough, Signal: unix.SIGHUP},
	"TTIN":           {Purpose: PassThrough, Signal: unix.SIGTTIN},
}

// plans are the deliveries of every situation for this machine, whose worker's group are
// master and web:
//
//	drainit 1 ─ master 10 [TERM] ─ web 11 [all] ─ job 12 [all]
//	          │                  └ tool 13 []
//	          ├ redis 20 [all] ─ io 21 [all]
//	          └ log 22 []
//
// Once the worker has gone, web and tool are drainit's children. "any" stands for any
// mode, snapshot or worker, "unseen" for no snapshot. After a pid and a signal stand
// "child", "stop" and "if handled" for what a delivery has of these.
var plans = []struct{ purposes, modes, snapshot, workers, want string }{
	{"stop", "auto", "any", "alive", "10 TERM child stop"},
	{"stop", "group", "seen", "alive", "group 10 of 10 11 TERM child stop"},
	{"stop", "group", "unseen", "alive", "group 10 TERM child stop"},
	{"stop", "worker", "any", "alive", "10 TERM child stop"},
	{"stop", "any", "seen", "gone, daemonized",
		"11 TERM child stop; 13 TERM child stop; 20 TERM child stop; 22 TERM child stop"},
	{"stop", "any", "unseen", "gone, daemonized", ""},

	{"late orphans, late last call", "any", "any", "alive", ""},
	{"late orphans, late last call", "auto, group", "seen", "gone, daemonized",
		"11 TERM child stop; 13 TERM child stop; 20 TERM child stop; 22 TERM child stop"},
	{"late orphans, late last call", "auto, group", "unseen", "gone, daemonized", "namespace TERM"},
	{"late orphans, late last call", "worker", "any", "gone, daemonized", ""},

	// web was left to master, or was signalled; tool and the daemons wait for it.
	{"orphans", "any", "any", "alive", ""},
	{"orphans", "auto, group", "seen", "gone, daemonized", ""},
	{"orphans", "auto, group", "unseen", "gone, daemonized", "namespace TERM"},
	{"orphans", "worker", "any", "gone, daemonized", ""},

	{"last call", "auto, group", "seen", "alive", "20 TERM child stop; 22 TERM child stop"},
	{"last call", "auto, group", "unseen", "alive", ""},
	{"last call", "auto", "seen", "gone, daemonized",
		"11 TERM child stop; 20 TERM child stop; 22 TERM child stop"},
	{"last call", "group", "seen", "gone, daemonized", "20 TERM child stop; 22 TERM child stop"},
	{"last call", "auto, group", "unseen", "gone, daemonized", "namespace TERM"},
	{"last call", "worker", "any", "any", ""},

	{"quiet", "any", "seen", "alive", "11 TSTP if handled"},
	{"quiet", "any", "seen", "gone, daemonized", "11 TSTP child if handled; 20 TSTP child if handled"},
	{"quiet", "any", "unseen", "any", ""},
	{"resume", "any", "seen", "any", "11 CONT"}, // master and web were quieted, and web alone handles it
	{"resume", "any", "unseen", "any", ""},

	{"HUP", "auto", "seen", "alive", "11 HUP"},
	{"HUP", "auto", "unseen", "alive", "10 HUP child"},
	{"HUP", "group", "any", "alive", "group 10 HUP child"},
	{"HUP", "worker", "any", "alive", "10 HUP child"},
	{"HUP", "any", "seen", "daemonized", "11 HUP child; 13 HUP child; 20 HUP child; 22 HUP child"},
	{"TTIN", "any", "seen", "alive", "11 TTIN"}, // master would stop
	{"TTIN", "any", "unseen", "alive", ""},
	{"TTIN", "any", "seen", "daemonized", "11 TTIN child; 20 TTIN child"},
	{"HUP, TTIN", "any", "unseen", "daemonized", ""},
	{"HUP, TTIN", "any", "any", "gone", ""},
}

func TestPlanOfEverySituation(t *testing.T) {
	used := make([]bool, len(plans))
	for purpose := range purposes {
		for _, mode := range []Mode{ModeAuto, ModeGroup, ModeWorker} {
			for _, seen := range []bool{true, false} {
				for _, worker := range []string{"alive", "gone", "daemonized"} {
					s := situation{purpose, mode, seen, worker}
					rows := s.rows()
					if len(rows) != 1 {
						t.Fatalf("%+v stands in the rows %v of the table, want one", s, rows)
					}
					used[rows[0]] = true
					if got, want := describe(s.plan()), plans[rows[0]].want; got != want {
						t.Errorf("%+v: %q, want %q", s, got, want)
					}
				}
			}
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		t.Errorf("the row %+v is for no situation", plans[i])
	}
}

// rows are the indexes of the rows for a situation, of which there must be one.
func (s situation) rows() (rows []int) {
	for i, row := range plans {
		snapshot := row.snapshot == "any" || (row.snapshot == "seen") == s.seen
		mode := []string{"auto", "group", "worker", "none"}[s.mode]
		if snapshot && among(row.purposes, s.purpose) && among(row.modes, mode) &&
			among(row.workers, s.worker) {
			rows = append(rows, i)
		}
	}
	return rows
}

func among(list, name string) bool {
	return list == "any" || slices.Contains(strings.Split(list, ", "), name)
}

func (s situation) plan() []Delivery {
	l, r := s.before()
	if !s.seen {
		return l.deliveries(r, nil)
	}
	return l.deliveries(r, machine(l.gone))
}

// before makes a history with what was before the situation, and the request.
func (s situation) before() (*played, Request) {
	l, r := newPlayed(), purposes[s.purpose]
	r.Mode, l.daemonizes = s.mode, s.worker == "daemonized"
	switch s.purpose {
	case "orphans", "last call":
		begin := r
		begin.Purpose = Stop
		for _, d := range l.deliveries(begin, machine(false)) {
			l.Sent(d, 1000)
		}
	case "resume":
		for _, p := range []proc.Process{below(11, 10, 100), below(10, drainitPID, 100)} {
			l.quieted[p.ID] = p
		}
	}
	if s.worker != "alive" {
		l.Exited(10, 0)
	}
	return l, r
}

// machine is the one of the table, before and after its worker has gone.
func machine(workerGone bool) *proc.Snapshot {
	const every = signals.Set(1<<31 - 1)
	up := 10
	if workerGone {
		up = drainitPID
	}
	shown := []proc.Process{
		shownAs("web", 11, up, 10, every), shownAs("job", 12, 11, 12, every), shownAs("tool", 13, up, 13, 0),
		shownAs("redis", 20, drainitPID, 20, every), shownAs("io", 21, 20, 20, every),
		shownAs("log", 22, drainitPID, 22, 0),
	}
	if !workerGone {
		shown = append(shown, shownAs("master", 10, drainitPID, 10, signals.SetOf(unix.SIGTERM)))
	}
	return proc.New(shown)
}

func shownAs(comm string, pid, ppid, pgid int, handled signals.Set) proc.Process {
	return proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: pgid, SID: pgid, State: 'S',
		Comm: comm, Handled: handled, Details: proc.Details{Exe: comm}}
}

// describe writes deliveries as the table has them.
func describe(all []Delivery) string {
	var lines []string
	for _, d := range all {
		line := fmt.Sprint(d.Process.PID)
		switch d.Target {
		case ToGroup:
			line = fmt.Sprint("group ", d.PGID)
			for i, m := range d.Members {
				line += []string{" of ", " "}[min(i, 1)] + fmt.Sprint(m.PID)
			}
		case ToNamespace:
			line = "namespace"
		case ToTree:
			line = "tree"
		}
		line += " " + strings.TrimPrefix(signals.Name(d.Signal), "SIG")
		for _, flag := range []struct {
			word string
			set  bool
		}{{" child", d.Child}, {" stop", d.Stop}, {" if handled", d.OnlyIfHandled}} {
			if flag.set {
				line += flag.word
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// played is a history with the last of its plans.
type played struct {
	*History
	plan Plan
}

// newPlayed has a worker with pid 10.
func newPlayed() *played {
	l := &played{History: NewHistory(drainitPID, false)}
	l.Started(10)
	return l
}

func (l *played) deliveries(r Request, s *proc.Snapshot) []Delivery {
	l.plan = l.Plan(r, s)
	return l.plan.Deliveries
}
