package inspect

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/supervisor"
	"drainit/test/harness/rows"
	"drainit/test/trees"
)

// processes are those of a tree (package trees), below the drainit that runs the test: a program, its PID,
// and words for what it handles and is. Each is in a sleep, but for the busy.
func processes(tree string) *proc.Snapshot {
	var all []proc.Process
	trees.Each(tree, os.Getpid(), func(w trees.Process, ppid int) int {
		name, pid, _ := w.Numbered()
		p := proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: 10, Comm: name, State: 'S',
			Details: proc.Details{Exe: name, Args: []string{name}, Untouched: true,
				Call: proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: 1}}}
		for _, word := range w.Words {
			if is, ok := traits[word]; ok {
				is(&p)
			} else {
				p.Handled |= signals.SetOf(known(signals.Parse(word)))
			}
		}
		all = append(all, p)
		return pid
	})
	snapshot := proc.New(all)
	snapshot.AddWriter(proc.File{Inode: 1}, 11)
	return snapshot
}

var traits = map[string]func(*proc.Process){
	"busy":    func(p *proc.Process) { p.Untouched = false },
	"ignores": func(p *proc.Process) { p.Ignored = signals.SetOf(unix.SIGTERM) },
	"blocks":  func(p *proc.Process) { p.Blocked = signals.SetOf(unix.SIGTERM) },
	"untold":  func(p *proc.Process) { p.Handled = ^signals.SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU) },
	"first":   func(p *proc.Process) { p.NestedInit = true }, // of a PID namespace
	"hidden":  func(p *proc.Process) { p.Exe = "" },          // may not be read
	"reads":   func(p *proc.Process) { p.Reads.Inode = 1 },   // what 11 writes
	"outside": func(p *proc.Process) { p.Reads.Inode = 2 },   // what none of drainit's writes
}

// configured is a configuration with such settings.
func configured(settings string) supervisor.Config {
	cfg := supervisor.Config{Grace: 20 * time.Second, Rewrites: signals.Rewrites{}}
	for setting := range strings.SplitSeq(settings, ", ") {
		switch name, value, _ := strings.Cut(setting, " "); name {
		case "rewrite":
			from, to, err := signals.ParseRewrite(value)
			cfg.Rewrites[from] = known(to, err)
		case "stop":
			cfg.StopSignals = []unix.Signal{known(signals.Parse(value))}
		case "forward":
			cfg.Mode = map[string]forward.Mode{
				"group": forward.ModeGroup, "worker": forward.ModeWorker, "none": forward.ModeNone,
			}[value]
		case "delay":
			cfg.StopDelay = known(time.ParseDuration(value))
		case "grace":
			if cfg.Grace = machine.Forever; value != "infinity" {
				cfg.Grace = known(time.ParseDuration(value))
			}
		case "forking":
			cfg.Forking = true
		case "":
		default:
			panic(setting)
		}
	}
	return cfg
}

// known returns a value that is known to be right.
func known[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// planned is the plan of a drainit with these settings and processes, whose worker is 10, and what it says
// beside.
func planned(cfg supervisor.Config, all *proc.Snapshot) (r report, said string) {
	d := &instance{drainit: drainit{
		Process: proc.Process{ID: proc.ID{PID: os.Getpid()}},
		is:      title.State{Phase: machine.Running, WorkerAlive: true}},
		say:    func(line error) { said += line.Error() },
		config: func(int) (supervisor.Config, error) { return cfg, nil }}
	d.open = func(int, string) (string, error) { return title.Worker + ":10\n", nil }
	d.tree = func(int, *proc.Snapshot, time.Duration) (*proc.Snapshot, error) { return all, nil }
	return d.report(true, true), said
}

func TestPlan(t *testing.T) { synctest.Test(t, testPlan) } // which waits between two looks

func testPlan(t *testing.T) {
	var plans []plan
	for _, row := range rows.Read(t, "testdata/plans.tsv", 3) {
		if row[0] != "" {
			plans = append(plans, plan{name: row[0], settings: row[1], tree: row[2],
				head: "SIGTERM: the last call after 15s, the final call after 18s, SIGKILL after 20s"})
			continue
		}
		switch p := &plans[len(plans)-1]; row[1] {
		case "head":
			p.head = row[2]
		case "says":
			p.says = row[2]
		default:
			p.rows = append(p.rows, row[1])
		}
	}
	for _, p := range plans {
		r, said := planned(configured(p.settings), processes(p.tree))
		var all []string
		for _, p := range r.Processes {
			all = append(all, fmt.Sprintf(
				"%d %s %s %s%s: %s", p.PID, p.OnStop, p.OnQuiet, p.Indent, p.Comm, p.Stop))
		}
		got, want := strings.Join(all, "\n"), strings.Join(p.rows, "\n")
		head := "below it\na stop by " + p.head + "\n    PID SIG"
		if text := r.text(); got != want || said != p.says || !strings.Contains(text, head) {
			t.Errorf("%s: said %q,\ngot\n%s\nwant\n%s\nof\n%s", p.name, said, got, want, text)
		}
	}
}

// plan is one of testdata/plans.tsv.
type plan struct {
	name, settings, tree, head, says string
	rows                             []string
}

// A process has all that was noted about it, with its end, of which drainit knows the pid alone; and nothing
// of another's.
func TestNotes(t *testing.T) {
	of := func(pid int, start uint64, stop string) *Row {
		p := proc.Process{ID: proc.ID{PID: pid, Start: start}, State: 'S'}
		p.Handled = signals.SetOf(unix.SIGTERM)
		return &Row{PID: pid, Process: p, Stop: stop}
	}
	r := report{Processes: []*Row{of(10, 5, ""), of(1, 10, ""), of(12, 1, "")}}
	r.Processes[1].Handled, r.Processes[2].Handled, r.Processes[2].Ignored = 0, 0, signals.SetOf(unix.SIGTERM)
	r.addNotes(byKey("worker:10\nstop:15 1 2\n{10 5}:0.1s: left to a: b[7]\n{10 55}:0.2s: x\n"+
		"{10 5}:0.3s: sent SIGTERM: y\n{12 0}:2.0s: exited with status 0\n"), unix.SIGTERM)
	for i, want := range []string{
		"0.1s: left to a: b[7] | 0.3s: sent SIGTERM: y", "has no SIGTERM handler",
		"2.0s: exited with status 0 | ignores SIGTERM"} {
		if got := r.Processes[i].Stop; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

func TestPlanAsJSON(t *testing.T) {
	r, _ := planned(supervisor.Config{Grace: 30 * time.Second},
		processes("node10[TERM]"))
	r.Processes[0].Age = 1
	b, err := json.Marshal(r)
	const want = `"comm":"node","state":"S","age_s":1,` +
		`"on_stop":"handles","on_quiet":"stops","stop":"now: the worker"}],` +
		`"plan":{"final_call_s":28,"grace_s":30,"last_call_s":22.5,` +
		`"quiet_signal":"SIGTSTP","stop_signal":"SIGTERM"}}`
	if err != nil || !strings.HasSuffix(string(b), want) {
		t.Errorf("%s, %v", b, err)
	}
}
