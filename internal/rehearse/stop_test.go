package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/inspect"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/worker"
	"drainit/reaper"
	"drainit/supervisor"
)

const term, self = unix.SIGTERM, 5

// below makes a process below drainit, which is 5.
func below(comm string, pid, ppid int, handled ...unix.Signal) proc.Process {
	return proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, Comm: comm, State: 'S',
		Handled: signals.SetOf(handled...), Details: proc.Details{Exe: comm, Args: []string{comm}}}
}

// seen is what a row's test has seen of its last process. In nothing else it differs from the worker's.
type seen struct {
	unsent, unread bool // drainit sent it nothing, another has waited for it
	late           bool
	at, ended      time.Duration
	by             unix.Signal
	status         int
	untouched      bool
}

// stopped is a stop in which each process was sent TERM at once and ended with 0 half a second later, but for
// the last.
func stopped(cfg supervisor.Config, processes []proc.Process, last seen) *stop {
	all, record := proc.New(processes), new(supervisor.Record)
	cfg.Grace, cfg.Record = 20*time.Second, record
	s := &stop{cfg: cfg, plan: &inspect.Plan{StopSignal: "SIGTERM", Stop: term, All: all, PID: self},
		took: 2 * time.Second}
	for i, p := range processes {
		was := seen{}
		if i == len(processes)-1 {
			was = last
		}
		r := &row{Row: &inspect.Row{
			PID: p.PID, PPID: p.PPID, Comm: p.Comm, Process: p, OnStop: p.On(term), Stop: "planned"},
			untouched: was.untouched}
		if !was.unsent {
			d := forward.Delivery{Signal: term, Late: was.late, Rule: "the rule"}
			record.Sent = append(record.Sent, supervisor.Sent{Delivery: d, To: p, After: was.at})
		}
		if was.ended == 0 {
			was.ended = was.at + time.Second/2
		}
		status := unix.WaitStatus(was.by)
		if was.by == 0 {
			status = unix.WaitStatus(was.status << 8)
		}
		e := reaper.WaitEvent{PID: p.PID, Status: status}
		if r.ended = was.ended; !was.unread {
			record.Ended = append(record.Ended, supervisor.Ended{WaitEvent: e, After: was.ended})
		}
		if i == 0 {
			s.outcome.Worker = worker.Worker{PID: p.PID, Comm: p.Comm, Exit: &worker.Exit{WaitEvent: e}}
			if s.outcome.Status = e.ExitStatus(); slices.Contains(cfg.RemapExit, s.outcome.Status) {
				s.outcome.Status = 0
			}
		}
		s.rows = append(s.rows, r)
	}
	return s
}

