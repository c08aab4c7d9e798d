package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run is an init as PID 1 of a PID namespace, under a strace that sees each signal and each end below it.
type run struct {
	began time.Time
	cmd   *exec.Cmd
	first chan int // the pid of the init, as the strace knows it
	ended sync.WaitGroup

	mu     sync.Mutex
	lanes  []*lane
	byPID  map[int]*lane
	phases lane
	hook   *lane
}

// start starts an init in a directory, and returns when it runs.
func start(dir string, init ...string) (*run, error) {
	r := &run{began: time.Now(), byPID: make(map[int]*lane), first: make(chan int, 1)}
	r.phases = lane{name: "phase", spans: []span{{class: "running", label: "running"}}}
	const strace = "-f -ttt --seccomp-bpf -e trace=execve -e signal=TERM,TSTP,CONT,KILL -o " +
		"/proc/self/fd/3 unshare -pf --mount-proc --kill-child"
	r.cmd = exec.Command("strace", append(strings.Fields(strace), init...)...)
	r.cmd.Dir = dir
	trace, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.cmd.ExtraFiles = []*os.File{w}
	stdout, err1 := r.cmd.StdoutPipe()
	stderr, err2 := r.cmd.StderrPipe()
	if err := errors.Join(err1, err2, r.cmd.Start()); err != nil {
		return nil, err
	}
	_ = w.Close()
	r.read(trace, r.traced)
	r.read(stdout, r.printed)
	r.read(stderr, r.logged)
	select {
	case <-r.first:
		return r, nil
	case <-time.After(10 * time.Second):
		return nil, errors.Join(fmt.Errorf("%s did not start", init[0]), r.cmd.Process.Kill())
	}
}

func (r *run) read(from io.Reader, line func(string)) {
	r.ended.Go(func() {
		for lines := bufio.NewScanner(from); lines.Scan(); {
			r.mu.Lock()
			line(lines.Text())
			r.mu.Unlock()
		}
	})
}

func (r *run) since() float64 { return time.Since(r.began).Seconds() }

// traced takes a line of strace's: a pid, a time and an event.
func (r *run) traced(line string) {
	words := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 3)
	if len(words) < 3 {
		return
	}
	pid, _ := strconv.Atoi(words[0])
	clock, _ := strconv.ParseFloat(words[1], 64)
	at, event := clock-float64(r.began.UnixMicro())/1e6, words[2]
	of := r.laneOf(pid)
	path, rest, _ := strings.Cut(strings.TrimPrefix(event, `execve("`), `"`)
	switch executed := strings.HasPrefix(event, "execve") && strings.HasSuffix(rest, "= 0"); {
	case executed && filepath.Base(path) != "unshare":
		r.executes(pid, filepath.Base(path), at)
	case of == nil: // the unshare, or a thread that has ended
	case strings.HasPrefix(event, "--- SIG"):
		of.mark(at, strings.Fields(event)[1])
	case strings.HasPrefix(event, "+++ ") && pid == of.pid:
		of.end(at)
		how := strings.Fields(event)
		of.outcome = strings.Join(how[1:len(how)-1], " ")
	}
}

// laneOf returns the lane of the process to which a thread belongs.
func (r *run) laneOf(thread int) *lane {
	if of := r.byPID[thread]; of != nil {
		return of
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	_, rest, _ := strings.Cut(string(status), "\nTgid:\t")
	tgid, _, _ := strings.Cut(rest, "\n")
	pid, _ := strconv.Atoi(tgid)
	return r.byPID[pid]
}

func (r *run) executes(pid int, name string, at float64) {
	if len(r.lanes) == 0 {
		r.began = r.began.Add(time.Duration(at * float64(time.Second)))
		at = 0
		r.first <- pid
	}
	l := &lane{name: name, pid: pid, spans: []span{{from: at, class: "process"}}}
	r.lanes, r.byPID[pid] = append(r.lanes, l), l
}

// printed takes a line of the worker's: "job 1 begins" or "job 1 ends".
func (r *run) printed(line string) {
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "job" {
		return
	}
	node := r.lanes[len(r.lanes)-1]
	if words[2] == "begins" {
		node.jobs = append(node.jobs, span{from: r.since(), class: "job", label: "job " + words[1]})
		return
	}
	node.jobs[len(node.jobs)-1].to = r.since()
}

// logged takes a line of drainit's log, which has the phase.
func (r *run) logged(line string) {
	var l struct{ Phase string }
	if json.Unmarshal([]byte(line), &l) != nil || l.Phase == "" {
		return
	}
	if phases := r.phases.spans; phases[len(phases)-1].label == l.Phase {
		return
	}
	r.phases.end(r.since())
	if l.Phase != "done" {
		r.phases.spans = append(r.phases.spans, span{from: r.since(), class: l.Phase, label: l.Phase})
	}
}

func (r *run) sleepUntil(at time.Duration) { time.Sleep(time.Until(r.began.Add(at))) }

// signal sends the init a signal, as a platform does. An init that waits for it in sigwait takes it
// unseen by strace.
func (r *run) signal(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	init := r.lanes[0]
	init.mark(r.since(), unix.SignalName(sig))
	_ = syscall.Kill(init.pid, sig)
}

// preStop runs a command in the namespace of the init, as a kubelet does before it sends TERM.
func (r *run) preStop(command ...string) error {
	from := r.since()
	words := append([]string{"-t", strconv.Itoa(r.lanes[0].pid), "-p", "-m"}, command...)
	out, err := exec.Command("nsenter", words...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %v\n%s", command, err, out)
	}
	label := filepath.Base(command[0]) + " " + strings.Join(command[1:], " ")
	r.hook = &lane{name: "preStop", spans: []span{{from: from, to: r.since(), class: "hook", label: label}}}
	return nil
}

func (r *run) wait() {
	r.ended.Wait()
	_ = r.cmd.Wait()
}

// panel are the lanes of the run. A job that has not ended with its process is lost.
func (r *run) panel(title string) panel {
	p := panel{title: title, lanes: r.lanes}
	if r.hook != nil {
		p.lanes = append([]*lane{r.hook, &r.phases}, p.lanes...)
	}
	for _, l := range r.lanes {
		for i := range l.jobs {
			if job := &l.jobs[i]; job.to == 0 {
				job.to, job.class, job.label = l.spans[0].to, "lost", "lost"
				p.lost = true
			}
		}
	}
	return p
}
