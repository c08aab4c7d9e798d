package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultTerminationLog is where Kubernetes reads a container's last message,
// unless the manifest says otherwise (terminationMessagePath).
const DefaultTerminationLog = "/dev/termination-log"

// report is the termination message: what the exit status can't say.
type report struct {
	file string // empty: none is written
	text string // empty: nothing to say

	why string // there was a kill
	at  time.Time
}

// killed notes the first kill.
func (r *report) killed(why string, now time.Time) {
	if r.why == "" {
		r.why, r.at = why, now
	}
}

// end completes the message when it is known who was killed, and since when
// they had been asked to end.
func (r *report) end(since time.Time, what, victims string) {
	if r.why != "" && victims != "" {
		r.text = fmt.Sprintf("%s: killed %s %.1fs after %s", r.why, victims, r.at.Sub(since).Seconds(), what)
	}
}

// write writes the message, if the file is there for it and holds none. That one
// which was asked for can't be written is worth a warning.
func (r *report) write(log *Log) {
	err := WriteReport(r.file, r.text)
	if err != nil && r.file != DefaultTerminationLog {
		log.Warn(fmt.Sprintf("cannot write the termination message to %s: %v", r.file, err))
	}
}

// WriteReport writes a termination message, also for what ends drainit before
// Run. An empty name or text writes nothing.
func WriteReport(file, text string) error {
	if file == "" || text == "" {
		return nil
	}
	return writeEmpty(file, Printable(text))
}

// writeEmpty writes text into a regular file that exists and is empty; one that
// is not empty is left alone. It never waits, for a reader of a pipe least of all.
func writeEmpty(file, text string) error {
	const atMost = 4096 // what Kubernetes keeps of it
	fd, err := -1, error(unix.EINTR)
	for err == unix.EINTR {
		fd, err = unix.Open(file, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("it is no regular file")
	}
	if stat.Size > 0 {
		return nil
	}
	text = strings.ToValidUTF8(text[:min(len(text), atMost)], "") // no rune is cut in two
	return writeAll(fd, []byte(text))
}
