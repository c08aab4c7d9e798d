package cli

import (
	"errors"
	"fmt"
	"io"

	"drainit/internal/logx"
	"drainit/internal/spawn"
)

// refuse reports a command line that can't be run, to the platform too, and returns the
// exit status for it.
func refuse(o *options, err error, stderr io.Writer) int {
	_ = logx.WriteTerminationLog(o.config.TerminationLog, err.Error()) // stderr has it all the same
	status := fail(err, stderr)
	if errors.Is(err, errNoCommand) {
		fmt.Fprint(stderr, usage)
	}
	return status
}

// fail writes an error as one line and returns the exit status for it.
func fail(err error, stderr io.Writer) int {
	fmt.Fprintf(stderr, "drainit: %s\n", logx.Printable(err.Error()))
	return spawn.StatusFailed
}

// show writes a text that was asked for and returns the exit status.
func show(text string, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(err, stderr)
	}
	return 0
}
