package test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// A worker that dies of a signal which drainit has forwarded, and for which it has no handler,
// is named with it in the log and in the termination message: else a HUP ends a container
// without a word.
func TestDeathByAForwardedSignalIsNamed(t *testing.T) {
	for sig, status := range map[unix.Signal]int{unix.SIGHUP: 129, unix.SIGUSR1: 138, unix.SIGQUIT: 131} {
		t.Run(signals.Name(sig), func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				file := emptyFile(t)
				p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--termination-log", file, "--", "sleep", "1000"}})
				p.waitUntilStarted()
				waitUntil(t, "the worker has become sleep", func() bool { return comm(p.firstChild()) == "sleep" })
				p.signal(sig)
				p.wantExit(status)
				says := `sleep\[\d+\] died of ` + signals.Name(sig) + `, which drainit forwarded: it has no handler for it`
				p.wantLogged(`"level":"warn".*"msg":"`+says, 1)
				wantLastMessage(t, file, `^`+says)
			})
		})
	}
}

// A handler that ends its process by the signal itself has had its say: its end is no news of
// a missing handler.
func TestDeathByAForwardedSignalThatIsHandledIsNoMissingHandler(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line(nil, script(`
			$SIG{HUP} = sub { $SIG{HUP} = "DEFAULT"; kill HUP => $$ }; say "ready"; forever`)...)})
		p.waitOut(`^ready`)
		p.signal(unix.SIGHUP)
		p.wantExit(129)
		p.wantLogged(`no handler`, 0)
	})
}

// With a stop delay a line marks the moment at which the worker is signalled. The TSTP of the
// delay is drainit's own idea: that none handles it is no warning.
func TestStopDelayMarksTheMomentOfTheSignal(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace, "--stop-delay=1s"}, script(`
			catch "TERM"; say "ready"; await "TERM"; exit 7`)...)})
		p.waitOut(`^ready`)
		sent := time.Now()
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		p.wantLogged(`"level":"warn".*TSTP`, 0)
		marks := msgs(t, p.err(), "SIGTERM sent to perl[")
		if len(marks) != 1 {
			t.Fatalf("%d lines say when SIGTERM was sent, want 1:\n%s", len(marks), p.err())
		}
		const milli = time.Millisecond // the log's times are cut to one
		if late := marks[0].at(t).Add(milli).Sub(sent); late < time.Second {
			t.Errorf("the line came %v after the stop signal, and the worker was signalled after 1s:\n%s", late, p.err())
		}
		if first := jsonLines(t, p.err())[0]; strings.Contains(first["msg"].(string), "SIGTERM sent to") {
			t.Errorf("the first line of the stop says that it was sent: %v", first)
		}
	})
}
