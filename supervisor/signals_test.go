package supervisor

import (
	"fmt"
	"testing"
)

func TestQuiet(t *testing.T) {
	const quietly, noEffect = "[TSTP,CONT,TERM=0]", "warning: quiet has no effect: "
	playRows(t, []row{
		{"and resume", "", "node" + quietly,
			"TSTP; is quiet; title drainit:quiet; 1s; CONT; 49ms; is quiet; 1ms; is running; title drainit:run; TSTP; 1s; CONT; 50ms",
			"0s TSTP node; 1.05s CONT node; 1.05s TSTP node; 2.1s CONT node", "", []string{"2 quiet: SIGTSTP to node[", "2 running again: SIGCONT to node["}},
		{"that no process handles, is none", "", "node[TSTP,TERM=0]",
			"TSTP; CONT; 50ms; is quiet; title drainit:quiet!; CONT; 50ms; title drainit:quiet!!; TSTP; title drainit:quiet; CONT; 50ms; " +
				"title drainit:quiet!; TERM", "0s TSTP node; 150ms TERM node", "0 150ms",
			[]string{"3 warning: still quiet: node[1] has no SIGCONT handler and takes no work. If it uses another signal for this: " +
				"--rewrite CONT:SIG; else restart it"}},
		{"by a rewrite, to those that handle it", "--rewrite CONT:USR2", "sh(a[TSTP,USR2] b[TSTP])", "TSTP; CONT; 50ms; is running; TSTP",
			"0s TSTP a; 0s TSTP b; 50ms USR2 a; 50ms TSTP a", "", []string{"running again: SIGUSR2 to a["}},
		{"of those that have gone", "", "sh(a[TSTP])", "TSTP; a exits 0; CONT; 50ms; is running", "0s TSTP a", "", []string{"running again"}},
		{"of one that can no longer be read", "", "node[TSTP]", "TSTP; proc descriptors; CONT; 50ms; is running; proc there", "0s TSTP node; 50ms CONT node", "", nil},
		{"of one that stopped itself later", "", "node[TSTP]", "TSTP; node gets STOP; CONT; 50ms; is running", "0s TSTP node; 50ms CONT node", "", nil},
		{"while running, is the worker's own", "", "node[TERM=0]", "CONT; is running", "0s CONT node", "", []string{"only"}},
		{"a stop overtakes a resume", "", "node[TSTP,TERM=0/1s]", "TSTP; CONT; 49ms; TERM", "0s TSTP node; 49ms TERM node", "0 1.049s", nil},
		{"of none", "", "node[TERM=0](job[TERM])", "TSTP; is quiet; title drainit:quiet?", "", "",
			[]string{noEffect + "node[1] has no SIGTSTP handler and keeps taking work. If it uses another signal for this: --rewrite TSTP:SIG"}},
		{"a resume of none names none", "", "node[TERM=0]", "TSTP; CONT; 50ms; TERM", "*", "0 50ms", []string{"only",
			noEffect + "node[1] has no SIGTSTP handler and keeps taking work. If it uses another signal for this: --rewrite TSTP:SIG", "running again",
			"stopping: SIGTERM sent to node[1]; what still runs after 30s is killed", "stopped after 0.0s: node[1] exited with status 0 (left within 0.1s of the stop signal)"}},
		{"in a group the snapshot tells the worker's name", "--forward group", "app[TERM]", "TSTP", "", "", []string{noEffect + "app[1] has no"}},
		{"where the kernel shows no masks", "", "node[untold]", "TSTP; title drainit:quiet; TERM", "0s TERM node", "",
			[]string{noEffect + "SIGTSTP was sent to no process, since which of them handle it is unknown: this kernel does not tell",
				"this kernel does not tell which signals a process handles: drainit signals the processes below a living one only"}},
		{"by a rewrite", "--rewrite TSTP:USR1", "sh" + quietly + "(a[USR1])", "TSTP", "0s USR1 a", "", []string{"quiet: SIGUSR1 to a["}},
		{"twice: for those that are new, and undone for those that live", "", "sh(a" + quietly + ")",
			"TSTP; TSTP; says quiet: no new process handles SIGTSTP; sh forks b" + quietly + "; 1s; TSTP; a exits 0; TSTP; CONT; 50ms",
			"0s TSTP a; 1s TSTP b; 1.05s CONT b", "", []string{"running again: SIGCONT to b["}},
		{"without /proc it goes to none, and none is forgotten", "", "node" + quietly,
			"proc descriptors; TSTP; is quiet; proc there; TSTP; proc descriptors; TSTP; proc there; TSTP", "0s TSTP node", "",
			[]string{"2 " + noEffect + "SIGTSTP was sent to no process, since which of them handle it is unknown: too many open files"}},
	})
}

