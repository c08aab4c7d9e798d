package cli

import "strings"

// warnings has a line for each variable that is no setting and may have been meant for one.
// Kubernetes and Docker make variables of the services beside a container, which may be
// named after drainit.
func warnings(environ []string) (lines []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		ofService := strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT")
		if value != "" && strings.HasPrefix(name, prefix) && !isOwn(name) && !ofService {
			lines = append(lines, name+" is not a setting of drainit; drainit --help lists them")
		}
	}
	return lines
}
