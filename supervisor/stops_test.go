package supervisor

import (
	"strings"
	"testing"
)

// killing begins the line of a kill at the end of the grace.
const killing = "warning: grace period of 30s over: killing "

func TestStopOfAWorker(t *testing.T) {
	const begins = "stopping: SIGTERM sent to node[1]; "
	const infinite = "no SIGKILL: the grace period is infinite"
	playRows(t, []row{
		{"it exits", "", "node[TERM=0/2s]", "TERM", "0s TERM node", "0 2s",
			[]string{"only", begins + "what still runs after 30s is killed", "stopped after 2.0s: node[1] exited with status 0"}},
		{"its name is the last that was seen", "--grace 1s", "app[TERM]", "says started node[1]; TERM", "*", "137 1s",
			[]string{"warning: grace period of 1s over: killing app[1]", "stopped after 1.0s: killed app[1] (grace period of 1s over); exit status 137"}},
		{"its name is read at last", "--forward worker", "app[TERM=0]", "TERM", "0s TERM app", "0 0s", []string{"stopped after 0.0s: app[1] exited with status 0"}},
		{"it exits, in JSON", "", "node[TERM=0]", "TERM", "*", "0 0s", []string{"json stopping level=info phase=draining request=SIGTERM signal=SIGTERM",
			"json ended level=info phase=done reason=stop status=0 request=SIGTERM pid=1 comm=node"}},
		{"it leaves at once", "", "node[TERM=0/100ms](job[TERM=0/200ms])", "TERM", "*", "0 22.7s",
			[]string{"stopped after 23s: node[1] exited with status 0 (left within 0.1s of the stop signal)"}},
		{"what it leaves gets the signal in the last call alone", "", "node[TERM=0/100ms](job[TERM])", "TERM", "*", "137 30s",
			[]string{"1 warning: grace period of 30s over: killing job[2]", "0 warning: grace period of 30s over: killing job[2] (sleeping, 0.0s old); --grace"}},
		{"it leaves a little later", "", "node[TERM=0/101ms]", "TERM", "*", "0 101ms", []string{"0 stopped after 0.1s: node[1] exited with status 0 ("}},
		{"it left before", "", "node(job[TERM=0/20s])", "node exits 0; 1s; TERM", "*", "0 20s", []string{"0 stopped after 19s: node[1] exited with status 0 ("}},
		{"it fails at once", "", "node[TERM=3/1ms]", "TERM", "*", "3 1ms", []string{"0 stopped after 0.0s: node[1] exited with status 3 ("}},
		{"it dies of the signal", "", "node", "TERM", "0s TERM node", "143 0s",
			[]string{"warning: node[1] has no SIGTERM handler: it died at once, whatever it was doing. Add a handler, or send the signal that it drains on: --rewrite TERM:SIG", "1 warning"}},
		{"it dies of INT, and there is no terminal", "", "node", "INT", "0s INT node", "130 0s",
			[]string{"0 " + strings.Replace(begins, "TERM", "INT", 1) + "what still runs after 30s is killed,"}},
		{"a grace of 0", "--grace 0s", "node[TERM=0/2s]", "TERM", "0s KILL node", "137 0s", []string{"only",
			"warning: grace period of 0s over: killing node[1] (sleeping); --grace gives more time", "stopped after 0.0s: killed node[1] (grace period of 0s over); exit status 137"}},
		{"times in lines are tenths of a second", "--grace 1234ms", "node[TERM]", "TERM", "0s TERM node", "",
			[]string{begins + "what still runs after 1.2s is killed"}},
		{"an infinite grace", "--grace infinity", "node[TERM=1/12s]", "TERM", "0s TERM node", "1 12s", []string{"only", begins + infinite,
			"draining, 1 process left (node[1]), " + infinite, "draining, 1 process left (node[1]), " + infinite,
			"stopped after 12s: node[1] exited with status 1"}},
		{"it outlives SIGKILL", "--grace 1s", "node[TERM,stuck]", "TERM", "0s TERM node; 1s KILL node x100", "137 6s", []string{"only",
			begins + "what still runs after 1s is killed", "warning: grace period of 1s over: killing node[1] (sleeping); --grace gives more time",
			"error: leaving 5s after SIGKILL, still alive: node[1] (sleeping)", "stopped after 6.0s: exit status 137"}},
		{"it outlives SIGKILL, and /proc is gone", "", "node[TERM,stuck]", "TERM; 34s; proc gone", "*", "137 35s",
			[]string{"error: leaving 5s after SIGKILL, still alive: what is left"}},
		{"the grace begins with the arrival", "", "node[TERM]", "slow 3s; arrive TERM; 27s; is draining; shows 15+30s 3s; slow 0s", "*", "137 30s", nil},
		{"a stopped worker is continued", "", "node[TERM=0/2s,stopped]", "TERM", "0s TERM node; 0s CONT node", "0 2s", nil},
		{"another stops the worker", "", "node[TERM=0]",
			"node gets STOP; title drainit:stopped; node gets CONT; title drainit:run; node gets STOP; title drainit:stopped; TERM",
			"0s TERM node; 0s CONT node", "0 0s", []string{"warning: node[1] is stopped (state T) and does no work"}},
		{"another stops it in a drain", "", "node[TERM]", "TERM; node gets STOP", "0s TERM node", "", []string{"0 warning"}},
	})
}

