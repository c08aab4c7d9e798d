package rehearse

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/inspect"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/worker"
	"drainit/reaper"
	"drainit/supervisor"
	"drainit/test/harness/rows"
	"drainit/test/trees"
)

const term, self = unix.SIGTERM, 5

// stopped is a stop of processes (package trees), the first of which is the worker. Each was sent TERM at
// once and exited with 0 half a second later, if its words do not say otherwise:
//
//	*, URG          it handles TERM, or URG     at 3s       it was sent TERM then
//	exits 4         with this status            unsent      drainit sent it nothing
//	dies SEGV       of this signal              late        in a call
//	dies            of TERM, after 50 ms        unread      another has waited for it
//	after 2s        it ended then               untouched   it has slept since before the stop
func stopped(cfg supervisor.Config, tree string) *stop {
	cfg.Grace, cfg.Record = 20*time.Second, new(supervisor.Record)
	s := &stop{cfg: cfg, plan: &inspect.Plan{StopSignal: "SIGTERM", Stop: term, PID: self}}
	s.took = 2 * time.Second
	var all []proc.Process
	trees.Each(tree, self, func(w trees.Process, ppid int) int {
		p := proc.Process{ID: proc.ID{PID: 10 + len(all), Start: 100}, PPID: ppid, Comm: w.Name,
			State: 'S', Details: proc.Details{Exe: w.Name, Args: []string{w.Name}}}
		s.ends(&p, w.Words)
		all = append(all, p)
		return p.PID
	})
	s.plan.All = proc.New(all)
	return s
}

// ends notes what became of a process.
func (s *stop) ends(p *proc.Process, words []string) {
	r := &row{Row: &inspect.Row{PID: p.PID, PPID: p.PPID, Comm: p.Comm, Stop: "planned"}}
	sent := supervisor.Sent{Delivery: forward.Delivery{Signal: term, Rule: "the rule"}}
	e := reaper.WaitEvent{PID: p.PID}
	has := make(map[string]bool)
	for _, word := range words {
		what, value, _ := strings.Cut(word, " ")
		n, _ := strconv.Atoi(value)
		after, _ := time.ParseDuration(value)
		sig, err := signals.Parse(cmp.Or(value, strings.Replace(what, "*", "TERM", 1)))
		switch has[what] = true; what {
		case "exits":
			e.Status = unix.WaitStatus(n << 8)
		case "dies":
			if e.Status = unix.WaitStatus(sig); value == "" {
				e.Status, r.ended = unix.WaitStatus(term), time.Second/20
			}
		case "at":
			sent.After = after
		case "after":
			r.ended = after
		case "unsent", "late", "unread", "untouched":
		default:
			if p.Handled |= signals.SetOf(sig); err != nil {
				panic(err)
			}
		}
	}
	r.Process, r.OnStop, r.untouched = *p, p.On(term), has["untouched"]
	r.ended = cmp.Or(r.ended, sent.After+time.Second/2)
	if sent.To, sent.Late = *p, has["late"]; !has["unsent"] {
		s.cfg.Record.Sent = append(s.cfg.Record.Sent, sent)
	}
	if !has["unread"] {
		s.cfg.Record.Ended = append(s.cfg.Record.Ended, supervisor.Ended{WaitEvent: e, After: r.ended})
	}
	if s.rows = append(s.rows, r); len(s.rows) > 1 {
		return
	}
	s.outcome.Worker = worker.Worker{PID: p.PID, Comm: p.Comm, Exit: &worker.Exit{WaitEvent: e}}
	if s.outcome.Status = e.ExitStatus(); slices.Contains(s.cfg.RemapExit, s.outcome.Status) {
		s.outcome.Status = 0
	}
}

// judged is the verdict on a stop with such settings.
func judged(tree, settings string) verdict {
	var cfg supervisor.Config
	var flags Flags
	var failed error
	change := func(*stop) {}
	for setting := range strings.SplitSeq(settings, ", ") {
		what, value, _ := strings.Cut(setting, " ")
		n, _ := strconv.Atoi(value)
		switch what {
		case "check":
			if flags.Check = "x"; value == "fails" {
				failed = errors.New("--check exited with status 3")
			}
		case "during":
			flags.During = "x"
		case "remap":
			cfg.RemapExit = []int{n}
		case "worker":
			cfg.Mode = forward.ModeWorker
		case "none":
			cfg.Mode = forward.ModeNone
		case "delay":
			cfg.StopDelay, _ = time.ParseDuration(value)
		case "successor":
			change = func(s *stop) { s.outcome.Status, s.outcome.Worker.PID = n, 99 }
		case "killed":
			change = func(s *stop) {
				kill := worker.Kill{Reason: worker.Reason(value),
					Victims: []*proc.Process{&s.rows[0].Process}}
				if s.outcome.Worker.Kill = kill; value == "unread" {
					s.outcome.Worker.Kill = worker.Kill{Unread: true}
				}
			}
		case "unsettled":
			change = func(s *stop) { s.unsettled = true }
		case "":
		default:
			panic(setting)
		}
	}
	s := stopped(cfg, tree)
	change(s)
	return s.judge(flags, failed)
}

// Each verdict follows from what drainit has sent, killed and waited for, and from --check.
func TestVerdict(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/verdicts.tsv", 4) {
		v := judged(row[1], row[2])
		got, want := fmt.Sprintf("%s %d", v.Verdict, v.Status), row[3]
		for _, r := range v.Reasons {
			got += "; " + r.String()
		}
		if !strings.HasPrefix(got, want) || !strings.Contains(want, ";") && got != want {
			t.Errorf("%s: %s, want %s\n%s", row[0], got, want, v.text())
		}
	}
}

// A stop that takes longer than a platform waits by default says so.
func TestShorter(t *testing.T) {
	for took, want := range map[time.Duration]string{
		10 * time.Second: "10.0s\n",
		11 * time.Second: "11.0s, longer than these wait by default: docker stop (10s)\n",
		31 * time.Second: "31.0s, longer than these wait by default: docker stop (10s), Kubernetes (30s)\n",
	} {
		s := stopped(supervisor.Config{}, "node*")
		s.took = took
		want = "signals arrive: the stop took " + want
		if text := s.judge(Flags{}, nil).text(); !strings.HasSuffix(text, want) {
			t.Errorf("%v: %s", took, text)
		}
	}
}

func TestAsJSON(t *testing.T) {
	s := stopped(supervisor.Config{}, "node[*,exits 3]")
	b, err := json.Marshal(s.judge(Flags{}, nil))
	const head = `{"verdict":"loses_work","status":1,` +
		`"reasons":[{"pid":10,"comm":"node","why":"exited with status 3","advice":`
	const tail = `"stop":"planned","sent":"SIGTERM","sent_after_s":0,"ended_after_s":0.5,"exit_status":3}]}`
	if text := string(b); err != nil || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		t.Errorf("%s, %v", b, err)
	}
}

// A handler that the last of many processes sets is a change that a rehearsal waits for.
func TestStateOfManyProcesses(t *testing.T) {
	var all []*proc.Process
	for pid := range 12 {
		all = append(all, &proc.Process{ID: proc.ID{PID: 10 + pid}, Comm: "node"})
	}
	before := stateOf(all)
	all[11].Handled = signals.SetOf(term)
	if stateOf(all) == before {
		t.Error("a new handler of the twelfth process is no change")
	}
}
