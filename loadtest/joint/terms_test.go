package joint

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/latch"
)

func TestBothBuildsAreNamedInOneLine(t *testing.T) {
	const ours, theirs = "v0.0.0-20261122020541-91fd240cb04c go1.26", "v0.0.0-20261122020541-91fd240cb04c+dirty go1.26"
	terms := func(build string) Terms { return Terms{{Flag: "the build of stockapi", Value: build}} }
	err := terms(ours).differ(Options{Name: "duet", Parties: 2},
		&latch.TermsError{Parties: 2, Terms: terms(theirs).text()})
	assert.EqualError(t, err,
		`the parties of duet disagree: the build of stockapi is "`+ours+`" here and "`+theirs+`" with those who came first`)
}