func TestStopByFlags(t *testing.T) {
	playRows(t, []row{
		{"another stop signal", "--stop-signal QUIT", "node[QUIT=0]", "QUIT", "0s QUIT node", "0 0s", nil},
		{"a rewrite", "--rewrite TERM:INT", "node[INT=4]", "TERM", "0s INT node", "4 0s", []string{
			"stopping on SIGTERM: SIGINT sent to node[1]; ", "json stopping level=info phase=draining request=SIGTERM signal=SIGINT",
			"json ended level=info phase=done reason=stop status=4 request=SIGTERM pid=1 comm=node"}},
		{"what is dropped has not come", "--stop-signal QUIT --rewrite TERM:0 --rewrite QUIT:0 --rewrite TSTP:0 --rewrite USR1:USR2",
			"node[TERM,TSTP,USR2,INT=0]",
			"TERM; QUIT; TSTP; is running; USR1; INT", "0s USR2 node; 0s INT node", "0 0s", []string{"dropped SIGTERM", "dropped SIGQUIT", "dropped SIGTSTP"}},
		{"a stop delay ends in a line", "--stop-delay 5s", "node[TERM=0/2s]", "TERM; 4s; says 0 the stop delay; says 0 warning; 1s",
			"5s TERM node", "0 7s", []string{"the stop delay is over: SIGTERM sent to node[", "json stopping level=info phase=draining request=SIGTERM",
				"json delay_over level=info phase=draining request=SIGTERM signal=SIGTERM"}},
		{"a stop delay is quiet", "--stop-delay 5s", "node[TERM=0,TSTP]", "TERM", "0s TSTP node; 5s TERM node", "0 5s",
			[]string{"quiet: SIGTSTP to node[1]"}},
		{"a stop delay with TSTP dropped", "--stop-delay 1s --rewrite TSTP:0", "node[TERM=0,TSTP]", "TERM", "1s TERM node", "0 1s",
			[]string{"0 quiet", "0 warning"}},
		{"143 is reported as 0", "--remap-exit 1 --remap-exit 143", "node", "TERM", "0s TERM node", "0 0s", nil},
		{"137 of a kill is reported as 0", "--remap-exit 137", "node[TERM,stuck]", "TERM", "0s TERM node; 30s KILL node x100", "0 35s", []string{
			"json still_alive level=error phase=done reason=grace pid=1 comm=node left=1",
			"json ended level=info phase=done reason=grace status=0 request=SIGTERM pid=1 comm=node"}},
	})
}

