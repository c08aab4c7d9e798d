package forward

import (
	"path"
	"slices"
	"strings"

	"drainit/internal/proc"
)

// Program is what a process runs, as far as it matters to those below it.
type Program uint8

// The programs.
const (
	Other    Program = iota // its own business: a worker, a relay, anything not known
	Shell                   // without a trap it dies of TERM and signals none; on INT it waits for its child
	Launcher                // a package manager's runner: of signals it heeds TERM at most
)

func (p Program) String() string { return [...]string{"program", "shell", "launcher"}[p] }

var (
	shells = []string{"sh", "bash", "dash", "ash", "hush", "zsh", "ksh", "ksh93", "mksh", "oksh", "lksh", "yash", "posh", "rbash"}
	// these have a handler for TERM without a trap
	shellsWithHandlers = []string{"mksh", "lksh", "oksh"}

	multicall = []string{"busybox", "toybox"} // one program that is many, by the name it was called
	runtimes  = []string{"node", "nodejs", "bun"}
	launchers = []string{"npm", "npx", "yarn", "yarnpkg", "pnpm", "pnpx"}
)

// ProgramOf tells a shell and a launcher by what runs them; where that may not be
// read, by the name the process bears. Arguments alone prove nothing.
func ProgramOf(p *proc.Process) Program {
	if slices.Contains(shells, shellName(p)) {
		return Shell
	}
	if LauncherName(p) != "" {
		return Launcher
	}
	return Other
}

// shellName is the name under which a shell would run.
func shellName(p *proc.Process) string {
	exe, called := withoutSuffix(p.Exe), commandName(p.Args, 0)
	switch {
	case p.Exe == "":
		return strings.TrimPrefix(p.Comm, "-")
	case !slices.Contains(multicall, exe):
		return exe
	case slices.Contains(multicall, withoutSuffix(called)):
		return commandName(p.Args, 1) // busybox sh
	}
	return called
}

// withoutSuffix makes busybox of busybox.static and bash of bash.old.
func withoutSuffix(file string) string {
	name, _, _ := strings.Cut(file, ".")
	return name
}

// LauncherName is the launcher's own name, "npm" or "go run", and "" for any other program. npm and
// yarn write a title such as "npm start" over their arguments, so the name stands at the front of
// either.
func LauncherName(p *proc.Process) string {
	switch {
	case p.Exe == "go" && len(p.Args) > 1 && p.Args[1] == "run":
		return "go run"
	case p.Exe != "" && !slices.Contains(runtimes, p.Exe):
		return ""
	}
	title, _, _ := strings.Cut(p.Comm, " ")
	if slices.Contains(launchers, title) {
		return title
	}
	script := slices.IndexFunc(p.Args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && !slices.Contains(runtimes, path.Base(arg))
	})
	name := strings.TrimRight(withoutSuffix(commandName(p.Args, script)), "0123456789") // npm-cli.js, yarn.js, yarn-4.5.0.cjs
	for _, end := range []string{"-", "-cli", "-berry"} {
		name = strings.TrimSuffix(name, end)
	}
	if slices.Contains(launchers, name) {
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
