package forward

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// stops are ways to start a worker, and what becomes of each when it is stopped.
var stops = []struct {
	name   string
	signal unix.Signal // TERM if 0
	worker string      // none: it has gone
	others string      // adopted by drainit before the stop
	script string
}{
	{name: "the worker alone", worker: "app*(child*)", script: `
		told app TERM: as the worker is; look; app exits; look; child exits; look`},
	{name: "sh -c app", worker: "sh(app*)", script: `
		told sh TERM; sh dies of TERM; look; told app TERM: its parent sh did not catch it; heir app; app exits; look`},
	{name: "sh -c app, where the application catches nothing", worker: "sh(app)", script: `
		told sh TERM; sh dies of TERM; look; told app TERM: its parent sh did not catch it; app dies of TERM; look`},
	{name: "a shell in a shell in a shell", worker: "sh1(sh2(bash(app*)))", script: `
		told sh1 TERM; sh1 dies of TERM; look; told sh2 TERM: its parent sh1 did not catch it; heir sh2;
		sh2 dies of TERM; look; told bash TERM: its parent sh2 did not catch it; heir bash;
		bash dies of TERM; look; told app TERM: its parent bash did not catch it; heir app`},
	{name: "npm start: the application waits until npm has gone", worker: "npm*(sh(app*))", script: `
		told npm TERM; sh dies of TERM; look; look; npm dies of TERM; look;
		told app TERM: its parent sh did not catch it; heir app; app loses TERM; look; app exits; look`},
	{name: "npm that chooses a status of its own has no heir", worker: "npm*(sh(app*))", script: `
		told npm TERM; sh dies of TERM; npm exits; look; told app TERM: its parent sh did not catch it`},
	{name: "sh -c 'npm start'", worker: "sh1(npm*(sh2(app*)))", script: `
		told sh1 TERM; sh1 dies of TERM; look; told npm TERM; heir npm; sh2 dies of TERM; look;
		npm dies of TERM; look; told app TERM: its parent sh2 did not catch it; heir app`},
	{name: "npx of a relay: what the relay told is left alone", worker: "npx*(sh(tsx*(app*)))", script: `
		told npx TERM; sh dies of TERM; look; npx dies of TERM; look; told tsx TERM: its parent sh did not catch it; heir tsx;
		app loses TERM; look; tsx exits; look; app exits; look`},
	{name: "a relay that lives is waited for", worker: "pnpm*(sh(app*, other))", script: `
		told pnpm TERM; sh dies of TERM; look; look; app exits; look; other dies of TERM; pnpm exits; look`},
	{name: "a relay that has gone is not waited for", worker: "pnpm*(sh(app*))", script: `
		told pnpm TERM; sh dies of TERM; look; pnpm exits; look; told app TERM: its parent sh did not catch it`},
	{name: "a relay that tells all and exits", worker: "relay*(app1*, app2*(app3*))", script: `
		told relay TERM; app1 loses TERM; relay exits; look; app2 exits; look; app1 exits; look`},
	{name: "a launcher with its runtime's handler only", worker: "npx*(app*)", script: `
		told npx TERM; npx dies of TERM; look; told app TERM: its parent npx start died of it; heir app`},
	{name: "a program with its runtime's handler only has no heir", worker: "node1*(node2*)", script: `
		told node1 TERM; node1 dies of TERM; look; told node2 TERM: its parent node1 died of it`},
	{name: "a trap that raises the signal again counts as an exit", worker: "bash*(app*)", script: `
		told bash TERM; bash dies of TERM; look; heir app; app exits; look`},
	{name: "a trap that exits is no reason for an heir", worker: "bash*(app*)", script: `
		told bash TERM; bash exits; look; app exits; look`},
	{name: "a clean-up that was seen below the shell", worker: "bash*(app*)", script: `
		told bash TERM; app exits; bash starts tidy; look; bash exits; look; tidy starts curl; look; tidy exits; look; look`},
	{name: "a clean-up that was never seen below the shell", worker: "bash*(app*)", script: `
		told bash TERM; app exits; bash starts tidy*; bash exits; look; tidy starts curl; look; tidy exits; look`},
	{name: "a clean-up by something that was never seen", worker: "bash*(app*)", script: `
		told bash TERM; app exits; bash starts mid; mid starts tidy; mid exits; bash exits; look; tidy starts curl; tidy exits; look`},
	{name: "a clean-up by a clean-up", worker: "bash*(app*)", script: `
		told bash TERM; app exits; bash starts sub; look; sub starts tidy; look; sub exits; bash exits; look; look`},
	{name: "a clean-up by a shell that raises the signal again is no heir", worker: "bash*(app*)", script: `
		told bash TERM; bash starts tidy*; look; bash dies of TERM; look; heir app`},
	{name: "a clean-up that nobody saw is no heir either", worker: "bash*", script: `
		told bash TERM; bash starts tidy*; bash dies of TERM; look; look; tidy exits`},
	{name: "a clean-up is told in the last seconds", worker: "bash*", script: `
		told bash TERM; bash starts tidy; bash exits; look; last look; told tidy TERM: the grace is nearly over; last look`},
	{name: "a clean-up in a session of its own that nobody saw start is a stranger", worker: "bash*", script: `
		told bash TERM; bash starts mid; mid starts tidy[TERM,session]; mid exits; bash exits; look; told tidy TERM: its parent is not known`},
	{name: "what a launcher that dies of the signal has started by another is no clean-up", worker: "npm*", script: `
		told npm TERM; npm starts mid; mid starts next*; mid exits; npm dies of TERM; look; told next TERM: its parent is not known`},
	{name: "nor is what comes of a worker that lives", worker: "app*", script: `
		told app TERM; app starts mid; mid starts next*; mid exits; look; told next TERM: its parent is not known`},
	{name: "what a shell without a trap started is no clean-up", worker: "sh(app*)", script: `
		told sh TERM; sh starts next*; sh dies of TERM; look; told app TERM; told next TERM: its parent is not known; heir app`},
	{name: "the job of an application that dies of the signal is no clean-up", worker: "app*", script: `
		told app TERM; app starts job*; look; app dies of TERM; look; told job TERM: its parent app died of it`},
	{name: "who lives without a handler was told by nobody", worker: "bash*(app, tail)", script: `
		told bash TERM; tail dies of TERM; bash exits; look; told app TERM: its parent bash is gone, and it lives without catching SIGTERM`},
	{name: "a handler that was for one signal only", worker: "sh(relay*(app*))", script: `
		told sh TERM; sh dies of TERM; look; told relay TERM; heir relay; app loses TERM; look; relay exits; look; look`},
	{name: "whoever was left alone stays so when its handler goes", worker: "relay*(app*)", script: `
		told relay TERM; relay exits; look; app loses TERM; look; last look; told app TERM: the grace is nearly over`},
	{name: "a handler that goes before the signal comes", worker: "sh(app*(child*))", script: `
		told sh TERM; app loses TERM; sh dies of TERM; look; told app TERM; heir app; app dies of TERM; look;
		told child TERM: its parent app did not catch it`},
	{name: "a relay that was told by another and dies of it", worker: "pnpm*(relay*(app*))", script: `
		told pnpm TERM; pnpm exits; look; relay dies of TERM; look; told app TERM: its parent relay died of it`},
	{name: "a parent that nobody has told exits before its children are seen", worker: "sh(app*(child*))", script: `
		told sh TERM; sh dies of TERM; app exits; look; told child TERM: its parent app was not told; heir child`},
	{name: "a job that such a one has started meanwhile", worker: "sh(app*)", script: `
		told sh TERM; app starts job*; look; sh dies of TERM; app exits; look; told job TERM: its parent app was not told; heir job`},
	{name: "a daemon from before the stop is told when the worker has gone", worker: "app*", others: "redis*, statsd", script: `
		told app TERM; look; app exits; look; told redis TERM: it was there before the stop; told statsd TERM; statsd dies of TERM; redis exits; look`},
	{name: "a daemon from before the stop is no heir, and waits for the heir", worker: "sh(app*)", others: "redis*", script: `
		told sh TERM; sh dies of TERM; look; told app TERM; heir app; look; app exits; look; told redis TERM: it was there before the stop`},
	{name: "nor is what such a daemon leaves", worker: "sh(app)", others: "pm2*(web*)", script: `
		told sh TERM; app exits; sh dies of TERM; look; told pm2 TERM; pm2 exits; look; web exits; look`},
	{name: "a shell with a trap sees to its daemons itself", worker: "bash*", others: "redis*", script: `
		told bash TERM; bash exits; look; look; last look; told redis TERM: the grace is nearly over`},
	{name: "a shell without a trap does not", worker: "sh(app)", others: "redis*", script: `
		told sh TERM; app exits; sh dies of TERM; look; told redis TERM: it was there before the stop`},
	{name: "what is below a daemon is the daemon's business", worker: "app*", others: "pm2*(web*)", script: `
		told app TERM; app exits; look; told pm2 TERM; web loses TERM; pm2 exits; look`},
	{name: "a daemon that somebody else ended left its children untold", worker: "app*", others: "sh(web*)", script: `
		told app TERM; sh dies of TERM; look; told web TERM: its parent sh did not catch it`},
	{name: "below a daemon that lives nobody's turn has come", worker: "app*", others: "pm2*(sh(web))", script: `
		told app TERM; sh dies of TERM; look; app exits; look; told pm2 TERM; look; pm2 exits; look; told web TERM: its parent sh did not catch it`},
	{name: "a daemon that left in order has told its own", worker: "app*", others: "pm2*(web*)", script: `
		told app TERM; pm2 exits; look; app exits; look`},
	{name: "all that a worker left which exited by itself", others: "redis*(io*), sh(app*), tail", script: `
		told redis TERM: as the worker is; told sh TERM; told tail TERM; tail dies of TERM; sh dies of TERM; look;
		told app TERM: its parent sh did not catch it; redis exits; look`},
	{name: "what a daemonized worker left is told the signal that it catches", signal: unix.SIGQUIT, others: "nginx*(worker*), log[TERM], bash[INT]", script: `
		told nginx QUIT; told log TERM; told bash TERM`},
	{name: "in the last seconds all are told that nobody has told", worker: "pnpm*(sh(app*, other*))", others: "redis*", script: `
		told pnpm TERM; sh dies of TERM; look; last look; told app TERM: the grace is nearly over; told other TERM; told redis TERM; last look`},
	{name: "in the last seconds those who were told are not told again", worker: "app*", script: `
		told app TERM; last look; last look`},
	{name: "INT to bash that waits for its child", signal: unix.SIGINT, worker: "bash[INT](app*)", script: `
		told bash TERM; bash dies of TERM; look; told app INT: its parent bash did not catch it; heir app`},
	{name: "INT to npm", signal: unix.SIGINT, worker: "npm*(sh[INT](app*))", script: `
		told npm TERM; sh dies of TERM; look; npm dies of TERM; look; told app INT: its parent sh did not catch it; heir app`},
	{name: "INT, and the application behind the shell handles TERM only", signal: unix.SIGINT, worker: "sh(app[TERM])", script: `
		told sh TERM; sh dies of TERM; look; told app TERM`},
	{name: "INT to a shell with a trap for TERM", signal: unix.SIGINT, worker: "bash*(app*)", script: `
		told bash TERM; bash exits; look`},
	{name: "INT behind npm, which passed TERM on to a relay that knows only that", signal: unix.SIGINT, worker: "npm*(relay[TERM](app*))", script: `
		told npm TERM; look; app loses INT; app loses TERM; relay exits; npm exits; look`},
	{name: "INT behind npm, where neither the relay nor the application knows INT", signal: unix.SIGINT, worker: "npm*(relay[TERM](app[TERM]))", script: `
		told npm TERM; look; relay exits; look; npm exits; look; look`},
	{name: "QUIT in place of TERM, direct", signal: unix.SIGQUIT, worker: "nginx*(io*)", script: `
		told nginx QUIT; look; io exits; nginx exits; look`},
	{name: "QUIT in place of TERM, behind a shell", signal: unix.SIGQUIT, worker: "bash(nginx*(io*))", script: `
		told bash TERM; bash dies of TERM; look; told nginx QUIT: its parent bash did not catch it; heir nginx; look; nginx exits; look`},
	{name: "QUIT in place of TERM, to a worker that handles TERM only", signal: unix.SIGQUIT, worker: "app[TERM](child[TERM])", script: `
		told app QUIT; app dies of QUIT; look; told child TERM: its parent app did not catch it`},
	{name: "two that may be the heir, so none is", worker: "sh(app1*, app2*)", script: `
		told sh TERM; sh dies of TERM; look; told app1 TERM; told app2 TERM; look; app1 exits; look; app2 exits; look`},
	{name: "no heir that comes later", worker: "sh(time(app*))", script: `
		told sh TERM; sh dies of TERM; look; told time TERM; time dies of TERM; look; told app TERM: its parent time did not catch it`},
	{name: "the one heir that catches the signal, beside others", worker: "sh(tee, app*, bash)", script: `
		told sh TERM; sh dies of TERM; look; told tee TERM; told app TERM; told bash TERM; heir app`},
	{name: "the one heir beside a shell that only waits for its child on INT", signal: unix.SIGINT, worker: "sh1(sh2[INT](tail), app*)", script: `
		told sh1 TERM; sh1 dies of TERM; look; told sh2 TERM; told app INT; heir app`},
	{name: "no heir among two shells", worker: "sh(sh1(app1*), sh2(app2*))", script: `
		told sh TERM; sh dies of TERM; look; told sh1 TERM; told sh2 TERM`},
	{name: "a shell with a trap for INT only is an heir by its child", signal: unix.SIGINT, worker: "sh1(sh2[INT](app*))", script: `
		told sh1 TERM; sh1 dies of TERM; look; told sh2 TERM; heir sh2; sh2 dies of TERM; look; told app INT; heir app`},
}

