package handlers

import (
	"testing"

	"go.uber.org/goleak"

	"stockapi/internal/backend"
)

func TestMain(m *testing.M) {
	backend.Silence()
	goleak.VerifyTestMain(m)
}
