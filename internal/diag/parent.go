package diag

import (
	"fmt"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
)

// Parent is for a drainit that no stop signal can reach: the platform sends it to PID 1,
// and between that and drainit are shells and launchers alone, of which the one right above
// drainit is a shell. above are all of these, drainit's parent first and PID 1 last. A shell
// with a trap may signal drainit.
func (s *Start) Parent(above []proc.Process) Warning {
	if len(above) == 0 || above[len(above)-1].PID != 1 || forward.ProgramOf(&above[0]) != forward.Shell {
		return Warning{}
	}
	for _, p := range above {
		kind := forward.ProgramOf(&p)
		if kind == forward.Other || kind == forward.Shell && p.Handles(unix.SIGTERM) {
			return Warning{}
		}
	}
	return Warning{above[0], fmt.Sprintf("drainit's parent %v is a shell that does not forward signals, so no stop signal reaches drainit. Better: %s",
		above[0], s.insteadOf(above))}
}

// insteadOf is how drainit is reached.
func (s *Start) insteadOf(above []proc.Process) string {
	const general = "use the exec form of ENTRYPOINT, with drainit as its first word"
	if len(above) > 1 {
		return general
	}
	shell := above[0]
	if script := howStarted(shell).script; script != "" {
		return "in " + script + " put exec before drainit"
	}
	if words := simpleCommand(shell); sameWords(s.Args, words) {
		if form := s.entrypoint(s.Command, shell); form != "" {
			return form
		}
	}
	return general
}