func TestStops(t *testing.T) {
	for _, tt := range stops {
		t.Run(tt.name, func(t *testing.T) {
			if tt.signal == 0 {
				tt.signal = unix.SIGTERM
			}
			newDrill(t, tt.signal, tt.worker, tt.others).play(tt.script)
		})
	}
}

// tell takes those who are to be told and notes that they were.
func tell(c *Cascade, all []Telling) (pids []int) {
	for _, t := range all {
		c.Told(t.ID, t.Signal, 1000)
		pids = append(pids, t.PID)
	}
	return pids
}

// below is what a look shows of one process that catches TERM.
func below(pid, ppid int, start uint64) proc.Seen {
	return proc.Seen{
		Process: proc.Process{ID: proc.ID{PID: pid, Start: start}, PPID: ppid, State: 'S', Comm: "app"},
		Caught:  signals.SetOf(unix.SIGTERM), Exe: "app", Args: []string{"app"},
	}
}

// stopping is a stop with a worker, pid 10, that has been told.
func stopping(t *testing.T, seen ...proc.Seen) *Cascade {
	t.Helper()
	worker := proc.ID{PID: 10, Start: 100}
	c := NewCascade(drainitPID, unix.SIGTERM, seen, worker, []proc.ID{worker})
	wantTold(t, "the worker", tell(c, c.Heads("the worker")), 10)
	return c
}

