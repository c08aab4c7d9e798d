package ociruntime

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The kubelet kills 2 s after a stop signal at the earliest.
const leastLeft = 2 * time.Second

// longest is the longest grace period that drainit takes. What the platform gives beyond it is without an
// end.
const longest = 7 * 24 * time.Hour

// graceOf returns the grace period by the annotations of a container: that which the pod has asked for, or
// what the kubelet leaves after preStop, less a tenth of it, 1 s at least and 5 s at most. So drainit kills
// before the platform does, and no job much earlier. It returns "" where the annotations do not say how long
// the platform waits. The error is that of a grace period that drainit does not take.
func graceOf(annotations node, check func(string) error) (string, error) {
	const asked = "drainit/grace"
	if grace := annotations.get(asked).string(); grace != "" {
		if err := check(grace); err != nil {
			return "", fmt.Errorf("%s: %w", asked, err)
		}
		return grace, nil
	}
	limit := annotations.get("io.kubernetes.pod.terminationGracePeriod").string()
	seconds, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return "", nil
	}
	if seconds > uint64(longest/time.Second) {
		return "infinity", nil
	}
	left := time.Duration(seconds) * time.Second
	handler := annotations.get("io.kubernetes.container.preStopHandler").string()
	if hook, valid := readJSON([]byte(handler)); valid {
		left -= preStop(hook)
	}
	left = max(left, leastLeft)
	return (left - min(max(left/10, time.Second), 5*time.Second)).String(), nil
}

// preStop returns how long a hook waits, 0 where that can't be read.
func preStop(hook node) time.Duration {
	value := hook.get("sleep", "seconds")
	if value.to > 0 {
		return sleepOf(string(value.text[value.from:value.to]))
	}
	words := hook.get("exec", "command").strings()
	if len(words) == 3 && words[1] == "-c" && strings.HasSuffix(filepath.Base(words[0]), "sh") {
		words = strings.Fields(words[2])
	}
	if len(words) == 0 {
		return 0
	}
	words[0] = filepath.Base(words[0])
	command := strings.Replace(strings.Join(words, " "), " --sleep=", " --sleep ", 1)
	for _, known := range []string{"sleep ", "drainit quiet --sleep "} {
		if rest, is := strings.CutPrefix(command, known); is {
			return sleepOf(rest)
		}
	}
	return 0
}

// sleepOf reads a time as sleep(1) does: 5, 0.5 or 5s.
func sleepOf(text string) time.Duration {
	if text != "" && strings.IndexByte("0123456789.", text[len(text)-1]) >= 0 {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0
	}
	return d
}