// Each verdict follows from what drainit has sent, killed and waited for, and from --check.
func TestVerdict(t *testing.T) {
	node, bare, perl, sh := below("node", 10, self, term), below("job", 10, self),
		below("perl", 10, self, term), below("bash", 10, self, term)
	bareSh, job, bareJob := below("sh", 10, self), below("job", 11, 10, term), below("job", 11, 10)
	goApp := below("app", 10, self, term, unix.SIGSTKFLT, unix.SIGURG)
	of := func(all ...proc.Process) []proc.Process { return all }
	atOnce := seen{by: term, ended: time.Second / 20}
	const noHandler, mayLack = " has no SIGTERM handler and died of it: add one",
		" may have no SIGTERM handler of its own: it ended at once"
	for name, tt := range map[string]struct {
		below  []proc.Process // nil: node
		cfg    supervisor.Config
		last   seen
		flags  Flags
		failed error
		change func(*stop)
		want   string // the verdict, the status, and the reasons
	}{
		"all have ended":          {want: "signals_arrive 0"},
		"the check finds it done": {flags: Flags{Check: "x"}, want: "drains 0"},
		"the check does not": {
			flags: Flags{Check: "x"}, failed: errors.New("--check exited with status 3"),
			want: "loses_work 1; --check exited with status 3"},
		"it has failed": {
			last: seen{status: 4},
			want: "loses_work 1; node[10] exited with status 4: --remap-exit 4, " +
				"if that is how it ends a drain"},
		"as it may": {
			cfg: supervisor.Config{RemapExit: []int{4}}, last: seen{status: 4}, want: "signals_arrive 0"},
		"a successor has failed": {
			change: func(s *stop) { s.outcome.Status, s.outcome.Worker.PID = 4, 99 },
			want:   "loses_work 1; drainit would exit with status 4: --remap-exit 4"},
		"it died of another signal": {
			last: seen{by: unix.SIGSEGV}, want: "loses_work 1; node[10] died of SIGSEGV"},
		"another process has failed": {
			below: of(sh, job), last: seen{status: 4, unsent: true},
			want: "signals_arrive 0; job[11] exited with status 4"},
		"another kills what it waits": {
			below: of(sh, job), last: seen{by: unix.SIGKILL, unsent: true},
			want: "loses_work 1; job[11] was killed by another process"},
		"drainit kills what is left": {
			below: of(sh, job), cfg: supervisor.Config{Mode: forward.ModeWorker},
			last: seen{by: unix.SIGKILL, unsent: true},
			want: "loses_work 1; job[11] was killed when the worker had ended: --forward auto"},
		"it has no handler": {
			below: of(bare), last: atOnce, want: "loses_work 1; job[10]" + noHandler},
		"whatever the check says": {
			below: of(bare), last: atOnce, flags: Flags{During: "x", Check: "x"},
			want: "loses_work 1; job[10]" + noHandler},
		"but may die so": {
			below: of(bare), cfg: supervisor.Config{RemapExit: []int{143}}, last: atOnce,
			want: "signals_arrive 0"},
		"it ends by itself": {below: of(bare), want: "signals_arrive 0"},
		"the platform has signalled it": {
			below: of(bare), cfg: supervisor.Config{Mode: forward.ModeNone},
			last: seen{by: term, unsent: true}, want: "loses_work 1; job[10]" + noHandler},
		"another has signalled it": {
			below: of(sh, bareJob), last: seen{by: term, unsent: true},
			want: "loses_work 1; job[11]" + noHandler},
		"another ends it": {
			below: of(sh, bareJob), last: seen{unread: true, unsent: true},
			want: "loses_work 1; job[11] has no SIGTERM handler and ended at once: add one"},
		"after the delay, too": {
			below: of(sh, bareJob), cfg: supervisor.Config{StopDelay: 3 * time.Second},
			last: seen{unread: true, unsent: true, ended: 7 * time.Second / 2},
			want: "loses_work 1; job[11] has no SIGTERM handler and ended at once"},
		"which a check disproves": {
			below: of(sh, bareJob), last: seen{unread: true, unsent: true},
			flags: Flags{During: "x", Check: "x"},
			want:  "drains 0; job[11] has no SIGTERM handler and ended at once"},
		"a program ends its own": {
			below: of(perl, bareJob), last: seen{unread: true, unsent: true}, want: "signals_arrive 0"},
		"it served those that drained": {
			below: of(node, bareJob), last: seen{by: term, at: 4 * time.Second},
			want: "signals_arrive 0; job[11] late: has no SIGTERM handler and was sent it when others had " +
				"drained"},
		"another lets it work on": {
			below: of(sh, bareJob), last: seen{unread: true, unsent: true, ended: 2 * time.Second},
			want: "signals_arrive 0"},
		"another has it in its care": {
			below: of(sh, job), last: seen{unread: true, unsent: true}, want: "signals_arrive 0"},
		"a shell does the work": {
			below: of(bareSh), last: atOnce, want: "loses_work 1; sh[10]" + noHandler},
		"a shell beside what does": {
			below:  of(bareSh, below("node", 11, self, term)),
			change: func(s *stop) { s.cfg.Record.Ended[0].Status = unix.WaitStatus(term) },
			want:   "signals_arrive 0"},
		"a shell runs what does": {
			below: of(bareSh, bareJob), last: atOnce, want: "loses_work 1; job[11]" + noHandler},
		"Node ends by itself": {last: atOnce, want: "loses_work 1; node[10]" + mayLack},
		"Go": {
			below: of(goApp), last: atOnce, want: "loses_work 1; app[10]" + mayLack},
		"Ruby": {
			below: of(below("ruby3.1", 10, self, term)), last: atOnce,
			want: "loses_work 1; ruby3.1[10]" + mayLack},
		"PHP": {
			below: of(below("php8.2", 10, self, term)), last: atOnce,
			want: "loses_work 1; php8.2[10]" + mayLack},
		"Java, which exits": {
			below: of(below("java", 10, self, term)), last: seen{status: 143, ended: time.Second / 20},
			want: "loses_work 1; java[10]" + mayLack},
		"Ruby that exits": {
			below: of(below("ruby", 10, self, term)), last: seen{status: 143, ended: time.Second / 20},
			want: "signals_arrive 0"},
		"Ruby that lives on": {
			below: of(below("ruby", 10, self, term)), last: seen{by: term}, want: "signals_arrive 0"},
		"Ruby that does its job": {
			below: of(below("ruby", 10, self, term)), last: atOnce, flags: Flags{During: "x", Check: "x"},
			want: "drains 0; ruby[10]" + mayLack},
		"Ruby without a job": {
			below: of(below("ruby", 10, self, term)), last: atOnce, flags: Flags{Check: "x"},
			want: "loses_work 1; ruby[10]" + mayLack},
		"Perl, whose handler is its": {below: of(perl), last: atOnce, want: "signals_arrive 0"},
		"Node that only waits": {
			below: of(node, job), change: func(s *stop) {
				s.cfg.Record.Ended[0].Status = unix.WaitStatus(
					term)
			}, want: "signals_arrive 0"},
		"it serves": {
			below: of(sh, below("sleep", 11, 10)), last: atOnce, want: "signals_arrive 0"},
		"it is late": {
			below: of(sh, job), last: seen{at: 3 * time.Second},
			want: "signals_arrive 0; job[11] late: was signalled only 3.0s after the stop signal: the rule"},
		"after the stop delay": {
			cfg: supervisor.Config{StopDelay: 3 * time.Second}, last: seen{at: 4 * time.Second},
			want: "signals_arrive 0"},
		"another keeps it waiting": {
			below: of(sh, job), last: seen{unsent: true, untouched: true},
			want: "signals_arrive 0; job[11] late: was sent no signal in the first second: planned"},
		"in a call": {below: of(sh, job), last: seen{at: 15 * time.Second, late: true},
			want: "loses_work 1; job[11] was signalled only 15.0s after the stop signal, " +
				"in the last 5.0s of the grace period, which are all that its job had"},
		"when its job has ended": {
			below: of(sh, job), change: inACall(15 * time.Second),
			want: "signals_arrive 0; bash[10] late: was signalled only 15.0s after the stop signal: " +
				"the rule"},
		"before its job has": {
			below: of(sh, job), change: inACall(time.Second / 4),
			want: "loses_work 1; bash[10] was signalled only 0.2s after the stop signal, in the last"},
		"it is killed": {
			change: killed(machine.ReasonGrace),
			want:   "loses_work 1; node[10] was killed at the end of the grace period: a longer --grace"},
		"it can't stop": {
			below: of(bare), change: killed(machine.ReasonGrace),
			want: "loses_work 1; job[10] was killed at the end of the grace period: a handler for SIGTERM"},
		"a second signal comes": {
			change: killed(machine.ReasonSecondStop),
			want:   "loses_work 1; node[10] was killed by a second stop signal: --second-stop ignore"},
		"what is killed hides": {
			change: func(s *stop) { s.outcome.Worker.Kill = worker.Kill{Unread: true} },
			want:   "loses_work 1; a process was killed that /proc did not show"},
		"it never settled": {change: func(s *stop) { s.unsettled = true },
			want: "signals_arrive 0; the processes still changed after 15s"},
	} {
		if tt.below == nil {
			tt.below = of(node)
		}
		s := stopped(tt.cfg, tt.below, tt.last)
		if tt.change != nil {
			tt.change(s)
		}
		v := s.judge(tt.flags, tt.failed)
		got := fmt.Sprintf("%s %d", v.Verdict, v.Status)
		for _, r := range v.Reasons {
			got += "; " + r.String()
		}
		if !strings.HasPrefix(got, tt.want) || !strings.Contains(tt.want, ";") && got != tt.want {
			t.Errorf("%s: %s, want %s\n%s", name, got, tt.want, v.text())
		}
	}
}