func wantTold(t *testing.T, when string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: told %v, want %v", when, got, want)
	}
}

func TestWorkerThatProcHidesLivesUntilItIsWaitedFor(t *testing.T) {
	child, daemon := below(11, 10, 100), below(12, drainitPID, 100)
	c := stopping(t, child, daemon)
	c.Look([]proc.Seen{child, daemon})
	wantTold(t, "while it lives", tell(c, c.Judge(false)))
	c.Died(10, 0)
	child.PPID = drainitPID
	c.Look([]proc.Seen{child, daemon})
	wantTold(t, "when it has gone", tell(c, c.Judge(false)), 11, 12)
	c.Look([]proc.Seen{child, daemon})
	wantTold(t, "in the last seconds", tell(c, c.Judge(true)))
}

// Of a hidden worker the start time is not known either.
func TestWorkerThatProcShowsLaterIsNotToldAgain(t *testing.T) {
	hidden := proc.ID{PID: 10}
	daemon := below(11, drainitPID, 100)
	c := NewCascade(drainitPID, unix.SIGTERM, []proc.Seen{daemon}, hidden, []proc.ID{hidden})
	wantTold(t, "the worker", tell(c, c.Heads("the worker")), 10)
	c.Look([]proc.Seen{below(10, drainitPID, 100), daemon})
	if _, told := c.WasTold(proc.ID{PID: 10, Start: 100}); !told {
		t.Error("it was told and is taken for another")
	}
	wantTold(t, "while it lives", tell(c, c.Judge(false)))
	wantTold(t, "in the last seconds", tell(c, c.Judge(true)), 11)
}

