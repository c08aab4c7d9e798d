package inspect

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// What docker exec has left in the background becomes drainit's child. It is told from what the worker has left: the
// plan, status and the line of the kill say so.
func TestWhatAnExecHasLeftIsNamed(t *testing.T) {
	harness.NeedAsk(t)
	const stranger = `not started by the worker \(docker exec\?\)`
	p := harness.Run(t, harness.Launch{Args: harness.Line([]string{"--grace=4s"}, harness.Script(`
		$SIG{TERM} = "IGNORE";
		spawn { POSIX::setsid(); exit if fork; $0 = "own"; say "ready $$"; forever };
		forever`)...)})
	p.WaitOut(`^ready`)
	exec := harness.Ask{Bin: "/bin/sh", Args: []string{"-c", `(trap "" TERM; exec sleep 1000) >/dev/null 2>&1 </dev/null & echo begun`}}
	p.AskAs(exec).Want(0, `begun`, "")
	harness.WaitUntil(t, "sleep runs below drainit", func() bool {
		return slices.ContainsFunc(p.Below(), func(pid int) bool { return harness.Comm(pid) == "sleep" })
	})
	p.Ask("status", "--plan").Want(0, `sleep +[^\n]*; `+stranger, "")
	p.Signal(unix.SIGTERM)
	p.WaitTitle("drainit:drain")
	var status harness.Answer // what is decided is published after the title
	harness.WaitUntil(t, "it is decided", func() bool { status = p.Ask("status"); return harness.Matches(stranger, status.Out) })
	status.Want(0, `sleep +[\d.]+s: `+stranger, "")
	p.WantExit(137)
	p.WantLogged(`killing [^"]*sleep\[\d+\] \(sleeping, [^)]*\), `+stranger, 1)
	p.WantLogged(`own\[\d+\] \(sleeping, [^)]*\), not`, 0)
}
