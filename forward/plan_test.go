package forward

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
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

// testdata/plans.tsv has the deliveries of every situation for this machine, whose worker's group are
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
func TestPlanOfEverySituation(t *testing.T) {
	plans := rows.Read(t, "testdata/plans.tsv", 5)
	used := make([]bool, len(plans))
	for purpose := range purposes {
		for _, mode := range []Mode{ModeAuto, ModeGroup, ModeWorker} {
			for _, seen := range []bool{true, false} {
				for _, worker := range []string{"alive", "gone", "daemonized"} {
					s := situation{purpose, mode, seen, worker}
					is := s.rows(plans)
					if len(is) != 1 {
						t.Fatalf("%+v stands in the rows %v of the table, want one", s, is)
					}
					used[is[0]] = true
					if got, want := describe(s.plan()), plans[is[0]][4]; got != want {
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
func (s situation) rows(plans [][]string) (is []int) {
	mode := []string{"auto", "handlers", "group", "worker", "none"}[s.mode]
	snapshot := map[bool]string{true: "seen", false: "unseen"}[s.seen]
	for i, row := range plans {
		if among(row[0], s.purpose) && among(row[1], mode) && among(row[2], snapshot) &&
			among(row[3], s.worker) {
			is = append(is, i)
		}
	}
	return is
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
