package forward

import (
	"path"
	"slices"
	"strings"

	"drainit/internal/proc"
)

// Kind is what a program does about a stop signal for those below it.
type Kind uint8

// The kinds.
const (
	Plain    Kind = iota // its own business: a worker, a relay, anything not known
	Shell                // without a trap it dies of TERM and tells nobody; on INT it waits for its child
	Launcher             // a package manager's runner: of signals it heeds TERM at most
)

func (k Kind) String() string { return [...]string{"program", "shell", "launcher"}[k] }

var (
	shells    = []string{"sh", "bash", "dash", "ash", "hush", "zsh", "ksh", "ksh93", "mksh", "oksh", "lksh", "yash", "posh", "rbash"}
	multicall = []string{"busybox", "toybox"} // one program that is many, by the name it was called
	runtimes  = []string{"node", "nodejs", "bun"}
	launchers = []string{"npm", "npx", "yarn", "yarnpkg", "pnpm", "pnpx"}
)

// KindOf tells a shell and a launcher by what runs them; where that may not be
// read, by the name the process bears. Arguments alone prove nothing.
func KindOf(s proc.Seen) Kind {
	if slices.Contains(shells, shellName(s)) {
		return Shell
	}
	if LauncherName(s) != "" {
		return Launcher
	}
	return Plain
}

// shellName is the name under which a shell would run.
func shellName(s proc.Seen) string {
	exe, called := withoutSuffix(s.Exe), commandName(s.Args, 0)
	switch {
	case s.Exe == "":
		return strings.TrimPrefix(s.Comm, "-")
	case !slices.Contains(multicall, exe):
		return exe
	case slices.Contains(multicall, withoutSuffix(called)):
		return commandName(s.Args, 1) // busybox sh
	}
	return called
}

// withoutSuffix makes busybox of busybox.static and bash of bash.old.
func withoutSuffix(file string) string {
	name, _, _ := strings.Cut(file, ".")
	return name
}

// LauncherName is the launcher's own name, "npm" or "go run", and "" for what is
// none. npm and yarn write a title such as "npm start" over their arguments, so
// the name stands at the front of either.
func LauncherName(s proc.Seen) string {
	switch {
	case s.Exe == "go" && len(s.Args) > 1 && s.Args[1] == "run":
		return "go run"
	case s.Exe != "" && !slices.Contains(runtimes, s.Exe):
		return ""
	}
	title, _, _ := strings.Cut(s.Comm, " ")
	if slices.Contains(launchers, title) {
		return title
	}
	script := slices.IndexFunc(s.Args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && !slices.Contains(runtimes, path.Base(arg))
	})
	return launcherFile(commandName(s.Args, script))
}

// launcherFile knows a launcher by its file: npm-cli.js, yarn.js, yarn-4.5.0.cjs.
func launcherFile(file string) string {
	name, _, _ := strings.Cut(file, ".")
	name, version, _ := strings.Cut(name, "-")
	if !slices.Contains(launchers, name) {
		return ""
	}
	if version == "" || version == "cli" || strings.Trim(version, "0123456789") == "" {
		return name
	}
	return ""
}

// commandName is the file name of an argument, without a login shell's dash.
func commandName(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return strings.TrimPrefix(path.Base(args[i]), "-")
}

// TellsBelow reports whether a launcher passes TERM on to all that is below it
// and waits for them, and so needs no warning.
func TellsBelow(launcher string) bool { return launcher == "pnpm" || launcher == "pnpx" }