func TestStopOfWhatIsBelow(t *testing.T) {
	const killed = "0s TERM node; 22.5s TERM job; 30s KILL job"
	const yet = " not signalled yet: "
	playRows(t, []row{
		{"what it leaves is killed", "", "node[TERM=0](job[TERM])", "TERM", killed, "137 30s",
			[]string{"stopped after 30s: node[1] exited with status 0 (left within 0.1s of the stop signal); killed job[2] (grace period of 30s over); exit status 137",
				"json killing level=warn phase=killing reason=grace pid=2 comm=job left=1",
				"json ended level=info phase=done reason=grace status=137 request=SIGTERM pid=1 comm=node killed=1"}},
		{"a daemon that a trap did not find", "", "daemon[TERM=0] sh[TERM=0]", "TERM; 4999ms; says 0 daemon[1]" + yet + "; 1ms; says daemon[1]" + yet, "0s TERM sh; 22.5s TERM daemon", "0 22.5s",
			[]string{"daemon[1]" + yet + "it was there before the stop, and its shell has seen to it"}},
		{"a daemon whose turn comes later", "", "daemon[TERM=0] node[TERM=0/7s]", "TERM", "0s TERM node; 7.5s TERM daemon", "0 7.5s", []string{"daemon[1]" + yet + "waits until the worker has gone"}},
		{"what is left to the worker", "", "node[TERM](job[TERM])", "TERM; 6s", "0s TERM node", "", []string{"1 draining, ", "0 job[2]" + yet}},
		{"one that was signalled meanwhile", "", "daemon[TERM=0/9s] node[TERM=0/2s]", "TERM", "0s TERM node; 2.5s TERM daemon", "0 11.5s", []string{"0 daemon[1]" + yet}},
		{"it is, whatever status is reported as 0", "--remap-exit 3", "node[TERM=3](job[TERM])", "TERM", killed, "137 30s", nil},
		{"what it leaves may exit in time", "", "node[TERM=0](job[TERM=9/1s])", "TERM", "0s TERM node; 22.5s TERM job", "0 23.5s", nil},
		{"what outlives SIGKILL was not killed", "", "node[TERM=0](job[TERM,stuck])", "TERM", "*", "137 35s",
			[]string{"error: leaving 5s after SIGKILL, still alive: job[2]"}},
		{"a child of drainit's from before", "", "daemon[TERM=0] node[TERM]", "TERM; 20s", "0s TERM node", "",
			[]string{"not signalled: daemon[1]: waits until the worker has gone"}},
		{"the death of a parent is known at once", "", "daemon(b[TERM]) node[TERM]",
			"TERM; 2s; says not signalled: b[2]: a process that was there before the stop lives above it; daemon dies KILL; says not signalled: b[2]: may have been signalled by daemon[1], which has gone; ",
			"0s TERM node", "", nil},
		{"the worker alone", "--forward worker", "node[TERM=0](job[TERM])", "TERM", "0s TERM node; 0s KILL job", "0 0s",
			[]string{"json killing level=info phase=killing reason=forward_worker status=0 pid=1 comm=node left=1"}},
		{"the worker alone, and /proc is gone", "--forward worker", "node(job)", "proc gone; node exits 7", "0s KILL job", "7 0s",
			[]string{"node[1] exited with status 7: killing what /proc does not show, as --forward worker says"}},
		{"two at once", "--forward group", "sh[TERM](a[TERM])", "TERM", "0s TERM sh a", "", []string{"stopping: SIGTERM sent to sh[1] and 1 more; what"}},
		{"what /proc hides is not named", "", "node[TERM]", "proc hidden; TERM; 6s; proc there", "0s TERM node", "", []string{"draining, SIGKILL in "}},
	})
}

