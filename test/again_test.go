package test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSecondStopSignalForcesTheStop(t *testing.T) {
	for name, pair := range map[string][2]syscall.Signal{
		"TERM TERM": {unix.SIGTERM, unix.SIGTERM},
		"TERM INT":  {unix.SIGTERM, unix.SIGINT},
		"INT TERM":  {unix.SIGINT, unix.SIGTERM},
		"INT INT":   {unix.SIGINT, unix.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1}, "a[TERM,INT](b[TERM,INT])", "a b")
				p.signal(pair[0])
				p.waitOut(`^a got`)
				pastTheSameRequest()
				p.signal(pair[1])
				p.wantExit(137)
				p.waitErr(`second stop signal`)
				p.wantGots("a got " + strings.TrimPrefix(unix.SignalName(pair[0]), "SIG"))
				p.wantNothingLeft()
			})
		})
	}
}

// timeout(1), npm under Ctrl-C and some runtimes deliver one request twice.
func TestStopSignalTwiceAtOnceIsOneRequest(t *testing.T) {
	for name, pair := range map[string][2]syscall.Signal{
		"TERM TERM": {unix.SIGTERM, unix.SIGTERM},
		"TERM INT":  {unix.SIGTERM, unix.SIGINT},
		"INT TERM":  {unix.SIGINT, unix.SIGTERM},
	} {
		for _, mode := range []string{"auto", "group", "worker"} {
			t.Run(name+", forward "+mode, func(t *testing.T) {
				bothModes(t, func(t *testing.T, noPID1 bool) {
					t.Parallel()
					const tries = 30
					for range tries {
						if twiceAtOnce(t, Launch{NoPID1: noPID1, Args: []string{"--forward", mode}}, pair) {
							return
						}
					}
					t.Fatalf("the second signal never came within 100ms of the first, in %d tries", tries)
				})
			})
		}
	}
}

// twiceAtOnce sends a stop signal twice and checks that it counts as one. ok is
// false where the kernel made one of the two, or the machine was so busy that
// they may have come to drainit more than 100 ms apart.
func twiceAtOnce(t *testing.T, l Launch, pair [2]syscall.Signal) (ok bool) {
	t.Helper()
	p := startTree(t, l, "a[TERM,INT,USR1=7]", "a")
	sent := time.Now()
	p.signal(pair[0])
	waitUntil(t, "no signal waits for drainit", func() bool { return !p.pending() })
	p.signal(pair[1])
	p.waitOut(`^a got (TERM|INT)`)
	waitUntil(t, "no signal waits for drainit", func() bool { return !p.pending() })
	p.signal(unix.SIGUSR1)
	if p.wait() == 137 {
		wantForcedLate(t, p.err(), sent)
		return false
	}
	p.wantExit(7)
	stops := strings.Count(p.out(), "got TERM") + strings.Count(p.out(), "got INT")
	if stops != 1 || t.Failed() {
		t.Fatalf("the worker was signalled %d times\nstdout:\n%s\nstderr:\n%s", stops, p.out(), p.err())
	}
	return strings.Contains(p.err(), "same request")
}

// forced is drainit's line of a force-stop, as JSON.
var forced = regexp.MustCompile(`"time":"([^"]+)"[^\n]*"msg":"second stop signal, force-stop: `)

// wantForcedLate checks, of a drainit that has force-stopped, that its second stop
// signal came 100 ms or more after the first one: the test knows when that had not been
// sent yet, and drainit's log when the second one had come.
func wantForcedLate(t *testing.T, log string, notSent time.Time) {
	t.Helper()
	m := forced.FindStringSubmatch(log)
	if m == nil {
		t.Fatalf("no force-stop in:\n%s", log)
	}
	at, err := time.Parse(time.RFC3339, m[1])
	if err != nil {
		t.Fatal(err)
	}
	const milli = time.Millisecond // the log's times are cut to one
	if late := at.Add(milli).Sub(notSent); late < 100*milli {
		t.Fatalf("a force-stop within %v of the first stop signal:\n%s", late, log)
	}
}

// pending reports whether a signal has been sent to the init that it has not
// taken from the kernel yet.
func (p *Init) pending() bool {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	return err == nil && !bytes.Contains(b, []byte("ShdPnd:\t0000000000000000\n"))
}
