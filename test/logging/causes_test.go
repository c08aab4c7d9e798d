package logging

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// What the log says of an end fits what ended each process, and what it handled when it was signalled.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, row := range rows.Read(t, "testdata/causes.tsv", 7) {
		name, flags, command, sig, status, says, not := row[0], row[1], row[2], row[3], row[4], row[5], row[6]
		if !harness.Row(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := warned{"": command, "flags": flags}
			p := w.launch(t)
			w.awaitReady(p)
			p.Prefer() // at once, for a death, is within 0.1 s
			p.Signal(unix.SignalNum("SIG" + sig))
			p.WantExit(harness.Number(t, status))
			isLate := strings.Contains(says, " at once") && !tookLess(p, 0.1) ||
				strings.Contains(says, "within 0") && !tookLess(p, 0.2)
			if isLate {
				t.Log("on a busy machine it took longer to end, and that tells of nothing")
				return
			}
			log := p.Err()
			for pattern := range strings.SplitSeq(says, " && ") {
				if !regexp.MustCompile(pattern).MatchString(log) {
					t.Errorf("no line has %q", pattern)
				}
			}
			if not != "" && regexp.MustCompile(not).MatchString(log) {
				t.Errorf("a line has %q", not)
			}
		})
	}
}

// A signal that the kernel has refused is none that was sent, and a process that has refused SIGKILL and then
// exits by itself was not killed.
func TestRefusedSignalIsNotSent(t *testing.T) {
	harness.Need(t, "setpriv", "perl")
	harness.NeedRoot(t)
	t.Parallel()
	stdin, end := harness.Pipe(t)
	const ends = `$SIG{TERM} = sub { exit 7 }; $| = 1; print qq(ready\n); 1 while sysread STDIN, my $x, 1`
	p := harness.Run(t, harness.Launch{Under: []string{"setpriv", "--bounding-set", "-kill"}, Stdin: stdin,
		Args: harness.Line([]string{"--log-format=json", "-t2"}, append(harness.Words(
			"setpriv --reuid=nobody --regid=nogroup --clear-groups perl -e"), ends)...)})
	p.WaitOut(`^ready`)
	p.Signal(unix.SIGTERM)
	p.WaitErr(`cannot send SIGTERM to perl\[\d+\]`)
	p.Ask("status").Want(0, `perl +0\.\ds: cannot send SIGTERM: kill: operation not permitted$`, "")
	p.WaitErr(`killing perl`)
	time.Sleep(100 * time.Millisecond) // SIGKILL comes after that line
	end.Close()
	p.WantExit(0)
	p.WaitErr(`"stopped after [\d.]+s: perl\[\d+\] exited with status 0".*"reason":"stop","status":0,`)
}
