package forward

import (
	"testing"

	"golang.org/x/sys/unix"
)

// stops are ways to start a worker, and what becomes of each when it is stopped. Nothing
// is certain in them, as where what a process sleeps in can't be read.
var stops = []struct {
	name   string
	signal unix.Signal // TERM if 0
	worker string      // none: it has gone
	others string      // adopted by drainit before the stop
	script string
}{
	{name: "the worker alone", worker: "app*(child*)", script: `
		sent app TERM: the worker; snapshot; app exits; snapshot; child exits; snapshot`},
	{name: "sh -c app", worker: "sh(app*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM: its parent sh has no handler and dies of it; successor app; app exits; snapshot`},
	{name: "sh -c app, where the application handles nothing", worker: "sh(app)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM: it has no SIGTERM handler and still lives; app dies of TERM; snapshot`},
	{name: "a shell in a shell in a shell", worker: "sh1(sh2(bash(app*)))", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM: it has no SIGTERM handler and still lives; successor sh2;
		sh2 dies of TERM; snapshot; sent bash TERM: it has no SIGTERM handler and still lives; successor bash;
		bash dies of TERM; snapshot; sent app TERM: its parent bash has no handler and dies of it; successor app`},
	{name: "npm start: npm may have signalled the application with its shell", worker: "npm*(sh(app*))", script: `
		sent npm TERM; sh dies of TERM; snapshot; snapshot; npm dies of TERM; snapshot;
		successor app; snapshot; last call; sent app TERM: the grace period is nearly over; app loses TERM; snapshot; app exits; snapshot`},
	{name: "sh -c 'npm start'", worker: "sh1(npm*(sh2(app*)))", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent npm TERM; successor npm; sh2 dies of TERM; snapshot;
		npm dies of TERM; snapshot; successor app; last call; sent app TERM: the grace period is nearly over`},
	{name: "a relay that lives is waited for", worker: "pnpm*(sh(app* other))", script: `
		sent pnpm TERM; sh dies of TERM; snapshot; snapshot; app exits; snapshot; other dies of TERM; pnpm exits; snapshot`},
	{name: "a relay that signals its group has signalled what is below a shell", worker: "timeout*(sh(app*))", script: `
		sent timeout TERM; sh dies of TERM; snapshot; timeout exits; snapshot; last call; sent app TERM: the grace period is nearly over; last call`},
	{name: "a trap that raises the signal again counts as an exit", worker: "bash*(app*)", script: `
		sent bash TERM; bash dies of TERM; snapshot; successor app; app exits; snapshot`},
	{name: "a clean-up that was shown below the shell", worker: "bash*(app*)", script: `
		sent bash TERM; app exits; bash starts tidy; snapshot; bash exits; snapshot; tidy starts curl; snapshot; tidy exits; snapshot; snapshot`},
	{name: "a clean-up that was never shown below the shell", worker: "bash*(app*)", script: `
		sent bash TERM; app exits; bash starts tidy*; bash exits; snapshot; tidy starts curl; snapshot; tidy exits; snapshot`},
	{name: "a clean-up by a shell that raises the signal again is no successor", worker: "bash*(app*)", script: `
		sent bash TERM; bash starts tidy*; snapshot; bash dies of TERM; snapshot; successor app`},
	{name: "what a shell without a trap started is no clean-up", worker: "sh(app*)", script: `
		sent sh TERM; sh starts next*; sh dies of TERM; snapshot; sent app TERM; sent next TERM: its parent is not known, and no process that was signalled had a handler; successor app`},
	{name: "what lives without a handler was signalled by none", worker: "sh(app tail)", script: `
		sent sh TERM; tail dies of TERM; sh dies of TERM; snapshot; sent app TERM: it has no SIGTERM handler and still lives`},
	{name: "what works without a handler may have been asked to stop by a trap, and has ten seconds", worker: "bash*(app)", script: `
		sent bash TERM; bash exits; snapshot; snapshot; ten seconds; snapshot; sent app TERM: it has no SIGTERM handler and still lives`},
	{name: "the same where the trap has become the stop command", worker: "bash*(app)", script: `
		sent bash TERM; bash runs ctl; snapshot; bash exits; snapshot; snapshot; ten seconds; snapshot; sent app TERM: it has no SIGTERM handler and still lives`},
	{name: "a helper without a handler waits for those that drain", worker: "sh(app* helper)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM; successor app; snapshot; app exits; snapshot; sent helper TERM: it has no SIGTERM handler and still lives`},
	{name: "a trap that becomes the stop command may have signalled what is below it", worker: "bash*(app*)", script: `
		sent bash TERM; bash runs ctl; snapshot; bash exits; snapshot; snapshot; last call; sent app TERM: the grace period is nearly over`},
	{name: "a handler that has gone when the signal comes may have passed it on", worker: "sh(app*(child*))", script: `
		sent sh TERM; app loses TERM; sh dies of TERM; snapshot; sent app TERM; successor app; app dies of TERM; snapshot;
		last call; sent child TERM: the grace period is nearly over`},
	{name: "a parent that was not signalled exits before its children are shown", worker: "sh(app*(child*))", script: `
		sent sh TERM; sh dies of TERM; app exits; snapshot; successor child; last call; sent child TERM: the grace period is nearly over`},
	{name: "a daemon from before the stop is signalled when the worker has gone", worker: "app*", others: "redis* statsd", script: `
		sent app TERM; snapshot; app exits; snapshot; sent redis TERM: it was there before the stop; sent statsd TERM; statsd dies of TERM; redis exits; snapshot`},
	{name: "nor is what such a daemon leaves", worker: "sh(app)", others: "pm2*(web*)", script: `
		sent sh TERM; app exits; sh dies of TERM; snapshot; sent pm2 TERM; pm2 exits; snapshot; web exits; snapshot`},
	{name: "a shell with a trap sees to its daemons itself", worker: "bash*", others: "redis*", script: `
		sent bash TERM; bash exits; snapshot; snapshot; last call; sent redis TERM: the grace period is nearly over`},
	{name: "what is below a daemon is the daemon's business", worker: "app*", others: "pm2*(web*)", script: `
		sent app TERM; app exits; snapshot; sent pm2 TERM; web loses TERM; pm2 exits; snapshot`},
	{name: "below a daemon that lives no process's turn has come", worker: "app*", others: "pm2*(sh(web))", script: `
		sent app TERM; sh dies of TERM; snapshot; app exits; snapshot; sent pm2 TERM; snapshot; pm2 exits; snapshot; sent web TERM: it has no SIGTERM handler and still lives`},
	{name: "a daemon that left in order has signalled its own", worker: "app*", others: "pm2*(web*)", script: `
		sent app TERM; pm2 exits; snapshot; app exits; snapshot`},
	{name: "all that a daemonized worker left", others: "redis*(io*) sh(app*) tail", script: `
		sent redis TERM: left by a worker that has daemonized; sent sh TERM; sent tail TERM; tail dies of TERM; sh dies of TERM; snapshot;
		sent app TERM: its parent sh has no handler and dies of it; redis exits; snapshot`},
	{name: "the last call goes to all that were not signalled", worker: "pnpm*(sh(app* other*))", others: "redis*", script: `
		sent pnpm TERM; sh dies of TERM; snapshot; last call; sent app TERM: the grace period is nearly over; sent other TERM; sent redis TERM; last call`},
	{name: "INT to npm", signal: unix.SIGINT, worker: "npm*(sh[INT](app*))", script: `
		sent npm TERM; sh dies of TERM; snapshot; npm dies of TERM; snapshot; successor app; last call; sent app INT: the grace period is nearly over`},
	{name: "QUIT in place of TERM, behind a shell", signal: unix.SIGQUIT, worker: "bash(nginx*(io*))", script: `
		sent bash TERM; bash dies of TERM; snapshot; sent nginx QUIT: its parent bash has no handler and dies of it; successor nginx; snapshot; nginx exits; snapshot`},
	{name: "QUIT in place of TERM, to a worker that handles TERM only", signal: unix.SIGQUIT, worker: "app[TERM](child[TERM])", script: `
		sent app QUIT; app dies of QUIT; snapshot; sent child TERM: its parent app has no handler and dies of it`},
	{name: "two that may be the successor, so none is", worker: "sh(app1* app2*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; sent app2 TERM; snapshot; app1 exits; snapshot; app2 exits; snapshot`},
	{name: "a shell with a trap may be the successor, too", worker: "sh(bash* app*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent bash TERM; sent app TERM; snapshot`},
	{name: "a shell that handles TERM without a trap may not", worker: "sh(mksh* app*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent mksh TERM; sent app TERM; successor app`},
	{name: "a launcher that drainit has not signalled before may be it, too", worker: "sh(npm* app*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent npm TERM; sent app TERM; snapshot`},
	{name: "the one successor beside a shell that only waits for its child on INT", signal: unix.SIGINT, worker: "sh1(sh2[INT](tail) app*)", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM; sent app INT; successor app`},
	{name: "a child of a shell that had its handlers until its exec is no successor", signal: unix.SIGINT, worker: "sh1(sh2*)", script: `
		sent sh1 TERM; sh2 runs sleep; sh1 dies of TERM; snapshot; sent sh2 TERM: its parent sh1 has no handler and dies of it; sh2 dies of TERM; snapshot`},
	{name: "a shell with a trap for INT only is a successor by its child", signal: unix.SIGINT, worker: "sh1(sh2[INT](app*))", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM; successor sh2; sh2 dies of TERM; snapshot; sent app INT; successor app`},
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
