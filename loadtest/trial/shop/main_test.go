package shop

import (
	"testing"

	"go.uber.org/goleak"

	"stockapi/loadtest/cluster"
)

func TestMain(m *testing.M) {
	cluster.GuardMain()
	goleak.VerifyTestMain(m)
}
