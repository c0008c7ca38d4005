package record_test

import (
	"testing"

	"go.uber.org/goleak"

	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

const atA, atB = shop.AtA, shop.AtB

type (
	observed = []record.Observation
	written  = []record.Written
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