// A process that stops by the TSTP that it was sent is continued at once: a worker whenever wait4 says so,
// another right after the signal. Any other stop is its user's business.
func TestQuietFreezesNothing(t *testing.T) {
	const frozen = "warning: node[%d] stopped itself on SIGTSTP instead of becoming quiet"
	playRows(t, []row{
		{"the worker", "", "node[TSTP@]", "TSTP; 1s", "0s TSTP node; 0s CONT node", "", []string{fmt.Sprintf(frozen, 1)}},
		{"the worker, later", "", "node[TSTP@1s]", "TSTP; 1s", "0s TSTP node; 1s CONT node", "", []string{fmt.Sprintf(frozen, 1)}},
		{"another", "", "sh(node[TSTP@])", "TSTP; 1s", "0s TSTP node; 0s CONT node", "", []string{fmt.Sprintf(frozen, 2)}},
		{"what has daemonized, later", "--forking=1", "sh(node[TSTP@1s])", "sh exits 0; TSTP; 1s", "0s TSTP node; 1s CONT node", "",
			[]string{fmt.Sprintf(frozen, 2)}},
		{"a STOP from outside", "", "node[TERM]", "node gets STOP; 1s; CONT", "1s CONT node", "", nil},
		{"a TSTP from outside", "", "node[TERM]", "node gets TSTP; 1s; CONT", "1s CONT node", "", nil},
	})
}

// A signal that would end the processes, that none of them handles and that is not rewritten begins the stop, where
// one of them drains. Another, that does nothing, gets a line.
func TestSignalThatMeansTheStop(t *testing.T) {
	const meant = "warning: SIGQUIT begins the stop, by SIGTERM: no process handles it"
	const none = "warning: SIGWINCH has no effect: no process handles it. If the platform means the stop by it: STOPSIGNAL SIGTERM in the image"
	playRows(t, []row{
		{"of the worker", "", "node[TERM=0/2s]", "QUIT", "0s TERM node", "0 2s", []string{"only",
			meant + ", and it would end them, after a dump, with their work. If the stop is meant: STOPSIGNAL SIGTERM in the image, " +
				"or --stop-signal QUIT --rewrite QUIT:TERM; if not: --rewrite QUIT:0",
			"stopping on SIGQUIT: SIGTERM sent to node[1]; what still runs after 30s is killed", "stopped after 2.0s: node[1] exited with status 0",
			"json stop_adopted level=warn phase=running request=SIGQUIT signal=SIGTERM"}},
		{"of one below a shell", "", "sh(node[TERM=0/2s])", "PWR; 1ms; is draining", "0s TERM sh; 0s TERM node", "", nil},
		{"twice is once, and then a force", "", "node[TERM]", "QUIT; 50ms; QUIT; is draining; 100ms; QUIT", "0s TERM node; 150ms KILL node", "137 150ms", []string{meant}},
		{"after TERM it is forwarded", "", "node[TERM]", "TERM; 1s; HUP", "0s TERM node; 1s HUP node", "129 1s", nil},
		{"in quiet", "", "node[TSTP,TERM=0]", "TSTP; 1s; QUIT", "0s TSTP node; 1s TERM node", "0 1s", []string{meant}},
		{"INT, too", "", "node[TERM=0]", "INT", "0s TERM node", "0 0s", []string{"stopping on SIGINT: SIGTERM sent to node[1]"}},
		{"also as --stop-signal", "--stop-signal QUIT", "node[TERM=0]", "QUIT", "0s TERM node", "0 0s", []string{meant}},
		{"TERM is rewritten", "--rewrite TERM:USR2", "node[USR2=0]", "QUIT", "0s USR2 node", "0 0s", nil},
		{"for the worker alone", "--forward worker", "node[TERM=0]", "QUIT", "0s TERM node", "0 0s", []string{meant}},
		{"it is handled", "", "node[TERM,QUIT=3]", "QUIT", "0s QUIT node", "3 0s", nil},
		{"one below handles it", "", "node[TERM](job[QUIT])", "QUIT", "0s QUIT job", "", nil},
		{"it is rewritten", "--rewrite QUIT:QUIT", "node[TERM]", "QUIT", "0s QUIT node", "131 0s", nil},
		{"no process drains", "", "node", "QUIT", "0s QUIT node", "131 0s", nil},
		{"ABRT of a watchdog", "", "node[TERM]", "ABRT", "0s ABRT node", "134 0s", nil},
		{"on a terminal", "", "node[TERM]", "tty; QUIT", "0s QUIT node", "", nil},
		{"WINCH has no effect", "", "node[TERM]", "WINCH; WINCH; is running", "0s WINCH node x2", "", []string{none}},
		{"WINCH on a terminal", "", "node[TERM]", "tty; WINCH", "0s WINCH node", "", []string{"0 " + none}},
		{"WINCH is handled", "", "node[WINCH=0]", "WINCH", "0s WINCH node", "0 0s", []string{"0 " + none}},
	})
}

