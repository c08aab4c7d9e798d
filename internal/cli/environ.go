package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drainit/supervisor"
)

// setGraceByWorker takes the grace period that the worker reads itself, and 5 s more, in
// which the worker must still give its jobs back (section 5.3 of the OJS specification).
func setGraceByWorker(o *options, environ []string) error {
	for _, name := range []string{"OJS_SHUTDOWN_GRACE_PERIOD", "OJS_GRACE_PERIOD", "OJS_SHUTDOWN_TIMEOUT"} {
		value, _ := lookupEnv(environ, name)
		if value == "" {
			continue
		}
		if err := setGrace(o, value); err != nil {
			return fmt.Errorf("%s: %w; or give --grace", name, err)
		}
		if o.config.Grace != supervisor.Forever {
			o.config.Grace += 5 * time.Second
		}
		return nil
	}
	return nil
}

// lookupEnv returns the first value of a variable, as getenv(3) does.
func lookupEnv(environ []string, name string) (value string, ok bool) {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// workerEnv is the environment without drainit's own variables: a drainit below this one
// gets its own. Other variables that begin with DRAINIT_ are Kubernetes' or the worker's.
func workerEnv(environ []string) []string {
	var env []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !isOwn(name) {
			env = append(env, v)
		}
	}
	return env
}

// isOwn reports whether a variable is one of drainit's settings.
func isOwn(name string) bool {
	return slices.ContainsFunc(settings[:], func(s setting) bool { return s.variable() == name })
}
