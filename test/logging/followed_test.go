package logging

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// followed is a start that drainit has advice for, and the same with that followed. J is a job that takes
// a moment from the stop signal on.
type followed struct {
	advice        string // in a line of the first start
	before, after string // the same where after is ""
	flags         string // of the second start
	stop          string // the signals, TERM if it is ""
	ends          string // the signal that ends the first start, which those do not
}

// onInterrupt is a program for Node that drains on INT alone.
const onInterrupt = `process.on("SIGINT", () => setTimeout(process.exit, 1000)); setInterval(() => {}, 1000); console.log("ready")`

var followedStarts = []followed{
	{"start it with exec", "dash -c 'J; :'", "dash -c 'exec J'", "", "", ""},
	{"start it with exec", "bash -c 'cd /; J; exit $?'", "bash -c 'cd /; exec J'", "", "", ""},
	{"start it with exec", `ash -c 'trap "exit 3" INT; J; :'`, `ash -c 'trap "exit 3" INT; exec J'`, "", "", ""},
	{"start it with exec", "bash -c 'J | cat; :'", "bash -c 'exec J | cat'", "", "", ""},
	{"start it with exec", "dash -c 'bash -c \"J; :\"; :'", "dash -c 'exec bash -c \"exec J\"'", "", "", ""},
	{"start that in its place", "npm exec -- J", "J", "", "", ""},
	{"start that in its place", "npx J", "J", "", "", ""},
	{"start that in its place", "yarn J", "J", "", "", ""},
	{"--rewrite QUIT:TERM", "app -drain 1", "app -drain 1", "--rewrite QUIT:TERM", "QUIT", ""},
	{"--rewrite INT:TERM", "app -drain 1", "app -drain 1", "--rewrite INT:TERM", "INT", ""},
	{"--rewrite QUIT:TERM", `python3 -c 'import signal as s, sys; s.signal(15, lambda *_: sys.exit()); print("ready", flush=True); s.pause()'`, "", "--rewrite QUIT:TERM", "QUIT", ""},
	{"--rewrite TERM:QUIT", `perl -e '$| = 1; $SIG{QUIT} = sub { sleep 1; exit }; print "ready\n"; sleep 60'`, "", "--rewrite TERM:QUIT", "", ""},
	{"--rewrite TERM:INT", `perl -e '$| = 1; $SIG{INT} = sub { sleep 1; exit }; print "ready\n"; sleep 60'`, "", "--rewrite TERM:INT", "", ""},
	{"--rewrite TERM:INT", "node -e '" + onInterrupt + "'", "", "--rewrite TERM:INT", "", ""},
	{"--second-stop ignore", "J", "J", "--second-stop ignore", "TERM TERM", ""},
	{"--second-stop ignore", "dash -c 'exec J'", "J", "--second-stop ignore", "TERM INT", ""},
	{"--second-stop ignore", "bash -c 'J; exit $?'", "", "--second-stop ignore", "TERM TERM", ""},
	{"--grace gives more time", "app -drain 3", "", "--grace 1h", "", ""},
	{"--grace gives more time", "dash -c 'app -drain 3; exit $?'", "", "--grace 1h", "", ""},
	{"--grace gives more time", "bash -c 'app -drain 3 & wait'", "", "--grace 1h", "", ""},
	{"--rewrite TSTP:SIG", `perl -e '$| = 1; $SIG{USR1} = sub { $quiet = 1 }; $SIG{TERM} = sub { exit !$quiet }; print "ready\n"; sleep 1 while 1'`, "", "--rewrite TSTP:USR1", "TSTP TERM", ""},
	{"--stop-signal WINCH --rewrite WINCH:TERM", `perl -e '$| = 1; $SIG{TERM} = sub { sleep 1; exit }; print "ready\n"; sleep 60'`, "", "--stop-signal WINCH --rewrite WINCH:TERM", "WINCH", "TERM"},
	{"exec where the script ends with drainit", "dash -c 'D -v J; :'", "dash -c 'exec D -v J'", "", "", "KILL"},
	{"the exec form of ENTRYPOINT with drainit as its first word", "dash -c 'D -v J; :'", "D -v J", "", "", "KILL"},
}

// No advice of drainit's loses a job when it is followed.
func TestAdviceKeepsTheJob(t *testing.T) {
	t.Parallel()
	for i, a := range followedStarts {
		t.Run(fmt.Sprint(i, " ", a.advice), func(t *testing.T) {
			t.Parallel()
			grace := ""
			if strings.HasPrefix(a.advice, "--grace") {
				grace = "--grace 1s"
			}
			if p, _ := a.run(t, a.before, grace, a.ends); !strings.Contains(p.Err(), a.advice) {
				t.Errorf("no line says %q:\n%s", a.advice, p.Err())
			}
			if p, kept := a.run(t, cmp.Or(a.after, a.before), a.flags, ""); !kept {
				t.Errorf("followed, the job is lost:\n%s\n%s", p.Out(), p.Err())
			}
		})
	}
}

// A script that ends with app & is told of --forking, which keeps the job.
func TestForkingKeepsTheJob(t *testing.T) {
	t.Parallel()
	const script = "worker listen -drain 700ms -exit 7 & sleep 1"
	p := warned{command: "sh -c '" + script + "'"}.launch(t)
	p.Wait()
	p.WantLogged(`exited with status 0 and left 1 process .*; if it runs on in them, give drainit the flag --forking, or start it in the foreground`, 1)
	p = warned{command: "sh -c '" + script + "'", flags: "--forking"}.launch(t)
	p.WaitErr(`exited with status 0 and runs on in 1 process`)
	p.Signal(unix.SIGTERM)
	p.Wait()
	p.WantCount("got SIGTERM", 1)
	p.WantCount("drained", 1)
}

// run runs a start and stops it. kept is whether the job was signalled once, and has ended as it would.
func (a followed) run(t *testing.T, command, flags, ends string) (p *harness.Init, kept bool) {
	t.Helper()
	stops, job := strings.Fields(cmp.Or(a.stop, "TERM")), "worker listen -drain 700ms -exit 7"
	if len(stops) > 1 {
		job = "worker listen -drain 3s -exit 7"
	}
	command = regexp.MustCompile(`\bJ\b`).ReplaceAllString(command, job)
	if a.stop == "QUIT" {
		flags += " --stop-signal QUIT"
	}
	p = warned{command: command, flags: flags}.launch(t)
	p.WaitOut(`^ready`)
	harness.WaitUntil(t, "the worker has started", func() bool { return p.FirstChild() != 0 })
	p.WaitAtRest(harness.Patience)
	p.Prefer() // at once, for a death, is within 0.1 s
	for i, stop := range stops {
		time.Sleep(time.Duration(i) * time.Second) // longer than one request lasts, short of CPU time, too
		p.Signal(unix.SignalNum("SIG" + stop))
	}
	if ends != "" {
		p.WaitErr(regexp.QuoteMeta(a.advice))
		p.Signal(unix.SignalNum("SIG" + ends))
	}
	status, got := p.Wait(), strings.Count(p.Out(), "got SIG")
	return p, status == 0 || got == 1 && strings.Count(p.Out(), "drained") == 1
}
