package logging

import (
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// advised is a line, and what it says to do. The worker drains on TERM, and exits with 7 then.
type advised struct {
	worker []string
	come   unix.Signal
	line   string   // that comes without the flags
	flags  []string // by the line
	then   string   // what becomes of the signal with them: "drains" or "works on"
}

// What a line advises helps, if it is followed: the signal begins the drain, or the worker works on until
// TERM comes; and the line comes no more.
func TestAdviceHelpsIfItIsFollowed(t *testing.T) {
	drainer, node := harness.Tree("a[TERM=7]"), []string{"node", "-e", `
		process.on("SIGTERM", () => { console.log("a got TERM"); process.exit(7); });
		console.log("ready a"); setInterval(() => {}, 60000);`}
	meant := func(sig string) string {
		return `begins the stop.*--stop-signal ` + sig + ` --rewrite ` + sig + `:TERM; if not: --rewrite ` +
			sig + `:0`
	}
	for name, tt := range map[string]advised{
		"HUP is the stop": {drainer, unix.SIGHUP, meant("HUP"),
			[]string{"--stop-signal=HUP", "--rewrite=HUP:TERM"}, "drains"},
		"HUP is none": {drainer, unix.SIGHUP, meant("HUP"), []string{"--rewrite=HUP:0"},
			"works on"},
		"PWR is the stop": {drainer, unix.SIGPWR,
			`lxc\.signal\.halt = SIGTERM, or --stop-signal PWR --rewrite PWR:TERM`,
			[]string{"--stop-signal=PWR", "--rewrite=PWR:TERM"}, "drains"},
		"WINCH is the stop": {drainer, unix.SIGWINCH,
			`has no effect.*--stop-signal WINCH --rewrite WINCH:TERM`,
			[]string{"--stop-signal=WINCH", "--rewrite=WINCH:TERM"}, "drains"},
		"a reload without a handler": {[]string{"perl", "-e",
			`$| = 1; print "ready a\n"; sleep 60 while 1`}, unix.SIGHUP,
			`died of SIGHUP, which drainit forwarded.*if not: --rewrite HUP:0`, []string{"--rewrite=HUP:0"},
			"works on"},
		"INT to Node that handles TERM": {node, unix.SIGINT, `died of SIGINT at once.*--rewrite INT:TERM"`,
			[]string{"--rewrite=INT:TERM"}, "drains"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.worker[0] == node[0] {
				harness.Need(t, "node")
			}
			run := func(flags ...string) *harness.Init {
				p := harness.Run(t, harness.Launch{Args: harness.Line(flags, tt.worker...)})
				p.WaitOut(`^ready a`)
				p.WaitTitle("drainit:run")
				p.Prefer() // at once, for a death, is within 0.1 s
				p.Signal(tt.come)
				return p
			}
			p := run()
			p.WaitErr(tt.line)
			p.Signal(unix.SIGKILL)
			p = run(tt.flags...)
			if tt.then == "works on" {
				p.Signal(unix.SIGUSR2) // taken after the other, and ends the worker
				p.WaitErr(`SIGUSR2`)
			} else {
				p.WaitOut(`^a got TERM`)
				p.WantExit(7)
			}
			p.WantLogged(tt.line, 0)
		})
	}
}

// Root without CAP_KILL may not signal a worker of another user. One line says so at the stop, and no
// later one that more time would help.
func TestWorkerThatMayNotBeSignalledIsNamed(t *testing.T) {
	harness.Need(t, "setpriv", "perl")
	harness.NeedRoot(t)
	const nobody = "setpriv --reuid=nobody --regid=nogroup --clear-groups perl -e '$SIG{TERM} = sub { " +
		"exit 7 }; $| = 1; print qq(ready\n); sleep 60 while 1'"
	for name, command := range map[string]string{"the worker": "exec " + nobody,
		"below a shell": nobody + "; exit $?"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.Run(t, harness.Launch{Under: []string{"setpriv", "--bounding-set", "-kill"},
				Args: []string{"-t2", "--", "sh", "-c", command}})
			p.WaitOut(`^ready`)
			p.Signal(unix.SIGTERM)
			p.Wait()
			p.WantLogged(`cannot send SIGTERM to perl\[\d+\]: .*operation not permitted; it runs as `+
				`another user, give drainit CAP_KILL or start it as that user`, 1)
			p.WantLogged(`--grace gives more time`, 0)
			followed := harness.Run(t, harness.Launch{Args: []string{"-t60", "--", "sh", "-c", command}})
			followed.WaitOut(`^ready`)
			followed.Signal(unix.SIGTERM)
			followed.WantExit(7)
			followed.WantLogged(`cannot send`, 0)
		})
	}
}

// A job without a handler that ignores the signal, as its shell has it, is done in the grace period.
func TestJobWithoutAHandlerIsKept(t *testing.T) {
	for trap, want := range map[string]int{"": 143, "trap '' TERM INT; ": 0} {
		p := harness.Run(t, harness.Launch{Args: []string{harness.LongGrace, "--", "sh", "-c",
			trap + `exec perl -e '$| = 1; print "ready\n"; select undef, undef, undef, 1; print "done\n"'`}})
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTERM)
		p.WantExit(want)
		p.WantLogged(`perl\[\d+\] ignores SIGTERM and works on`, map[int]int{0: 1}[want])
		p.WantCount("done", map[int]int{0: 1}[want])
	}
}

// A CI runner sends INT at a cancel, and TERM 7.5 s later. With the flags of its row in docs/platforms.md a
// worker in Node that handles TERM alone drains to its end. Without the rewrite its runtime ends it at INT,
// and without the other flag the second signal kills it.
func TestCIRunnersCancel(t *testing.T) {
	harness.Need(t, "node")
	row := regexp.MustCompile("(?m)^\\| GitHub Actions, .*" +
		"`(--rewrite INT:TERM) (--second-stop ignore) --grace 9s`")
	flags := row.FindStringSubmatch(harness.TextOf(t, harness.Repo("docs", "platforms.md")))
	if flags == nil {
		t.Fatal("docs/platforms.md has no such row")
	}
	for name, tt := range map[string]struct {
		without string
		status  int
	}{"as the page says": {"", 7}, "no rewrite": {flags[1], 130}, "no ignore": {flags[2], 137}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{harness.LongGrace}
			for _, flag := range flags[1:] {
				if flag != tt.without {
					args = append(args, harness.Words(flag)...)
				}
			}
			p := harness.Run(t, harness.Launch{Args: append(args, "--", "node", "-e", `
				process.on('SIGTERM', () => console.log('got SIGTERM'));
				process.on('SIGUSR2', () => { console.log('drained'); process.exit(7); });
				setInterval(() => {}, 1000);
				console.log('ready');`)})
			p.WaitOut(`^ready`)
			p.Signal(unix.SIGINT)
			if tt.status != 130 {
				p.WaitOut(`got SIGTERM`)
				p.WaitErr(`draining, 1 process left`) // 5 s later: TERM is another request
				p.Signal(unix.SIGTERM)
			}
			if tt.status == 7 {
				p.WaitErr(`SIGTERM again: ignored`)
				p.Signal(unix.SIGUSR2)
			}
			p.WantExit(tt.status)
			p.WantCount("got SIGTERM", map[int]int{7: 1, 137: 1}[tt.status])
		})
	}
}
