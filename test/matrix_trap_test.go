package test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// trapWays are the starts through a script whose trap for TERM can't run while the shell
// waits for the command in its foreground: the commonest fault of an entrypoint.
var trapWays = slices.Concat(
	trapWay("bash", "bash"),
	trapWay("dash", "dash"),
	trapWay("busybox sh", "busybox", "sh"),
)

// trapWay is such a script of a shell's: as the worker and behind a `sh -c`, around an
// application that handles TERM and around a job that TERM would end.
func trapWay(shell string, command ...string) []way {
	programs := []string{"node", "sh", "bash", command[0]}
	script := append(slices.Clone(command), "start.sh")
	behind := []string{"sh", "-c", shell + " start.sh; exit $?"}
	application := files{"start.sh": trapAndWait + "node app.js\n"}
	job := files{"start.sh": trapAndWait + "bash job.sh\n", "job.sh": plainJob}
	return []way{
		{name: "`" + shell + " start.sh`: `trap cleanup TERM; node app`", programs: programs, status: 7,
			prepare: app(env{"STATUS": "7"}, application, script...), kept: cleanedUp},
		{name: "`sh -c '" + shell + " start.sh; exit $?'`: `trap cleanup TERM; node app`", programs: programs, status: 7,
			prepare: app(env{"STATUS": "7"}, application, behind...), kept: cleanedUp},
		{name: "`" + shell + " start.sh`: `trap cleanup TERM; bash job.sh`", programs: programs, uncounted: true, tells: 1,
			prepare: app(nil, job, script...), kept: cleanedUp},
		{name: "`sh -c '" + shell + " start.sh; exit $?'`: `trap cleanup TERM; bash job.sh`", programs: programs, uncounted: true, tells: 2,
			prepare: app(nil, job, behind...), kept: cleanedUp},
	}
}

// trapAndWait is where the command in the foreground follows.
const trapAndWait = `
cleanup() { echo clean >>cleaned; }
trap cleanup TERM
`

// plainJob has no handler and would be lost by the signal, as a pg_dump is.
const plainJob = `
echo "begin $EPOCHREALTIME" >>"$RECORD"
sleep "$JOB"
echo "done $EPOCHREALTIME" >>"$RECORD"
`

// cleanedUp reports whether the trap ran, once: it could when the command had ended. Where
// that has not ended the init hangs, and its job is not lost.
func cleanedUp(t *testing.T, s *scene) bool {
	t.Helper()
	if s.init.running() {
		return true
	}
	cleaned, err := os.ReadFile(filepath.Join(s.dir, "cleaned"))
	return err == nil && string(cleaned) == "clean\n"
}
