package cli

import (
	"fmt"
	"strconv"
	"strings"

	"drainit/internal/inspect"
)

// near is the largest distance at which a word may be a mistyped other one.
const near = 2

// hintFor is what a COMMAND that is not found in PATH may have been meant for, as the end
// of the line that says so. What has an argument that is no flag was meant to run.
func hintFor(command []string) string {
	name := command[0]
	if strings.Contains(name, "/") || len(command) > 1 && !strings.HasPrefix(command[1], "-") {
		return ""
	}
	meant := ""
	switch name {
	case "help", "version":
		meant = "--" + name
	default:
		meant = nearest(name, inspect.Verbs[:])
	}
	if meant == "" {
		return ""
	}
	return "; did you mean drainit " + meant + "?"
}

// nearest is the word that is nearest to a name, "" where none is near.
func nearest(name string, words []string) (best string) {
	least := near + 1
	for _, word := range words {
		if d := distance(name, word); d < least {
			best, least = word, d
		}
	}
	return best
}

// distance is how many bytes must be put in, left out or replaced to make one word of the
// other (Levenshtein's), and more than near where that is many.
func distance(a, b string) int {
	if len(a) > len(b)+near || len(b) > len(a)+near {
		return near + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// flagsAlone are long flags without a variable, and what to set in its place.
var flagsAlone = [...][2]string{
	{"DRAINIT_VERBOSE", "DRAINIT_LOG_LEVEL=debug"},
	{"DRAINIT_GROUP", "DRAINIT_FORWARD=group"},
	{"DRAINIT_SINGLE_CHILD", "DRAINIT_FORWARD=worker"},
	{"DRAINIT_WARN_REAPED", "the flag --warn-reaped"},
	{"DRAINIT_PAUSE", "the flag --pause"},
}

// warnings has a line for each variable that is no setting and was meant for one.
func warnings(environ []string) (lines []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if value == "" || !strings.HasPrefix(name, prefix) || isOwn(name) || isKubernetes(name) {
			continue
		}
		if meant := settingMeant(name); meant != "" {
			lines = append(lines, fmt.Sprintf("%s is not a setting of drainit: %s is", name, meant))
		}
	}
	return lines
}

// settingMeant is the variable that a name was meant for, "" where it is near none.
func settingMeant(name string) string {
	for _, alone := range flagsAlone {
		if name == alone[0] {
			return alone[1]
		}
	}
	var own [len(settings)]string
	joined := strings.ReplaceAll(name, "_", "")
	for i, s := range settings {
		own[i] = s.variable()
		if strings.HasPrefix(name, own[i]+"_") || joined == strings.ReplaceAll(own[i], "_", "") {
			return own[i]
		}
	}
	return nearest(name, own[:])
}

// isKubernetes reports whether a variable is one of those that Kubernetes and Docker make
// for each service beside the container, which may be named after drainit.
func isKubernetes(name string) bool {
	if strings.HasSuffix(name, "_SERVICE_HOST") || strings.Contains(name, "_SERVICE_PORT") || strings.HasSuffix(name, "_PORT") {
		return true
	}
	at := strings.LastIndex(name, "_PORT_")
	if at < 0 {
		return false
	}
	number, rest, _ := strings.Cut(name[at+len("_PORT_"):], "_")
	protocol, _, _ := strings.Cut(rest, "_")
	_, err := strconv.ParseUint(number, 10, 16)
	return err == nil && (protocol == "TCP" || protocol == "UDP" || protocol == "SCTP")
}
