package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the line for --version, of this binary.
func version() string {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	return versionLine(info)
}

// versionLine ends as tini's version does, which dockerd reads when drainit is its
// docker-init; it warns of anything else.
func versionLine(info *debug.BuildInfo) string {
	v, commit := "(unknown)", "unknown"
	if info != nil {
		v = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) > 7 {
				commit = s.Value[:7]
			}
		}
	}
	return fmt.Sprintf("drainit %s %s - git.%s\n", v, runtime.Version(), commit)
}