// What is below a shell that dies of the signal is signalled when that has: it could still wait for it,
// and no other would see its status then. That status counts.
func TestStopOfAShell(t *testing.T) {
	const both, succeeds = "0s TERM sh; 0s TERM node", "sh[1] died of SIGTERM; node[2] is the worker now"
	playRows(t, []row{
		{"it dies soon", "", "sh[TERM!50us,default](node[TERM=0])", "TERM; 2s", "0s TERM sh; 50µs TERM node", "", nil},
		{"it lives", "", "sh[TERM!1m,default](node[TERM=0])", "TERM; 2s", "0s TERM sh", "", nil},
		{"it is sent TERM, and what is below it the signal that came", "", "sh(node[INT=0])", "INT", "0s TERM sh; 0s INT node", "0 0s", nil},
		{"a successor exits", "", "sh(node[TERM=5/1s])", "TERM", both, "5 1s", []string{succeeds}},
		{"a successor outlives the grace", "", "sh(node[TERM])", "TERM", both + "; 30s KILL node", "137 30s", []string{succeeds}},
		{"a successor has exited by then", "", "sh(node[TERM=5])", "TERM", both, "5 0s", []string{succeeds}},
		{"no successor has a handler", "", "sh(node)", "TERM", both, "143 0s", []string{"0 " + succeeds}},
		{"a successor dies of what it was sent", "", "sh(node[TERM])", "TERM; 1s; node dies TERM", both, "143 1s", []string{"0 warning: node[2] was killed"}},
		{"a successor is killed", "", "sh(node[TERM])", "TERM; 1s; node dies SEGV", both, "139 1s",
			[]string{"warning: node[2] was killed by SIGSEGV, which drainit did not send"}},
		{"each delivery has a rule", "", "sh(node[TERM=0/1s,HUP])", "HUP; TERM", "*", "0 1s", []string{"3 sent ",
			"sent SIGHUP to node[2]: the first that handles it", "sent SIGTERM to sh[1]: the worker",
			"sent SIGTERM to node[2]: sh[1] above has no handler for it"}},
	})
}

// The leftovers of a worker that exits by itself are sent TERM, and have 30s at most.
func TestWorkerExitsByItself(t *testing.T) {
	const over = "0s TERM job; 30s KILL job"
	playRows(t, []row{
		{"and leaves nothing", "", "node", "node exits 7", "", "7 0s", []string{"only", "stopped: node[1] exited with status 7",
			"json ended level=info phase=done reason=exit status=7 pid=1 comm=node"}},
		{"with status 0, and leaves nothing", "", "node", "node exits 0", "", "0 0s", []string{"json ended level=debug phase=done reason=exit status=0 pid=1 comm=node"}},
		{"and what it leaves exits", "", "node(a[TERM=0/2s] b[TERM=0/2s])", "node exits 7", "0s TERM a; 0s TERM b", "7 2s", []string{"only",
			"warning: node[1] exited with status 7 and left 2 processes (a[2], b[3]), SIGTERM now, SIGKILL in 30s", "stopped after 2.0s: node[1] exited with status 7",
			"json worker_exited level=warn phase=draining reason=exit status=7 pid=1 comm=node left=2",
			"json ended level=info phase=done reason=exit status=7 pid=1 comm=node"}},
		{"and what it leaves does not", "", "node(job[TERM])", "node exits 1", over, "1 30s",
			[]string{"stopped after 30s: node[1] exited with status 1; killed job[2] (grace period of 30s over)"}},
		{"with an infinite grace", "--grace infinity", "node(job[TERM])", "node exits 7", over, "7 30s", nil},
		{"with a shorter grace", "--grace 4s", "node(job[TERM])", "node exits 7", "0s TERM job; 4s KILL job", "7 4s", nil},
		{"with a grace of 0", "--grace 0s", "node(job[TERM])", "node exits 7", "0s KILL job", "7 0s", nil},
		{"with a rewrite", "--rewrite TERM:INT", "node(job[INT=0])", "node exits 7", "0s INT job", "7 0s", nil},
		{"with TERM dropped", "--rewrite TERM:0", "node(job[TERM=0])", "node exits 7", "0s TERM job", "7 0s", nil},
		{"for the worker alone", "--forward worker", "node(job[TERM=0])", "node exits 7", "0s KILL job", "7 0s",
			[]string{"stopped after 0.0s: node[1] exited with status 7"}},
		{"the first stop signal after it begins the grace anew, and what is killed shows in the status", "", "node(job[TERM])",
			"node exits 0; shows 0+30s; 20s; TERM; shows 15+30s; says SIGTERM: the grace period starts now, SIGKILL in 30s", "0s TERM job; 50s KILL job", "137 50s",
			[]string{killing + "job["}},
	})
}

