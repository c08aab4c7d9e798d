package test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// managerWays are the starts by what manages several programs, or runs the scripts of
// several packages: on the signal some leave at once, some tell the groups of their
// children, and some tell a shell alone. supervisord looks each second whether all are gone.
var managerWays = []way{
	{name: "`supervisord`, one program behind `sh -c`", programs: []string{"node", "supervisord", "sh"}, workers: 2, leaves: 1500 * time.Millisecond,
		prepare: supervisord("", "node app.js", behindShell)},
	{name: "`supervisord` with `stopasgroup`, behind `sh -c`", programs: []string{"node", "supervisord", "sh"}, tells: 1, leaves: 1500 * time.Millisecond,
		prepare: supervisord("stopasgroup=true", behindShell)},
	{name: "`runsvdir`", programs: []string{"node", "runsvdir"}, workers: 2,
		prepare: app(nil, runitServices, "runsvdir", "services")},
	{name: "`runsvdir`, `--stop-signal HUP`", programs: []string{"node", "runsvdir"}, workers: 2, status: 111,
		signal: syscall.SIGHUP, flags: []string{"--stop-signal", "HUP"},
		prepare: app(nil, runitServices, "runsvdir", "services")},
	// By itself nx tells each process of its tasks once, twice or more often: it walks the
	// tree, and so does each nx in that tree.
	{name: "`nx start app`", npm: true, status: 130, uncounted: true, tells: 1,
		prepare: nx(app(nil, nxPackage, "nx", "start", "app"))},
	{name: "`lerna run start`", npm: true, status: 130, uncounted: true, tells: 1,
		prepare: nx(app(nil, lernaPackages, "lerna", "run", "start", "--stream"))},
	{name: "`lerna run start`, `useNx: false`", npm: true, status: 143,
		prepare: nx(app(nil, lernaWithoutNx, "lerna", "run", "start", "--stream"))},
	{name: "`lerna exec -- node app`", npm: true, status: 143,
		prepare: nx(app(nil, lernaPackages, "lerna", "exec", "--stream", "--", "node", "../../app.js"))},
}

const behindShell = `sh -c "node app.js; exit $?"`

// supervisord prepares a start of these programs, for which it waits as long as it takes. It
// stops the last one first, and the one before when that has gone.
func supervisord(setting string, commands ...string) func(*testing.T, *scene) []string {
	var conf strings.Builder
	conf.WriteString("[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\n")
	for i, command := range commands {
		fmt.Fprintf(&conf, "[program:app%d]\ncommand=%s\nstopwaitsecs=60\n%s\n", i, command, setting)
	}
	return debian(app(nil, files{"supervisord.conf": conf.String()}, "supervisord", "-c", "supervisord.conf"))
}

// debian prepares a start with Debian's own programs.
func debian(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		command := prepare(t, s)
		s.env = append(s.env, debianPath)
		return command
	}
}

// runitServices are two services of runit's, one of them behind a shell.
var runitServices = files{
	"services/direct/run": "#!/bin/sh\ncd ../..\nexec node app.js\n",
	"services/behind/run": "#!/bin/sh\ncd ../..\nnode app.js\nexit $?\n",
}

var nxPackage = files{
	"package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "node app.js"}, "nx": {}}`,
	"nx.json":      `{"analytics": false}`,
}

var (
	lernaPackages  = lerna(`{"version": "1.0.0", "packages": ["packages/*"]}`)
	lernaWithoutNx = lerna(`{"version": "1.0.0", "packages": ["packages/*"], "useNx": false}`)
)

// lerna is a package below another, with these settings of lerna's.
func lerna(settings string) files {
	return files{
		"package.json":              `{"name": "root", "version": "1.0.0", "private": true, "workspaces": ["packages/*"]}`,
		"lerna.json":                settings,
		"nx.json":                   `{"analytics": false}`,
		"packages/app/package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "node ../../app.js"}}`,
	}
}

// nx prepares a start by nx, which lerna runs too: all of it in the scene's folder, without
// a daemon and without asking the network.
func nx(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		s.env = append(s.env, "NX_DAEMON=false", "NX_TUI=false", "NX_NO_CLOUD=true", "NX_ISOLATE_PLUGINS=false",
			"NX_SOCKET_DIR="+s.dir, "NX_CACHE_DIRECTORY="+s.dir, "NX_WORKSPACE_DATA_DIRECTORY="+s.dir)
		return prepare(t, s)
	}
}
