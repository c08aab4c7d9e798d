package cli

import (
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/signals"
)

// settingTest is how one setting is to behave. Its values are those of a flag, and of
// its variable.
type settingTest struct {
	field   func(*options) any // what the setting sets
	without any                // the field when nothing is given
	good    map[string]any     // the field by value
	bad     map[string]string  // what is said of a value, after its flag or variable
}

var settingTests = map[string]settingTest{
	"termination-log": {
		field:   func(o *options) any { return o.config.TerminationLog },
		without: "/dev/termination-log",
		good:    map[string]any{"/a/b": "/a/b", "/a/../b": "/b", "": "", "/a,b": "/a,b", " ": filepath.Join(workingDirectory(), " "), "log": filepath.Join(workingDirectory(), "log")},
	},
	"grace": {
		field:   func(o *options) any { return o.config.Grace },
		without: 30 * time.Second,
		good: map[string]any{"0": time.Duration(0), "25": 25 * time.Second, "1m30s": 90 * time.Second, "168h": 168 * time.Hour, "30S": 30 * time.Second, "1M30S": 90 * time.Second,
			"infinity": time.Duration(1<<63 - 1), "inf": time.Duration(1<<63 - 1), "Infinity": time.Duration(1<<63 - 1)},
		bad: map[string]string{
			"25x":    `invalid duration "25x": want 25s, 25 (seconds), 0 (kill at once) or infinity`,
			"-1":     `invalid duration "-1": want 25s, 25 (seconds), 0 (kill at once) or infinity`,
			"25,30":  `invalid duration "25,30": want 25s, 25 (seconds), 0 (kill at once) or infinity`,
			"604801": `"604801" is more than a week (milliseconds meant?): want 25s, 25 (seconds), 0 (kill at once) or infinity`,
		},
	},
	"stop-delay": {
		field:   func(o *options) any { return o.config.StopDelay },
		without: time.Duration(0),
		good:    map[string]any{"0": time.Duration(0), "5": 5 * time.Second, "1500ms": 1500 * time.Millisecond},
		bad: map[string]string{
			"5x":       `invalid duration "5x": want 5s or 5 (seconds)`,
			"infinity": `invalid duration "infinity": want 5s or 5 (seconds)`,
			"30":       `30s is not shorter than the grace period of 30s: the worker would never be signalled`,
		},
	},
	"stop-signal": {
		field:   func(o *options) any { return o.config.StopSignals },
		without: []unix.Signal(nil),
		good:    map[string]any{"QUIT": []unix.Signal{unix.SIGQUIT}, "sigwinch": []unix.Signal{unix.SIGWINCH}, "37": []unix.Signal{37}, "TERM": []unix.Signal{unix.SIGTERM}, "TTIN": []unix.Signal{unix.SIGTTIN}},
		bad: map[string]string{
			"FOO":  `invalid signal "FOO": want a name such as TERM or SIGTERM, RTMIN+3, or a number`,
			"65":   `invalid signal "65": numbers go from 1 to 64`,
			"KILL": `SIGKILL can't begin the stop: drainit can't see it or has another use for it`,
			"CHLD": `SIGCHLD can't begin the stop: drainit can't see it or has another use for it`,
			"SEGV": `SIGSEGV can't begin the stop: drainit can't see it or has another use for it`,
			"TSTP": `SIGTSTP can't begin the stop: drainit can't see it or has another use for it`,
			"CONT": `SIGCONT can't begin the stop: drainit can't see it or has another use for it`,
		},
	},
	"remap-exit": {
		field:   func(o *options) any { return o.config.RemapExit },
		without: []int(nil),
		good:    map[string]any{"0": []int{0}, "143": []int{143}, "255": []int{255}},
		bad: map[string]string{
			"256": `invalid exit status "256": want a number from 0 to 255`,
			"-1":  `invalid exit status "-1": want a number from 0 to 255`,
			"0x1": `invalid exit status "0x1": want a number from 0 to 255`,
			"one": `invalid exit status "one": want a number from 0 to 255`,
		},
	},
	"parent-death-signal": {
		field:   func(o *options) any { return o.config.ParentDeathSignal },
		without: unix.Signal(0),
		good:    map[string]any{"KILL": unix.SIGKILL, "sigterm": unix.SIGTERM, "64": unix.Signal(64)},
		bad: map[string]string{
			"0":         `invalid signal "0": numbers go from 1 to 64`,
			"TERM,KILL": `invalid signal "TERM,KILL": want a name such as TERM or SIGTERM, RTMIN+3, or a number`,
		},
	},
	"rewrite": {
		field:   func(o *options) any { return o.config.Rewrites },
		without: signals.Rewrites{},
		good:    map[string]any{"TERM:QUIT": signals.Rewrites{15: 3}, "15:3": signals.Rewrites{15: 3}, "HUP:0": signals.Rewrites{1: signals.Drop}, "13:0": signals.Rewrites{}, "KILL:0": signals.Rewrites{}},
		bad: map[string]string{
			"TERM":      `invalid rewrite "TERM": want FROM:TO, such as TERM:QUIT`,
			"KILL:TERM": `SIGKILL can't be rewritten: drainit can't see it or never passes it on`,
			"SEGV:TERM": `SIGSEGV can't be rewritten: drainit can't see it or never passes it on`,
			"TERM:STOP": `SIGSTOP can't be delivered in place of SIGTERM: it would freeze or break the worker`,
			"TERM:FOO":  `invalid signal "FOO": want a name such as TERM or SIGTERM, RTMIN+3, or a number`,
		},
	},
	"forward": {
		field:   func(o *options) any { return o.config.Mode },
		without: forward.ModeAuto,
		good:    map[string]any{"auto": forward.ModeAuto, "group": forward.ModeGroup, "worker": forward.ModeWorker, "AUTO": forward.ModeAuto, "Group": forward.ModeGroup},
		bad:     map[string]string{"all": `invalid value "all": want auto, group or worker`, "All": `invalid value "All": want auto, group or worker`},
	},
	"forking": {
		field:   func(o *options) any { return o.config.Forking },
		without: false,
		good:    map[string]any{"1": true, "true": true, "0": false, "false": false},
		bad:     map[string]string{"yes": `invalid value "yes": want 1, 0, true or false`, "2": `invalid value "2": want 1, 0, true or false`},
	},
	"second-stop": {
		field:   func(o *options) any { return o.config.SecondStopIgnored },
		without: false,
		good:    map[string]any{"force": false, "ignore": true, "Ignore": true},
		bad:     map[string]string{"no": `invalid value "no": want force or ignore`, "1": `invalid value "1": want force or ignore`},
	},
	"health-addr": {
		field:   func(o *options) any { return o.config.HealthAddr },
		without: health.Address{},
		good:    map[string]any{":8080": address(":8080"), "127.0.0.1:80": address("127.0.0.1:80"), "[::1]:80": address("[::1]:80"), "8080": address("8080"), "localhost:80": address("localhost:80")},
		bad: map[string]string{
			"drainit:80": `invalid value "drainit:80": want :8080 or 127.0.0.1:8080, an address and not a name`,
			":0":         `invalid value ":0": want :8080 or 127.0.0.1:8080, an address and not a name`,
		},
	},
	"log-format": {
		field:   func(o *options) any { return o.json },
		without: !isTerminal(unix.Stderr),
		good:    map[string]any{"auto": !isTerminal(unix.Stderr), "json": true, "text": false, "AUTO": !isTerminal(unix.Stderr), "JSON": true, "Text": false},
		bad:     map[string]string{"xml": `invalid value "xml": want auto, json or text`, "XML": `invalid value "XML": want auto, json or text`},
	},
	"log-level": {
		field:   func(o *options) any { return o.level },
		without: zapcore.InfoLevel,
		good: map[string]any{"error": zapcore.ErrorLevel, "warn": zapcore.WarnLevel, "info": zapcore.InfoLevel, "debug": zapcore.DebugLevel,
			"DEBUG": zapcore.DebugLevel, "Warning": zapcore.WarnLevel, "warning": zapcore.WarnLevel, "WARN": zapcore.WarnLevel},
		bad: map[string]string{"panic": `invalid value "panic": want error, warn, warning, info or debug`, "Panic": `invalid value "Panic": want error, warn, warning, info or debug`},
	},
}

// workingDirectory is where the tests run.
func workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}