// A signal that drainit did not send is kept apart from a stop in the log.
func TestWorkerIsKilled(t *testing.T) {
	const forwarded = "node[1] died of SIGHUP, which drainit forwarded: it has no handler for it. If the stop was meant: STOPSIGNAL SIGTERM in the image; if not: --rewrite HUP:0"
	const oom = "node[1] was killed by SIGKILL, which drainit did not send: out of memory, its limit of CPU time, or a kill from outside"
	playRows(t, []row{
		{"by KILL", "", "node", "node dies KILL", "", "137 0s", []string{"warning: " + oom, "1 warning",
			"json worker_killed level=warn phase=running reason=outside status=137 signal=SIGKILL pid=1 comm=node",
			"json ended level=info phase=done reason=outside status=137 pid=1 comm=node"}},
		{"by SEGV", "", "node", "node dies SEGV", "", "139 0s",
			[]string{"warning: node[1] was killed by SIGSEGV, which drainit did not send: it came from the worker itself (a fault, a limit), or from outside", "1 warning"}},
		{"below a script, whose status tells it", "", "sh", "sh exits 137", "", "137 0s",
			[]string{"stopped: sh[1] exited with status 137 (128+9: SIGKILL: out of memory, a limit, or a kill from outside)"}},
		{"by what drainit forwarded", "", "node", "HUP", "0s HUP node", "129 0s", []string{"warning: " + forwarded,
			"json ended level=info phase=done reason=forwarded status=129 pid=1 comm=node"}},
		{"by that, though it had a handler", "", "node[HUP!]", "HUP", "0s HUP node", "129 0s",
			[]string{"0 warning: " + forwarded, "warning: node[1] died of SIGHUP, which drainit forwarded. If the stop was meant: STOPSIGNAL SIGTERM in the image; if not: --rewrite HUP:0"}},
		{"by what came as another", "--rewrite PWR:USR1", "node", "PWR", "0s USR1 node", "138 0s",
			[]string{"warning: node[1] died of SIGUSR1, which drainit forwarded: it has no handler for it. If the stop was meant: lxc.signal.halt = SIGTERM; if not: --rewrite PWR:0"}},
		{"by that, and all the rest follows", "--rewrite USR1:USR2 --rewrite HUP:HUP", "node(job[TERM=0/2s])", "HUP; is draining; title drainit:ended; USR1", "0s HUP node; 0s TERM job", "129 2s",
			[]string{"dropped SIGUSR1: the worker has gone", "0 warning: node[1] was killed"}},
	})
}

