package logging

import (
	"syscall"
	"testing"

	"drainit/test/harness"
)

// deaths are ends of drainit, and what the log's last lines say of each beside the exit status: they are the
// termination message of Kubernetes.
var deaths = []struct {
	name   string
	flags  string
	worker string
	end    func(p *harness.Init)
	status int
	says   string
}{
	{"grace over, twelve are left", "--grace=300ms",
		`$SIG{TERM} = "IGNORE"; spawn { forever } for 1 .. 11; say "ready $$"; forever`, term, 137,
		`^drainit: stopped after (0\.[3-9]|[1-9][\d.m]*)s: killed perl\[\d+\], (perl\[\d+\],? ?){9} and 2 ` +
			`more \(grace period of 300ms over\); exit status 137$`},
	{"grace over, one is left", "--grace=300ms",
		`$SIG{TERM} = sub { exit 3 }; spawn { $SIG{TERM} = "IGNORE"; say "ready $$"; forever }; forever`,
		term, 3,
		`^drainit: stopped after (0\.[3-9]|[1-9][\d.m]*)s: perl\[\d+\] exited with status 3; killed ` +
			`perl\[\d+\] \(grace period of 300ms over\)$`},
	{"forced", harness.LongGrace, `$SIG{TERM} = "IGNORE"; say "ready $$"; forever`, func(p *harness.Init) {
		term(p)
		p.WaitErr(`what still runs after`)
		harness.PastTheSameRequest()
		term(p)
	}, 137,
		`^drainit: stopped after [\d.m]+s: killed perl\[\d+\] \(second stop signal, force-stop\); exit ` +
			`status 137$`},
	{"killed from outside in a drain", harness.LongGrace, `$SIG{TERM} = "IGNORE"; say "ready $$"; forever`,
		func(p *harness.Init) {
			term(p)
			p.WaitErr(`what still runs after`)
			harness.Kill(p.T, p.ReadyPid(`^ready`), syscall.SIGKILL)
		}, 137,
		`^drainit: warning: perl\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, ` +
			`its limit of CPU time, or a kill from outside$`},
	{"died of a forwarded signal", harness.LongGrace, `say "ready $$"; forever`,
		func(p *harness.Init) { p.Signal(syscall.SIGHUP) }, 129,
		`^drainit: warning: perl\[\d+\] died of SIGHUP, which drainit forwarded: it has no handler for ` +
			`it\. If the stop`},
	{"died of it by its own hand", harness.LongGrace,
		`$SIG{HUP} = sub { $SIG{HUP} = "DEFAULT"; kill HUP => $$ }; say "ready $$"; forever`,
		func(p *harness.Init) { p.Signal(syscall.SIGHUP) }, 129,
		`^drainit: warning: perl\[\d+\] died of SIGHUP, which drainit forwarded\. If the stop`},
}

func term(p *harness.Init) { p.Signal(syscall.SIGTERM) }

func TestLastLinesSayWhatTheStatusDoesNot(t *testing.T) {
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1,
					Args: harness.Line([]string{"--log-format=text", d.flags}, harness.Script(d.worker)...)})
				p.WaitOut(`^ready`)
				d.end(p)
				p.WantExit(d.status)
				p.WantLogged(d.says, 1)
			})
		})
	}
}
