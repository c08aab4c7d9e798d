package title

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// Stop is the stop that drainit is in.
type Stop struct {
	Signal unix.Signal   // the first that requested it; 0 where the worker ended by itself
	Since  time.Duration // after boot
	Grace  time.Duration // from Since to SIGKILL, or machine.Forever
}

// Times are in tenths of a second, in base 36: a name has room for 15 bytes. That is enough for
// a grace of a week until six years after boot, and for any of hours.
const (
	unit = time.Second / 10
	base = 36
	bits = 36 // 217 years; a Duration has 292
)

// String is the name of a thread that says so, SIGNAL@SINCE+GRACE, such as "15@hn6o0+8c" for
// SIGTERM and a grace of 30 s. Without an end there is no +GRACE.
func (s Stop) String() string {
	text := strconv.Itoa(int(s.Signal)) + "@" + strconv.FormatInt(int64(s.Since/unit), base)
	if s.Grace != machine.Forever {
		text += "+" + strconv.FormatInt(int64(s.Grace/unit), base)
	}
	return text
}

// ParseStop reads the name of a thread. ok is false where it says nothing of a stop.
func ParseStop(name string) (s Stop, ok bool) {
	signal, times, _ := strings.Cut(name, "@")
	since, grace, ends := strings.Cut(times, "+")
	sig, err := strconv.ParseUint(signal, 10, 7)
	s = Stop{unix.Signal(sig), parse(since), machine.Forever}
	if ends {
		s.Grace = parse(grace)
	}
	return s, err == nil && s.Since >= 0 && s.Grace >= 0
}

// parse reads a time, -1 where the text is none.
func parse(text string) time.Duration {
	n, err := strconv.ParseUint(text, base, bits)
	if err != nil {
		return -1
	}
	return time.Duration(n) * unit
}

// SetStop names one of drainit's threads. Where it fails, the verbs say less.
func SetStop(tid int, s Stop) {
	fd, err := unix.Open("/proc/self/task/"+strconv.Itoa(tid)+"/comm", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	_, _ = unix.Write(fd, []byte(s.String()))
}
