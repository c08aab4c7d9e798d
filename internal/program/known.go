package program

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Reach is how far a program passes on a stop signal that it gets: the most processes that it signals by
// itself, without itself. A KILL that follows does not count.
type Reach uint8

// The reaches.
const (
	Unknown   Reach = iota // it may signal any process
	NoProcess              // no other process
	OwnChild               // the one process that it has started
	Children               // each process that it has started
	Group                  // a process group: its own, or that of a child
	Tree                   // each process below it
)

// OnlyChildren reports whether a program is known to signal no process but its own children, if any.
func (r Reach) OnlyChildren() bool { return NoProcess <= r && r <= Children }

// command is a program that is known by its source.
type command struct {
	runtime  string // what runs its script; "" for a program of its own
	name     string // with | between several
	term     Reach
	int      Reach
	launcher bool // a runner of scripts or tasks, which heeds TERM at most
}

// commands are what the named versions do, by the named source. Of two rows of one name the first has a
// flag or verb. TestReach in test/workers signals most of them, and counts their calls of kill(2).
//
// Not here: what runs a user's code within (rake, PM2's daemon, nodemon), what execs (env, nohup, setpriv,
// nice, gosu, chpst, cargo run, busybox timeout), and what has no handler, which its masks show (xargs,
// setsid).
var commands = []command{
	// npm 6: npm-lifecycle/index.js; npm 7 to 11: @npmcli/run-script/lib/signal-manager.js
	{"node", "npm|npx", OwnChild, OwnChild, true},
	// yarn 1.22: lib/cli.js; yarn 3 and 4: @yarnpkg/shell/sources/pipe.ts
	{"node", "yarn|yarnpkg", Children, NoProcess, true},
	// pnpm 7 to 10: @pnpm/npm-lifecycle; pnpm 12 is a program whose child leads a group
	{"node", "pnpm|pnpx", Children, Children, true},
	{"", "pnpm|pnpx", Group, Group, false},
	// composer 2.5: Util/ProcessExecutor.php
	{"php", "composer", NoProcess, NoProcess, true},
	// make 4.3: src/commands.c, fatal_error_signal
	{"", "make|gmake", Children, NoProcess, true},
	// just 1.57: src/signal_handler.rs
	{"", "just", Children, NoProcess, true},
	// go 1.26: cmd/go/internal/base/signal_unix.go
	{"", "go run", NoProcess, NoProcess, true},
	// npm-run-all 4.1 and npm-run-all2 9.0 have no handler but Node's, which ends them
	{"node", "npm-run-all|run-p|run-s", NoProcess, NoProcess, false},
	// cross-env 10.1: dist/index.js; dotenv-cli 11.0: cli.js; env-cmd 11.0: dist/signal-termination.js
	{"node", "cross-env|dotenv|env-cmd", OwnChild, OwnChild, false},
	// pm2 7.0: lib/binaries/CLI.js; its daemon has another title
	{"node", "pm2 start", NoProcess, NoProcess, false},
	// foreman 3.0 of Node: lib/proc.js; foreman 0.87 of Ruby: lib/foreman/engine.rb, kill_children
	{"node", "nf", NoProcess, Children, false},
	{"ruby", "foreman", Children, Children, false},
	// concurrently 9.2: dist/src/flow-control/kill-on-signal.js; lerna 9.0: execa lib/kill.js, or nx 22.7
	{"node", "lerna exec", Children, Children, false},
	{"node", "concurrently|lerna|nx", Tree, Tree, false},
	// turbo 2: turborepo-process/src/child/shutdown.rs, only read
	{"", "turbo", Group, Group, false},
	// supervisor 4.2: process.py, each child or its group; honcho 1.1: manager.py, only read
	{"python", "supervisord|honcho", Group, Group, false},
	// runit 2.1.2: src/runsvdir.c, which at HUP alone signals each runsv; src/runsv.c
	{"", "runsvdir", NoProcess, NoProcess, false},
	{"", "runsv", OwnChild, OwnChild, false},
	// s6 2.11: src/supervision/s6-svscan.c, s6-supervise.c
	{"", "s6-svscan", Children, Children, false},
	{"", "s6-supervise", OwnChild, Group, false},
	// util-linux 2.38: login-utils/su-common.c, term-utils/script.c; the end of a terminal of theirs sends
	// the group HUP. shadow's su and sudo 1.9 (src/exec_pty.c), both only read, signal the group.
	{"", "runuser --pty", Group, Group, false},
	{"", "runuser", OwnChild, OwnChild, false},
	{"", "su|script|sudo", Group, Group, false},
	// coreutils 9.1: src/timeout.c
	{"", "timeout --foreground", OwnChild, OwnChild, false},
	{"", "timeout", Group, Group, false},
	// dumb-init 1.2.5: dumb-init.c
	{"", "dumb-init -c|dumb-init --single-child", OwnChild, OwnChild, false},
	{"", "dumb-init", Group, Group, false},
	// parallel 20221122
	{"perl", "parallel", Group, Group, false},
}

