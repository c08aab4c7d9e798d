package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

// The shells with a completion of drainit, and a script that completes $LINE. $DIR has the completions.
// zsh completes at a prompt alone, and waits there for $WANT.
var completes = map[string]string{
	"bash": `source "$DIR/drainit.bash"; COMP_WORDS=($LINE); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); ` +
		`_drainit; printf '%s\n' "${COMPREPLY[@]}"`,
	"fish": `source $DIR/drainit.fish; complete -C "$LINE" | string replace -r '\t.*' '' || true`,
	"zsh": `zmodload zsh/zpty; zpty shell zsh -fi
		zpty -w shell 'fpath=($DIR $fpath); autoload -Uz compinit; compinit -D -u; print -r loa""ded'
		zpty -r shell all '*loaded*'; zpty -w -n shell "$LINE"$'\t'
		zpty -r shell all "*$WANT*" && print -r -- "$WANT"`,
}

// A shell completes a flag, its value, a subcommand, its flag, and COMMAND.
func TestCompletion(t *testing.T) {
	for shell, script := range completes {
		t.Run(shell, func(t *testing.T) {
			path := harness.PathOf(t, shell)
			for line, want := range map[string]string{
				"drainit --gra":                     "--grace",
				"drainit -g --second-stop ig":       "ignore",
				"drainit resu":                      "resume",
				"drainit stop --for":                "--force",
				"drainit -t 5 --forking sha256su":   "sha256sum",
				"drainit --forward worker -- mkfif": "mkfifo",
				"drainit pla":                       "plan",
				"drainit plan --dur":                "--during",
				"drainit plan --gra":                "--grace",
				"drainit plan --within 5s sha256su": "sha256sum",
				"drainit plan -t 5 -- mkfif":        "mkfifo",
			} {
				cmd := exec.Command(path, "-c", script)
				cmd.Env = append(cmd.Environ(), "DIR="+harness.Repo("docs", "completion"), "LINE="+line,
					"WANT="+want)
				if got := harness.OutputOf(t, cmd); !slices.Contains(strings.Split(got, "\n"), want) {
					t.Errorf("%s is completed to %q, want %s", line, got, want)
				}
			}
		})
	}
}
