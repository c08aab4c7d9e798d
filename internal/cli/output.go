package cli

import (
	"io"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/spawn"
)

// fail writes an error as one line, with more after it, and returns the exit status for it.
// stderr may be a full pipe that no process reads: PID 1 must end all the same. The goroutine
// that is stuck then ends with the process.
func fail(err error, more string, stderr io.Writer) int {
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(stderr, "drainit: "+logx.Printable(err.Error())+"\n"+more)
	}()
	logx.AwaitWritten(written, unix.Stderr)
	return spawn.StatusFailed
}

// show writes a text that was asked for and returns the exit status.
func show(text string, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(err, "", stderr)
	}
	return 0
}
