package forward

import "testing"

// stop is one way to start a worker, and what becomes of it when it is stopped.
type stop struct{ name, tree, script string }

// stops are those of which nothing is certain, as where what a process sleeps in can't be read.
var stops = []stop{
	{"the worker alone", "app*(child*)", `
		sent app TERM: the worker; snapshot; app exits; snapshot; child exits; snapshot`},
	{"sh -c app", "sh(app*)", `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM: sh above has no handler;
		successor app; app exits; snapshot`},
	{"sh -c app, where the application handles nothing", "sh(app)", `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM: it has no SIGTERM handler and still lives;
		app dies of TERM; snapshot`},
	{"a shell in a shell in a shell", "sh1(sh2(bash(app*)))", `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM: it has no SIGTERM handler and still lives;
		successor sh2; sh2 dies of TERM; snapshot; sent bash TERM: it has no SIGTERM handler and still lives;
		successor bash; bash dies of TERM; snapshot;
		sent app TERM: bash above has no handler; successor app`},
	{"npm start: npm signals its shell alone", "npm*(sh(app*))", `
		sent npm TERM; sh dies of TERM; snapshot;
		sent app TERM: sh above has no handler;
		npm dies of TERM; snapshot; successor app; app loses TERM; snapshot; app exits; snapshot`},
	{"sh -c 'npm start'", "sh1(npm*(sh2(app*)))", `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent npm TERM; successor npm; sh2 dies of TERM; snapshot;
		sent app TERM: sh; npm dies of TERM; snapshot;
		successor app`},
	{"a relay that is not known, and npm below it", "relay*(npm*(sh(app*)))", `
		sent relay TERM; sh dies of TERM; npm dies of TERM; snapshot; relay exits; snapshot; last call;
		sent app TERM: the grace period is nearly over`},
	{"a relay may have signalled the application with its shell", "relay*(sh(app*))", `
		sent relay TERM; sh dies of TERM; snapshot; snapshot; relay dies of TERM; snapshot; last call;
		sent app TERM: the grace period is nearly over; app loses TERM; snapshot; app exits; snapshot`},
	{"a shell that npm has ended in order may have signalled the application", "sh1(npm*(sh2(app*)))", `
		sent sh1 TERM; npm dies of TERM; sh1 dies of TERM; snapshot; sent sh2 TERM; successor sh2; sh2 exits;
		snapshot; last call; sent app TERM: the grace period is nearly over`},
	{"what runsvdir leaves", "runsvdir*(runsv*(app*))", `
		sent runsvdir TERM; runsvdir exits; snapshot;
		sent runsv TERM: its parent runsvdir is known to signal no process; app exits; runsv exits;
		snapshot`},
	{"a relay that lives is waited for", "relay*(sh(app* other))", `
		sent relay TERM; sh dies of TERM; snapshot; snapshot; app exits; snapshot; other dies of TERM;
		relay exits; snapshot`},
	{"a relay that signals its group has signalled what is below a shell", "timeout*(sh(app*))", `
		sent timeout TERM; sh dies of TERM; snapshot; timeout exits; snapshot; last call;
		sent app TERM: the grace period is nearly over; last call`},
	{"a trap that raises the signal again counts as an exit", "bash*(app*)", `
		sent bash TERM; bash dies of TERM; snapshot; successor app; app exits; snapshot`},
	{"a clean-up that was shown below the shell", "bash*(app*)", `
		sent bash TERM; app exits; bash starts tidy; snapshot; bash exits; snapshot; tidy starts curl;
		snapshot; tidy exits; snapshot; snapshot`},
	{"a clean-up that was never shown below the shell", "bash*(app*)", `
		sent bash TERM; app exits; bash starts tidy*; bash exits; snapshot; tidy starts curl; snapshot;
		tidy exits; snapshot`},
	{"a clean-up by a shell that raises the signal again is no successor", "bash*(app*)", `
		sent bash TERM; bash starts tidy*; snapshot; bash dies of TERM; snapshot; successor app`},
	{"what a shell without a trap started is no clean-up", "sh(app*)", `
		sent sh TERM; sh starts next*; sh dies of TERM; snapshot; sent app TERM;
		sent next TERM: its parent is not known, and no process that was signalled had a handler;
		successor app`},
	{"what lives without a handler was signalled by none", "sh(app tail)", `
		sent sh TERM; tail dies of TERM; sh dies of TERM; snapshot;
		sent app TERM: it has no SIGTERM handler and still lives`},
	{"what works without a handler may have been asked to stop by a trap, and has ten seconds",
		"bash*(app)", `
		sent bash TERM; bash exits; snapshot; snapshot; ten seconds; snapshot;
		sent app TERM: it has no SIGTERM handler and still lives`},
	{"the same where the trap has become the stop command", "bash*(app)", `
		sent bash TERM; bash runs ctl; snapshot; bash exits; snapshot; snapshot; ten seconds; snapshot;
		sent app TERM: it has no SIGTERM handler and still lives`},
	{"a helper without a handler waits for those that drain", "sh(app* helper)", `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM; successor app; snapshot; app exits; snapshot;
		sent helper TERM: it has no SIGTERM handler and still lives`},
	{"a trap that becomes the stop command may have signalled what is below it", "bash*(app*)", `
		sent bash TERM; bash runs ctl; snapshot; bash exits; snapshot; snapshot; last call;
		sent app TERM: the grace period is nearly over`},
	{"a handler that has gone when the signal comes may have passed it on", "sh(app*(child*))", `
		sent sh TERM; app loses TERM; sh dies of TERM; snapshot; sent app TERM; successor app;
		app dies of TERM; snapshot; last call; sent child TERM: the grace period is nearly over`},
	{"a parent that was not signalled exits before its children are shown", "sh(app*(child*))", `
		sent sh TERM; sh dies of TERM; app exits; snapshot; successor child; last call;
		sent child TERM: the grace period is nearly over`},
	{"a daemon from before the stop is signalled when the worker has gone", "app* | redis* statsd", `
		sent app TERM; snapshot; app exits; snapshot; half a second; snapshot;
		sent redis TERM: it was there before the stop; sent statsd TERM; statsd dies of TERM; redis exits;
		snapshot`},
	{"nor is what such a daemon leaves", "sh(app) | pm2*(web*)", `
		sent sh TERM; app exits; sh dies of TERM; snapshot; sent pm2 TERM; pm2 exits; snapshot; web exits;
		snapshot`},
	{"a shell with a trap sees to its daemons itself", "bash* | redis*", `
		sent bash TERM; bash exits; snapshot; snapshot; last call;
		sent redis TERM: the grace period is nearly over`},
	{"what is below a daemon is the daemon's business", "app* | pm2*(web*)", `
		sent app TERM; app exits; snapshot; half a second; snapshot; sent pm2 TERM; web loses TERM; pm2 exits;
		snapshot`},
	{"below a daemon that lives no process's turn has come", "app* | pm2*(sh(web))", `
		sent app TERM; sh dies of TERM; snapshot; app exits; snapshot; half a second; snapshot; sent pm2 TERM;
		snapshot; pm2 exits; snapshot; sent web TERM: it has no SIGTERM handler and still lives`},
	{"a daemon that left in order has signalled its own", "app* | pm2*(web*)", `
		sent app TERM; pm2 exits; snapshot; app exits; snapshot`},
	{"all that a daemonized worker left", "| redis*(io*) sh(app*) tail", `
		sent redis TERM: left by a worker that has daemonized; sent sh TERM; sent tail TERM;
		tail dies of TERM; sh dies of TERM; snapshot;
		sent app TERM: sh above has no handler; redis exits; snapshot`},
	{"the last call goes to all that were not signalled", "relay*(sh(app* other*)) | redis*", `
		sent relay TERM; sh dies of TERM; snapshot; last call; sent app TERM: the grace period is nearly over;
		sent other TERM; sent redis TERM; last call`},
	{"INT to npm, which sends its shell TERM", "npm*(sh[INT](app*))", `
		stop by INT; sent npm TERM; sh dies of TERM; snapshot;
		sent app INT: sh; npm dies of TERM; snapshot;
		successor app`},
	{"INT to npm with a shell without a handler", "npm*(sh(app*))", `
		stop by INT; sent npm TERM; sh dies of TERM; snapshot;
		sent app INT: sh; npm dies of TERM; snapshot;
		successor app`},
	{"QUIT in place of TERM, behind a shell", "bash(nginx*(io*))", `
		stop by QUIT; sent bash TERM; bash dies of TERM; snapshot;
		sent nginx QUIT: bash above has no handler; successor nginx; snapshot;
		nginx exits; snapshot`},
	{"QUIT in place of TERM, to a worker that handles TERM only", "app[TERM](child[TERM])", `
		stop by QUIT; sent app QUIT; app dies of QUIT; snapshot;
		sent child TERM: app above has no handler`},
	{"two that may be the successor, so none is", "sh(app1* app2*)", `
		sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; sent app2 TERM; snapshot; app1 exits;
		snapshot; app2 exits; snapshot`},
	{"a shell with a trap may be the successor, too", "sh(bash* app*)", `
		sent sh TERM; sh dies of TERM; snapshot; sent bash TERM; sent app TERM; snapshot`},
	{"a shell that handles TERM without a trap may not", "sh(mksh* app*)", `
		sent sh TERM; sh dies of TERM; snapshot; sent mksh TERM; sent app TERM; successor app`},
	{"a launcher that drainit has not signalled before may be it, too", "sh(npm* app*)", `
		sent sh TERM; sh dies of TERM; snapshot; sent npm TERM; sent app TERM; snapshot`},
	{"the one successor beside a shell that only waits for its child on INT", "sh1(sh2[INT](tail) app*)", `
		stop by INT; sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM; sent app INT; successor app`},
	{"a child of a shell that had its handlers until its exec is no successor", "sh1(sh2*)", `
		stop by INT; sent sh1 TERM; sh2 runs sleep; sh1 dies of TERM; snapshot;
		sent sh2 TERM: sh1 above has no handler; sh2 dies of TERM; snapshot`},
	{"a shell with a trap for INT only is a successor by its child", "sh1(sh2[INT](app*))", `
		stop by INT; sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM; successor sh2;
		sh2 dies of TERM; snapshot; sent app INT; successor app`},
	{"a shell with a trap for INT only that waits for none", "sh1(sh2[INT])", `
		stop by INT; sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 INT; successor sh2; sh2 exits;
		snapshot`},
}

func TestStops(t *testing.T) {
	for _, tt := range stops {
		t.Run(tt.name, func(t *testing.T) { play(t, tt.tree, tt.script) })
	}
}

func TestConditions(t *testing.T) {
	for _, of := range conditions {
		for _, tt := range of.rows {
			t.Run(of.about+"/"+tt.name, func(t *testing.T) { play(t, tt.tree, tt.script) })
		}
	}
}
