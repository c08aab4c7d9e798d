package inspect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/internal/worker"
	"drainit/reaper"
	"drainit/supervisor"
)

// below makes a process below the drainit that runs the test: a program in a sleep that handles these.
func below(comm string, pid, ppid int, handled ...unix.Signal) proc.Process {
	return proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: 10, Comm: comm, Exe: comm, Args: []string{comm}, State: 'S',
		Handled: signals.SetOf(handled...), Untouched: true, Call: proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: 1}}
}

// planned is the plan of a drainit with these settings and processes, whose worker is 10, and what it says
// beside.
func planned(cfg supervisor.Config, all *proc.Snapshot) (r report, said string) {
	d := &instance{drainit: drainit{Process: proc.Process{ID: proc.ID{PID: os.Getpid()}}, is: title.State{Phase: machine.Running, WorkerAlive: true}},
		say:    func(line error) { said += line.Error() },
		config: func(int) (supervisor.Config, error) { return cfg, nil }}
	d.open = func(int, string) (string, error) { return title.Worker + ":10\n", nil }
	d.tree = func(int, *proc.Snapshot, time.Duration) (*proc.Snapshot, error) { return all, nil }
	return d.report(true, true), said
}

func TestPlan(t *testing.T) { synctest.Test(t, testPlan) } // which waits between two looks