func TestRecycledPidIsAnotherProcess(t *testing.T) {
	c := stopping(t, below(10, drainitPID, 100), below(11, 10, 100))
	c.Died(10, unix.SIGTERM)
	orphan := below(11, drainitPID, 100)
	c.Look([]proc.Seen{orphan})
	wantTold(t, "the orphan", tell(c, c.Judge(false)), 11)
	c.Died(11, 0)
	again := below(11, drainitPID, 2000)
	again.SID = 7
	c.Look([]proc.Seen{again})
	wantTold(t, "another with its pid", tell(c, c.Judge(false)), 11)
	wantTold(t, "in the last seconds", tell(c, c.Judge(true)))
}

// Who is moved to drainit while /proc is read may be in no place of it.
func TestWhomALookMissesIsNoStranger(t *testing.T) {
	child := below(11, 10, 100)
	c := stopping(t, below(10, drainitPID, 100), child)
	c.Look(nil)
	c.Died(10, 0)
	child.PPID = drainitPID
	c.Look([]proc.Seen{child})
	wantTold(t, "whom its parent has told", tell(c, c.Judge(false)))
}

// The worker was told in tick 1000.
func TestAnOrphanOfNobodyIsACleanUpOnlyIfItIsYounger(t *testing.T) {
	for start, want := range map[uint64][]int{999: {11}, 1000: nil} {
		c := stopping(t, below(10, drainitPID, 100))
		c.Died(10, 0)
		c.Look([]proc.Seen{below(11, drainitPID, start)})
		wantTold(t, fmt.Sprint("started at ", start), tell(c, c.Judge(false)), want...)
	}
}

