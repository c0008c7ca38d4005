package history_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestSeverityOfForgedVerdictIsTheWorst(t *testing.T) {
	found := []history.Finding{
		{Verdict: history.Exclusion, Result: history.Broken}, {Verdict: "forged", Result: history.Broken},
	}
	assert.Equal(t, history.StockBroken, history.SeverityOf(found))
	assert.Equal(t, history.LockBroken, history.SeverityOf(found[:1]))
}
