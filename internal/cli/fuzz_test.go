package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// FuzzParse reads any command line and environment, each of fields that a line end
// parts. What parse lets through, supervisor.Run relies on.
func FuzzParse(f *testing.F) {
	for _, seed := range []struct{ args, environ string }{
		{"--\nx", ""},
		{"-t25\n--stop-delay=5s\nsh\n-c\nx", "DRAINIT_GRACE=bad\nA=b\nC"},
		{"-gwvs\n-e\n143\n-p\nKILL\nx", "DRAINIT_STOP_SIGNAL=QUIT, RTMIN+3\nDRAINIT_FORKING=1"},
		{"-c\n-r\n15:3\n--rewrite=HUP:0\nx", "OJS_GRACE_PERIOD=168h\nDRAINIT_TERMINATION_LOG="},
		{"--health-addr\n[::1]:80\n--log-format\ntext\nx", "DRAINIT_LOG_LEVEL=debug\nDRAINIT_SERVICE_HOST=h"},
		{"--termination-log\n../a\n--forking=0\n-V\nx", "=\n==\nDRAINIT_GRACE"},
	} {
		f.Add(seed.args, seed.environ)
	}
	f.Fuzz(func(t *testing.T, args, environ string) {
		o, err := parse(strings.Split(args, "\n"), strings.Split(environ, "\n"))
		if o == nil {
			t.Fatal("no options")
		}
		if err == nil && !o.version {
			checkOptions(t, o)
		}
	})
}

// checkOptions checks what supervisor.Run relies on.
func checkOptions(t *testing.T, o *options) {
	const longest = 168*time.Hour + 5*time.Second // what the worker takes, and 5 s
	c := o.config
	if c.Grace < 0 || c.Grace > longest && c.Grace != supervisor.Forever {
		t.Errorf("a grace of %v", c.Grace)
	}
	if c.StopDelay < 0 || c.StopDelay > 0 && c.StopDelay >= c.Grace {
		t.Errorf("a stop delay of %v in a grace of %v", c.StopDelay, c.Grace)
	}
	for _, sig := range c.StopSignals {
		if !signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT {
			t.Errorf("the stop begins with %v", sig)
		}
	}
	for from, to := range c.Rewrites {
		if !signals.Forwardable(from) || to < 0 || to > 64 || to == unix.SIGSTOP {
			t.Errorf("%v is rewritten to %v", from, to)
		}
	}
	for _, code := range c.RemapExit {
		if code < 0 || code > 255 {
			t.Errorf("status %d", code)
		}
	}
	if c.ParentDeathSignal < 0 || c.ParentDeathSignal > 64 || c.Mode > forward.ModeWorker {
		t.Errorf("parent death signal %d, mode %d", c.ParentDeathSignal, c.Mode)
	}
	if c.TerminationLog != "" && !filepath.IsAbs(c.TerminationLog) {
		t.Errorf("termination log %q", c.TerminationLog)
	}
	if !slices.Equal(workerEnv(c.Env), c.Env) {
		t.Errorf("the worker gets %q", c.Env)
	}
}