// inACall has the first process signalled in a call.
func inACall(after time.Duration) func(*stop) {
	return func(s *stop) { s.cfg.Record.Sent[0].Late, s.cfg.Record.Sent[0].After = true, after }
}

func killed(why worker.Reason) func(*stop) {
	return func(s *stop) {
		s.outcome.Worker.Kill = worker.Kill{Reason: why, Victims: []*proc.Process{&s.rows[0].Process}}
	}
}

// A stop that takes longer than a platform waits by default says so.
func TestShorter(t *testing.T) {
	for took, want := range map[time.Duration]string{
		10 * time.Second: "10.0s\n",
		11 * time.Second: "11.0s, longer than these wait by default: docker stop (10s)\n",
		31 * time.Second: "31.0s, longer than these wait by default: docker stop (10s), Kubernetes (30s)\n",
	} {
		s := stopped(supervisor.Config{}, []proc.Process{below("node", 10, self, term)}, seen{})
		s.took = took
		want = "signals arrive: the stop took " + want
		if text := s.judge(Flags{}, nil).text(); !strings.HasSuffix(text, want) {
			t.Errorf("%v: %s", took, text)
		}
	}
}

func TestAsJSON(t *testing.T) {
	s := stopped(supervisor.Config{}, []proc.Process{below("node", 10, self, term)}, seen{status: 3})
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
