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

// As a name of at most 15 bytes a stop is the mark, and behind it the numbers in base 36:
// of the signal, of the grace and of since, these two in tenths of a second. No other
// thread's name begins with the mark.
const (
	mark        = "!"
	base        = 36
	signalChars = 2
	graceChars  = 5 // 70 days
	sinceChars  = 7 // 248 years
	forever     = "-----"
	unit        = time.Second / 10
)

// String is the name of a thread that says so.
func (s Stop) String() string {
	grace := forever
	if s.Grace != machine.Forever {
		grace = number(int64(s.Grace/unit), graceChars)
	}
	return mark + number(int64(s.Signal), signalChars) + grace + number(int64(s.Since/unit), sinceChars)
}

// number is a number of so many characters, or the largest that has so many.
func number(n int64, chars int) string {
	text := strconv.FormatInt(max(n, 0), base)
	if len(text) > chars {
		return strings.Repeat("z", chars)
	}
	return strings.Repeat("0", chars-len(text)) + text
}

// ParseStop reads the name of a thread. ok is false where it says nothing of a stop.
func ParseStop(name string) (s Stop, ok bool) {
	text, ok := strings.CutPrefix(name, mark)
	if !ok || len(text) != signalChars+graceChars+sinceChars {
		return Stop{}, false
	}
	signal, err1 := strconv.ParseUint(text[:signalChars], base, 8)
	grace, err2 := parseGrace(text[signalChars : signalChars+graceChars])
	since, err3 := strconv.ParseUint(text[signalChars+graceChars:], base, 63)
	if err1 != nil || err2 != nil || err3 != nil || signal > 64 {
		return Stop{}, false
	}
	return Stop{unix.Signal(signal), time.Duration(since) * unit, grace}, true
}

func parseGrace(text string) (time.Duration, error) {
	if text == forever {
		return machine.Forever, nil
	}
	n, err := strconv.ParseUint(text, base, 63)
	return time.Duration(n) * unit, err
}

// SetStop names one of drainit's threads. Where it fails, the verbs say less.
func SetStop(tid int, s Stop) {
	if tid == 0 {
		return
	}
	fd, err := unix.Open("/proc/self/task/"+strconv.Itoa(tid)+"/comm", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	_, _ = unix.Write(fd, []byte(s.String()))
}
