package logx

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultTerminationLog is where Kubernetes reads a container's last message,
// unless the manifest says otherwise (terminationMessagePath).
const DefaultTerminationLog = "/dev/termination-log"

// WriteTerminationLog writes a termination message, also for what ends drainit before
// there is a worker. An empty name or text writes nothing.
func WriteTerminationLog(file, text string) error {
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
	return WriteAll(fd, []byte(text))
}
