package harness

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// SettingsLine is the line in which drainit -v says all its settings.
func SettingsLine(t *testing.T, args, env []string) string {
	t.Helper()
	env = append([]string{"DRAINIT_LOG_LEVEL=debug", "DRAINIT_LOG_FORMAT=text"}, env...)
	r := RunToEnd(t, Launch{NoPID1: true, Env: env, Args: append(args, "true")})
	if r.Status != 0 || r.Out != "" {
		t.Errorf("exit status %d, stdout %q", r.Status, r.Out)
	}
	line := regexp.MustCompile(`(?m)^drainit: settings: .*$`).FindString(r.Err)
	if line == "" {
		t.Fatalf("no settings in %q", r.Err)
	}
	return line
}

// Settles reports whether the line says that these settings were given, and no others but those of
// SettingsLine.
func Settles(line, given string) bool {
	return strings.Contains(line, strings.TrimSpace("settings: "+given)+" DRAINIT_LOG_FORMAT=text DRAINIT_LOG_LEVEL=debug; pid ")
}

// Ran is what came of an init that has ended.
type Ran struct {
	Status   int
	Out, Err string
}

// RunToEnd launches an init and waits for its end.
func RunToEnd(t *testing.T, l Launch) Ran {
	t.Helper()
	p := Run(t, l)
	status := p.Wait()
	return Ran{status, p.Out(), p.Err()}
}

// WantQuietRun checks that the worker printed just this and ended with 0, and
// that drainit had nothing to say.
func (r Ran) WantQuietRun(t *testing.T, want string) {
	t.Helper()
	if r.Status != 0 || r.Out != want || r.Err != "" {
		t.Errorf("exit status %d\nstdout: %q\nwant:   %q\nstderr: %q", r.Status, r.Out, want, r.Err)
	}
}

// StartBeside starts a program that is not below an init, and ends it with the test.
func StartBeside(t *testing.T, name string, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), newMarker())
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// Hiding starts drainit as an ordinary user under a /proc that shows to each
// user only what is its own (hidepid=2, proc(5)).
func Hiding(t *testing.T, flags []string, command ...string) *Init {
	t.Helper()
	Need(t, "setpriv")
	NeedRoot(t)
	user := strconv.Itoa(OwnUID())
	args := append([]string{"-c", `mount -o remount,hidepid=2 /proc && exec setpriv --reuid="$0" --regid="$0" --clear-groups "$@"`, user, DrainitBin},
		Line(flags, command...)...)
	return Run(t, Launch{Bin: "/bin/sh", Args: args})
}
