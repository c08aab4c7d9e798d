package stress

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// chaosLife is what one process of the tree has said.
type chaosLife struct {
	node, pid    int                    // the pid in drainit's namespace
	got          map[syscall.Signal]int // signals from drainit
	ends         time.Duration          // when it said how it ends; 0 if it did not
	how          int                    // the status of that end
	execs, stops bool
}

// readLives reads what the processes have said, by node.
func (r *chaosRun) readLives() {
	r.lives = make(map[int]*chaosLife)
	drainit := 1
	if r.plan.noPID1 {
		drainit = r.init.Pid()
	}
	for text := range strings.Lines(r.init.Out()) {
		f := strings.Fields(text)
		node, err := strconv.Atoi(strings.TrimPrefix(f[0], "n"))
		seconds, err2 := strconv.ParseFloat(f[1], 64)
		if err != nil || err2 != nil {
			r.t.Fatalf("a process says %q", text)
		}
		if r.lives[node] == nil {
			r.lives[node] = &chaosLife{node: node, got: make(map[syscall.Signal]int)}
		}
		l := r.lives[node]
		number, _ := strconv.Atoi(f[len(f)-1])
		switch f[2] {
		case "born":
			l.pid = number
		case "got":
			if number == drainit {
				l.got[unix.SignalNum("SIG"+f[3])]++
			}
		case "stops":
			l.stops = true
		case "execs":
			l.execs = true
		case "ends":
			l.ends, l.how = time.Duration(seconds*1e9), number
			if f[3] == "died" {
				l.how = 128 + number
			}
		}
	}
}

// check holds the round against what must be so, whatever the tree and the signals are.
func (r *chaosRun) check() {
	r.t.Helper()
	r.readLives()
	var wrong []string
	for _, check := range []func() []string{r.wrongStatus, r.sentTooOften, r.killedInVain, r.frozenOnes, r.logged} {
		wrong = append(wrong, check()...)
	}
	if len(wrong) > 0 {
		r.t.Errorf("%s\n\n%v\n\nsent %+v\nfrozen %+v\nended at %v with %d\nstdout:\n%s\nstderr:\n%s",
			strings.Join(wrong, "\n"), r.plan, r.sent, r.frozen, r.ended, r.status, r.init.Out(), r.init.Err())
	}
	r.init.WantNothingLeft()
}

// wrongStatus: a worker that ends by itself gives its status, or 137 where a process was killed.
func (r *chaosRun) wrongStatus() []string {
	worker := r.lives[0]
	if r.plan.shell || worker == nil || worker.ends == 0 || r.status == worker.how || r.mayKill() && r.status == 137 {
		return nil
	}
	return []string{fmt.Sprintf("exit status %d, and the worker's is %d", r.status, worker.how)}
}

var chaosDelivered = regexp.MustCompile(`(?m)^drainit: sent SIG(?:TERM|INT) to .*\[(\d+)\]: `)

// sentTooOften: drainit sends no process a second stop signal, by what the process says and by
// what drainit says, and of the others no more than it was sent.
func (r *chaosRun) sentTooOften() (wrong []string) {
	times := make(map[syscall.Signal]int)
	for _, s := range r.sent {
		times[s.sig] += s.number
	}
	if r.plan.stopDelay > 0 {
		times[unix.SIGTSTP]++
	}
	_, begun := r.begun()
	for _, l := range r.lives {
		stops := l.got[unix.SIGTERM] + l.got[unix.SIGINT]
		if stops > 1 || stops == 1 && !begun {
			wrong = append(wrong, fmt.Sprintf("n%d got %d stop signals", l.node, stops))
		}
		for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGTSTP, unix.SIGWINCH} {
			if l.got[sig] > times[sig] {
				wrong = append(wrong, fmt.Sprintf("n%d got %d %s, of %d", l.node, l.got[sig], unix.SignalName(sig), times[sig]))
			}
		}
	}
	logged := make(map[string]bool)
	for _, m := range chaosDelivered.FindAllStringSubmatch(r.init.Err(), -1) {
		if logged[m[1]] {
			wrong = append(wrong, "drainit says that it has signalled twice pid "+m[1])
		}
		logged[m[1]] = true
	}
	return wrong
}

func isStop(sig syscall.Signal) bool { return sig == unix.SIGTERM || sig == unix.SIGINT }

// killedInVain: no process that nothing but SIGKILL can have ended is killed before the time.
// With --forward worker that is when the worker has ended.
func (r *chaosRun) killedInVain() (wrong []string) {
	if r.mayKill() {
		return nil
	}
	_, ended := r.begun()
	for _, l := range r.lives {
		may := l.ends > 0 || l.execs || l.pid == 0 || r.plan.mode == "worker" && ended && (r.plan.shell || l.node != 0)
		for _, sig := range []string{"TERM", "INT", "HUP"} {
			may = may || r.plan.nodes[l.node].does[sig] == ""
		}
		if !may {
			wrong = append(wrong, fmt.Sprintf("n%d was killed, and it was not the time", l.node))
		}
	}
	return wrong
}

// mayKill reports whether drainit may have sent SIGKILL: the grace was over that began by the
// stop signal or by the end of the worker, or another stop signal forced it, 100 ms after the
// first or less where drainit may have been late to see one of the two.
func (r *chaosRun) mayKill() bool {
	const sure = 20 * time.Millisecond
	late := len(r.frozen) > 0 || r.stall > sure
	first := slices.IndexFunc(r.sent, func(s chaosSent) bool { return isStop(s.sig) })
	for i, s := range r.sent {
		if isStop(s.sig) && (i > first || s.number > 1) && (late || s.at-r.sent[first].at > sure) {
			return true
		}
	}
	begun, ok := r.begun()
	return ok && r.ended-begun >= r.plan.grace
}

// begun is the earliest that a drain can have begun: by a stop signal, by the end of the worker, or
// by a HUP that ended it.
func (r *chaosRun) begun() (at time.Duration, ok bool) {
	var all []time.Duration
	for _, s := range r.sent {
		if isStop(s.sig) || s.sig == unix.SIGHUP && (r.plan.shell || r.plan.nodes[0].does["HUP"] == "") {
			all = append(all, s.at)
		}
	}
	if worker := r.lives[0]; worker != nil && worker.ends > 0 {
		all = append(all, worker.ends)
	}
	if len(all) == 0 {
		return 0, false
	}
	return slices.Min(all), true
}

// frozenOnes: what is stopped has stopped itself. A process that handled TSTP when
// drainit looked, and became another program before the signal came, may be stopped.
func (r *chaosRun) frozenOnes() (wrong []string) {
	allowed := make(map[int]bool)
	for _, l := range r.lives {
		allowed[l.pid] = l.stops || l.execs && r.plan.nodes[l.node].does["TSTP"] == "catch"
	}
	for pid := range r.stopped {
		if !allowed[pid] {
			wrong = append(wrong, fmt.Sprintf("pid %d was stopped, and not by itself", pid))
		}
	}
	return wrong
}

var chaosFailed = regexp.MustCompile(`(?m)^(drainit: error:|panic|goroutine |fatal error).*`)

// logged: drainit had no error and no panic.
func (r *chaosRun) logged() []string { return chaosFailed.FindAllString(r.init.Err(), -1) }
