// Package platform tests real platforms: Docker, Compose, Podman, a kubelet's calls of runc, and systemd.
package platform

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
