package run

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/joint"
)

// Parties of different builds, or with different numbers of instances, prove nothing together.
func TestPartiesDisagreeOnBuildsAndInstances(t *testing.T) {
	const build = "91fd240cb04c go1.26"
	two, three := &Settings{Build: "(devel) go1.26", Instances: 2}, &Settings{Build: "(devel) go1.26", Instances: 3}
	ours := two.terms(nil, build)
	for name, theirs := range map[string]joint.Terms{
		"the build of stockapi": two.terms(nil, "0123456789ab+dirty go1.26"), "--instances": three.terms(nil, build),
	} {
		i := slices.IndexFunc(ours, func(term joint.Term) bool { return term.Flag == name })
		require.GreaterOrEqual(t, i, 0)
		assert.NotEqual(t, ours[i], theirs[i])
	}
	assert.Contains(t, ours, joint.Term{Flag: "the build of loadtest", Value: two.Build})
}
