package netns

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNetworkThatIsForbidden(t *testing.T) {
	assert.Regexp(t, `^--redis-at, --db-at and --port-at need a network namespace, which the system refuses \(operation `+
		`not permitted\): (as root, run sysctl -w |in a container, )`, forbidden("operation not permitted").Error())
}