// By --forward none the platform has signalled each process: drainit signals in the last call those that came later.
func TestForwardNone(t *testing.T) {
	const unsent = "stopping on SIGTERM, passed on to no process: the platform signals each itself (--forward=none); what still runs after 30s is killed"
	const each = "warning: node[1] was sent SIGTERM by another than drainit, as it was itself: the platform seems to signal each process"
	playRows(t, []row{
		{"drainit first", "--forward none", "node[TERM=0/4s]", "TERM; is draining; node gets TERM", "", "0 4s",
			[]string{"only", unsent, "stopped after 4.0s: node[1] exited with status 0"}},
		{"drainit last", "--forward none", "sh(node[TERM=0/5s])", "sh gets TERM; node gets TERM; TERM; is draining", "", "143 5s", []string{
			"warning: sh[1] died of SIGTERM and left 1 process (node[2]), SIGKILL in 30s", "0 warning: sh[1] was"}},
		{"what comes later gets the last call", "--forward none", "node[TERM=0/25s]", "TERM; node gets TERM; node forks job[TERM=0]; 30s", "22.5s TERM job", "0 25s", nil},
		{"a second one is a force", "--forward none", "node[TERM]", "TERM; 1s; TERM", "1s KILL node", "137 1s", nil},
		{"other signals are forwarded", "--forward none", "sh(node[HUP,TERM])", "HUP; TERM", "0s HUP node", "", nil},
		{"a worker that left by itself", "--forward none", "node(job[TERM=0])", "node exits 3; 900ms; is draining", "", "", nil},
		{"and what it left has a second to be signalled", "--forward none", "node(job[TERM=0])", "node exits 3; 3s", "1.02s TERM job", "3 1.02s", nil},
		{"of one without a handler", "--forward none", "app", "TERM; app gets TERM", "", "143 0s", []string{"1 warning: app[1] has no SIGTERM handler"}},
		{"of one without a handler, later", "--forward none", "app", "TERM; 200ms; app gets TERM", "", "143 200ms", []string{"0 warning: app[1] has no"}},
		{"of one that ignores it", "--forward none", "node[ignore]", "TERM; 1s", "", "", []string{"warning: node[1] ignores SIGTERM and works on"}},
		{"the warning", "", "node", "node gets TERM; TERM", "*", "", nil},
		{"the warning before a death", "", "node[TERM=0,pending]", "TERM", "*", "", []string{each}},
		{"unless it was said to be so", "--forward none", "node[TERM=0,pending]", "TERM", "*", "", []string{"0 warning"}},
		{"on a terminal it is the user's key", "", "node[TERM=0,pending]", "tty; TERM", "*", "", []string{"0 warning"}},
		{"as the request that is the same", "", "node(job[TERM=0/2s])", "node gets TERM; 100ms; TERM", "*", "", []string{each}},
		{"as a later request", "", "node(job[TERM=0/2s])", "node gets TERM; 101ms; TERM", "*", "", []string{"0 " + each}},
		{"no second signal", "", "node(job[TERM=0/2s])", "node gets TERM; TERM", "*", "143 2s", []string{each}},
	})
}

