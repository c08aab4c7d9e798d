package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/reaper"
)

// The verbs: what a drainit that is called beside a running one can ask it. They
// need neither a shell nor a socket nor a file, only /proc and kill(2).
const (
	VerbStatus = "status"
	VerbQuiet  = "quiet"
	VerbResume = "resume"
	VerbStop   = "stop"
)

// IsVerb reports whether a word is a verb.
func IsVerb(word string) bool {
	return word == VerbStatus || word == VerbQuiet || word == VerbResume || word == VerbStop
}

// Question is a verb with its flags.
type Question struct {
	Verb  string
	Ready bool          // status: 0 only when running
	JSON  bool          // status: for programs
	Sleep time.Duration // quiet: how long to wait when it is quiet
	Force bool          // stop: kill
}

// answerWithin bounds the wait for a drainit that was sent a signal.
const answerWithin = 2 * time.Second

const statusNo = 1 // the answer is no

// Ask finds the drainit of this container, asks it, and returns the exit status:
// 0, 1 where the answer is no, StatusFailed where it can't be asked. The error is
// for people, and may come with any of these.
func Ask(q Question, stdout io.Writer) (status int, err error) {
	d, err := findInstance()
	if err != nil {
		return StatusFailed, err
	}
	switch q.Verb {
	case VerbStatus:
		return d.printStatus(stdout, q)
	case VerbQuiet:
		return d.quiet(q.Sleep)
	case VerbResume:
		return d.resume()
	}
	if q.Force {
		return d.forceStop()
	}
	return d.stop(stdout)
}

func (d instance) printStatus(stdout io.Writer, q Question) (status int, err error) {
	text := d.text()
	if q.JSON {
		text = d.json()
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return StatusFailed, err
	}
	if ready := d.phase() == Running; !d.workerLives() || q.Ready && !ready {
		return statusNo, nil
	}
	return 0, nil
}

// text is the status for people.
func (d instance) text() string {
	var b strings.Builder
	ended := ""
	if !d.workerLives() {
		ended = "the worker has ended, "
	}
	fmt.Fprintf(&b, "%s: %s, %s%s below it\n", d.phase(), d.label(), ended, processes(len(d.below)))
	if len(d.below) > 0 {
		fmt.Fprintf(&b, "%7s %7s STATE %8s COMMAND\n", "PID", "PPID", "AGE")
	}
	for _, p := range d.below {
		fmt.Fprintf(&b, "%7d %7d %-5c %8s %s\n", p.PID, p.PPID, p.State, round(p.Age()), Printable(p.Comm))
	}
	return b.String()
}

// statusJSON is the status for programs, in one line.
type statusJSON struct {
	Phase       string        `json:"phase"` // running, quiet, draining or killing
	Ready       bool          `json:"ready"` // running
	WorkerAlive bool          `json:"worker_alive"`
	PID         int           `json:"pid"` // drainit's
	Processes   []processJSON `json:"processes"`
}

type processJSON struct {
	PID   int     `json:"pid"`
	PPID  int     `json:"ppid"`
	Comm  string  `json:"comm"`  // what is not printable is escaped, as in the log
	State string  `json:"state"` // a letter of proc(5)
	Age   float64 `json:"age_s"`
}

