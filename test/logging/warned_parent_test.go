package logging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// warnedParent is a command line that starts drainit, which stands there as D,
// and the warnings that come of it. A stop signal that the platform sends to a
// shell as PID 1 does not get to drainit.
type warnedParent struct {
	command  string
	want     string
	script   string // start.sh
	noPID1   bool   // of what starts drainit
	terminal bool   // on which Ctrl-C gets to drainit, whatever is above it
}

var warnedParents = []warnedParent{
	{command: "dash -c 'D -v -- app hunter2'", want: "parent"},
	{command: "bash -c 'D -v -- app hunter2; exit $?'", want: "parent"},
	{command: "ash -c 'D -v -- app; exit $?'", want: "parent"},
	{command: "busybox sh -c 'D -v -- app; exit $?'", want: "parent"},
	{command: "./start.sh hunter2", script: "#!/bin/sh\nD -v -- app\n:\n", want: "parent"},
	// Then the worker is a shell, too.
	{command: "dash -c 'D -v -- dash -c \"app; :\"'", want: "parent shell"},
	// A chain of them up to PID 1.
	{command: "dash -c 'dash start.sh; :'", script: "D -v -- app hunter2\n:\n", want: "parent"},
	{command: "bash -c 'busybox sh -c \"bash start.sh; :\"; :'", script: "D -v -- app\n:\n", want: "parent"},
	{command: "npm run drainit", script: "D -v -- app\n:\n", want: "parent"},
	{command: "dash -c 'timeout 60 dash start.sh; :'", script: "D -v -- app\n:\n"}, // which forwards it
	{command: `dash -c 'trap "kill \$c" TERM; dash start.sh & c=$!; wait $c'`, script: "D -v -- app\n:\n"},
	{command: "D -v -- app"},
	{command: "bash -c 'D -v -- app'"}, // it execs
	{command: "dash -c 'exec D -v -- app'"},
	{command: "./start.sh", script: "#!/bin/sh\nexec D -v -- app\n"},
	{command: "tini -- D -v -- app"},
	{command: `bash -c 'trap "kill \$c" TERM; D -v -- app & c=$!; wait $c; wait $c'`},
	{command: "dash -c 'D -v -- app; :'", noPID1: true},
	{command: "dash -c 'D -v -- app; :'", terminal: true},
}

func TestWarningsAboutAShellThatIsPID1(t *testing.T) {
	t.Parallel()
	for _, w := range warnedParents {
		t.Run(strings.ReplaceAll(w.command+" "+w.script, "\n", "; ")+map[bool]string{true: " on a terminal"}[w.terminal], func(t *testing.T) {
			t.Parallel()
			p := w.launch(t)
			p.WaitOut(`^ready`)
			if w.want != "" {
				p.WaitErr(`parent \S+\[\d+\] is a shell`)
			}
			signalBelow(p, syscall.SIGTERM)
			p.Wait()
			wantWarnings(t, p, w.want)
			p.WantNothingLeft()
		})
	}
}

// launch starts what starts drainit.
func (w warnedParent) launch(t *testing.T) *harness.Init {
	t.Helper()
	needFor(t, w.command)
	dir, env := warnedFolder(t)
	if w.script != "" {
		harness.WriteProgram(t, dir, "start.sh", 0o755, strings.ReplaceAll(w.script, "D ", harness.DrainitBin+" "))
	}
	command := splitWords(strings.ReplaceAll(w.command, "D ", harness.DrainitBin+" "))
	l := harness.Launch{Bin: command[0], Args: command[1:], Dir: dir, Env: append(env, "DRAINIT_LOG_FORMAT=json"), NoPID1: w.noPID1}
	for _, in := range []string{filepath.Join(dir, "bin", l.Bin), filepath.Join(dir, l.Bin)} {
		if _, err := os.Stat(in); err == nil {
			l.Bin = in
		}
	}
	if path, err := exec.LookPath(l.Bin); err == nil {
		l.Bin = path
	}
	if w.terminal {
		l = harness.OnTerminal(t, l)
	}
	return harness.Run(t, l)
}

// signalBelow sends a signal to a drainit that something else has started.
func signalBelow(p *harness.Init, sig syscall.Signal) {
	p.T.Helper()
	var pid int
	if _, err := fmt.Sscan(p.WaitErr(`"settings: .* pid (\d+)"`)[1], &pid); err != nil {
		p.T.Fatal(err)
	}
	harness.Kill(p.T, p.HostPid(pid), sig)
}