// It may be gone before the signal gets there.
func TestOrphanOfOneThatCouldNotBeToldIsTold(t *testing.T) {
	c := stopping(t, below(10, drainitPID, 100))
	c.Look([]proc.Seen{below(10, drainitPID, 100), below(11, drainitPID, 500), below(12, 11, 500)})
	if all := c.Judge(false); len(all) != 1 || all[0].PID != 11 {
		t.Errorf("to be told: %v", all)
	}
	c.Died(11, 0)
	c.Look([]proc.Seen{below(10, drainitPID, 100), below(12, drainitPID, 500)})
	wantTold(t, "its child", tell(c, c.Judge(false)), 12)
}

func TestTheDeadAreNotTold(t *testing.T) {
	c := stopping(t, below(10, drainitPID, 100), below(11, 10, 100), below(12, 10, 100))
	c.Died(10, unix.SIGTERM)
	c.Look([]proc.Seen{below(11, drainitPID, 100), below(12, drainitPID, 100)})
	c.Died(11, 0)
	wantTold(t, "the one that lives", tell(c, c.Judge(true)), 12)
	worker := below(10, drainitPID, 100)
	c = NewCascade(drainitPID, unix.SIGTERM, []proc.Seen{worker}, worker.ID, []proc.ID{worker.ID})
	c.Died(10, 0)
	wantTold(t, "a worker that has gone", tell(c, c.Heads("the worker")))
}

// Whom drainit may not signal it can't tell by trying again; and a process group
// has members that are started behind the look.
func TestWhoeverWasSentASignalCountsAsTold(t *testing.T) {
	c := stopping(t, below(10, drainitPID, 100))
	late := below(13, 10, 100)
	c.Told(late.ID, unix.SIGTERM, 1000)
	c.Died(10, unix.SIGTERM)
	late.PPID = drainitPID
	c.Look([]proc.Seen{late})
	wantTold(t, "of the group", tell(c, c.Judge(false)))
	wantTold(t, "in the last seconds", tell(c, c.Judge(true)))
}

// A process group that is told as a whole in tick 1000 has members that no look has
// shown; those who come later, or are in another group, were not told.
func TestWhoeverWasForkedBeforeTheGroupWasToldIsNotToldAgain(t *testing.T) {
	for _, test := range []struct {
		start         uint64
		parent, group int
		want          []int
	}{
		{999, drainitPID, 10, nil}, {1000, drainitPID, 10, nil}, {1100, drainitPID, 10, nil}, {1101, drainitPID, 10, []int{13}},
		{999, 12, 10, nil}, {1010, 12, 10, nil}, {1011, 12, 10, []int{13}}, {999, drainitPID, 13, []int{13}},
	} {
		worker := below(10, drainitPID, 100)
		c := NewCascade(drainitPID, unix.SIGTERM, []proc.Seen{worker}, worker.ID, []proc.ID{worker.ID})
		c.Told(worker.ID, unix.SIGTERM, 1000)
		c.ToldGroup(10, unix.SIGTERM, 1000)
		c.Died(10, unix.SIGTERM)
		between, forked := below(12, drainitPID, 100), below(13, test.parent, test.start)
		c.Told(between.ID, unix.SIGTERM, 1000)
		forked.PGID = test.group
		c.Look([]proc.Seen{between, forked})
		c.Died(12, unix.SIGTERM)
		forked.PPID = drainitPID
		c.Look([]proc.Seen{forked})
		wantTold(t, fmt.Sprintf("%+v", test), tell(c, c.Judge(false)), test.want...)
		wantTold(t, "in the last seconds", tell(c, c.Judge(true)))
	}
}