func testPlan(t *testing.T) {
	self, term, quit, tstp := os.Getpid(), unix.SIGTERM, unix.SIGQUIT, unix.SIGTSTP
	ignoring, blocking, hidden, reader := below("job", 11, 10), below("job", 11, 10), below("job", 11, 10, term), below("sort", 12, 10)
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
	const node, left = "10 handles handles node: now: the worker", ": left to node[10]; at once if that ends without passing it on; "
	const late, inert = "at the latest 2s before SIGKILL", ": not while node[10] lives: it does not act upon the signal"
	const shell, untouched = "10 dies stops sh: now: the worker", ": now: untouched since before the stop"
	const bash = "10 handles stops bash: now: the worker"
	const asleep = "11 handles stops   job: now, if asleep (bash[10] above waits for it); if busy, at the latest 5s before SIGKILL"
	const unsure = "/proc does not tell all about job[11]: the plan may be another"
	for name, tt := range map[string]struct {
		cfg   supervisor.Config
		below []proc.Process
		want  []string // PID, stop, quiet, COMMAND: STOP
		head  string   // "": SIGTERM, and of a grace of 20s
		said  string
	}{
		"a worker, what it starts, and a daemon": {below: []proc.Process{worker, web, below("tool", 13, 10), below("job", 12, 11, term), below("redis", 9, self, term)},
			want: []string{"9 handles stops redis: waits until the worker has gone; at the latest 5s before SIGKILL", node, "11 handles stops   web" + left + late,
				"12 handles stops     job" + left + late, "13 dies stops   tool: not while node[10] lives: it would only die of the signal"}},
		"a shell without a trap": {below: []proc.Process{sh, jobs}, want: []string{shell, "11 handles stops   job" + untouched}},
		"a trap that waits for its command": {below: []proc.Process{trap, jobs, reader},
			want: []string{bash, asleep, "12 dies stops   sort: waits until its writer job[11] has ended"}},
		"which is at work": {below: []proc.Process{trap, atWork}, want: []string{bash, asleep}},
		"one that ignores it, and one that blocks it": {below: []proc.Process{worker, ignoring, blocking},
			want: []string{node, "11 ignores stops   job" + inert, "12 blocks stops   job" + inert}},
		"a pipe whose writer dies of the signal": {below: []proc.Process{sh, below("job", 11, 10), reader}, want: []string{shell, "11 dies stops   job" + untouched,
			"12 dies stops   sort: now, if asleep (untouched since before the stop); if busy, left alone: it has read a pipe of a process that has gone"}},
		"what /proc does not tell, and a namespace's first": {below: []proc.Process{worker, untold, nested}, said: unsure,
			want: []string{node, "11 not known not known   job" + left + late, "12 ignores ignores   job" + inert}},
		"a signal that ends none": {supervisor.Config{Rewrites: signals.Rewrites{term: unix.SIGWINCH}},
			[]proc.Process{below("httpd", 10, self, unix.SIGWINCH), below("job", 11, 10)},
			[]string{"10 handles stops httpd: now: the worker", "11 ignores stops   job: not while httpd[10] lives: it would only die of the signal"}, "SIGWINCH" + half, ""},
		"a rewrite, and a shell": {supervisor.Config{Rewrites: signals.Rewrites{term: quit, tstp: unix.SIGUSR1}}, []proc.Process{sh, below("nginx", 11, 10, term, quit)},
			[]string{"10 dies dies sh: SIGTERM now: the worker", "11 handles dies   nginx" + untouched}, "SIGQUIT" + half, ""},
		"another stop signal": {supervisor.Config{StopSignals: []unix.Signal{quit}}, []proc.Process{nginx},
			[]string{"10 handles stops nginx: now: the worker"}, "SIGQUIT" + half, ""},
		"one that no process handles": {cfg: supervisor.Config{StopSignals: []unix.Signal{quit}}, below: []proc.Process{worker}, want: []string{node}},
		"the platform signals each": {cfg: supervisor.Config{Mode: forward.ModeNone}, below: []proc.Process{worker},
			want: []string{"10 handles handles node: the platform signals each process (--forward none); at the latest 5s before SIGKILL"}},
		"TERM is dropped": {supervisor.Config{Rewrites: signals.Rewrites{term: signals.Drop}}, []proc.Process{below("node", 10, self, unix.SIGINT)},
			[]string{"10 handles stops node: now: the worker"}, "SIGINT" + half, ""},
		"the worker alone": {cfg: supervisor.Config{Mode: forward.ModeWorker}, below: []proc.Process{worker, web},
			want: []string{node, "11 handles stops   web: never, as --forward worker says: killed when the worker has gone"}},
		"the group": {cfg: supervisor.Config{Mode: forward.ModeGroup}, below: []proc.Process{worker, web},
			want: []string{"10 handles handles node: now: of the worker's process group", "11 handles stops   web: now: of the worker's process group"}},
		"a stop delay": {cfg: supervisor.Config{StopDelay: 5 * time.Second}, below: []proc.Process{worker},
			want: []string{"10 handles handles node: after the stop delay of 5s: the worker"}},
		"no end": {supervisor.Config{Grace: machine.Forever}, []proc.Process{worker, web},
			[]string{node, "11 handles stops   web" + left + "else never: the grace period is infinite"}, "SIGTERM: no SIGKILL, as the grace period is infinite", ""},
		"no time": {supervisor.Config{Grace: -1}, []proc.Process{worker}, []string{"10 handles handles node: killed at once: the grace period is 0"},
			"SIGTERM: the last call after 0s, the final call after 0s, SIGKILL after 0s", ""},
		"a worker that has daemonized": {cfg: supervisor.Config{Forking: true}, below: []proc.Process{below("a", 11, self, term), outside},
			want: []string{"11 handles stops a: now: left by a worker that has daemonized", "12 dies stops sort: now: left by a worker that has daemonized"}},
		"what may not be read": {below: []proc.Process{worker, hidden}, want: []string{node, "11 handles stops   job" + left + late}, said: unsure},
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
			rows = append(rows, fmt.Sprintf("%d %s %s %s%s: %s", p.PID, p.OnStop, p.OnQuiet, p.indent, p.Comm, p.Stop))
		}
		got, want := strings.Join(rows, "\n"), strings.Join(tt.want, "\n")
		if text := r.text(); got != want || said != tt.said || !strings.Contains(text, "below it\na stop by "+cmp.Or(tt.head, "SIGTERM"+half)+"\n    PID SIG") {
			t.Errorf("%s: said %q,\ngot\n%s\nwant\n%s\nof\n%s", name, said, got, want, text)
		}
	}
}

