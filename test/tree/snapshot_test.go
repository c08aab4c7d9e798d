package tree

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// What was there before the stop waits for a worker that is not to be seen.
func TestHiddenWorkerIsSignalledOnceAndWaitedFor(t *testing.T) {
	t.Parallel()
	// Another user may run it, and not read it: /proc hides it from whoever does so.
	hidden := harness.WriteProgram(t, filepath.Dir(harness.WorkerBin), "hidden", 0o711,
		harness.TextOf(t, harness.WorkerBin))
	p := harness.Hiding(t, []string{harness.LongGrace}, "sh", "-c",
		`("$0" listen -name "daemon " &); exec "$1" listen -drain 1500ms -exit 6`, harness.WorkerBin, hidden)
	p.WaitOut(`^ready`)
	p.WaitOut(`^daemon ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(6)
	p.WantCount("got SIGTERM", 1)
	p.WantCount("daemon got SIGTERM", 1)
	if out := p.Out(); strings.Index(out, "\ndrained") > strings.Index(out, "daemon got") {
		t.Errorf("the daemon was signalled before the worker had gone:\n%s", out)
	}
	p.WantNothingLeft()
}

// Many jobs in the group of a worker that dies of the signal get it once, and so does one in
// a group of its own, though one of them is stopped.
func TestEachJobOfACrowdIsSignalledOnce(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		jobs, ready, want := "", "a b", []string{"b got TERM"}
		for i := range 40 {
			name := fmt.Sprintf("job%d", i)
			jobs, ready, want = jobs+name+"[TERM=0] ", ready+" "+name, append(want, name+" got TERM")
		}
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace}},
			"a("+jobs+"b[TERM=0,pgrp])", ready)
		harness.Freeze(t, p.ReadyPid(`^ready job7`))
		p.Signal(syscall.SIGTERM)
		p.Wait()
		p.WantGots(want...)
		p.WantNothingLeft()
	})
}

// untold has /proc tell no more of the processes of an init than gVisor does.
func untold(t *testing.T, p *harness.Init) {
	t.Helper()
	harness.Need(t, "nsenter", "busybox")
	status := filepath.Join(t.TempDir(), "status")
	harness.WriteFile(t, status,
		"Name:\tx\nState:\tS (sleeping)\nPid:\t1\nPPid:\t0\nThreads:\t1\nSeccomp:\t0\n")
	harness.OutputOf(t, exec.Command("nsenter", "-m", "-t", strconv.Itoa(p.Pid()), "sh", "-c", `
		for p in /proc/[0-9]*; do
			busybox mount --bind "$0" $p/status && busybox mount --bind /dev/null $p/syscall; done`, status))
}

// Where /proc tells no signal masks, what dies of the signal has passed nothing on, and what is below a
// process that lives waits for the last call or the final one.
func TestKernelThatTellsNoHandlers(t *testing.T) {
	listen := harness.WorkerBin + " listen -drain 200ms -exit 7"
	for _, row := range rows.Read(t, "testdata/untold.tsv", 8) {
		name, late := row[0], row[1] != ""
		words := strings.TrimRight(strings.Join(row[2:], "\t"), "\t")
		command := strings.Split(strings.ReplaceAll(words, "LISTEN", listen), "\t")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.Need(t, command[0])
			if late {
				harness.Full(t)
			}
			p := harness.Run(t, harness.Launch{Args: harness.Line([]string{"-v", "--grace", "5s"},
				command...)})
			p.WaitOut(`^ready`)
			untold(t, p)
			p.Signal(syscall.SIGTSTP)
			p.WaitErr(`quiet has no effect: SIGTSTP was sent to no process, since which of them handle it ` +
				`is unknown: this kernel does not tell`)
			p.Ask("quiet").Want(1, "", `quiet has no effect: which processes handle SIGTSTP is not known\n\z`)
			p.Ask("status", "--json").Want(0, `"worker_alive":true,"pid"`, "")
			p.Signal(syscall.SIGTERM)
			p.WantExit(7)
			p.WantCount("got SIGTERM", 1)
			p.WantCount("drained", 1)
			p.WantLogged(`"msg":"this kernel does not tell which signals a process handles: drainit signals`,
				1)
			p.WantLogged(`sent SIGTERM to .*: (the grace period is nearly over|the kill is near)`,
				map[bool]int{true: 1}[late])
			p.WantLogged(harness.KillLine, 0)
			p.WantNothingLeft()
		})
	}
}
