package inspect

import (
	"cmp"
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
)

// below makes a process below the drainit that runs the test: a program in a sleep that handles these.
func below(comm string, pid, ppid int, handled ...unix.Signal) proc.Process {
	return proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: 10, Comm: comm, State: 'S',
		Handled: signals.SetOf(handled...),
		Details: proc.Details{Exe: comm, Args: []string{comm}, Untouched: true,
			Call: proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: 1}}}
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
	self, term, quit, tstp := os.Getpid(), unix.SIGTERM, unix.SIGQUIT, unix.SIGTSTP
	ignoring, blocking, hidden, reader := below("job", 11, 10), below("job", 11, 10),
		below("job", 11, 10, term), below("sort", 12, 10)
	ignoring.Ignored, blocking.Blocked, hidden.Exe = signals.SetOf(term), signals.SetOf(term), ""
	reader.Reads = proc.File{Inode: 1}
	untold, nested := below("job", 11, 10), below("job", 12, 10)
	untold.Handled, nested.NestedInit = ^signals.SetOf(tstp, unix.SIGTTIN, unix.SIGTTOU), true
	outside := reader // whose writer is none of drainit's
	outside.PPID, outside.Reads.Inode = self, 2
	worker, trap := below("node", 10, self, term, tstp), below("bash", 10, self, term)
	atWork := below("job", 11, 10, term)
	atWork.Untouched = false
	web, jobs := below("web", 11, 10, term), below("job", 11, 10, term)
	sh, nginx := below("sh", 10, self), below("nginx", 10, self, term, quit)
	const half = ": the last call after 15s, the final call after 18s, SIGKILL after 20s"
	const node, late = "10 handles handles node: now: the worker", "at the latest 2s before SIGKILL"
	const left = ": left to node[10]; at once if that ends without passing it on; "
	const inert = ": not while node[10] lives: it does not act upon the signal"
	const shell, untouched = "10 dies stops sh: now: the worker", ": now: untouched since before the stop"
	const bash = "10 handles stops bash: now: the worker"
	const asleep = "11 handles stops   job: now, if asleep (untouched since before the stop); if busy, " +
		"at the latest 5s before SIGKILL"
	const unsure = "/proc does not tell all about job[11]: the plan may be another"
	for name, tt := range map[string]struct {
		cfg   supervisor.Config
		below []proc.Process
		want  []string // PID, stop, quiet, COMMAND: STOP
		head  string   // "": SIGTERM, and of a grace of 20s
		said  string
	}{
		"a worker, what it starts, and a daemon": {
			below: []proc.Process{worker, web, below("tool", 13, 10), below("job", 12, 11, term),
				below("redis", 9, self, term)},
			want: []string{
				"9 handles stops redis: waits until the worker has gone; at the latest 5s before SIGKILL",
				node, "11 handles stops   web" + left + late,
				"12 handles stops     job" + strings.Replace(left, "node[10]", "web[11]", 1) + late,
				"13 dies stops   tool: not while node[10] lives: it would only die of the signal"}},
		"a shell without a trap": {
			below: []proc.Process{sh, jobs}, want: []string{shell, "11 handles stops   job" + untouched}},
		"a trap that waits for its command": {below: []proc.Process{trap, jobs, reader},
			want: []string{bash, asleep, "12 dies stops   sort: waits until its writer job[11] has ended"}},
		"which is at work": {below: []proc.Process{trap, atWork}, want: []string{bash, asleep}},
		"one that ignores it, and one that blocks it": {below: []proc.Process{worker, ignoring, blocking},
			want: []string{node, "11 ignores stops   job" + inert, "12 blocks stops   job" + inert}},
		"a pipe whose writer dies of the signal": {
			below: []proc.Process{sh, below("job", 11, 10), reader},
			want: []string{shell, "11 dies stops   job" + untouched,
				"12 dies stops   sort: now, if asleep (untouched since before the stop); if busy, " +
					"left alone: it has read a pipe of a process that has gone"}},
		"what /proc does not tell, and a namespace's first": {
			below: []proc.Process{worker, untold, nested}, said: unsure,
			want: []string{node, "11 not known not known   job" + left + late,
				"12 ignores ignores   job" + inert}},
		"a signal that ends none": {supervisor.Config{Rewrites: signals.Rewrites{term: unix.SIGWINCH}},
			[]proc.Process{below("httpd", 10, self, unix.SIGWINCH), below("job", 11, 10)},
			[]string{"10 handles stops httpd: now: the worker",
				"11 ignores stops   job: not while httpd[10] lives: it would only die of the signal"},
			"SIGWINCH" + half, ""},
		"a rewrite, and a shell": {
			supervisor.Config{Rewrites: signals.Rewrites{term: quit, tstp: unix.SIGUSR1}},
			[]proc.Process{sh, below("nginx", 11, 10, term, quit)},
			[]string{"10 dies dies sh: SIGTERM now: the worker", "11 handles dies   nginx" + untouched},
			"SIGQUIT" + half, ""},
		"another stop signal": {supervisor.Config{StopSignals: []unix.Signal{quit}}, []proc.Process{nginx},
			[]string{"10 handles stops nginx: now: the worker"}, "SIGQUIT" + half, ""},
		"one that no process handles": {
			cfg: supervisor.Config{StopSignals: []unix.Signal{quit}}, below: []proc.Process{worker},
			want: []string{node}},
		"the platform signals each": {
			cfg: supervisor.Config{Mode: forward.ModeNone}, below: []proc.Process{worker},
			want: []string{
				"10 handles handles node: the platform signals each process (--forward none); " +
					"at the latest 5s before SIGKILL"}},
		"TERM is dropped": {supervisor.Config{Rewrites: signals.Rewrites{term: signals.Drop}},
			[]proc.Process{below("node", 10, self, unix.SIGINT)},
			[]string{"10 handles stops node: now: the worker"}, "SIGINT" + half, ""},
		"the worker alone": {cfg: supervisor.Config{Mode: forward.ModeWorker},
			below: []proc.Process{worker, web},
			want: []string{
				node,
				"11 handles stops   web: never, as --forward worker says: killed when the worker has gone"}},
		"the group": {cfg: supervisor.Config{Mode: forward.ModeGroup}, below: []proc.Process{worker, web},
			want: []string{"10 handles handles node: now: of the worker's process group",
				"11 handles stops   web: now: of the worker's process group"}},
		"a stop delay": {cfg: supervisor.Config{StopDelay: 5 * time.Second}, below: []proc.Process{worker},
			want: []string{"10 handles handles node: after the stop delay of 5s: the worker"}},
		"no end": {supervisor.Config{Grace: machine.Forever}, []proc.Process{worker, web},
			[]string{node, "11 handles stops   web" + left + "else never: the grace period is infinite"},
			"SIGTERM: no SIGKILL, as the grace period is infinite", ""},
		"no time": {supervisor.Config{Grace: -1}, []proc.Process{worker},
			[]string{"10 handles handles node: killed at once: the grace period is 0"},
			"SIGTERM: the last call after 0s, the final call after 0s, SIGKILL after 0s", ""},
		"a worker that has daemonized": {
			cfg: supervisor.Config{Forking: true}, below: []proc.Process{below("a", 11, self, term), outside},
			want: []string{"11 handles stops a: now: left by a worker that has daemonized",
				"12 dies stops sort: now: left by a worker that has daemonized"}},
		"what may not be read": {
			below: []proc.Process{worker, hidden},
			want:  []string{node, "11 handles stops   job" + left + late}, said: unsure},
	} {
		switch tt.cfg.Grace {
		case 0:
			tt.cfg.Grace = 20 * time.Second
		case -1:
			tt.cfg.Grace = 0
		}
		for i := range tt.below {
			if i > 0 && tt.below[i].PID == tt.below[i-1].PID {
				tt.below[i].PID++
			}
		}
		all := proc.New(tt.below)
		all.AddWriter(reader.Reads, 11)
		r, said := planned(tt.cfg, all)
		var rows []string
		for _, p := range r.Processes {
			rows = append(rows, fmt.Sprintf(
				"%d %s %s %s%s: %s", p.PID, p.OnStop, p.OnQuiet, p.Indent, p.Comm, p.Stop))
		}
		got, want := strings.Join(rows, "\n"), strings.Join(tt.want, "\n")
		if text := r.text(); got != want || said != tt.said ||
			!strings.Contains(text, "below it\na stop by "+cmp.Or(tt.head, "SIGTERM"+half)+"\n    PID SIG") {
			t.Errorf("%s: said %q,\ngot\n%s\nwant\n%s\nof\n%s", name, said, got, want, text)
		}
	}
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
		proc.New([]proc.Process{below("node", 10, os.Getpid(), unix.SIGTERM)}))
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
