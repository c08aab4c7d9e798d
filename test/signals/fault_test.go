package signals

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
	"drainit/test/harness/queued"
)

// faulty is a file that a build for a test has in package main: USR2 makes drainit write to a nil pointer.
const faulty = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func init() {
	come := make(chan os.Signal, 1)
	signal.Notify(come, syscall.SIGUSR2)
	go func() {
		var nowhere *int
		<-come
		*nowhere = 1
	}()
}
`

// buildFaulty builds drainit with a fault in it.
func buildFaulty(t *testing.T) (bin string) {
	dir := t.TempDir()
	bin, source := filepath.Join(dir, "drainit"), filepath.Join(dir, "faulty.go")
	harness.Must(t, os.WriteFile(source, []byte(faulty), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {harness.Repo("faulty.go"): source}})
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-overlay",
		filepath.Join(dir, "overlay.json"), "-o", bin, "drainit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	harness.OutputOf(t, build)
	return bin
}

// A fault of drainit's own leaves a trace: the Go runtime's report in the log, and status 2. The same
// signal from a process, by kill(2), does nothing.
func TestFaultOfDrainitsOwnIsReported(t *testing.T) {
	bin := buildFaulty(t)
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{Bin: bin, NoPID1: noPID1,
			Args: harness.Words("-- WORKER listen -catch USR1,TERM")})
		p.WaitReady()
		for _, sig := range signals.Faults() {
			p.Signal(sig)
		}
		p.Signal(unix.SIGUSR1)
		p.WaitOut(`got SIGUSR1`)
		p.Signal(unix.SIGUSR2)
		p.WantExit(2)
		report := regexp.MustCompile(`(?s)panic: runtime error: invalid memory address or nil pointer ` +
			`dereference\n` +
			`\[signal SIGSEGV: segmentation violation .*\ngoroutine \d+ ` +
			`.*main\.init\.\S*func1.*faulty\.go:\d+`)
		if !report.MatchString(p.Err()) {
			t.Errorf("the log:\n%s", p.Err())
		}
	})
}

// The Go runtime takes a fault that sigqueue(3) has sent for drainit's own.
func TestFaultBySigqueueEndsDrainit(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen"}})
		p.WaitReady()
		harness.Must(t, queued.Send(p.Pid(), unix.SIGSEGV))
		p.WantExit(2)
	})
}

// dumb-init takes the lowest and the highest number, which is that of a fault, for each other (its own
// tests).
func TestRewriteOfAFault(t *testing.T) {
	p := harness.Run(t,
		harness.Launch{Args: harness.Words("-r 1:31 -r 31:1 -- WORKER listen -catch HUP,SYS,TERM")})
	p.WaitReady()
	p.Signal(unix.SIGHUP)
	p.WaitOut(`^got SIGSYS`)
	p.Signal(unix.SIGSYS)
	p.WaitOut(`^got SIGHUP`)
	p.Signal(unix.SIGTERM)
	p.Wait()
	p.WantGots("got SIGSYS", "got SIGHUP", "got SIGTERM")
}
