// Package logging tests what drainit says: the log and the warnings.
package logging

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
