package tree

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// execHangs is a child that hangs in execve(2) as soon as its file system does: the kernel
// closes its file there. What reads its stat then waits for it, and nothing but SIGKILL ends
// that: ps hangs. The tests are not parallel with others, whose programs call ps.
var execHangs = callsItselfHangs + `
spawn { open my $f, "<", $ARGV[0] or die; say "opened"; nap 0.01 until -e "$ARGV[0].hang"; calls_itself_hangs(); exec "sleep", "1000" };
`

// callsItselfHangs has a script call itself so.
var callsItselfHangs = `
sub calls_itself_hangs { open my $f, ">", "/proc/self/comm"; syswrite $f, "` + harness.Hangs + `" }
`

// hangingExec runs a script after execHangs, and returns when that hangs.
func hangingExec(t *testing.T, noPID1 bool, grace string, before []string, script string) (*harness.Init, hungFS) {
	t.Helper()
	harness.Need(t, "perl")
	hung := newHungFS(t)
	worker := append(before, harness.Script(execHangs+script, hung.file)...)
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", grace}, worker...)})
	t.Cleanup(hung.release) // before the look at what is left
	p.WaitOut(`^ready`)
	p.WaitOut(`^opened`)
	p.WaitTitle("drainit:run")
	hung.hang()
	hung.WaitOut(`^hangs`)
	return p, hung
}

// exists reports whether a process is there, dead or alive, and reads nothing of it.
func exists(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

// What comes before release comes while the process hangs.
func TestProcessThatHangsInExecDelaysNoStop(t *testing.T) {
	for name, before := range map[string][]string{
		"the worker's child": nil,
		"below a shell":      {"sh", "-c", `"$0" "$@"; exit $?`},
	} {
		t.Run(name, func(t *testing.T) {
			if before != nil {
				harness.Full(t)
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				p, hung := hangingExec(t, noPID1, "1h", before, `catch "TERM"; say "ready"; await "TERM"; say "done"; exit 7`)
				worker := p.FirstChild()
				p.Signal(unix.SIGTERM)
				p.WaitOut(`^worker got TERM`)
				p.WaitOut(`^done`)
				harness.WaitUntil(t, "the worker is reaped", func() bool { return !exists(worker) })
				hung.release()
				harness.PastTheSameRequest()
				p.Signal(unix.SIGTERM)
				p.WantExit(7)
				p.WantGots("worker got TERM")
				p.WantNothingLeft()
			})
		})
	}
}

// The worker itself is signalled without a look at it.
func TestWorkerThatHangsInExecIsSignalled(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		hung := newHungFS(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "1h"}, harness.Script(callsItselfHangs+`
			open my $f, "<", $ARGV[0] or die; say "ready"; nap 0.01 until -e "$ARGV[0].hang"; calls_itself_hangs(); exec "sleep", "1000"`, hung.file)...)})
		t.Cleanup(hung.release)
		p.WaitOut(`^ready`)
		hung.hang()
		hung.WaitOut(`^hangs`)
		p.Signal(unix.SIGTERM)
		p.WaitErr(`SIGTERM sent to \S+\[\d+\]`)
		hung.release()
		p.WantExit(143)
		p.WantNothingLeft()
	})
}

// A kill ends by itself too, after 5 s.
func TestForceStopAndGraceEndWhileAProcessHangsInExec(t *testing.T) {
	harness.Full(t)
	const stubborn = `catch "TERM"; say "ready"; forever`
	for name, grace := range map[string]string{"force-stop": "1h", "grace": "1s"} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				p, hung := hangingExec(t, noPID1, grace, nil, stubborn)
				p.Signal(unix.SIGTERM)
				if name == "force-stop" {
					p.WaitOut(`^worker got TERM`)
					harness.PastTheSameRequest()
					p.Signal(unix.SIGTERM)
				}
				p.WaitErr(`killing perl\[\d+\] \([^)]*\), \S+\[\d+\] \(stuck in the kernel\)`)
				p.WaitErr(`leaving 5s after SIGKILL, still alive: \S+\[\d+\] \(stuck in the kernel\)`)
				hung.release()
				p.WantExit(137)
				p.WantNothingLeft()
			})
		})
	}
}

func TestVerbsAnswerWhileAProcessHangsInExec(t *testing.T) {
	p, hung := hangingExec(t, false, "1h", nil, `catch "TERM", "TSTP"; say "ready"; forever`)
	wantVerbsAnswer(p)
	hung.release()
	p.WantExit(137)
	p.WantGots("worker got TSTP", "worker got TERM")
}

func TestVerbsAnswerWhileAFileThatIsReadHangs(t *testing.T) {
	p, hung := readsHungFile(t, false, `catch "TERM", "TSTP"; say "ready"; forever`)
	wantVerbsAnswer(p)
	hung.release()
	p.WantExit(137)
	p.WantGots("worker got TSTP", "worker got TERM")
}

func wantVerbsAnswer(p *harness.Init) {
	p.T.Helper()
	p.Ask("status").Want(0, `^running: drainit\[1\], `, "")
	p.Ask("status", "--ready").Want(0, `^running\n`, "")
	p.Ask("quiet").WantSilent()
	p.Ask("resume").WantSilent()
	p.Ask("stop").WantSilent()
	p.WaitOut(`^worker got TERM`)
	p.Ask("stop").Want(0, `^draining: `, `already stopping`)
	p.Ask("stop", "--force").WantDone(true)
	p.WaitErr(`force-stop: killing `)
}

// readsHungFile runs a script whose standard input is a file on a file system that hangs.
func readsHungFile(t *testing.T, noPID1 bool, script string) (*harness.Init, hungFS) {
	t.Helper()
	harness.Need(t, "perl")
	hung := newHungFS(t)
	worker := append([]string{"sh", "-c", `"$@" < "$0"; exit $?`, hung.file}, harness.Script(script)...)
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "1h"}, worker...)})
	t.Cleanup(hung.release)
	p.WaitOut(`^ready`)
	hung.hang()
	return p, hung
}

// Whether it reads a pipe is asked without its file system.
func TestFileThatHangsDelaysNoStopOfWhatReadsIt(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p, hung := readsHungFile(t, noPID1, `catch "TERM"; say "ready"; await "TERM"; exit 7`)
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^worker got TERM`)
		hung.release()
		p.WantExit(7)
		p.WantGots("worker got TERM")
		p.WantNothingLeft()
	})
}