// Signals returns how far a program passes on TERM, INT or, if it is runsvdir, HUP. It returns Unknown for
// other signals, and if the executable may not be read: a name alone proves nothing.
func Signals(p *proc.Process, sig unix.Signal) Reach {
	c := commandOf(p)
	switch {
	case p.Exe == "":
	case sig == unix.SIGTERM:
		return c.term
	case sig == unix.SIGINT:
		return c.int
	case sig == unix.SIGHUP && c.name == "runsvdir":
		return Children
	}
	return Unknown
}

// LauncherName returns the launcher's own name, "npm" or "go run", and "" for any other program.
func LauncherName(p *proc.Process) string {
	if c := commandOf(p); c.launcher {
		return c.name
	}
	return ""
}

// PassesNothingOn reports whether a process is a launcher that passes TERM on to no process below it. A
// launcher is sent no other stop signal.
func PassesNothingOn(p *proc.Process) bool {
	c := commandOf(p)
	return c.launcher && c.term == NoProcess
}

// commandOf returns the row of a process's program, the zero command if it is not known. A program is
// recognised by its executable, a script by what runs it and by its own name. npm and yarn write a title such
// as "npm start" over their arguments.
func commandOf(p *proc.Process) command {
	runtime, hidden := interpreters[withoutVersion(p.Exe)], p.Exe == ""
	names := withFlags(p.Exe, p.Args[min(1, len(p.Args)):])
	if hidden || runtime != "" {
		title, _, _ := strings.Cut(p.Comm, " ")
		script, args := scriptOf(p.Args)
		names = append(withFlags(script, args), title)
	}
	for _, c := range commands {
		if c.runtime != runtime && !(hidden && c.runtime != "") {
			continue
		}
		for name := range strings.SplitSeq(c.name, "|") {
			if slices.Contains(names, name) {
				c.name = name
				return c
			}
		}
	}
	return command{}
}

// withFlags returns a name with each of its flags, the name with its verb, and the name alone. The arguments
// count up to the first that is no flag, which is the verb.
func withFlags(name string, args []string) (names []string) {
	for _, arg := range args {
		names = append(names, name+" "+arg)
		if !strings.HasPrefix(arg, "-") {
			break
		}
	}
	return append(names, name)
}

// scriptOf returns the name of the script that a runtime runs, and the script's arguments. The name is "" for
// no script, npm for npm-cli.js, and yarn for yarn-4.5.0.cjs.
func scriptOf(args []string) (name string, its []string) {
	i := slices.IndexFunc(args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && interpreters[withoutVersion(path.Base(arg))] == ""
	})
	if i < 0 {
		return "", nil
	}
	whole := withoutSuffix(commandName(args, i))
	name, kind, _ := strings.Cut(whole, "-")
	if !slices.Contains([]string{"", "cli", "berry"}, strings.Trim(kind, "0123456789")) {
		name = whole
	}
	return name, args[i+1:]
}
