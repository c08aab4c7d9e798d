package cli

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/spawn"
)

// refuse reports a command line that can't be run, to the platform too, and returns the
// exit status for it.
func refuse(o *options, err error, stderr io.Writer) int {
	_ = logx.WriteTerminationLog(o.config.TerminationLog, err.Error()) // stderr has it all the same
	more := ""
	if errors.Is(err, errNoCommand) {
		more = usage
	}
	say(lineOf(err)+more, stderr)
	return spawn.StatusFailed
}

// fail writes an error as one line and returns the exit status for it.
func fail(err error, stderr io.Writer) int {
	say(lineOf(err), stderr)
	return spawn.StatusFailed
}

// lineOf is the line for an error.
func lineOf(err error) string { return "drainit: " + logx.Printable(err.Error()) + "\n" }

// say writes a text to stderr, which may be a full pipe that no process reads: PID 1 must end
// all the same. The goroutine that is stuck then ends with the process.
func say(text string, stderr io.Writer) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.WriteString(stderr, text)
	}()
	logx.AwaitWritten(said, unix.Stderr)
}

// show writes a text that was asked for and returns the exit status.
func show(text string, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(err, stderr)
	}
	return 0
}