func (d instance) json() string {
	s := statusJSON{d.phase().String(), d.phase() == Running, d.workerLives(), d.PID, []processJSON{}}
	for _, p := range d.below {
		age := math.Round(p.Age().Seconds()*10) / 10
		s.Processes = append(s.Processes, processJSON{p.PID, p.PPID, Printable(p.Comm), string(p.State), age})
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return string(b) + "\n"
}

// quiet is the quiet signal, and the wait that a preStop hook wants: load
// balancers and queues look away meanwhile.
func (d instance) quiet(sleep time.Duration) (status int, err error) {
	if d.phase() > Quiet {
		return 0, fmt.Errorf("%s is %s already: nothing to quiet", d.label(), d.phase())
	}
	if _, status, err := d.leave(Running, unix.SIGTSTP); err != nil {
		return status, err
	}
	d.sleep(sleep)
	return 0, nil
}

func (d instance) resume() (status int, err error) {
	if d.phase() <= Quiet {
		now, status, err := d.leave(Quiet, unix.SIGCONT)
		if err != nil || now.phase() <= Quiet {
			return status, err
		}
		d = now // a stop came before the resume
	}
	return statusNo, fmt.Errorf("%s is %s: a worker that was told to stop can't be resumed", d.label(), d.phase())
}

// leave sends drainit a signal that takes it out of a phase, and returns when it
// has left that, or has ended.
func (d instance) leave(phase Phase, sig unix.Signal) (now instance, status int, err error) {
	if err := d.signal(sig); err != nil {
		return d, StatusFailed, err
	}
	now, gone := d.await(answerWithin, func(is Phase) bool { return is != phase })
	if !gone && now.phase() == phase {
		return now, statusNo, now.deaf(sig)
	}
	return now, 0, nil
}

// stop never sends a second stop signal: that would kill.
func (d instance) stop(stdout io.Writer) (status int, err error) {
	if d.phase() > Quiet {
		if _, err := io.WriteString(stdout, d.text()); err != nil {
			return StatusFailed, err
		}
		return 0, errors.New("it stops already, and was sent nothing; drainit stop --force kills what is left")
	}
	if err := d.signal(unix.SIGTERM); err != nil {
		return StatusFailed, err
	}
	return 0, nil
}

// forceStop sends as many stop signals as it takes: the first may begin the
// drain, and one too soon after it counts as the same request.
func (d instance) forceStop() (status int, err error) {
	const apart = sameRequest + 50*time.Millisecond
	const rounds = int(answerWithin / (2 * apart)) // of a machine that stood still, too
	until := time.Now().Add(answerWithin)
	for round := 0; round < rounds || time.Now().Before(until); round++ {
		now, gone := d.again()
		if gone || now.phase() == Killing {
			return 0, nil
		}
		if err := d.signal(unix.SIGTERM); err != nil && !errors.Is(err, reaper.ErrGone) {
			return StatusFailed, err
		}
		d.await(apart, func(phase Phase) bool { return phase == Killing })
	}
	now, _ := d.again()
	return statusNo, now.deaf(unix.SIGTERM)
}

// await reads the title until the phase is as wanted, drainit has gone, or the time is
// over: with so many looks in it that neither a machine that stood still nor one that
// is very busy has kept drainit from acting.
func (d instance) await(atMost time.Duration, wanted func(Phase) bool) (now instance, gone bool) {
	const apart, slowest = time.Millisecond, 20 * time.Millisecond
	until := time.Now().Add(atMost)
	for left := int(atMost / slowest); ; left-- {
		now, gone = d.again()
		if gone || wanted(now.phase()) || left <= 0 && time.Now().After(until) {
			return now, gone
		}
		time.Sleep(apart)
	}
}

// deaf says why drainit may not have acted upon a signal.
func (d instance) deaf(sig unix.Signal) error {
	name := unix.SignalName(sig)
	if d.Stopped() {
		return fmt.Errorf("%s was sent %s and can't see it: it is stopped itself (SIGSTOP, or Ctrl-Z)", d.label(), name)
	}
	return fmt.Errorf("%s was sent %s and is still %s; is it rewritten (--rewrite), or the machine busy?", d.label(), name, d.phase())
}

// sleep waits, but no longer than drainit runs.
func (d instance) sleep(sleep time.Duration) {
	fd, err := unix.PidfdOpen(d.PID, 0)
	if err == unix.ESRCH {
		return // it has ended
	}
	if err != nil {
		time.Sleep(sleep) // an old kernel; who waits for us ends us
		return
	}
	defer unix.Close(fd)
	for until := time.Now().Add(sleep); ; {
		left := time.Until(until)
		if left <= 0 {
			return
		}
		const longest = 1 << 30 // milliseconds, in an int of 32 bits
		ms := min(left.Milliseconds()+1, longest)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(ms))
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}
