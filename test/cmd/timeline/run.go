package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"drainit/test/harness"
)

// stop runs an init as PID 1 of a PID namespace, under a strace that sees each signal, each end, and what
// is written, and sends it TERM so long after its worker has begun the second job. hook is a command that
// comes before, in the namespace, as a kubelet runs a preStop hook.
func stop(dir string, after time.Duration, hook []string, init ...string) (p panel, err error) {
	const strace = `-f -ttt -s 2000 --seccomp-bpf -o trace -e signal=TERM,TSTP,CONT,KILL
		-e trace=execve,write,clone,clone3 unshare -pf --mount-proc --kill-child`
	cmd := exec.Command("strace", append(strings.Fields(strace), init...)...)
	cmd.Dir = dir
	_ = os.Remove(filepath.Join(dir, "trace")) // of another stop
	if err := cmd.Start(); err != nil {
		return panel{}, err
	}
	trace := func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "trace")) // none yet is an empty one
		return string(text)
	}
	if !harness.Within(harness.Patience, func() bool { return strings.Contains(trace(), "job 2 begins") }) {
		return panel{}, fmt.Errorf("%s does not work: %v", init[0], cmd.Process.Kill())
	}
	time.Sleep(after)
	pid := 0 // of the init: a child of unshare, which is one of strace
	for _, unshare := range harness.ChildPids(cmd.Process.Pid) {
		for _, pid = range harness.ChildPids(unshare) {
		}
	}
	hooked := now()
	if hook != nil {
		words := append([]string{"-t", strconv.Itoa(pid), "-p", "-m"}, hook...)
		if out, err := exec.Command("nsenter", words...).CombinedOutput(); err != nil {
			return panel{}, fmt.Errorf("%v: %v\n%s", hook, err, out)
		}
	}
	signalled := now()
	_ = syscall.Kill(pid, syscall.SIGTERM)
	_ = cmd.Wait() // its status is the init's
	p, phases, began := parse(trace())
	p.lanes[0].mark(signalled-began, "TERM") // an init that waits for it in sigwait takes it unseen by strace
	if hook != nil {
		label := filepath.Base(hook[0]) + " " + strings.Join(hook[1:], " ")
		done := span{hooked - began, signalled - began, "hook", label}
		p.lanes = append([]*lane{{name: "preStop", spans: []span{done}}, phases}, p.lanes...)
	}
	return p, nil
}

func now() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

var (
	callLine = regexp.MustCompile(`^(\d+) +(\d+\.\d+) (.*)$`)
	execLine = regexp.MustCompile(`^execve\("(?:[^"]*/)?([^/"]+)"`)
	executed = regexp.MustCompile(`execve.* = 0$`) // may be another line
	cloned   = regexp.MustCompile(`clone.* = (\d+)$`)
	jobLine  = regexp.MustCompile(`^write\(\d+, "job (\d+) (begins|ends)`)
	phase    = regexp.MustCompile(`\\"phase\\":\\"(\w+)\\"`)
)

// parse takes the lines of strace's, each a thread, a time and an event. A job that has not ended with its
// process is lost. began is when the init did.
func parse(trace string) (p panel, phases *lane, began float64) {
	of, program := make(map[string]*lane), make(map[string]string) // by thread
	phases = &lane{name: "phase", spans: []span{{class: "running", label: "running"}}}
	for line := range strings.Lines(trace) {
		m := callLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		thread, event, l := m[1], m[3], of[m[1]]
		at, _ := strconv.ParseFloat(m[2], 64)
		if m := execLine.FindStringSubmatch(event); m != nil {
			program[thread] = m[1]
		}
		if executed.MatchString(event) && program[thread] != "unshare" {
			if began == 0 {
				began = at
			}
			l = &lane{name: program[thread], thread: thread,
				spans: []span{{from: at - began, class: "process"}}}
			p.lanes, of[thread] = append(p.lanes, l), l
		} else if m := cloned.FindStringSubmatch(event); m != nil {
			of[m[1]] = cmp.Or(of[m[1]], l) // it may have run before
		} else if l != nil {
			l.happens(at-began, thread, event)
		}
		if m := phase.FindStringSubmatch(event); m != nil && m[1] != phases.spans[len(phases.spans)-1].label {
			phases.end(at - began)
			if m[1] != "done" {
				phases.spans = append(phases.spans, span{from: at - began, class: m[1], label: m[1]})
			}
		}
	}
	for _, l := range p.lanes {
		for i := range l.jobs {
			if job := &l.jobs[i]; job.to == 0 {
				job.to, job.class, job.label = l.spans[0].to, "lost", "lost"
				p.lost = true
			}
		}
	}
	return p, phases, began
}

// happens is for an event of a process.
func (l *lane) happens(at float64, thread, event string) {
	words := strings.Fields(event)
	switch job := jobLine.FindStringSubmatch(event); {
	case words[0] == "---":
		l.mark(at, words[1])
	case words[0] == "+++" && thread == l.thread:
		l.end(at)
		l.outcome = strings.Join(words[1:len(words)-1], " ")
	case job == nil:
	case job[2] == "begins":
		l.jobs = append(l.jobs, span{from: at, class: "job", label: "job " + job[1]})
	default:
		l.jobs[len(l.jobs)-1].to = at
	}
}
