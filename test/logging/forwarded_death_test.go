package logging

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// A worker that dies of a signal which drainit has forwarded, and for which it has no handler,
// is named with it in the log and in the termination message: else a HUP ends a container
// without a word.
func TestDeathByAForwardedSignalIsNamed(t *testing.T) {
	for sig, status := range map[unix.Signal]int{unix.SIGHUP: 129, unix.SIGUSR1: 138, unix.SIGQUIT: 131} {
		t.Run(signals.Name(sig), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				file := harness.EmptyFile(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--termination-log", file, "--", "sleep", "1000"}})
				p.WaitUntilStarted()
				harness.WaitUntil(t, "the worker has become sleep", func() bool { return harness.Comm(p.FirstChild()) == "sleep" })
				p.Signal(sig)
				p.WantExit(status)
				says := `sleep\[\d+\] died of ` + signals.Name(sig) + `, which drainit forwarded: it has no handler for it`
				p.WantLogged(`"level":"warn".*"msg":"`+says, 1)
				harness.WantLastMessage(t, file, `^`+says)
			})
		})
	}
}

// A handler that ends its process by the signal itself has had its say: its end is no news of
// a missing handler.
func TestDeathByAForwardedSignalThatIsHandledIsNoMissingHandler(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(nil, harness.Script(`
			$SIG{HUP} = sub { $SIG{HUP} = "DEFAULT"; kill HUP => $$ }; say "ready"; forever`)...)})
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGHUP)
		p.WantExit(129)
		p.WantLogged(`no handler`, 0)
	})
}
