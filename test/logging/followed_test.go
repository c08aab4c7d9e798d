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
	"drainit/test/harness/rows"
)

// followed is a row of followed.tsv.
type followed struct{ advice, before, after, flags, stop, ends string }

// No advice of drainit's loses a job when it is followed.
func TestAdviceKeepsTheJob(t *testing.T) {
	t.Parallel()
	for i, row := range rows.Read(t, "testdata/followed.tsv", 6) {
		a := followed{row[0], row[1], row[2], row[3], row[4], row[5]}
		if !harness.Row(a.before + a.flags) {
			continue
		}
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
	p := warned{"": "sh -c '" + script + "'"}.launch(t)
	p.Wait()
	p.WantLogged(`exited with status 0 and left 1 process .*; if it runs on in them, give drainit the `+
		`flag --forking, or start it in the foreground`, 1)
	p = warned{"": "sh -c '" + script + "'", "flags": "--forking"}.launch(t)
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
	p = warned{"": command, "flags": flags}.launch(t)
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