// A process has all that was noted about it, with its end, of which drainit knows the pid alone; and nothing
// of another's.
func TestNotes(t *testing.T) {
	of := func(pid int, start uint64, stop string) *row {
		p := proc.Process{ID: proc.ID{PID: pid, Start: start}, State: 'S'}
		p.Handled = signals.SetOf(unix.SIGTERM)
		return &row{PID: pid, Process: p, Stop: stop}
	}
	r := report{Processes: []*row{of(10, 5, ""), of(1, 10, ""), of(12, 1, "")}}
	r.Processes[1].Handled, r.Processes[2].Handled, r.Processes[2].Ignored = 0, 0, signals.SetOf(unix.SIGTERM)
	r.addNotes(byKey("worker:10\nstop:15 1 2\n{10 5}:0.1s: left to a: b[7]\n{10 55}:0.2s: x\n{10 5}:0.3s: sent SIGTERM: y\n{12 0}:2.0s: exited with status 0\n"), unix.SIGTERM)
	for i, want := range []string{"0.1s: left to a: b[7] | 0.3s: sent SIGTERM: y", "has no SIGTERM handler", "2.0s: exited with status 0 | ignores SIGTERM"} {
		if got := r.Processes[i].Stop; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

func TestPlanAsJSON(t *testing.T) {
	r, _ := planned(supervisor.Config{Grace: 30 * time.Second}, proc.New([]proc.Process{below("node", 10, os.Getpid(), unix.SIGTERM)}))
	r.Processes[0].Age = 1
	b, err := json.Marshal(r)
	const want = `"comm":"node","state":"S","age_s":1,"on_stop":"handles","on_quiet":"stops","stop":"now: the worker"}],` +
		`"plan":{"final_call_s":28,"grace_s":30,"last_call_s":22.5,"quiet_signal":"SIGTSTP","stop_signal":"SIGTERM"}}`
	if err != nil || !strings.HasSuffix(string(b), want) {
		t.Errorf("%s, %v", b, err)
	}
}

// Each verdict follows from the plan, and from what drainit has sent, killed and waited for.
func TestVerdict(t *testing.T) { synctest.Test(t, testVerdict) } // which waits between two looks

// checked is what --check has answered.
type checked struct{ error }

func testVerdict(t *testing.T) {
	node, bare, sh, job := below("node", 10, 1, unix.SIGTERM), below("node", 10, 1), below("bash", 10, 1, unix.SIGTERM), below("job", 11, 10, unix.SIGTERM)
	perl, bareSh, bareJob := below("perl", 10, 1, unix.SIGTERM), below("sh", 10, 1), below("job", 11, 10)
	lacks, mayLack := []diag.Lacking{{Process: bare, Certain: true}}, []diag.Lacking{{Process: node}}
	late := func(*row) (time.Duration, bool) { return 15 * time.Second, true }
	left := func(p *row) { p.sent, p.held, p.pending, p.ended = nil, true, time.Second/10, time.Second/2 }
	untold, reader, helper := below("node", 10, 1), below("sort", 11, 10), below("sleep", 11, 10)
	untold.Handled, reader.Reads = ^signals.SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU), proc.File{Inode: 1}
	ends := func(p *row) { p.sent, p.by, p.status = nil, unix.SIGTERM, 143 }
	writesTo := []proc.OpenFile{{FD: 1, Name: "pipe:[5]", Write: true}}
	for name, tt := range map[string]struct {
		below   []proc.Process // nil: node; the first is the worker, and drainit signals each
		remap   []int
		lacking []diag.Lacking
		status  int         // of the worker
		by      unix.Signal // it died of
		see     func(*row)  // of the last
		allow   bool
		check   *checked
		took    time.Duration
		held    time.Duration // what is held is continued after so long
		mode    forward.Mode
		kill    worker.Reason
		want    string
	}{
		"all have ended":             {want: "drains 0:"},
		"it has ended with 143":      {status: 143, want: "drains 0:"},
		"it has failed":              {status: 4, want: "loses_work 1: node[10] exited with status 4: see its own log; if that is how it ends a drain, --remap-exit 4"},
		"as it may":                  {remap: []int{4}, status: 4, want: "drains 0:"},
		"it died of another signal":  {by: unix.SIGSEGV, want: "loses_work 1: node[10] died of SIGSEGV"},
		"it died of the signal":      {below: []proc.Process{perl}, by: unix.SIGTERM, want: "drains 0:"},
		"and may have no handler":    {by: unix.SIGTERM, want: "not_certain 1: node[10] died of SIGTERM, and may have no handler of its own"},
		"it was killed":              {status: 137, want: "loses_work 1: node[10] was killed at the end of the grace period: a longer --grace"},
		"it has no handler, and was": {below: []proc.Process{bare}, status: 137, want: "loses_work 1: node[10] was killed at the end of the grace period: a handler"},
		"it has died of it":          {below: []proc.Process{bare}, lacking: lacks, status: 143, want: "loses_work 1: node[10] has no SIGTERM handler and died of it"},
		"as it may, too":             {below: []proc.Process{bare}, remap: []int{143}, lacking: lacks, status: 143, want: "drains 0:"},
		"it may have died of it":     {lacking: mayLack, status: 143, want: "not_certain 1: node[10] died of SIGTERM at once"},
		"which is allowed":           {lacking: mayLack, status: 143, allow: true, want: "not_certain 0: node[10] died"},
		"no process handles it":      {below: []proc.Process{bareSh}, status: 143, want: "loses_work 1: sh[10] has no SIGTERM handler, nor has any process below it"},
		"one was late":               {below: []proc.Process{sh, job}, see: func(p *row) { p.sent.After, p.sent.Late = late(p) }, want: "not_certain 1: job[11] was signalled only 15.0s after the stop signal, of the 20s to SIGKILL, as it would be if it were busy: if bash[10] passes"},
		"one was sent two":           {below: []proc.Process{sh, job}, see: func(p *row) { p.sent.After, p.pending = time.Second, time.Second/10 }, want: "loses_work 1: job[11] was signalled by another process, and by drainit"},
		"what is lost goes before":   {below: []proc.Process{sh, job}, status: 137, allow: true, want: "loses_work 1: bash[10] was killed"},
		"left to the one above":      {below: []proc.Process{sh, job}, see: left, want: "drains 0:"},
		"which tells late":           {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.pending = 3 * time.Second }, want: "not_certain 1: job[11] was signalled only 3.0s after the stop signal: "},
		"which goes away":            {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.adopted, p.pending = true, 0 }, want: "not_certain 1: job[11] may have been signalled by bash[10], which ended before it"},
		"and has signalled it":       {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.adopted = true }, want: "drains 0:"},
		"which continues it":         {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.pending, p.loose = 0, true }, want: "not_certain 1: job[11] was continued by another process while it was held"},
		"and leaves":                 {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.pending, p.loose, p.adopted = 0, true, true }, want: "drains 0:"},
		"but the kernel ends it": {below: []proc.Process{sh, job}, see: func(p *row) {
			left(p)
			p.pending, p.killed, p.adopted, p.by, p.status = 0, true, true, unix.SIGHUP, 129
		}, want: "not_certain 1: job[11] may have been signalled by bash[10], which ended before it"},
		"which kills":                   {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.killed, p.by, p.status = true, unix.SIGKILL, 137 }, want: "loses_work 1: job[11] was killed by another process: more time in the settings of bash[10]"},
		"which signals one without":     {below: []proc.Process{sh, bareJob}, see: left, want: "loses_work 1: job[11] has no SIGTERM handler, and bash[10] ends it"},
		"which lets it be":              {below: []proc.Process{sh, bareJob}, see: func(p *row) { left(p); p.pending = 0 }, want: "drains 0:"},
		"which has not held it":         {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.held = false }, want: "not_certain 1: job[11] could not be held"},
		"which hides its end":           {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.status = -1 }, want: "not_certain 1: job[11] ended in a way that this kernel does not tell (Linux 6.15 does), and bash[10] has waited for it"},
		"which tells its end":           {below: []proc.Process{perl, job}, see: func(p *row) { left(p); p.status = -1 }, want: "drains 0:"},
		"and of another":                {below: []proc.Process{perl, job}, status: 3, remap: []int{4}, see: func(p *row) { left(p); p.status = -1 }, want: "loses_work 1: perl[10] exited with status 3"},
		"what reads its output is gone": {below: []proc.Process{sh, job}, see: func(p *row) { p.ended += time.Second; p.open = writesTo }, want: "not_certain 1: job[11] writes to bash[10], which ended before it"},
		"the check says that it drains": {below: []proc.Process{bare}, lacking: lacks, status: 143, check: &checked{}, want: "drains 0: node[10] has no"},
		"and that it is lost":           {allow: true, check: &checked{errors.New("--check exited with status 3")}, want: "loses_work 1: --check exited with status 3"},
		"its handlers are not known":    {below: []proc.Process{untold}, want: "not_certain 1: node[10] has handlers that this kernel does not show"},
		"a stop signal comes again":     {status: 137, kill: worker.ReasonSecondStop, want: "loses_work 1: node[10] was killed by a second stop signal"},
		"it only reads":                 {below: []proc.Process{node, reader}, see: ends, want: "drains 0:"},
		"it only serves":                {below: []proc.Process{sh, helper}, see: ends, want: "drains 0:"},
		"it serves one that lives on":   {below: []proc.Process{bareSh, helper}, see: func(p *row) { left(p); p.pending = 0 }, want: "loses_work 1: sh[10] has no"},
		"the worker alone is signalled": {below: []proc.Process{sh, job}, mode: forward.ModeWorker, see: func(p *row) { left(p); p.killed = true }, want: "loses_work 1: job[11] is killed when the worker has ended"},
		"the group is signalled":        {below: []proc.Process{sh, job}, mode: forward.ModeGroup, see: func(p *row) { p.sent.Target = forward.ToGroup }, want: "not_certain 1: job[11] may be signalled by bash[10], too"},
		"each is, by the platform":      {below: []proc.Process{sh, job}, mode: forward.ModeNone, see: func(p *row) { p.sent = nil }, want: "not_certain 1: job[11] may be signalled by bash[10], too"},
		"each is, and is alone":         {below: []proc.Process{node, below("job", 11, 1, unix.SIGTERM)}, mode: forward.ModeNone, see: func(p *row) { p.sent = nil }, want: "drains 0:"},
		"it is not held, and works on":  {below: []proc.Process{sh, bareJob}, see: func(p *row) { left(p); p.held, p.pending = false, 0 }, want: "not_certain 1: job[11] does not act upon SIGTERM"},
		"it outlives the one above":     {below: []proc.Process{sh, bareJob}, see: func(p *row) { left(p); p.adopted, p.pending = true, 0 }, want: "drains 0:"},
		"it dies beside the worker":     {below: []proc.Process{perl, bareJob}, by: unix.SIGTERM, want: "loses_work 1: job[11] has no SIGTERM handler and died of it"},
		"it is late":                    {below: []proc.Process{sh, job}, see: func(p *row) { p.sent.After = 3 * time.Second }, want: "not_certain 1: job[11] was signalled only 3.0s after the stop signal: "},
		"it has its turn late":          {below: []proc.Process{node, below("job", 11, 1, unix.SIGTERM)}, see: func(p *row) { p.sent.After = 2 * time.Second }, want: "drains 0:"},
		"it is let be, and then ended":  {below: []proc.Process{sh, job}, see: func(p *row) { left(p); p.pending, p.ended = 0, 3*time.Second }, want: "not_certain 1: job[11] was sent no signal while it was held"},
		"the last call ends it":         {below: []proc.Process{sh, job}, see: func(p *row) { p.ended = 16 * time.Second }, want: "not_certain 1: job[11] ended only when the last call had come"},
		"which comes after the hold":    {below: []proc.Process{sh, job}, held: 2 * time.Second, see: func(p *row) { p.ended = 16 * time.Second }, want: "drains 0:"},
		"its end is hidden, and Node":   {below: []proc.Process{perl, below("node", 11, 10, unix.SIGTERM)}, see: func(p *row) { left(p); p.status = -1 }, want: "not_certain 1: node[11] may have no handler of its own"},
		"no process signals it":         {below: []proc.Process{bareSh, job}, see: left, want: "not_certain 1: job[11] was sent no signal"},
		"PM2 may signal it twice":       {below: []proc.Process{below("PM2 v5", 10, 1, unix.SIGTERM), job}, see: left, want: "not_certain 1: job[11] may be signalled twice by PM2 v5[10], a PM2"},
		"two may signal it":             {below: []proc.Process{sh, below("perl", 12, 10, unix.SIGTERM), below("job", 11, 12, unix.SIGTERM)}, see: left, want: "not_certain 1: job[11] may be signalled by perl[12] and by bash[10]"},
		"it takes longer than Docker":   {took: 11 * time.Second, want: "drains 0: docker stop (10s)"},
		"than Kubernetes":               {took: 31 * time.Second, want: "drains 0: docker stop (10s), Kubernetes (30s)"},
	} {
		if tt.below = slices.Clone(tt.below); tt.below == nil {
			tt.below = []proc.Process{node}
		}
		for i := range tt.below {
			if tt.below[i].PPID == 1 {
				tt.below[i].PPID = unix.Getpid()
			}
		}
		record := &supervisor.Record{Lacking: tt.lacking}
		for _, p := range tt.below {
			status := unix.WaitStatus(tt.by)
			if p.PID == 10 && tt.by == 0 {
				status = unix.WaitStatus(tt.status << 8)
			}
			record.Sent = append(record.Sent, supervisor.Sent{Delivery: forward.Delivery{Signal: unix.SIGTERM}, To: p.ID})
			record.Ended = append(record.Ended, supervisor.Ended{WaitEvent: reaper.WaitEvent{PID: p.PID, Status: status}, After: time.Second})
		}
		cfg := supervisor.Config{Grace: 20 * time.Second, Mode: tt.mode, RemapExit: tt.remap, Record: record}
		all := proc.New(tt.below)
		all.AddWriter(reader.Reads, 10)
		plan, _ := planned(cfg, all)
		plan.addRecord()
		plan.waited = tt.held
		for _, p := range plan.Processes {
			p.adopted = false
		}
		plan.Processes[0].open = []proc.OpenFile{{FD: 7, Name: "pipe:[5]", Read: true}}
		if tt.see != nil {
			tt.see(plan.Processes[len(tt.below)-1])
		}
		killed := worker.Kill{Reason: tt.kill}
		if tt.status == 137 {
			killed.Victims = []*proc.Process{&tt.below[0]}
		}
		reported := tt.status
		if slices.Contains(tt.remap, tt.status) {
			reported = 0
		}
		exit := &worker.Exit{WaitEvent: reaper.WaitEvent{Status: unix.WaitStatus(tt.status << 8)}}
		v := plan.judge(supervisor.Outcome{Status: reported, Worker: worker.Worker{PID: 10, Comm: "node", Exit: exit, Kill: killed}})
		v.conclude(tt.took, tt.check != nil, cmp.Or(tt.check, new(checked)).error, tt.allow)
		got := fmt.Sprintf("%s %d:", v.Verdict, v.Status)
		for _, r := range v.Reasons {
			got += " " + r.String()
		}
		if len(v.Shorter) > 0 {
			got += " " + strings.Join(v.Shorter, ", ")
		}
		if !strings.HasPrefix(got, tt.want) || strings.HasSuffix(tt.want, ":") && got != tt.want {
			t.Errorf("%s: %s, want %s\n%s", name, got, tt.want, v.text())
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{"": "", "a b": "a b", "abc def": "abc|def", "abcdefgh i": "abcdefgh|i", "ab cd efg": "ab cd|efg"} {
		if got := strings.Join(wrap(text, 5), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A handler that the last of many processes sets is a change that a rehearsal waits for.
func TestStateOfManyProcesses(t *testing.T) {
	var all []*proc.Process
	for pid := range 12 {
		all = append(all, &proc.Process{ID: proc.ID{PID: 10 + pid}, Comm: "node"})
	}
	before := stateOf(all)
	all[11].Handled = signals.SetOf(unix.SIGTERM)
	if stateOf(all) == before {
		t.Error("a new handler of the twelfth process is no change")
	}
}