// Signals that mean nothing to drainit. Where they go by mode is the plan's (forward).
func TestOtherSignals(t *testing.T) {
	playRows(t, []row{
		{"to the worker", "", "node[HUP](job[HUP])", "HUP; is running", "0s HUP node", "", nil},
		{"a worker that handles it costs no snapshot", "", "node[USR1]", "slow 100ms; USR1; 1s", "0s USR1 node", "", nil},
		{"it waits until the last snapshot is paid for", "", "sh(node[HUP,USR1])", "slow 100ms; HUP; 200ms; USR1; 1s",
			"100ms HUP node; 600ms USR1 node", "", nil},
		{"CONT to a worker that is stopped", "", "node[TERM=0/2s,stopped]", "CONT; TERM", "0s CONT node; 0s TERM node", "0 2s", nil},
	})
}

// A process that may not be signalled is warned of once, counts as signalled, and is not tried again.
func TestSignalFails(t *testing.T) {
	const eperm, no = " (operation not permitted)", "warning: cannot send SIG"
	const advice = ": operation not permitted; it runs as another user, give drainit CAP_KILL"
	playRows(t, []row{
		{"to the worker", "", "node[TERM]", "refuse node EPERM; TERM; HUP; 29s; allow node",
			"0s TERM node" + eperm + "; 0s HUP node" + eperm + "; 30s KILL node", "137 30s",
			[]string{"1 " + no, "warning: cannot send SIGTERM to node[1]" + advice}},
		{"to an orphan", "", "sh(node[TERM])", "refuse node EPERM; TERM; HUP; 29s; allow node",
			"0s TERM sh; 0s TERM node" + eperm + "; 0s HUP node" + eperm + "; 30s KILL node", "137 30s",
			[]string{"1 " + no, "warning: cannot send SIGTERM to node[2]" + advice}},
		{"to an orphan that was not at work then", "", "sh(app[TERM](node[TERM]))", "TERM; refuse node EPERM; app exits 0; 29s; allow node", "*", "",
			[]string{"1 " + no, "warning: cannot send SIGTERM to node[3]" + advice}},
		{"for another reason", "", "node", "refuse node EINVAL; USR1; USR1; allow node; TERM", "*", "143 0s",
			[]string{"1 " + no, "warning: cannot send SIGUSR1 to node[1]: invalid argument"}},
		{"to what has just gone", "", "node[TERM]", "refuse node gone; TERM; allow node", "*", "", []string{"0 " + no, "0 sent "}},
		{"a kill", "", "node[TERM,stuck]", "TERM; refuse node cannot kill it", "0s TERM node; 30s KILL node (cannot kill it) x100", "137 35s",
			[]string{"warning: cannot kill it", "0 " + no}},
	})
}

// Where /proc can't be read the worker is signalled all the same, once. What it leaves is signalled when
// it is seen; as PID 1, the namespace is without /proc.
func TestWithoutProc(t *testing.T) {
	const unseen, exits = "warning: cannot tell what the worker left behind: ", "proc gone; node exits 3"
	playRows(t, []row{
		{"at the stop", "", "daemon[TERM=0] node[TERM=0/4s](job[TERM])", "proc descriptors; TERM; 1500ms; proc there; 28s",
			"0s TERM node; 22.5s TERM daemon; 22.5s TERM job", "", nil},
		{"at the stop of a group, whose members were all signalled", "--forward group", "daemon[TERM=0] node[TERM=0/4s](job[TERM])",
			"proc descriptors; TERM; 1500ms; proc there; 28s", "0s TERM node job; 22.5s TERM daemon", "", nil},
		{"at the exit", "", "node(job[TERM=0])", "proc descriptors; node exits 3; 2500ms; proc there", "3s TERM job", "3 3s",
			[]string{unseen + "too many open files", "warning: node[1] exited with status 3 and left what /proc does not show, SIGKILL in 30s"}},
		{"never, as PID 1", "", "node(job[TERM])", exits, "0s TERM job; 30s KILL job", "3 30s",
			[]string{"warning: sent SIGTERM to every process that is left, signalled before or not: /proc is not mounted", "0 sent "}},
		{"never, elsewhere", "", "node(job[TERM])", "not init; " + exits, "", "3 35s", []string{unseen + "/proc is not mounted", "0 sent "}},
		{"a worker that lives may signal the others", "", "node[TERM=0/2s](job[TERM=0])", "proc gone; TERM; 1500ms; says 0 warning",
			"0s TERM node; 2s TERM job", "0 2s", nil},
		{"a stopped worker is known from wait4", "", "node[TERM=0/2s]", "node gets STOP; 1s; proc gone; TERM", "1s TERM node; 1s CONT node", "0 3s", nil},
		{"and a continued one", "", "node[TERM=0/2s]", "node gets STOP; 1s; node gets CONT; 1s; proc gone; TERM", "2s TERM node", "0 4s", nil},
		{"the worker is killed unseen", "", "node[TERM]", "proc hidden; TERM", "*", "137 30s", []string{killing + "what is left", "1 warning",
			"stopped after 30s: node[1] died of SIGKILL; killed what was left (grace period of 30s over); exit status 137"}},
		{"a leftover of a worker that exits by itself is killed unseen", "", "node(job[TERM])", "proc hidden; node exits 0", "*", "0 30s",
			[]string{"json ended level=info phase=done reason=grace status=0 pid=1 comm=node"}},
		{"a leftover is killed unseen", "", "node[TERM=0](job[TERM])", "proc hidden; TERM", "*", "137 30s", []string{killing + "what is left", "1 warning",
			"stopped after 30s: node[1] exited with status 0 (left within 0.1s of the stop signal); killed what was left (grace period of 30s over); exit status 137"}},
	})
}

