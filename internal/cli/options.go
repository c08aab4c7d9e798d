package cli

import (
	"strings"

	"go.uber.org/zap/zapcore"

	"drainit/supervisor"
)

// options are the command line and the environment, checked.
type options struct {
	config  supervisor.Config
	json    bool
	level   zapcore.Level
	version bool
	pause   bool // no worker, as a pod's first container
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