func TestSecondStop(t *testing.T) {
	const asked = "warning: RTMAX, drainit stop --force: killing node["
	const forced, ignore = "warning: second stop signal, force-stop: killing node[", "--second-stop ignore"
	playRows(t, []row{
		{"drainit stop --force", ignore, "node[TERM]", "force", "0s KILL node", "137 0s", []string{asked, "stopped after 0.0s: killed node[1] (RTMAX, drainit stop --force); exit status 137",
			"json killing level=warn phase=killing reason=force pid=1 comm=node left=1"}},
		{"drainit stop --force in a drain", ignore, "node[TERM]", "TERM; 1s; force", "0s TERM node; 1s KILL node", "137 1s", []string{asked}},
		{"its signal is rewritten", "--rewrite RTMAX:RTMAX", "node[RTMAX,TERM]", "force; is running", "0s RTMIN+30 node", "", nil},
		{"within 100 ms it is the same request", "", "node[TERM]", "TERM; 50ms; INT; is draining; 49ms; TERM; says 0 SIGTERM repeated; 1ms; INT",
			"0s TERM node; 100ms KILL node", "137 100ms", []string{"SIGINT repeated within 100ms: treated as one request", forced,
				"json stop_repeated level=info phase=draining request=SIGINT", "json killing level=warn phase=killing reason=second_stop pid=1 comm=node left=1",
				"json ended level=info phase=done reason=second_stop status=137 request=SIGTERM pid=1 comm=node killed=1"}},
		{"in a slow snapshot it goes by its arrival", "", "node[TERM]", "slow 3s; arrive TERM; 99999us; arrive TERM; 7s", "3s TERM node", "", nil},
		{"in a slow snapshot, 100 ms later", "", "node[TERM]", "slow 3s; arrive TERM; 100ms; arrive TERM; 7s", "3s TERM node; 6s KILL node", "", nil},
		{"one that may have come with the first", "", "node[TERM]", "TERM; 1s; late TERM 99999us; is draining; late TERM 100ms",
			"0s TERM node; 1s KILL node", "137 1s", nil},
		{"one that can't be seen", "", "node[TERM]", "proc descriptors; TERM; 2s; TERM", "*", "137 2s",
			[]string{"stopped after 2.0s: node[1] died of SIGKILL; killed what was left (second stop signal, force-stop); exit status 137"}},
		{"it is ignored", ignore, "node[TERM]", "TERM; 1s; INT; 1s; INT; 1s; INT; is draining", "0s TERM node; 30s KILL node", "137 30s",
			[]string{"SIGINT again: ignored", "json stop_ignored level=info phase=draining request=SIGINT"}},
		{"drainit stop --force is not", ignore, "node[TERM]", "TERM; 4s; force", "*", "137 4s", []string{asked}},
		{"nor is it where a look takes long", ignore, "node[TERM]", "slow 1s; TERM; 4s; force; 3s", "*", "137 6s", []string{asked}},
		{"nor is it where no stop has begun", ignore, "node[TERM]", "force", "*", "137 0s", []string{asked}},
		{"nor is drainit stop --force the same request", "", "node[TERM]",
			"TERM; 50ms; TERM; is draining; says SIGTERM repeated within 100ms: treated as one request; force", "*", "137 50ms",
			[]string{asked}},
	})
}

// The whole of a group is signalled once, also those that can't be seen.
func TestStopOfAGroup(t *testing.T) {
	const group = "--forward group"
	playRows(t, []row{
		{"it is seen", group, "sh(node[TERM=0/2s])", "TERM", "0s TERM sh node", "0 2s", []string{
			"sent SIGTERM to sh[1]: of the worker's process group", "sent SIGTERM to node[2]: of the worker's process group"}},
		{"a successor ends together with the worker", group, "sh(node[TERM!])", "TERM", "0s TERM sh node", "143 0s",
			[]string{"sh[1] died of SIGTERM; node[2] is the worker now"}},
		{"hidden", group, "node[TERM=0/2s](job[TERM=0/2s])", "not init; proc hidden; TERM", "0s TERM node job", "0 2s", nil},
		{"unseen", group, "node[TERM=0/2s](job[TERM=0/2s])", "not init; proc gone; TERM", "0s TERM node job", "0 2s", nil},
		{"the worker dies of it", group, "node", "TERM", "0s TERM node", "143 0s", []string{"0 warning: node[1] was killed"}},
		{"it may not be signalled", group, "node[TERM]", "refuse node EPERM; TERM; allow node", "*", "",
			[]string{"warning: cannot send SIGTERM to node[1]: operation not permitted"}},
		{"stopped members are continued one by one", group, "node[TERM](job[TERM,stopped])", "TERM", "0s TERM node job; 0s CONT job", "", nil},
		{"a stopped group that can't be seen is as a whole", group, "node[TERM=0/2s](job[TERM=0/2s])", "node gets STOP; 1s; not init; proc gone; TERM",
			"1s TERM node job; 1s CONT node job", "0 3s", nil},
	})
}