// A HUP of a terminal that is gone is the first stop signal, and no second one. A person at a terminal
// knows what their key did, and a job's group is stopped and continued as a whole.
func TestOnATerminal(t *testing.T) {
	const begins = "stopping: SIGINT sent to node[1]; what still runs after 30s is killed"
	playRows(t, []row{
		{"it is gone", "", "node[TERM,HUP]", "tty; HUP; 1s; HUP; 1s", "0s TERM node", "",
			[]string{"2 the terminal is gone: SIGHUP counts as SIGTERM", "stopping"}},
		{"it is gone, and no signal stops", "--rewrite TERM:0 --rewrite INT:0", "node[HUP]", "tty; HUP", "0s HUP node", "", nil},
		{"Ctrl-C", "", "node[INT]", "tty; INT; node dies INT", "0s INT node", "", []string{begins + ", Ctrl-C again kills at once", "0 warning"}},
		{"Ctrl-C of which the second is ignored", "--second-stop ignore", "node[INT]", "tty; INT", "0s INT node", "", []string{begins, "0 " + begins + ","}},
		{"its own end", "", "node", "tty; node exits 3", "", "3 0s", []string{"json ended level=debug phase=done reason=exit status=3 pid=1 comm=node"}},
		{"TERM", "", "node[TERM]", "tty; TERM", "0s TERM node", "", []string{"0 stopping: SIGTERM sent to node[1]; what still runs after 30s is killed,"}},
		{"a stopped job's stop", "", "sh[TERM](node[TERM,stopped])", "tty; TERM", "0s TERM sh; 0s CONT sh node", "", nil},
		{"a stopped job's CONT; the next is for the worker", "", "sh[TERM](node[TERM,stopped])", "tty; CONT; CONT", "0s CONT sh node; 0s CONT sh", "", nil},
		{"without /proc, a stopped worker's group", "", "daemon node[TERM](job[TERM])", "tty; node gets STOP; 1s; proc gone; TERM",
			"1s TERM node; 1s CONT node job", "", nil},
		{"without /proc, another that is stopped", "", "daemon node[TERM](job[TERM])", "tty; daemon gets STOP; 1s; proc gone; TERM", "1s TERM node", "", nil},
	})
}