// One that was forked while its group was told counts as told, unless it lives without
// catching the signal: then it was not, and is told in the last seconds.
func TestWhoeverWasForkedMeanwhileAndDoesNotCatchIsToldAtLast(t *testing.T) {
	worker, forked := below(10, drainitPID, 100), below(13, drainitPID, 1050)
	worker.PGID, forked.PGID, forked.Caught = 10, 10, 0
	c := NewCascade(drainitPID, unix.SIGTERM, []proc.Seen{worker}, worker.ID, []proc.ID{worker.ID})
	c.Told(worker.ID, unix.SIGTERM, 1000)
	c.ToldGroup(10, unix.SIGTERM, 1000)
	c.Look([]proc.Seen{worker, forked})
	wantTold(t, "in the drain", tell(c, c.Judge(false)))
	wantTold(t, "in the last seconds", tell(c, c.Judge(true)), 13)
	wantTold(t, "once more", tell(c, c.Judge(true)))
}

// A member whom only a look after the telling shows counts as told by then, and what it
// starts later is part of its clean-up.
func TestMemberThatIsSeenAfterItsGroupWasToldMayStartOthers(t *testing.T) {
	worker, helper, child := below(10, drainitPID, 100), below(12, drainitPID, 1050), below(13, 12, 1120)
	worker.PGID, helper.PGID, child.PGID = 10, 10, 10
	c := NewCascade(drainitPID, unix.SIGTERM, []proc.Seen{worker}, worker.ID, []proc.ID{worker.ID})
	c.Told(worker.ID, unix.SIGTERM, 1000)
	c.ToldGroup(10, unix.SIGTERM, 1000)
	c.Look([]proc.Seen{worker, helper, child})
	c.Died(12, 0)
	child.PPID = drainitPID
	c.Look([]proc.Seen{worker, child})
	wantTold(t, "the child of the helper", tell(c, c.Judge(false)))
}

// A look leaves out who is dead and not waited for yet: its death counts all the same.
func TestWorkerThatDiedUnderTheLookHasAnHeir(t *testing.T) {
	shell := proc.Seen{Process: proc.Process{ID: proc.ID{PID: 7, Start: 100}, PPID: 1}, Exe: "sh", Args: []string{"sh"}}
	app := proc.Seen{Process: proc.Process{ID: proc.ID{PID: 8, Start: 101}, PPID: 7}, Caught: signals.SetOf(unix.SIGTERM)}
	c := NewCascade(1, unix.SIGTERM, []proc.Seen{shell, app}, shell.ID, []proc.ID{shell.ID})
	c.Told(shell.ID, unix.SIGTERM, 200)
	app.PPID = 1
	c.Look([]proc.Seen{app})
	c.Died(7, unix.SIGTERM)
	c.Look([]proc.Seen{app})
	if heir, ok := c.Succeed(); !ok || heir.ID != app.ID {
		t.Errorf("the heir is %v, %v", heir.ID, ok)
	}
}

// What a look could not read in time, an earlier one has.
func TestLauncherWhoseArgumentsCannotBeReadAnyMoreIsOneStill(t *testing.T) {
	npm := proc.Seen{Process: proc.Process{ID: proc.ID{PID: 7, Start: 100}, PPID: 1, Comm: "node"},
		Caught: signals.SetOf(unix.SIGINT, unix.SIGTERM), Exe: "node", Args: []string{"node", "/usr/bin/npm", "start"}}
	c := NewCascade(1, unix.SIGINT, []proc.Seen{npm}, npm.ID, []proc.ID{npm.ID})
	npm.Args = nil
	c.Look([]proc.Seen{npm})
	if told := c.Heads("the worker"); len(told) != 1 || told[0].Signal != unix.SIGTERM {
		t.Errorf("told %+v, want npm by TERM", told)
	}
}
