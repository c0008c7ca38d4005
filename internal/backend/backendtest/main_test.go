package backendtest_test

import (
	"testing"

	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

func TestMain(m *testing.M) {
	backend.Silence()
	goleak.VerifyTestMain(m, goleak.Cleanup(backendtest.Share()))
}
