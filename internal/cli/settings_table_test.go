package cli

import (
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/machine"
	"drainit/internal/signals"
)

// settingTest is how one setting is to behave. Its values are those of a flag, and of its variable.
type settingTest struct {
	field func(*options) any // a pointer to what the setting sets
	good  map[string]any     // the field by value
	bad   map[string]string  // what is said of a value, after its flag or variable
}

const (
	wantGrace  = ": want 25s, 25 (seconds), 0 (kill at once) or infinity"
	wantDelay  = ": want 5s or 5 (seconds)"
	wantPort   = ": want a number from 1 to 65535"
	wantSignal = ": want a name such as TERM or SIGTERM, RTMIN+3, or a number"
	noStop     = " can't begin the stop: drainit can't see it or has another use for it"
	tooLong    = " is more than a week (milliseconds meant?)"
)

var settingTests = map[string]settingTest{
	"grace": {
		field: func(o *options) any { return &o.Config.Grace },
		good: map[string]any{"0": time.Duration(0), "007": 7 * time.Second, "1m30s": 90 * time.Second, "1.5s": 1500 * time.Millisecond, "1M5S": 65 * time.Second,
			"604800": 168 * time.Hour, "168h": 168 * time.Hour, "infinity": machine.Forever, "inf": machine.Forever, "Infinity": machine.Forever},
		bad: map[string]string{
			"25x": `invalid duration "25x"` + wantGrace, "-1": `invalid duration "-1"` + wantGrace, "-1ns": `invalid duration "-1ns"` + wantGrace,
			"1.5": `invalid duration "1.5"` + wantGrace, " 5": `invalid duration " 5"` + wantGrace, "25,30": `invalid duration "25,30"` + wantGrace,
			"604801": `"604801"` + tooLong + wantGrace, "168h1ns": `"168h1ns"` + tooLong + wantGrace,
			"18446744073709551615": `"18446744073709551615"` + tooLong + wantGrace, "18446744073709551616": `invalid duration "18446744073709551616"` + wantGrace,
		},
	},
	"stop-delay": {
		field: func(o *options) any { return &o.Config.StopDelay },
		good:  map[string]any{"0": time.Duration(0), "5": 5 * time.Second, "34999ms": 34999 * time.Millisecond},
		bad: map[string]string{
			"5x": `invalid duration "5x"` + wantDelay, "infinity": `invalid duration "infinity"` + wantDelay, "604801": `"604801"` + tooLong + wantDelay,
			"35": `35s is not shorter than the grace period of 35s: the worker would never be signalled`,
		},
	},
	"stop-signal": {
		field: func(o *options) any { return &o.Config.StopSignals },
		good:  map[string]any{"QUIT": []unix.Signal{unix.SIGQUIT}, "sigwinch": []unix.Signal{unix.SIGWINCH}, "37": []unix.Signal{37}, "TTIN": []unix.Signal{unix.SIGTTIN}},
		bad: map[string]string{
			"FOO": `invalid signal "FOO"` + wantSignal, "65": `invalid signal "65": numbers go from 1 to 64`,
			"KILL": "SIGKILL" + noStop, "CHLD": "SIGCHLD" + noStop, "SEGV": "SIGSEGV" + noStop, "TSTP": "SIGTSTP" + noStop, "CONT": "SIGCONT" + noStop,
		},
	},
	"remap-exit": {
		field: func(o *options) any { return &o.Config.RemapExit },
		good:  map[string]any{"0": []int{0}, "143": []int{143}, "255": []int{255}},
		bad: map[string]string{
			"256": `invalid exit status "256": want a number from 0 to 255`, "-1": `invalid exit status "-1": want a number from 0 to 255`,
			"0x1": `invalid exit status "0x1": want a number from 0 to 255`,
		},
	},
	"parent-death-signal": {
		field: func(o *options) any { return &o.Config.ParentDeathSignal },
		good:  map[string]any{"KILL": unix.SIGKILL, "sigterm": unix.SIGTERM, "64": unix.Signal(64)},
		bad:   map[string]string{"0": `invalid signal "0": numbers go from 1 to 64`, "TERM,KILL": `invalid signal "TERM,KILL"` + wantSignal},
	},
	"rewrite": {
		field: func(o *options) any { return &o.Config.Rewrites },
		good: map[string]any{"TERM:QUIT": signals.Rewrites{15: 3}, "15:2": signals.Rewrites{15: 2}, "HUP:0": signals.Rewrites{1: signals.Drop},
			"13:0": signals.Rewrites{}, "KILL:0": signals.Rewrites{}, "KILL:TERM": signals.Rewrites{}, "17:1": signals.Rewrites{},
			"31:1": signals.Rewrites{31: 1}, "SEGV:TERM": signals.Rewrites{11: 15}, "31:0": signals.Rewrites{}, "TERM:KILL": signals.Rewrites{15: 9}},
		bad: map[string]string{
			"TERM": `invalid rewrite "TERM": want FROM:TO, such as TERM:QUIT`, "TERM:FOO": `invalid signal "FOO"` + wantSignal,
			"TERM:STOP": "SIGSTOP can't be delivered in place of SIGTERM: it would freeze or break the worker",
		},
	},
	"forward": {
		field: func(o *options) any { return &o.Config.Mode },
		good:  map[string]any{"auto": forward.ModeAuto, "group": forward.ModeGroup, "worker": forward.ModeWorker, "Group": forward.ModeGroup, "none": forward.ModeNone},
		bad:   map[string]string{"All": `invalid value "All": want auto, group, worker or none`},
	},
	"forking": {
		field: func(o *options) any { return &o.Config.Forking },
		good:  map[string]any{"1": true, "true": true, "0": false, "false": false},
		bad:   map[string]string{"yes": `invalid value "yes": want 1, 0, true or false`},
	},
	"second-stop": {
		field: func(o *options) any { return &o.Config.SecondStopIgnored },
		good:  map[string]any{"force": false, "ignore": true, "Ignore": true},
		bad:   map[string]string{"no": `invalid value "no": want force or ignore`},
	},
	"health-addr": {
		field: func(o *options) any { return &o.Config.HealthAddr },
		good:  map[string]any{":8080": must(health.ParseAddress(":8080")), "[::1]:80": must(health.ParseAddress("[::1]:80"))},
		bad:   map[string]string{"drainit:80": `invalid value "drainit:80": want :8080 or 127.0.0.1:8080, an address and not a name`},
	},
	"ready-port": {
		field: func(o *options) any { return &o.Config.ReadyPort },
		good:  map[string]any{"1": 1, "080": 80, "65535": 65535},
		bad: map[string]string{"0": `invalid port "0"` + wantPort, "65536": `invalid port "65536"` + wantPort, ":80": `invalid port ":80"` + wantPort,
			"tcp://10.0.0.1:80": `invalid port "tcp://10.0.0.1:80"` + wantPort},
	},
	"log-format": {
		field: func(o *options) any { return &o.json },
		good:  map[string]any{"auto": defaults().json, "json": true, "text": false, "JSON": true, "Text": false},
		bad:   map[string]string{"xml": `invalid value "xml": want auto, json or text`},
	},
	"log-level": {
		field: func(o *options) any { return &o.level },
		good: map[string]any{"error": zapcore.ErrorLevel, "warn": zapcore.WarnLevel, "warning": zapcore.WarnLevel, "info": zapcore.InfoLevel,
			"debug": zapcore.DebugLevel, "DEBUG": zapcore.DebugLevel},
		bad: map[string]string{"panic": `invalid value "panic": want error, warn, warning, info or debug`},
	},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