// A program that was signalled, had no handler and died at once is named once. One that a script only
// waits with is not, nor what a worker with a handler leaves.
func TestWarningsOfAStop(t *testing.T) {
	const maybe, lacks = "warning: %s[1] died of SIGTERM at once: it may have no handler of its own", "warning: b[3] has no SIGTERM handler"
	node, ruby, job := fmt.Sprintf(maybe, "node"), fmt.Sprintf(maybe, "ruby"), "warning: job[2] has no SIGTERM handler"
	const drains = ", and then what it was doing is lost. Add one, or send the signal that it drains on: --rewrite TERM:"
	const alone = "--forward worker"
	playRows(t, []row{
		{"below a shell", "", "sh(a[TERM=0/2s] b b sleep c)", "TERM", "*", "0 2s", []string{"3 warning",
			"warning: b[3] has no SIGTERM handler: it died at once", "warning: c[6] has no SIGTERM handler: it died at once",
			"warning: sh[1] does not forward signals"}},
		{"later, for it may have had the signal blocked", "", "sh(a[TERM=0/3s] b[TERM!111ms,default])", "TERM", "*", "0 3.111s",
			[]string{"0 " + lacks, "0 warning: b[3] died of SIGTERM at once"}},
		{"one that waits for another, as time(1) does", "", "sh(time(node[TERM=0/1s]))", "TERM; 3s", "*", "", []string{"0 warning: time"}},
		{"left by a launcher", "", "go[run,TERM=0/1s](job)", "TERM", "*", "0 1s", []string{job}},
		{"left by a worker with a handler", "", "node[TERM=0/1s](job)", "TERM", "*", "0 1s", []string{job}},
		{"a runtime that shows a handler", "", "node[TERM!100ms]", "TERM", "*", "143 100ms", []string{node}},
		{"a runtime, later", "", "node[TERM!111ms]", "TERM", "*", "143 111ms", []string{"0 " + node}},
		{"a runtime that exits", "", "node[TERM=143/1ms]", "TERM", "*", "143 1ms", []string{"0 " + node}},
		{"a runtime that handles INT", "", "node[INT,TERM!1ms]", "TERM", "*", "143 1ms", []string{node + drains + "INT"}},
		{"what a relay leaves", "", "app[TERM=143/1ms](job)", "TERM; job dies TERM", "*", "143 1ms", []string{"0 warning"}},
		{"a relay that dies of it itself", "", "app[TERM!1ms](node[TERM])", "TERM; node dies TERM", "*", "143 1ms", []string{"0 warning"}},
		{"another program", "", "ruby[TERM!1ms]", "TERM", "*", "143 1ms", []string{"0 " + ruby}},
		{"the worker alone, of which nothing is read", alone, "ruby", "TERM", "*", "143 0s", []string{ruby}},
		{"the worker alone, a shell", alone, "sh", "TERM", "*", "143 0s", []string{"0 " + fmt.Sprintf(maybe, "sh")}},
		{"the worker alone, that exits", alone, "ruby[TERM=0/1ms]", "TERM", "*", "0 1ms", []string{"0 " + ruby}},
		{"on a terminal", "", "node[TERM!1ms]", "tty; TERM", "*", "143 1ms", []string{node}},
		{"Ctrl-C of a runtime", "", "node[INT!1ms]", "tty; INT", "*", "", []string{"0 warning"}},
		{"Ctrl-C of a shell", "", "sh(node[INT=0/1s,TERM=0/1s])", "tty; INT", "*", "", []string{"0 warning", "stopping on SIGINT: SIGTERM sent to sh[1]; "}},
		{"Ctrl-C of a program without a handler", "", "sleep", "tty; INT", "*", "", []string{"0 warning"}},
		{"one that ignores it", "", "app[ignore]", "TERM; 1s; TERM", "*", "", []string{"warning: app[1] ignores SIGTERM and works on, SIGKILL in 30s"}},
		{"one that ignores it to the end", "--grace 1s", "app[ignore]", "TERM", "*", "137 1s", []string{"only",
			"warning: app[1] ignores SIGTERM and works on, SIGKILL in 1s", "stopping: SIGTERM sent to app[1]; what still runs after 1s is killed",
			"warning: grace period of 1s over: killing app[1] (sleeping)", "stopped after 1.0s: killed app[1] (grace period of 1s over); exit status 137"}},
		{"one that ignores it, for ever", "--grace infinity", "app[ignore]", "TERM", "*", "",
			[]string{"warning: app[1] ignores SIGTERM and works on, no SIGKILL: the grace period is infinite"}},
		{"one below a shell that ignores it", "", "sh(app[ignore])", "TERM; 1s", "*", "", []string{"warning: app[2] ignores SIGTERM", "2 warning"}},
		{"one that ignores it and waits for another", "", "time[ignore](app[TERM=0/1s])", "TERM; 3s", "*", "", []string{"0 warning"}},
		{"a group is signalled as a whole", "--forward group", "sh(a[TERM=0/1s] b[TERM=0/1s])", "TERM", "*", "", []string{"0 warning"}},
		{"reaped orphans", "", "child node[TERM=0]", "child dies TERM; TERM", "*", "0 0s", []string{"0 warning"}},
	})
}