// Each process that a worker left to drainit when it daemonized is treated as the worker.
func TestForking(t *testing.T) {
	const forking, does = "--forking=1", "HUP,TSTP,CONT]"
	const tree = "node(a[TERM=0/1500ms," + does + "(child[TERM=0/1s," + does + ") b[TERM=0/3s," + does + ")"
	const runsOn, unseen = "node[1] exited with status 0 and runs on in ", "warning: cannot tell what the worker left behind: "
	const hint = "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
	left := func(what string) string { return "warning: node[1] exited with status " + what }
	playRows(t, []row{
		{"signals go to each", forking, tree, "node exits 0; 1h; is running; title drainit:run; HUP; TSTP; 1s; CONT; 50ms; TERM",
			"1h0m0s HUP a; 1h0m0s HUP b; 1h0m0s TSTP a; 1h0m0s TSTP b; 1h0m1.05s CONT a; 1h0m1.05s CONT b; " +
				"1h0m1.05s TERM a; 1h0m1.05s TERM b; 1h0m23.55s TERM child", // a may have signalled what it leaves
			"0 1h0m24.55s", []string{runsOn + "2 processes (a["}},
		{"it ends with the last", forking, "node(a b)", "node exits 0; a exits 1; 1m; is running; b exits 1", "", "0 1m0s",
			[]string{"only", runsOn + "2 processes (a[2], b[3])", "stopped after 1m0s: node[1] exited with status 0"}},
		{"it fails", forking, "node(a[TERM=0])", "node exits 1", "0s TERM a", "1 0s", []string{left("1 and left 1 process"), "0 " + runsOn}},
		{"it exits in a drain", forking, "node[TERM=0](a[TERM=0])", "TERM", "0s TERM node; 22.5s TERM a", "0 22.5s", []string{"0 " + runsOn}},
		{"it leaves nothing", forking, "node", "node exits 0", "", "0 0s", []string{"0 " + runsOn}},
		{"no /proc", forking, "node(a[TERM=0])", "proc gone; node exits 0", "0s TERM a", "0 0s", []string{unseen + "/proc is not mounted"}},
		{"hidden", forking, "node(a[TERM=0/2s])", "proc hidden; node exits 0; is running", "", "", []string{"0 " + runsOn}},
		{"a signal for what can't be seen is lost", forking, tree, "node exits 0; proc descriptors; HUP", "", "", []string{unseen + "too many open files"}},
		{"without the flag, a daemon is a hint", "", "node(daemon[TERM=0,session])", "node exits 0", "*", "0 0s",
			[]string{left("0 and left 1 process (daemon[2]), SIGTERM now, SIGKILL in 30s" + hint)}},
		{"so may a leftover: a script that ends with app &", "", "node(daemon[TERM=0])", "node exits 0", "*", "0 0s",
			[]string{left("0 and left 1 process (daemon[2]), SIGTERM now, SIGKILL in 30s" + hint)}},
		{"on a terminal, too", "", "node(daemon[TERM=0])", "tty; node exits 0", "*", "0 0s",
			[]string{left("0 and left 1 process (daemon[2]), SIGTERM now, SIGKILL in 30s" + hint)}},
		{"no daemon is one of a worker that fails", "", "node(daemon[TERM=0,session])", "node exits 1", "*", "1 0s",
			[]string{left("1"), "0 " + left("1 and left 1 process (daemon[2]), SIGTERM now, SIGKILL in 30s;")}},
	})
}
