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
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM: its parent sh had no handler and died of it; successor app; app exits; snapshot`},
	{name: "sh -c app, where the application handles nothing", worker: "sh(app)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM: it lives without handling SIGTERM; app dies of TERM; snapshot`},
	{name: "a shell in a shell in a shell", worker: "sh1(sh2(bash(app*)))", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM: it lives without handling SIGTERM; successor sh2;
		sh2 dies of TERM; snapshot; sent bash TERM: it lives without handling SIGTERM; successor bash;
		bash dies of TERM; snapshot; sent app TERM: its parent bash had no handler and died of it; successor app`},
	{name: "npm start: npm may have signalled the application with its shell", worker: "npm*(sh(app*))", script: `
		sent npm TERM; sh dies of TERM; snapshot; snapshot; npm dies of TERM; snapshot;
		successor app; snapshot; last call; sent app TERM: the grace period is nearly over; app loses TERM; snapshot; app exits; snapshot`},
	{name: "npm that chooses a status of its own has no successor", worker: "npm*(sh(app*))", script: `
		sent npm TERM; sh dies of TERM; npm exits; snapshot; last call; sent app TERM: the grace period is nearly over`},
	{name: "sh -c 'npm start'", worker: "sh1(npm*(sh2(app*)))", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent npm TERM; successor npm; sh2 dies of TERM; snapshot;
		npm dies of TERM; snapshot; successor app; last call; sent app TERM: the grace period is nearly over`},
	{name: "npx of a relay: both wait for the last call", worker: "npx*(sh(tsx*(app*)))", script: `
		sent npx TERM; sh dies of TERM; snapshot; npx dies of TERM; snapshot; successor tsx; last call; sent tsx TERM: the grace period is nearly over;
		app loses TERM; snapshot; tsx exits; snapshot; app exits; snapshot`},
	{name: "a relay that lives is waited for", worker: "pnpm*(sh(app*, other))", script: `
		sent pnpm TERM; sh dies of TERM; snapshot; snapshot; app exits; snapshot; other dies of TERM; pnpm exits; snapshot`},
	{name: "a relay that has gone may have signalled what is below its shell", worker: "pnpm*(sh(app*))", script: `
		sent pnpm TERM; sh dies of TERM; snapshot; pnpm exits; snapshot; last call; sent app TERM: the grace period is nearly over`},
	{name: "a relay that signals all and exits", worker: "relay*(app1*, app2*(app3*))", script: `
		sent relay TERM; app1 loses TERM; relay exits; snapshot; app2 exits; snapshot; app1 exits; snapshot`},
	{name: "a relay that signals its group has signalled what is below a shell", worker: "timeout*(sh(app*))", script: `
		sent timeout TERM; sh dies of TERM; snapshot; timeout exits; snapshot; last call; sent app TERM: the grace period is nearly over; last call`},
	{name: "so has one below which the handler goes, and the last call would only kill", worker: "timeout*(sh(app*))", script: `
		sent timeout TERM; sh dies of TERM; snapshot; timeout exits; snapshot; app loses TERM; snapshot; last call`},
	{name: "so has one that dies of the signal, as it ends itself by it", worker: "timeout*(sh(app*))", script: `
		sent timeout TERM; sh dies of TERM; timeout dies of TERM; snapshot; app exits; snapshot`},
	{name: "a launcher with its runtime's handler only", worker: "npx*(app*)", script: `
		sent npx TERM; npx dies of TERM; snapshot; successor app; last call; sent app TERM: the grace period is nearly over`},
	{name: "a program with its runtime's handler only has no successor", worker: "node1*(node2*)", script: `
		sent node1 TERM; node1 dies of TERM; snapshot; last call; sent node2 TERM: the grace period is nearly over`},
	{name: "a trap that raises the signal again counts as an exit", worker: "bash*(app*)", script: `
		sent bash TERM; bash dies of TERM; snapshot; successor app; app exits; snapshot`},
	{name: "a trap that exits is no reason for a successor", worker: "bash*(app*)", script: `
		sent bash TERM; bash exits; snapshot; app exits; snapshot`},
	{name: "a clean-up that was shown below the shell", worker: "bash*(app*)", script: `
		sent bash TERM; app exits; bash starts tidy; snapshot; bash exits; snapshot; tidy starts curl; snapshot; tidy exits; snapshot; snapshot`},
	{name: "a clean-up that was never shown below the shell", worker: "bash*(app*)", script: `
		sent bash TERM; app exits; bash starts tidy*; bash exits; snapshot; tidy starts curl; snapshot; tidy exits; snapshot`},
	{name: "a clean-up by something that was never shown", worker: "bash*(app*)", script: `
		sent bash TERM; app exits; bash starts mid; mid starts tidy; mid exits; bash exits; snapshot; tidy starts curl; tidy exits; snapshot`},
	{name: "a clean-up by a clean-up", worker: "bash*(app*)", script: `
		sent bash TERM; app exits; bash starts sub; snapshot; sub starts tidy; snapshot; sub exits; bash exits; snapshot; snapshot`},
	{name: "a clean-up by a shell that raises the signal again is no successor", worker: "bash*(app*)", script: `
		sent bash TERM; bash starts tidy*; snapshot; bash dies of TERM; snapshot; successor app`},
	{name: "a clean-up that no snapshot showed is no successor either", worker: "bash*", script: `
		sent bash TERM; bash starts tidy*; bash dies of TERM; snapshot; snapshot; tidy exits`},
	{name: "a clean-up that handles the signal is signalled by the last call", worker: "bash*", script: `
		sent bash TERM; bash starts tidy*; bash exits; snapshot; last call; sent tidy TERM: the grace period is nearly over; last call`},
	{name: "a clean-up without a handler, which the last call would only kill, works on", worker: "bash*", script: `
		sent bash TERM; bash starts tidy; bash exits; snapshot; last call; last call`},
	{name: "a clean-up in a session of its own whose start no snapshot showed may be another's", worker: "bash*", script: `
		sent bash TERM; bash starts mid; mid starts tidy[TERM,session]; mid exits; bash exits; snapshot; last call; sent tidy TERM: the grace period is nearly over`},
	{name: "what a launcher that dies of the signal has started by another may be a clean-up", worker: "npm*", script: `
		sent npm TERM; npm starts mid; mid starts next*; mid exits; npm dies of TERM; snapshot; last call; sent next TERM: the grace period is nearly over`},
	{name: "so may be what comes of a worker that lives", worker: "app*", script: `
		sent app TERM; app starts mid; mid starts next*; mid exits; snapshot; last call; sent next TERM: the grace period is nearly over`},
	{name: "what a shell without a trap started is no clean-up", worker: "sh(app*)", script: `
		sent sh TERM; sh starts next*; sh dies of TERM; snapshot; sent app TERM; sent next TERM: its parent is not known, and no process that was signalled had a handler; successor app`},
	{name: "the job of an application that dies of the signal may be a clean-up", worker: "app*", script: `
		sent app TERM; app starts job*; snapshot; app dies of TERM; snapshot; last call; sent job TERM: the grace period is nearly over`},
	{name: "what lives without a handler was signalled by none", worker: "bash*(app, tail)", script: `
		sent bash TERM; tail dies of TERM; bash exits; snapshot; sent app TERM: it lives without handling SIGTERM`},
	{name: "a handler that was for one signal only", worker: "sh(relay*(app*))", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent relay TERM; successor relay; app loses TERM; snapshot; relay exits; snapshot; snapshot`},
	{name: "what was left alone stays so when its handler goes", worker: "relay*(app*)", script: `
		sent relay TERM; relay exits; snapshot; app loses TERM; snapshot; last call; last call`},
	{name: "a handler that has gone when the signal comes may have passed it on", worker: "sh(app*(child*))", script: `
		sent sh TERM; app loses TERM; sh dies of TERM; snapshot; sent app TERM; successor app; app dies of TERM; snapshot;
		last call; sent child TERM: the grace period is nearly over`},
	{name: "a relay that was signalled by another and dies of it may have passed it on", worker: "pnpm*(relay*(app*))", script: `
		sent pnpm TERM; pnpm exits; snapshot; relay dies of TERM; snapshot; last call; sent app TERM: the grace period is nearly over`},
	{name: "one that dies of another signal than the stop has not died of it", worker: "pnpm*(relay*(app*))", script: `
		sent pnpm TERM; pnpm exits; snapshot; relay dies of KILL; snapshot; app exits; snapshot`},
	{name: "so may one that dies of TERM, in whose place another was to be delivered", signal: unix.SIGINT, worker: "boss*(relay*(app*))", script: `
		sent boss INT; boss exits; snapshot; relay dies of TERM; snapshot; last call; sent app INT: the grace period is nearly over`},
	{name: "what was signalled is remembered when it has long been gone", worker: "sh(app1*, app2*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; sent app2 TERM; app1 exits; snapshot; snapshot; snapshot;
		app2 starts mid; mid starts tidy*; mid exits; snapshot; tidy exits; snapshot`},
	{name: "a parent that was not signalled exits before its children are shown", worker: "sh(app*(child*))", script: `
		sent sh TERM; sh dies of TERM; app exits; snapshot; successor child; last call; sent child TERM: the grace period is nearly over`},
	{name: "a job that such a one has started meanwhile", worker: "sh(app*)", script: `
		sent sh TERM; app starts job*; snapshot; sh dies of TERM; app exits; snapshot; successor job; last call; sent job TERM: the grace period is nearly over`},
	{name: "a daemon from before the stop is signalled when the worker has gone", worker: "app*", others: "redis*, statsd", script: `
		sent app TERM; snapshot; app exits; snapshot; sent redis TERM: it was there before the stop; sent statsd TERM; statsd dies of TERM; redis exits; snapshot`},
	{name: "a daemon from before the stop is no successor, and waits for the successor", worker: "sh(app*)", others: "redis*", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM; successor app; snapshot; app exits; snapshot; sent redis TERM: it was there before the stop`},
	{name: "a daemon waits for each of two applications", worker: "sh(app1*, app2*)", others: "redis*", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; sent app2 TERM; app1 exits; snapshot; app2 exits; snapshot; sent redis TERM: it was there before the stop`},
	{name: "nor is what such a daemon leaves", worker: "sh(app)", others: "pm2*(web*)", script: `
		sent sh TERM; app exits; sh dies of TERM; snapshot; sent pm2 TERM; pm2 exits; snapshot; web exits; snapshot`},
	{name: "a shell with a trap sees to its daemons itself", worker: "bash*", others: "redis*", script: `
		sent bash TERM; bash exits; snapshot; snapshot; last call; sent redis TERM: the grace period is nearly over`},
	{name: "a shell without a trap does not", worker: "sh(app)", others: "redis*", script: `
		sent sh TERM; app exits; sh dies of TERM; snapshot; sent redis TERM: it was there before the stop`},
	{name: "what is below a daemon is the daemon's business", worker: "app*", others: "pm2*(web*)", script: `
		sent app TERM; app exits; snapshot; sent pm2 TERM; web loses TERM; pm2 exits; snapshot`},
	{name: "a daemon that another has ended may have had its group signalled", worker: "app*", others: "sh(web*)", script: `
		sent app TERM; sh dies of TERM; snapshot; last call; sent web TERM: the grace period is nearly over`},
	{name: "below a daemon that lives no process's turn has come", worker: "app*", others: "pm2*(sh(web))", script: `
		sent app TERM; sh dies of TERM; snapshot; app exits; snapshot; sent pm2 TERM; snapshot; pm2 exits; snapshot; sent web TERM: it lives without handling SIGTERM`},
	{name: "a daemon that left in order has signalled its own", worker: "app*", others: "pm2*(web*)", script: `
		sent app TERM; pm2 exits; snapshot; app exits; snapshot`},
	{name: "all that a daemonized worker left", others: "redis*(io*), sh(app*), tail", script: `
		sent redis TERM: left by a worker that has daemonized; sent sh TERM; sent tail TERM; tail dies of TERM; sh dies of TERM; snapshot;
		sent app TERM: its parent sh had no handler and died of it; redis exits; snapshot`},
	{name: "what a daemonized worker left is sent the signal that it handles", signal: unix.SIGQUIT, others: "nginx*(worker*), log[TERM], bash[INT]", script: `
		sent nginx QUIT; sent log TERM; sent bash TERM`},
	{name: "the last call goes to all that were not signalled", worker: "pnpm*(sh(app*, other*))", others: "redis*", script: `
		sent pnpm TERM; sh dies of TERM; snapshot; last call; sent app TERM: the grace period is nearly over; sent other TERM; sent redis TERM; last call`},
	{name: "the last call does not go to those that were signalled", worker: "app*", script: `
		sent app TERM; last call; last call`},
	{name: "INT to bash that waits for its child", signal: unix.SIGINT, worker: "bash[INT](app*)", script: `
		sent bash TERM; bash dies of TERM; snapshot; sent app INT: its parent bash had no handler and died of it; successor app`},
	{name: "INT to npm", signal: unix.SIGINT, worker: "npm*(sh[INT](app*))", script: `
		sent npm TERM; sh dies of TERM; snapshot; npm dies of TERM; snapshot; successor app; last call; sent app INT: the grace period is nearly over`},
	{name: "INT, and the application behind the shell handles TERM only", signal: unix.SIGINT, worker: "sh(app[TERM])", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app TERM`},
	{name: "INT to a shell with a trap for TERM", signal: unix.SIGINT, worker: "bash*(app*)", script: `
		sent bash TERM; bash exits; snapshot`},
	{name: "INT behind npm, which passed TERM on to a relay that knows only that", signal: unix.SIGINT, worker: "npm*(relay[TERM](app*))", script: `
		sent npm TERM; snapshot; app loses INT; app loses TERM; relay exits; npm exits; snapshot`},
	{name: "INT behind npm, where neither the relay nor the application knows INT", signal: unix.SIGINT, worker: "npm*(relay[TERM](app[TERM]))", script: `
		sent npm TERM; snapshot; relay exits; snapshot; npm exits; snapshot; snapshot`},
	{name: "QUIT in place of TERM, direct", signal: unix.SIGQUIT, worker: "nginx*(io*)", script: `
		sent nginx QUIT; snapshot; io exits; nginx exits; snapshot`},
	{name: "QUIT in place of TERM, behind a shell", signal: unix.SIGQUIT, worker: "bash(nginx*(io*))", script: `
		sent bash TERM; bash dies of TERM; snapshot; sent nginx QUIT: its parent bash had no handler and died of it; successor nginx; snapshot; nginx exits; snapshot`},
	{name: "QUIT in place of TERM, to a worker that handles TERM only", signal: unix.SIGQUIT, worker: "app[TERM](child[TERM])", script: `
		sent app QUIT; app dies of QUIT; snapshot; sent child TERM: its parent app had no handler and died of it`},
	{name: "two that may be the successor, so none is", worker: "sh(app1*, app2*)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; sent app2 TERM; snapshot; app1 exits; snapshot; app2 exits; snapshot`},
	{name: "no successor that comes later", worker: "sh(time(app*))", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent time TERM; time dies of TERM; snapshot; sent app TERM: its parent time had no handler and died of it`},
	{name: "the one successor that handles the signal, beside others", worker: "sh(tee, app*, bash)", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent tee TERM; sent app TERM; sent bash TERM; successor app`},
	{name: "the one successor beside a shell that only waits for its child on INT", signal: unix.SIGINT, worker: "sh1(sh2[INT](tail), app*)", script: `
		sent sh1 TERM; sh1 dies of TERM; snapshot; sent sh2 TERM; sent app INT; successor app`},
	{name: "no successor among two shells", worker: "sh(sh1(app1*), sh2(app2*))", script: `
		sent sh TERM; sh dies of TERM; snapshot; sent sh1 TERM; sent sh2 TERM`},
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
