package tree

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// The child drains for 2.5 s after its release: long enough to be signalled again
// by whatever looks at the leftovers each second. A stop signal meanwhile begins the grace period
// anew, and signals it no second time either.
func TestWhatAWorkerLeavesIsNamedAtOnceSignalledOnceAndDrains(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		stdin, exit := harness.Pipe(t)
		hold, release := harness.Pipe(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Files: []*os.File{hold},
			Args: harness.Line([]string{"--grace", "60s"}, harness.Script(harness.LeavesChild, "2.5")...)})
		p.WaitOut(`^ready`)
		exit.Close()
		p.WaitErr(`perl\[\d+\] exited with status 5 and left 1 process \(perl\[\d+\]\).*"left_s":30[,}]`)
		p.WaitOut(`^child got TERM`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`the grace period starts now.*"left_s":60[,}]`)
		release.Close()
		p.WantExit(5)
		p.WantCount("drained", 1)
		p.WantCount("child got TERM", 1)
		p.WantLogged(`and left 1 process`, 1)
		p.WantLogged(harness.KillLine+`|force`, 0)
	})
}

// What reads a pipe ends by itself when its input has ended, though it works for some time yet.
func TestReaderOutlivesAWorkerThatExitsByItself(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		release := filepath.Join(t.TempDir(), "release")
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Env: []string{"RELEASE=" + release}, Args: harness.Line([]string{"-v"}, "bash", "-c", `
			exec perl -e '$| = 1; print "line\n" x 1000; select undef, undef, undef, 0.001 until -e "$ENV{RELEASE}.read"; exit 5' > >(
			exec perl -e '@l = scalar <STDIN>; open F, ">", "$ENV{RELEASE}.read"; push @l, <STDIN>; select undef, undef, undef, 0.001 until -e $ENV{RELEASE}; print @l, "whole\n"')`)})
		p.WaitErr(`not signalled: \S+: it has read a pipe of a process that has gone`)
		harness.WriteFile(t, release, nil)
		p.WantExit(5)
		p.WantCount("line", 1000)
		p.WantCount("whole", 1)
		p.WantLogged(`sent SIGTERM`, 0)
	})
}
