package diag

import (
	"path/filepath"
	"slices"
	"strings"

	"drainit/forward"
	"drainit/internal/proc"
)

// started is how a shell was started.
type started struct {
	script    string // the file that it runs, "" for none
	isCommand bool   // it runs a string (-c)
}

// howStarted tells what a shell runs: a file, a command, or its input, which is neither.
// What stands before a file are options, of which some take a word.
func howStarted(p proc.Process) started {
	if forward.ProgramOf(&p) != forward.Shell || len(p.Args) == 0 {
		return started{}
	}
	args := p.Args[1:]
	if name := filepath.Base(p.Args[0]); len(args) > 0 && (name == "busybox" || name == "toybox") {
		args = args[1:]
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-":
		case arg == "--rcfile", arg == "--init-file":
			i++
		case strings.HasPrefix(arg, "--"):
		case arg == "" || arg[0] != '-' && arg[0] != '+':
			return started{script: filepath.Base(arg)}
		case strings.ContainsAny(arg, "cs"):
			return started{isCommand: strings.Contains(arg, "c")}
		case strings.HasSuffix(strings.ToLower(arg), "o"):
			i++
		}
	}
	return started{}
}

// simpleCommand is the string that a shell was given with -c, where that is one simple
// command of plain words and the shell was given nothing else: then it says the same
// without the shell. nil where it is anything more.
func simpleCommand(shell proc.Process) []string {
	if len(shell.Args) != 3 || shell.Args[1] != "-c" || !slices.Contains(plainShells, filepath.Base(shell.Args[0])) {
		return nil
	}
	words := strings.Split(shell.Args[2], " ")
	for i, word := range words {
		if !isPlain(word) || i == 0 && strings.Contains(word, "=") {
			return nil
		}
	}
	return words
}

// plainShells read no file of the user's before the string that they are given, but for
// bash with BASH_ENV.
var plainShells = []string{"sh", "bash", "dash", "ash"}

// isPlain reports whether a word means itself, to a shell and between the quotes of JSON.
// With a = it must not be the first.
func isPlain(word string) bool {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-+:,@%="
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) })
}

// isSafe reports whether a command line may stand in a log whole.
func isSafe(line []string) bool { return len(line) > 0 && slices.Equal(safeLine(line), line) }

// safeLine is a command line as far as it may stand in a log: its program and that
// program's files. The other words may be secrets, so "..." stands for them.
func safeLine(line []string) []string {
	for i, arg := range line {
		script := i == 1 && isInterpreter(line[0]) && !strings.HasPrefix(arg, "-")
		if i > 0 && !script && arg != "-jar" && !isProgramFile(arg) {
			return append(slices.Clone(line[:i]), "...")
		}
	}
	return line
}

func isInterpreter(program string) bool {
	name := strings.TrimRight(filepath.Base(program), "0123456789.")
	return slices.Contains([]string{"node", "nodejs", "bun", "python", "perl", "ruby", "php", "sh", "bash", "dash", "ash"}, name)
}

func isProgramFile(arg string) bool {
	switch strings.TrimPrefix(filepath.Ext(arg), ".") {
	case "js", "mjs", "cjs", "ts", "mts", "py", "rb", "php", "pl", "sh", "jar", "war":
	default:
		return false
	}
	odd := func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-", r)
	}
	return arg[0] != '-' && !strings.ContainsFunc(arg, odd)
}

// entrypoint is the exec form of a Dockerfile that runs a command under drainit, which is
// started by these words.
func entrypoint(self, command []string) string {
	return `ENTRYPOINT ["` + strings.Join(append(slices.Clone(self), command...), `", "`) + `"]`
}
